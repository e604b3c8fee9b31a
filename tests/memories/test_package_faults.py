"""Whatever a package's memory raises or answers, or where it never ends, is one question's outcome."""

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import orjson
import pytest

from evals.runs.records import QueryRecord
from runbook.abandoning import AbandonedError
from runbook.endpoint.errors import EndpointError
from runbook.evidence import Evidence
from runbook.files import write_json
from runbook.memories.errors import MemoryFaultError
from runbook.memories.of_packages import PackageMemory
from runbook.memory import AttemptRecord, QueryResult, QueryTask, Retrieved
from runbook.outcomes import Outcome
from tests.waiting import AT_ONCE, FOREVER, wait_for


@dataclass
class Mine:
    """Does what it is told to."""

    asked: Callable[[QueryTask], object] = lambda _task: QueryResult(outcome=Outcome.OK)
    inserted: Callable[[], None] = lambda: None
    name: str = "mine"

    def insert(self, _haystack):
        self.inserted()

    def query(self, task):
        return self.asked(task)


def memory(asked=lambda _task: QueryResult(outcome=Outcome.OK), **how):
    return PackageMemory("mine", "memory 'mine'", Mine(asked), 20, **how)


def raising(error):
    def raises(*_given):
        raise error

    return raises


class UnspeakableError(Exception):
    def __str__(self):
        raise ValueError("no words")


class HalfMadeError(EndpointError):
    def __init__(self):
        pass


class OfItsOwn(BaseException):
    pass


FAULTS = [
    (asyncio.CancelledError("late"), "CancelledError: late"),
    (KeyboardInterrupt(), "KeyboardInterrupt"),
    (GeneratorExit(), "GeneratorExit"),
    (OfItsOwn("boo"), "OfItsOwn: boo"),
    (RuntimeError("half \ud800 a character"), "RuntimeError: half ? a character"),
    (UnspeakableError(), "UnspeakableError"),
    (OSError([], "no number"), "OSError"),
]
KINDS = [type(error).__name__ for error, _ in FAULTS]


@pytest.mark.parametrize(("error", "told"), FAULTS, ids=KINDS)
def test_anything_that_is_raised_is_the_questions_outcome(bench, error, told):
    result = memory(raising(error)).query(bench.task())
    assert result.outcome is Outcome.SANDBOX_ERROR
    assert result.attempts[0].detail.startswith(f"memory 'mine': {told}")
    kept = orjson.loads((bench.task().folder / "1" / "attempt.json").read_bytes())
    assert kept["detail"] == result.attempts[0].detail


@pytest.mark.parametrize(("error", "told"), FAULTS, ids=KINDS)
def test_anything_that_insert_raises_is_one_line(bench, error, told):
    broken = PackageMemory("mine", "memory 'mine'", Mine(inserted=raising(error)), 20)
    with pytest.raises(MemoryFaultError) as raised:
        broken.insert(bench.haystack)
    assert str(raised.value).startswith(f"memory 'mine': insert failed: {told}")
    assert str(raised.value).encode().count(b"\n") == 0


@pytest.mark.parametrize(
    "error",
    [HalfMadeError(), EndpointError("x", outcome=Outcome.OK), EndpointError("\ud800", outcome="odd")],
    ids=["half made", "ok", "odd"],
)
def test_a_models_failure_that_tells_no_failure_is_the_packages(bench, error):
    assert memory(raising(error)).query(bench.task()).outcome is Outcome.SANDBOX_ERROR


def attempt(**values):
    told = {"number": 1, "outcome": Outcome.OK, "agent": "mine", "sandbox": "none", "started_at": ""}
    return AttemptRecord(**(told | {"seconds": 0.0} | values))


def nested(depth):
    whole = inner = {}
    for _ in range(depth):
        inner["a"] = inner = {}
    return whole


def found(**more):
    return QueryResult(outcome=Outcome.OK, evidence=Evidence(memory_markdown="a note"), **more)


