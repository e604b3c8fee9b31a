"""A run's traces, with gold and without, whole and in part."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from evals.runs.folder import RunError, RunFolder
from evals.traces.aggregate import group_figures
from evals.traces.funnel import error_class
from evals.traces.run import trace_run
from manifests.importing import import_lme_v2
from manifests.store import Store
from runbook.gateway.records import Usage
from runbook.outcomes import Outcome
from runbook.traces import Kind, Source, TraceEvent
from tests.recorded_runs import Answer, write_run


@pytest.fixture
def slugs(data_root: Path, tmp_path: Path) -> dict[str, str]:
    """Slugs by original id of the data root's trajectories, imported to the store of the run."""
    store = Store.open(tmp_path / "store")
    import_lme_v2(data_root, store, processes=1)
    return {entry.id: entry.slug for entry in store.entries()}


def plant(folder: RunFolder, question: str, commands: list[str], *, cost: float | None = 0.25) -> Path:
    """A trace of an attempt: a command every ten seconds, each from a response of its own."""
    place = folder.attempts_folder(question) / "1"
    place.mkdir(parents=True)
    events = []
    for number, command in enumerate(commands, start=1):
        told = {
            "source": Source.BOTH,
            "call_id": f"c{number}",
            "response": f"call {number}",
            "command": command,
        }
        events.append(TraceEvent(kind=Kind.TOOL_START, at=10.0 * number, **told))
        events.append(TraceEvent(kind=Kind.TOOL_END, at=10.0 * number + 1, duration=1.0, **told))
        events.append(
            TraceEvent(
                kind=Kind.USAGE,
                source=Source.WIRE,
                at=10.0 * number,
                duration=4.0,
                scope="call",
                tokens=Usage(fresh_input=90, cache_read=5, output=5),
                cost_usd=cost,
            )
        )
    lines = [event.model_dump_json(exclude_defaults=True) for event in events]
    (place / "trace.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return place


def test_the_gold_is_followed_from_the_candidates_to_the_answer(
    data_root: Path, tmp_path: Path, slugs: dict[str, str]
) -> None:
    answers = {
        "q-0": Answer(score=1, spans=(("tr-0", 2, 2),)),
        "q-1": Answer(score=0, spans=(("tr-1", 4, 4),)),
        "q-2": Answer(score=0, spans=(("tr-2", 0, 3),)),
    }
    folder = write_run(tmp_path / "run", data_root, answers)
    state = f"cat haystack/trajectories/{slugs['tr-0']}/0002.txt"
    place = plant(folder, "q-0", ["cat question.json", f"./memory state {slugs['tr-1']} 1", state])
    (place / "workspace").mkdir()
    (place / "workspace" / "CANDIDATES.md").write_text(f"1. {slugs['tr-0']}:2  thought: step")
    plant(folder, "q-1", ["rg CODE haystack"])
    plant(folder, "q-2", ["rg CODE haystack"])
    first, second, third = trace_run(tmp_path / "run").questions

    assert first.funnel.model_dump() == {
        "in_candidates": 1.0,
        "listed": 0.0,
        "opened": 1.0,
        "cited": 1.0,
        "in_context": 1.0,
        "answered": True,
        "answered_from_gold": True,
    }
    assert (first.first_gold_seconds, first.states_opened) == (30.0, 2)
    assert (second.funnel.opened, second.funnel.in_candidates, second.first_gold_seconds) == (0.0, None, None)
    assert [one.error_class for one in (first, second, third)] == [None, "major_miss", "reading_error"]


def test_figures_are_given_by_agent_type_and_outcome(
    data_root: Path, tmp_path: Path, slugs: dict[str, str]
) -> None:
    answers = {"q-0": Answer(score=1), "q-1": Answer(score=0), "q-2": Answer(outcome=Outcome.TIMEOUT)}
    folder = write_run(tmp_path / "run", data_root, answers)
    plant(folder, "q-0", ["cat question.json", "rg x haystack"])
    plant(folder, "q-1", ["./memory search x", "./memory search x"])
    plant(folder, "q-2", ["rg x haystack", "rg y haystack"])
    whole, kind, ok, timeout = group_figures(trace_run(tmp_path / "run"))
    assert [(one.by, one.group, one.questions) for one in (whole, kind, ok, timeout)] == [
        ("agent", "scout", 3),
        ("type", "static-environment", 3),
        ("outcome", "ok", 2),
        ("outcome", "timeout", 1),
    ]
    assert whole.calls_per_question == 2.0
    assert {kind: round(3 * mean) for kind, mean in whole.classes_per_question.items() if mean} == {
        "setup": 1,
        "raw": 3,
        "guided": 2,
    }
    assert whole.first_rounds[0] == pytest.approx(
        {"output": 0, "visual": 0, "guided": 1 / 3, "raw": 1 / 3, "setup": 1 / 3, "other": 0}
    )
    assert (whole.model_seconds, whole.tool_seconds, ok.repeated_per_attempt) == (8.0, 2.0, 0.5)
    # Six model calls of 100 tokens and a quarter dollar, and one right answer.
    assert (whole.tokens_per_correct, whole.usd_per_correct) == (600.0, 1.5)
    assert (timeout.tokens_per_correct, timeout.correct) == (None, 0)


def test_a_cost_that_is_unknown_anywhere_is_unknown(
    data_root: Path, tmp_path: Path, slugs: dict[str, str]
) -> None:
    folder = write_run(tmp_path / "run", data_root, {"q-0": Answer(score=1), "q-1": Answer(score=1)})
    plant(folder, "q-0", ["ls"])
    plant(folder, "q-1", ["ls"], cost=None)
    whole = group_figures(trace_run(tmp_path / "run"))[0]
    assert (whole.usd_per_correct, whole.tokens_per_correct) == (None, 100.0)


def test_attempts_without_a_trace_are_said_and_not_counted(data_root: Path, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", data_root, {"q-0": Answer(score=1), "q-1": Answer(score=0)})
    (plant(folder, "q-0", ["ls"]) / "trace.jsonl").write_text("damaged\n")
    read = trace_run(tmp_path / "run")
    assert read.questions[0].attempts[0].figures is None
    assert "line 1 is no event" in read.questions[0].attempts[0].problem
    assert any("2 attempts have no trace" in note for note in read.notes)
    assert any("no store" in note for note in read.notes)
    whole = group_figures(read)[0]
    assert (whole.traced_attempts, whole.calls_per_question, whole.tokens_per_correct) == (0, None, None)


def test_a_search_without_an_agent_lacks_no_trace(data_root: Path, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", data_root, {"q-0": Answer(score=1), "q-1": Answer(score=0)})
    for record in folder.path.glob("questions/*/query.*.json"):
        told = json.loads(record.read_text())
        for attempt in told["result"]["attempts"]:
            attempt["sandbox"] = "none"
        record.write_text(json.dumps(told))
    read = trace_run(folder.path)
    assert [one.problem for question in read.questions for one in question.attempts] == ["", ""]
    assert "2 attempts are searches without an agent, so no call of a tool is to be told of" in read.notes
    assert not [note for note in read.notes if "no trace" in note]


def test_without_gold_there_is_no_funnel_and_a_reason(data_root: Path, tmp_path: Path) -> None:
    (data_root / "gold.json").unlink()
    write_run(tmp_path / "run", data_root, {"q-0": Answer(score=0)})
    read = trace_run(tmp_path / "run")
    assert read.questions[0].funnel.cited is None
    assert read.questions[0].error_class is None
    assert any("no gold" in note for note in read.notes)


def test_a_run_in_which_nothing_was_asked_says_so(data_root: Path, tmp_path: Path) -> None:
    write_run(tmp_path / "run", data_root, {})
    read = trace_run(tmp_path / "run")
    assert (read.questions, group_figures(read)) == ([], [])
    assert "no question has been asked yet" in read.notes
    with pytest.raises(RunError):
        trace_run(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("question_type", "score", "cited", "error"),
    [
        ("procedure", 1, 0.0, None),
        ("procedure", None, 0.0, None),
        ("procedure", 0, None, None),
        ("procedure", 0, 0.0, "major_miss"),
        ("procedure", 0, 0.5, "minor_miss"),
        ("procedure", 0, 1.0, "reading_error"),
        ("errors-gotchas", 0, 1.0, "gotcha_reading"),
        ("errors-gotchas", 0, 0.5, "minor_miss"),
        ("procedure-abs", 0, None, "premise_error"),
    ],
)
def test_wrong_answers_are_put_in_classes(
    question_type: str, score: int | None, cited: float | None, error: str | None
) -> None:
    assert error_class(question_type, score, cited) == error


def test_the_command_prints_tables_json_and_csv(
    data_root: Path, tmp_path: Path, slugs: dict[str, str]
) -> None:
    folder = write_run(tmp_path / "run", data_root, {"q-0": Answer(score=1, spans=(("tr-0", 2, 2),))})
    plant(folder, "q-0", ["cat question.json", "rg x haystack"])
    tables = _runbook("traces", tmp_path / "run")
    assert tables.returncode == 0
    assert "Tool calls a question, by class" in tables.stdout
    lines = tables.stdout.splitlines()
    assert "  static-environment      1   2.00    0.00    0.00    0.00  1.00   1.00   0.00" in lines
    assert lines.count("by outcome") == 4
    assert not any("opened:" in line and len(line) <= 80 for line in lines), "broken at 80 columns"
    assert "-" not in next(line for line in lines if line.startswith("scout")).split()
    [told] = json.loads(_runbook("traces", tmp_path / "run", "--json").stdout)
    assert told["groups"][0]["classes_per_question"]["raw"] == 1.0
    [row] = csv.DictReader(io.StringIO(_runbook("traces", tmp_path / "run", "--csv").stdout))
    assert (row["question_id"], row["calls_raw"], row["tokens_output"], row["cited"]) == (
        "q-0",
        "1",
        "10",
        "1.0",
    )


def test_the_agents_of_several_runs_stand_side_by_side_first(
    data_root: Path, tmp_path: Path, slugs: dict[str, str]
) -> None:
    for name, command in (("one", "rg x haystack"), ("two", "./memory search x")):
        folder = write_run(tmp_path / name, data_root, {"q-0": Answer(score=1)})
        plant(folder, "q-0", [command])
    told = _runbook("traces", tmp_path / "one", tmp_path / "two").stdout
    first, *single = told.split("\nRun ")
    assert len(single) == 2
    table = first.split("\n\n")[1].splitlines()
    assert [line.split("  ")[0] for line in table[2:4]] == ["scout, one", "scout, two"]
    assert "scout, one\n  1 " in first


def test_an_agent_without_tool_calls_has_no_zeros_for_what_nobody_saw(
    data_root: Path, tmp_path: Path, slugs: dict[str, str]
) -> None:
    folder = write_run(tmp_path / "run", data_root, {"q-0": Answer(score=1, spans=(("tr-0", 2, 2),))})
    plant(folder, "q-0", [])
    shown = _runbook("traces", tmp_path / "run").stdout
    gold = shown[shown.index("How far the gold came") :].splitlines()
    assert gold[2].split()[:4] == ["scout", "-", "-", "-"]  # candidates, listed, opened
    assert "100.0 %" in gold[2]  # cited
    assert "No tool call of scout is on record" in shown
    assert "Tool calls a question" not in shown


def test_the_command_says_what_is_wrong_in_one_line(tmp_path: Path) -> None:
    done = _runbook("traces", tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "is no run" in done.stderr


def test_why_a_trace_is_not_there_is_said(data_root: Path, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", data_root, {"q-0": Answer(), "q-1": Answer()})
    plant(folder, "q-0", ["ls"])
    (folder.attempts_folder("q-0") / "1" / "trace.jsonl").write_text("{}\n")
    [note] = [note for note in trace_run(tmp_path / "run").notes if "can be read" in note]
    assert note.startswith("2 attempts have no trace that can be read: the first: ")
    assert "line 1 is no event" in note


def _runbook(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", "from runbook.cli import main; main()"]
    return subprocess.run(
        [*program, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False
    )
