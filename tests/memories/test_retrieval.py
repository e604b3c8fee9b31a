"""Memories that search by words or by vectors, over real HTTP."""

import shutil
from dataclasses import replace

import pytest

from manifests.index_format import INDEX_FOLDER
from runbook.outcomes import Outcome
from runbook.rendering import render_context


def pools_of(result) -> dict[str, int]:
    return {pool: sum(one.pool == pool for one in result.retrieved) for pool in ("raw", "events", "notes")}


def test_bm25_finds_the_trajectory_by_its_words_without_any_model(bench):
    result = bench.memory("rag-slice-bm25").query(bench.task(3))
    assert result.retrieved[0].trajectory_id == "tr-3"
    assert 0 < result.confidence <= 1
    assert bench.script.requests == []


def test_bm25_without_an_index_is_a_failure_and_no_empty_answer(bench):
    shutil.rmtree(bench.haystack.path / INDEX_FOLDER)
    result = bench.memory("rag-slice-bm25").query(bench.task())
    assert result.outcome is Outcome.SANDBOX_ERROR
    assert "no full-text index" in result.attempts[0].detail


def test_rag_slice_brings_six_slices_of_three_states_around_the_nearest(bench):
    memory = bench.memory("rag-slice")
    memory.insert(bench.haystack)
    result = memory.query(bench.task(text="warehouse-2 CODE-2-2 CODE-2-3"))
    assert pools_of(result) == {"raw": 6, "events": 0, "notes": 0}
    assert result.retrieved[0].trajectory_id == "tr-2"
    assert result.evidence.distinct_states <= 18
    assert [one.score for one in result.retrieved] == sorted(
        (one.score for one in result.retrieved), reverse=True
    )


def test_the_query_and_nothing_else_is_sent_with_the_instruction(bench):
    memory = bench.memory("rag-slice")
    memory.insert(bench.haystack)
    before = len(bench.script.texts())
    memory.query(bench.task())
    assert [text for text in bench.script.texts()[:before] if "Instruct:" in text] == []
    (query,) = bench.script.texts()[before:]
    assert query.startswith("Instruct: ")
    assert query.endswith(f"Query:{bench.task().question.text}")


def test_rag_slice_notes_renders_notes_before_slices(bench):
    memory = bench.memory("rag-slice-notes")
    memory.insert(bench.haystack)
    result = memory.query(bench.task())
    assert pools_of(result) == {"raw": 6, "events": 0, "notes": 6}
    assert result.context.items[0].text.startswith("# How things were done here")
    by_id = {entry.id: entry for entry in bench.haystack.entries.values()}
    assert result.context == render_context(result.evidence, by_id)


@pytest.mark.parametrize(
    ("pools", "expected"),
    [
        (("raw", "events", "notes"), {"raw", "events", "notes"}),
        (("events", "notes"), {"events", "notes"}),
        (("raw", "notes"), {"raw", "notes"}),
        (("raw", "events"), {"raw", "events"}),
    ],
)
def test_an_ablation_of_agentrunbook_r_takes_its_pool_out_of_the_context(bench, pools, expected):
    memory = bench.memory("agentrunbook-r", pools=pools)
    memory.insert(bench.haystack)
    result = memory.query(bench.task())
    counted = pools_of(result)
    assert {pool for pool, count in counted.items() if count} == expected
    headings = [("events", "# What happened"), ("notes", "# How things"), ("raw", "# Recorded evidence")]
    for pool, heading in headings:
        assert (heading in result.context.text) == (pool in expected)


def test_agentrunbook_r_takes_at_most_two_slices_of_each_query_and_six_events(bench):
    memory = bench.memory("agentrunbook-r")
    memory.insert(bench.haystack)
    result = memory.query(bench.task())
    raw = [one.query for one in result.retrieved if one.pool == "raw"]
    assert all(raw.count(query) <= 2 for query in raw)
    assert pools_of(result)["events"] == 6
    assert result.attempts[0].extra["bundle_repaired"] is False


def test_a_controller_that_speaks_no_json_is_asked_to_repair_it(bench):
    memory = bench.memory("agentrunbook-r", pools=["raw"])
    memory.insert(bench.haystack)
    bench.script.broken = 1
    record = memory.query(bench.task()).attempts[0]
    assert (record.extra["bundle_repaired"], record.extra["bundle_fallback"]) == (True, False)
    prompts = [body["messages"][-1]["content"] for body in bench.script.asked("/v1/chat/completions")]
    assert "I would look for the following things" in prompts[-1]
    assert record.wire.calls == 3


def test_a_controller_that_cannot_repair_it_is_done_without(bench):
    memory = bench.memory("agentrunbook-r", pools=["raw"])
    memory.insert(bench.haystack)
    bench.script.broken = 2
    result = memory.query(bench.task())
    assert result.attempts[0].extra["bundle_fallback"] is True
    assert {one.query for one in result.retrieved} == {bench.task().question.text}
    assert len(result.retrieved) == 2


def test_a_reused_query_call_adds_the_time_it_took_when_it_was_made(bench):
    bench.memory("rag-slice").insert(bench.haystack)
    first = bench.memory("rag-slice")
    first.insert(bench.haystack)
    asked = first.query(bench.task())
    requests = len(bench.script.requests)
    second = bench.memory("rag-slice")
    second.insert(bench.haystack)
    again = second.query(bench.task())
    assert len(bench.script.requests) == requests
    assert asked.timings["reused"] == 0
    assert again.timings["reused"] > 0
    assert again.seconds > again.timings["reused"]
    assert again.context == asked.context


def test_a_repeat_asks_the_controller_anew_with_another_seed(bench):
    memory = bench.memory("agentrunbook-r", pools=["raw"])
    memory.insert(bench.haystack)
    for repeat in (0, 1, 1):
        memory.query(replace(bench.task(), repeat=repeat))
    assert [body["seed"] for body in bench.script.asked("/v1/chat/completions")] == [3, 4]


def test_what_a_model_costs_is_told_of_the_query_alone(bench):
    memory = bench.memory("agentrunbook-r")
    memory.insert(bench.haystack)
    result = memory.query(bench.task())
    assert result.attempts[0].wire.calls == 2  # the controller, and one embedding of all its queries
    assert result.insert_cost.embedded_texts == 6 * 7 + 6 * 6 + 6 + 6
    assert result.insert_cost.written_trajectories == 6
    assert result.insert_cost.seconds > 0
    assert memory.query(bench.task(1)).insert_cost is None


def test_a_second_process_prepares_a_known_haystack_without_any_call(bench):
    bench.memory("agentrunbook-r").insert(bench.haystack)
    requests = len(bench.script.requests)
    again = bench.memory("agentrunbook-r")
    again.insert(bench.haystack)
    assert len(bench.script.requests) == requests
    cost = again.query(bench.task()).insert_cost
    assert (cost.embedded_texts, cost.written_trajectories) == (0, 0)


def test_a_failing_embedding_model_is_the_questions_outcome_and_what_was_embedded_stays(bench):
    failing = bench.memory("rag-slice", retry_seconds=0.0)
    bench.script.answering = 3
    failing.insert(bench.haystack)
    result = failing.query(bench.task())
    assert result.outcome is Outcome.PROVIDER_ERROR
    assert result.evidence is None
    bench.script.answering = None
    again = bench.memory("rag-slice")
    again.insert(bench.haystack)
    result = again.query(bench.task())
    assert result.outcome is Outcome.OK
    assert result.insert_cost.embedded_texts == 6 * 7 - 3 * 4
