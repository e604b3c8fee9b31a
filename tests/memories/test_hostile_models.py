"""Models that answer nonsense, too much, too little or nothing: an outcome, never a crash, nothing kept."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter

import pytest

from runbook.outcomes import Outcome
from tests.scripted_retrieval import DIMENSIONS, ScriptedRetrieval, bag
from tests.waiting import FOREVER, wait_for


def rows(body, change=lambda row: row):
    return 200, {
        "data": [{"index": n, "embedding": change(bag(text))} for n, text in enumerate(body["input"])]
    }


EMBEDDINGS = {
    "not a number": lambda body: rows(body, lambda row: [float("nan"), *row[1:]]),
    "null": lambda body: rows(body, lambda row: [None, *row[1:]]),
    "infinite": lambda body: rows(body, lambda row: [1e39, *row[1:]]),
    "nested": lambda body: rows(body, lambda row: [row]),
    "no base64": lambda body: rows(body, lambda _: "%%%"),
    "fewer vectors": lambda body: (200, {"data": rows(body)[1]["data"][:-1]}),
    "more vectors": lambda body: (200, {"data": rows(body)[1]["data"] * 2}),
    "the same number twice": lambda body: (
        200,
        {"data": [{"index": 0, "embedding": [1.0]}] * len(body["input"])},
    ),
    "an error with status 200": lambda _: (200, {"error": {"message": "overloaded"}}),
    "a list": lambda _: (200, []),
}


@pytest.mark.parametrize("kind", EMBEDDINGS)
def test_vectors_that_are_none_are_the_providers_failure_and_are_not_kept(bench, script, kind):
    script.fault = EMBEDDINGS[kind]
    memory = bench.memory("rag-slice", retry_seconds=0.2)
    memory.insert(bench.haystack)
    result = memory.query(bench.task())
    assert result.outcome is Outcome.PROVIDER_ERROR
    assert result.attempts[0].detail
    script.fault = lambda _: None
    again = bench.memory("rag-slice")
    again.insert(bench.haystack)
    result = again.query(bench.task())
    assert result.outcome is Outcome.OK
    assert result.insert_cost.embedded_texts == 6 * 7


@pytest.mark.parametrize("when", ["while preparing", "in the query"])
def test_vectors_of_another_length_are_refused_with_both_lengths(bench, script, when):
    def longer(body):
        is_query = body["input"][0].startswith("Instruct")
        wanted = is_query if when == "in the query" else len(script.requests) > 3
        return rows(body, lambda row: [*row, 1.0]) if wanted else None

    script.fault = longer
    memory = bench.memory("rag-slice")
    memory.insert(bench.haystack)
    result = memory.query(bench.task())
    assert result.outcome is Outcome.PROVIDER_ERROR
    detail = result.attempts[0].detail
    assert f"vectors of {DIMENSIONS + 1} numbers" in detail
    assert f"have {DIMENSIONS}" in detail
    script.fault = lambda _: None
    again = bench.memory("rag-slice")
    again.insert(bench.haystack)
    assert again.query(bench.task()).outcome is Outcome.OK


def test_a_storm_of_rate_limits_is_weathered_and_told_as_waiting(bench, script):
    left = Counter(storm=12)

    def limited(_):
        left["asked"] += 1
        if left["asked"] % 3 == 0 or not left["storm"]:
            return None
        left["storm"] -= 1
        return 429, {"error": {"message": "slow down"}}

    script.fault = limited
    memory = bench.memory("rag-slice")
    memory.insert(bench.haystack)
    left.update(storm=2, asked=-left["asked"])
    result = memory.query(bench.task())
    assert result.outcome is Outcome.OK
    assert result.insert_cost.embedding_calls == 12 + 11
    wire = result.attempts[0].wire
    assert (wire.calls, wire.retries) == (1, 2)
    assert 0 < wire.rate_limit_seconds == pytest.approx(result.timings["rate_limit"])
    assert result.seconds > wire.rate_limit_seconds


REPLIES = {
    "half a character": r'{"raw_queries": ["\ud800"], "event_query": "\u0000b", "note_query": "\u001b[2J"}',
    "a great many queries": json.dumps(
        {"raw_queries": ["q"] * 50_000, "event_query": "a", "note_query": "b"}
    ),
    "a very long query": json.dumps({"raw_queries": ["q" * 500_000], "event_query": "a", "note_query": "b"}),
    "nesting": '{"raw_queries": ' * 20_000,
    "brackets": "{" * 100_000,
    "wrong types": '{"raw_queries": [null, 3], "event_query": {}, "note_query": []}',
    "nothing": "",
    "prose around it": 'Sure! {"raw_queries": ["a"], "event_query": "b", "note_query": "c"} Good luck.',
}


@pytest.mark.parametrize("kind", REPLIES)
def test_whatever_the_controller_says_the_question_is_answered(bench, script, kind):
    memory = bench.memory("agentrunbook-r", pools=["raw"])
    memory.insert(bench.haystack)
    script.echo = json.dumps(REPLIES[kind])[1:-1] or " "
    result = memory.query(bench.task())
    assert result.outcome is Outcome.OK
    bundle = result.attempts[0].extra["bundle"]
    asked = [*bundle["raw_queries"], bundle["event_query"], bundle["note_query"]]
    assert 3 <= len(asked) <= 7
    assert all(one.isprintable() and len(one) <= 2_000 for one in asked)
    assert len(script.asked("/v1/chat/completions")) <= 2


@pytest.mark.parametrize(
    "reply",
    [
        r'{"events": [{"step": 1, "text": "\ud800\u0007"}, {"step": -5, "text": "x"}], '
        r'"procedure": "\udfff p", "hint": "h"}',
        '{"events": [{"step": 1e300, "text": "x"}], "procedure": "", "hint": null}',
        json.dumps({"events": [{"step": 1, "text": "e" * 100_000}], "procedure": "p" * 900_000, "hint": "h"}),
        "no",
    ],
)
def test_whatever_the_writer_says_every_piece_has_a_text_that_can_be_kept(bench, script, reply):
    script.echo = json.dumps(reply)[1:-1]
    memory = bench.memory("agentrunbook-r", pools=["events", "notes"])
    memory.insert(bench.haystack)
    script.echo = ""
    result = memory.query(bench.task())
    assert result.outcome is Outcome.OK
    assert result.insert_cost.written_trajectories == 6
    assert result.insert_cost.fallbacks > 0
    files = list(bench.folder.glob("cache/written/*/*.json"))
    assert len(files) == 6
    for file in files:
        written = json.loads(file.read_text(encoding="utf-8"))
        assert len(written["events"]) == 6
        assert all(written["events"])
        assert written["procedure"]
        assert len(file.read_bytes()) < 40_000


def test_writing_that_was_killed_goes_on_and_asks_nothing_twice(
    tmp_path, make_data_root, script: ScriptedRetrieval
):
    data = make_data_root(tmp_path / "data", questions=2, trajectories=24, states=25)
    settings = [f"retrieval.{role}.base_url={script.url}" for role in ("embedding", "controller")]
    settings += ["retrieval.embedding.model=bag", "retrieval.controller.model=chat"]
    killed, answered = threading.Event(), script.reply

    def reply(path, body):
        if len(script.asked("/v1/chat/completions")) >= 30:
            killed.wait(FOREVER)
        return answered(path, body)

    script.reply = reply
    command = [sys.executable, "-c", "from runbook.cli import main; main()", "eval"]
    run = [*command, "run", "--data", data, "--memory", "rag-slice-notes", "--out", tmp_path / "run"]
    process = subprocess.Popen(
        [*map(str, run), *(word for one in settings for word in ("--set", one))],
        env=dict(os.environ),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_for(lambda: len(script.asked("/v1/chat/completions")) >= 30)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert len(script.asked("/v1/chat/completions")) < 24 * 4
    killed.set()
    done = subprocess.run(
        [*command, "resume", str(tmp_path / "run")], env=dict(os.environ), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    prompts = Counter(json.dumps(body["messages"]) for body in script.asked("/v1/chat/completions"))
    assert len(prompts) == 24 * 4  # three parts of 24 steps, and the notes
    assert prompts.total() - len(prompts) <= 4  # what was in flight
    texts = Counter(script.texts())
    assert sum(count - 1 for count in texts.values()) <= 4 * 32