HALF = Retrieved(pool="\ud800", query="", score=1.0, trajectory_id="", start_state_index=0, end_state_index=0)


@pytest.mark.parametrize(
    "answer",
    [
        found(attempts=[attempt(notes=["\ud800"])]),
        found(attempts=[attempt(extra={"a": object()})]),
        found(attempts=[attempt(extra=nested(5000))]),
        found(attempts=[attempt(exit_code=2**80)]),
        found(attempts=[attempt(number=10**300)]),
        found(retrieved=[HALF]),
    ],
    ids=["half a character", "an object", "depth", "exit code", "number", "what was retrieved"],
)
def test_an_answer_that_no_record_can_hold_is_the_questions_outcome(bench, answer):
    result = memory(lambda _task: answer).query(bench.task())
    assert (result.outcome, result.evidence) == (Outcome.SANDBOX_ERROR, None)
    assert (bench.task().folder / "1" / "traceback.txt").is_file()


def test_an_answer_that_is_taken_can_be_read_from_its_record(bench, tmp_path):
    outcomes = set()
    for depth in range(185, 260):
        answer = found(attempts=[attempt(extra=nested(depth))])
        result = memory(lambda _task, answer=answer: answer).query(bench.task())
        outcomes.add(result.outcome)
        record = QueryRecord(
            question_id="q",
            repeat=0,
            haystack_digest="",
            view_seconds=0.0,
            manifest_seconds=0.0,
            result=result,
        )
        write_json(tmp_path / "query.json", record)
        assert QueryRecord.model_validate_json((tmp_path / "query.json").read_bytes()) == record
    assert outcomes == {Outcome.OK, Outcome.SANDBOX_ERROR}, "the depths are about what can be written"


def test_attempts_whose_numbers_lead_nowhere_are_counted_anew(bench):
    answer = found(attempts=[attempt(number=10**9), attempt(number=7)])
    result = memory(lambda _task: answer).query(bench.task())
    assert [one.number for one in result.attempts] == [1, 2]


def test_a_query_that_never_ends_is_a_timeout_and_is_told_to_stop(bench):
    told, go_on = threading.Event(), threading.Event()

    def hangs(task):
        task.cancel.wait(FOREVER)
        told.set()
        go_on.wait(FOREVER)

    begun = time.monotonic()
    result = memory(hangs, seconds=0.3).query(bench.task())
    assert 0.3 <= time.monotonic() - begun < AT_ONCE
    assert (result.outcome, told.is_set()) == (Outcome.TIMEOUT, True)
    assert result.attempts[0].detail == "memory 'mine': no answer within 0.3 s"
    go_on.set()


def test_a_query_that_never_ends_does_not_hold_up_a_stop(bench):
    task, begun = bench.task(), threading.Event()

    def hangs(_task):
        begun.set()
        threading.Event().wait(FOREVER)

    results = []
    asking = threading.Thread(target=lambda: results.append(memory(hangs).query(task)), daemon=True)
    asking.start()
    wait_for(begun.is_set)
    task.cancel.set()
    asking.join(AT_ONCE)
    assert [one.outcome for one in results] == [Outcome.CANCELLED]


def test_what_ends_when_it_is_stopped_tells_its_own_outcome(bench):
    task = bench.task()
    stopped = found(attempts=[attempt(outcome=Outcome.CANCELLED, detail="its own")])

    def heeds(asked):
        task.cancel.set()
        asked.cancel.wait(FOREVER)
        return stopped.model_copy(update={"outcome": Outcome.CANCELLED})

    assert memory(heeds).query(task).attempts[0].detail == "its own"


def test_an_insert_that_never_ends_does_not_hold_up_a_stop(bench):
    cancel = threading.Event()

    def hangs():
        cancel.set()
        threading.Event().wait(FOREVER)

    hanging = replace(memory(), made=Mine(inserted=hangs), cancel=cancel)
    with pytest.raises(AbandonedError):
        hanging.insert(bench.haystack)
