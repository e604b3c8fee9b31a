"""A memory of an installed package: measured, held to haystack and budget, and its faults are outcomes."""

import json
import time
from dataclasses import dataclass, field

import orjson
import pytest

from runbook.context import ImageItem, MemoryContext, TextItem
from runbook.endpoint.errors import EndpointError
from runbook.evidence import Evidence, Span
from runbook.memories.errors import MemoryFaultError
from runbook.memories.of_packages import PackageMemory
from runbook.memory import AttemptRecord, QueryResult
from runbook.outcomes import Outcome
from tests.waiting import AT_ONCE


def span(name, start, end):
    return Span(trajectory_id=name, start_state_index=start, end_state_index=end)


@dataclass
class Mine:
    """Answers what it is told to; an exception is raised."""

    answer: object
    inserts: list[BaseException] = field(default_factory=list)
    name: str = "mine"
    seconds: float = 0.0

    def insert(self, _haystack):
        if self.inserts:
            raise self.inserts.pop()

    def query(self, _task):
        time.sleep(self.seconds)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


@pytest.fixture
def ask(bench):
    def asked(answer, budget=20, **how):
        return PackageMemory("mine", "memory 'mine' (pkg:make)", Mine(answer, **how), budget).query(
            bench.task()
        )

    return asked


@pytest.fixture
def ids(bench):
    return sorted(entry.id for entry in bench.haystack.entries.values())


def found(*spans, **more):
    evidence = Evidence(memory_markdown="a note", trajectory_spans=spans)
    return QueryResult(outcome=Outcome.OK, evidence=evidence, **more)


def test_the_time_of_a_query_is_measured_whatever_it_tells(ask, ids, bench):
    result = ask(found(span(ids[0], 0, 1), seconds=0.001, timings={"rate_limit": 99.0}), seconds=0.3)
    assert 0.3 <= result.seconds < AT_ONCE
    assert result.timings["rate_limit"] <= result.seconds
    (attempt,) = result.attempts
    assert attempt.notes == [f"it told 0.00 s for the query, but {result.seconds:.2f} s were measured"]
    assert orjson.loads((bench.task().folder / "1" / "attempt.json").read_bytes())["agent"] == "mine"


def test_what_reused_calls_took_is_added(ask, ids):
    reused = 2.0 * AT_ONCE
    assert reused < ask(found(span(ids[0], 0, 1), timings={"reused": reused})).seconds < reused + AT_ONCE


def test_attempts_cannot_have_taken_longer_than_the_query(ask, ids):
    told = AttemptRecord(
        number=1, outcome=Outcome.OK, agent="mine", sandbox="none", started_at="", seconds=500.0
    )
    result = ask(found(span(ids[0], 0, 1), attempts=[told]))
    assert result.attempts[0].seconds <= result.seconds


def test_states_over_the_budget_are_cut_and_the_cut_is_on_record(ask, ids):
    result = ask(found(*(span(one, 0, 6) for one in ids)), budget=10)
    assert (result.outcome, result.evidence.distinct_states) == (Outcome.OK, 10)
    assert result.attempts[-1].repairs == ["42 states cut to the budget of 10, least important first"]


def test_spans_that_the_haystack_has_not_are_dropped_and_told(ask, ids):
    result = ask(found(span("nowhere", 0, 1), span(ids[0], 3, 99), span(ids[1], 50, 60)))
    assert result.evidence.trajectory_spans == (span(ids[0], 3, 6),)
    assert result.attempts[-1].unknown_ids == ["nowhere"]
    assert len(result.attempts[-1].repairs) == 3


def test_evidence_of_which_nothing_can_be_used_is_invalid_output(ask):
    given = QueryResult(
        outcome=Outcome.OK,
        evidence=Evidence(trajectory_spans=(span("nowhere", 0, 1),)),
        context=MemoryContext(items=(TextItem(text="the answer"),)),
    )
    result = ask(given)
    assert (result.outcome, result.evidence, result.context) == (
        *(Outcome.INVALID_OUTPUT, None),
        MemoryContext(),
    )
    assert "mine" in result.attempts[-1].detail
    assert "unknown trajectory nowhere" in result.attempts[-1].detail


def test_more_text_than_an_agent_may_hand_in_is_invalid_output(ask):
    result = ask(QueryResult(outcome=Outcome.OK, evidence=Evidence(memory_markdown="x" * 2**20)))
    assert (result.outcome, result.context) == (Outcome.INVALID_OUTPUT, MemoryContext())


def test_the_reader_gets_what_is_scored(ask, ids):
    other = MemoryContext(items=(TextItem(text="something else"),))
    result = ask(found(span(ids[0], 0, 0), context=other))
    assert "something else" not in result.context.text
    assert f"trajectory {ids[0]}, state 0 of" in result.context.text
    assert any("rendered from the evidence" in one for one in result.attempts[-1].repairs)


def test_a_context_of_texts_alone_is_the_note_of_its_evidence(ask):
    items = (TextItem(text="they chose red"), ImageItem(path="/etc/passwd", sha256="0" * 64))
    result = ask(QueryResult(outcome=Outcome.OK, context=MemoryContext(items=items)))
    assert result.evidence == Evidence(memory_markdown="they chose red")
    assert result.context == MemoryContext(items=items[:1])
    assert any("1 pictures left out" in one for one in result.attempts[-1].repairs)


@pytest.mark.parametrize("outcome", [Outcome.OK, Outcome.EMPTY_VALID])
def test_nothing_is_empty_valid(ask, outcome):
    assert ask(QueryResult(outcome=outcome)).outcome is Outcome.EMPTY_VALID


