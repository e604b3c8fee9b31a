"""A cascade answers quickly where it is sure, and its thresholds are told on other questions."""

import threading
from dataclasses import dataclass, field, replace

import orjson
import pytest

from evals.matrix.cascade import CascadeError, cascade_curve
from evals.recorded import read_run
from evals.runs.latency import ON_THE_CLOCK, latency_parts
from evals.runs.records import QueryRecord
from evals.runs.remarks import told_of
from runbook.context import MemoryContext
from runbook.memories.cascade import Cascade
from runbook.memory import QueryResult
from runbook.outcomes import Outcome


@dataclass
class Told:
    """A memory that says what it is told to."""

    result: QueryResult
    name: str = "told"
    asked: list[str] = field(default_factory=list)

    def insert(self, haystack):
        self.asked.append(f"insert {haystack.digest}")

    def query(self, task):
        self.asked.append(task.question.text)
        return self.result


def told(seconds, confidence=None, outcome=Outcome.OK):
    return Told(QueryResult(outcome=outcome, seconds=seconds, confidence=confidence, context=MemoryContext()))


@pytest.mark.parametrize(
    ("confidence", "outcome", "expected"),
    [
        (0.7, Outcome.OK, 1.0),
        (0.5, Outcome.OK, 1.0),
        (0.4, Outcome.OK, 11.0),
        (None, Outcome.EMPTY_VALID, 11.0),
        (None, Outcome.PROVIDER_ERROR, 1.0),
    ],
)
def test_the_slow_memory_is_asked_below_the_threshold_and_both_latencies_count(
    bench, confidence, outcome, expected
):
    quick, slow = told(1.0, confidence, outcome), told(10.0)
    result = Cascade(quick, slow, 0.5).query(bench.task())
    assert result.seconds == expected
    assert slow.asked == ([bench.task().question.text] if expected > 1 else [])
    assert result.confidence == confidence


def test_the_time_of_the_quick_memory_is_told_apart_from_retries(bench):
    result = Cascade(bench.memory("rag-slice-bm25"), bench.memory("first"), 1.1).query(bench.task())
    record = QueryRecord(question_id="q", haystack_digest="", view_seconds=0, result=result)
    parts = latency_parts(record)
    assert parts["quick_memory"] == result.timings["quick"] > 0
    assert parts["retries"] == 0
    assert sum(parts[name] for name in ON_THE_CLOCK) == pytest.approx(result.seconds)


def test_a_cancelled_question_does_not_reach_the_slow_memory(bench):
    quick, slow = told(1.0, 0.0), told(10.0)
    task = bench.task()
    task.cancel.set()
    assert isinstance(task.cancel, threading.Event)
    Cascade(quick, slow, 0.5).query(task)
    assert slow.asked == []


@pytest.fixture
def runs(tmp_path, make_data_root, run):
    data = make_data_root(tmp_path / "data", questions=12, trajectories=12, states=5)
    for name in ("rag-slice-bm25", "oracle"):
        done = run("eval", "run", "--data", data, "--memory", name, "--out", tmp_path / name)
        assert done.returncode == 0, done.stderr
    return read_run(tmp_path / "rag-slice-bm25"), read_run(tmp_path / "oracle")


def test_the_ends_of_the_curve_are_the_two_memories_alone(runs):
    quick, slow = runs
    curve = cascade_curve(quick, slow, {})
    assert curve.measure == "all_pieces_hit"
    assert sum(curve.halves) == curve.questions == 12
    first, last = curve.points[0], curve.points[-1]
    assert (first.quick_share, last.quick_share) == (0.0, 1.0)
    assert first.value == 1.0
    hits = [result.query.evidence_recall.all_pieces_hit for result in quick.results.values()]
    assert last.value == pytest.approx(sum(hits) / 12)
    assert first.seconds > last.seconds
    assert curve.remarks == told_of([quick, slow])


def test_it_tells_what_has_to_be_said_of_the_runs(runs):
    quick, slow = runs
    smoke = replace(quick, record=quick.record.model_copy(update={"smoke": True}))
    assert any("a smoke run" in one for one in cascade_curve(smoke, slow, {}).remarks)


def test_a_memory_without_confidence_makes_no_cascade(runs):
    quick, slow = runs
    with pytest.raises(CascadeError, match="memories that search tell one"):
        cascade_curve(slow, quick, {})


def test_the_attempts_of_both_memories_have_numbers_and_folders_of_their_own(bench):
    quick, slow = bench.memory("rag-slice-bm25"), bench.memory("rag-slice")
    both = Cascade(quick, slow, 1.1)
    both.insert(bench.haystack)
    task = bench.task()
    result = both.query(task)
    assert [(one.number, one.agent) for one in result.attempts] == [(1, "rag-slice-bm25"), (2, "rag-slice")]
    assert sorted(path.name for path in task.folder.glob("*/*")) == [
        *("attempt.json", "attempt.json", "insert_calls.jsonl", "model_calls.jsonl")
    ]


def test_a_run_tells_how_often_each_of_its_memories_answered(data, run, tmp_path):
    config = ["retrieval.cascade.quick=rag-slice-bm25", "retrieval.cascade.slow=first"]
    config.append("retrieval.cascade.threshold=0.912")
    changes = [part for one in config for part in ("--set", one)]
    done = run("eval", "run", "--data", data.path, "--memory", "cascade", *changes, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    told = [orjson.loads(file.read_bytes())["result"] for file in tmp_path.rglob("query.*.json")]
    quick = sum(one["confidence"] >= 0.912 for one in told)
    assert 0 < quick < 5
    line = f"answered by quick rag-slice-bm25 {quick}, slow first {5 - quick} (threshold 0.912)"
    assert any(one.split(maxsplit=1) == ["cascade", line] for one in done.stdout.splitlines())
    shown = orjson.loads(run("eval", "show", tmp_path / "run", "--json").stdout)
    assert (shown["cascade"]["quick"], shown["cascade"]["slow"]) == (quick, 5 - quick)