def test_a_failure_that_it_tells_leaves_no_context(ask, ids):
    given = found(span(ids[0], 0, 0)).model_copy(update={"outcome": Outcome.TIMEOUT})
    result = ask(given)
    assert (result.outcome, result.evidence, result.context) == (Outcome.TIMEOUT, None, MemoryContext())


def test_what_our_own_parts_made_stays_as_it_is(bench):
    own = bench.memory("rag-slice-bm25")
    plain = own.query(bench.task())
    held = PackageMemory("mine", "memory 'mine'", own, 20).query(bench.task())
    assert (held.evidence, held.context, held.retrieved) == (plain.evidence, plain.context, plain.retrieved)
    assert (held.attempts[0].number, held.attempts[0].repairs) == (2, [])


def changed(result, **values):
    for name, value in values.items():
        result.__dict__[name] = value
    return result


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (SystemExit(3), "SystemExit"),
        (None, "query returned NoneType, which is no QueryResult"),
        ({"outcome": "ok"}, "query returned dict"),
        (changed(QueryResult(outcome=Outcome.OK), seconds="x"), "seconds: must be a number"),
        (changed(QueryResult(outcome=Outcome.OK), evidence="x"), "evidence: "),
        (changed(QueryResult(outcome=Outcome.OK), outcome="fine"), "outcome: "),
    ],
)
def test_a_fault_is_the_questions_outcome_and_its_traceback_is_kept(ask, bench, answer, detail):
    result = ask(answer)
    assert (result.outcome, result.context) == (Outcome.SANDBOX_ERROR, MemoryContext())
    (attempt,) = result.attempts
    assert attempt.detail.startswith("memory 'mine' (pkg:make): ")
    assert detail in attempt.detail
    assert "\n" not in attempt.detail
    folder = bench.task().folder / "1"
    assert "Traceback" in (folder / "traceback.txt").read_text()
    assert orjson.loads((folder / "attempt.json").read_bytes())["outcome"] == "sandbox_error"


def test_a_models_failure_is_its_own_outcome_also_where_it_was_inserts(bench):
    down = EndpointError("not now", outcome=Outcome.PROVIDER_ERROR)
    memory = PackageMemory("mine", "memory 'mine'", Mine(QueryResult(outcome=Outcome.OK), [down]), 20)
    memory.insert(bench.haystack)
    assert memory.query(bench.task()).outcome is Outcome.PROVIDER_ERROR
    memory.insert(bench.haystack)
    assert memory.query(bench.task(1)).outcome is Outcome.EMPTY_VALID


def test_any_other_failure_of_insert_names_the_entry_point(bench):
    memory = PackageMemory("mine", "memory 'mine' (pkg:make)", Mine(None, [KeyError("model")]), 20)
    with pytest.raises(
        MemoryFaultError, match=r"memory 'mine' \(pkg:make\): insert failed: KeyError: 'model'"
    ):
        memory.insert(bench.haystack)


def test_a_fault_while_a_run_is_stopped_is_no_failure(bench):
    task = bench.task()
    task.cancel.set()
    assert PackageMemory("mine", "", Mine(OSError("gone")), 20).query(task).outcome is Outcome.CANCELLED


def test_attempts_with_numbers_that_are_taken_get_others(ask, ids, bench):
    ask(found(span(ids[0], 0, 0)))
    told = AttemptRecord(
        number=1, outcome=Outcome.OK, agent="mine", sandbox="none", started_at="", seconds=0.0
    )
    result = ask(found(span(ids[0], 0, 0), attempts=[told, told]))
    assert [one.number for one in result.attempts] == [2, 3]
    assert len(list(bench.task().folder.glob("*/attempt.json"))) == 3


def evaluate(run, data, *arguments):
    return run("eval", "run", "--data", data.path, "--memory", "mine", *arguments)


def test_a_run_goes_on_after_a_fault_and_says_what_it_was(installed, run, data, tmp_path):
    installed(query='1 / (task.labels["question"] != "q-2")')
    ended = evaluate(run, data, "--set", "gates=[]", "--out", tmp_path / "run")
    assert ended.returncode == 0, ended.stderr
    shown = json.loads(run("eval", "show", tmp_path / "run", "--json").stdout)
    assert shown["outcomes"] == {"ok": 4, "sandbox_error": 1}
    told = [json.loads(file.read_bytes()) for file in (tmp_path / "run").rglob("query.*.json")]
    (detail,) = [one["result"]["attempts"][0]["detail"] for one in told if one["question_id"] == "q-2"]
    assert detail.startswith("memory 'mine' (mine_package:make): ZeroDivisionError: division by zero")


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ({"top": "import no_such_thing"}, "cannot be imported: ModuleNotFoundError"),
        ({"top": "raise GeneratorExit"}, "cannot be imported: GeneratorExit"),
        ({"make": "raise BaseException('no')"}, "could not be made: BaseException: no"),
        ({"make": "raise ValueError('\\ud800')"}, "could not be made: ValueError: ?"),
        ({"make": "1 / 0"}, "could not be made: ZeroDivisionError: division by zero"),
        ({"make": "return 7"}, "made what has no methods insert and query"),
        ({"insert": "raise GeneratorExit"}, "insert failed: GeneratorExit"),
        ({"insert": "1 / 0"}, "insert failed: ZeroDivisionError: division by zero"),
    ],
)
def test_a_package_that_cannot_be_used_is_one_line_that_names_it(
    installed, run, data, tmp_path, broken, told
):
    installed(**broken)
    ended = evaluate(run, data, "--out", tmp_path / "run")
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1), ended.stderr
    assert "memory 'mine' (mine_package:make)" in ended.stderr
    assert told in ended.stderr


def test_a_dry_run_says_that_nothing_is_known_of_a_package(installed, run, data):
    installed()
    told = evaluate(run, data, "--dry-run")
    assert told.returncode == 0, told.stderr
    assert "memory mine is a package's" in told.stdout
