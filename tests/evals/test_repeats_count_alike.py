"""Every figure of a run with repeats is over all of them, the same one whoever prints it."""

from pathlib import Path

import numpy as np
import pytest

from evals.comparison.compare import compare
from evals.comparison.measures import ACCURACY, MEASURES
from evals.frontier.frontier import frontier
from evals.frontier.points import scored_of
from evals.matrix.table import matrix_table
from evals.recorded import RecordedRun, gold_of_run, read_run
from evals.report.loading import load
from evals.report.overview import overview
from evals.runs.summary import summarise
from evals.tuning.answers import answered
from runbook.outcomes import Outcome
from tests.data_roots import write_data_root
from tests.recorded_runs import Answer, write_run

QUESTIONS = 20


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_data_root(tmp_path / "data", questions=QUESTIONS, trajectories=QUESTIONS)


def hit(n: int) -> tuple[tuple[str, int, int], ...]:
    return ((f"tr-{n}", 2, 2),)


@pytest.fixture
def twice(tmp_path: Path, root: Path) -> RecordedRun:
    """The first pass is quick, right and finds the evidence; the second is slow, and none of that."""
    answers: dict[str, Answer | tuple[Answer, ...]] = {
        f"q-{n}": (
            Answer(score=1, seconds=5.0 + n / 10, spans=hit(n), in_context=True),
            Answer(score=int(n < 2), seconds=105.0, spans=((f"tr-{n}", 0, 0),), in_context=False),
        )
        for n in range(QUESTIONS)
    }
    return read_run(write_run(tmp_path / "twice", root, answers).path)


@pytest.fixture
def once(tmp_path: Path, root: Path) -> RecordedRun:
    answers = {
        f"q-{n}": Answer(score=n % 2, seconds=20.0, spans=hit(n), in_context=True) for n in range(QUESTIONS)
    }
    return read_run(write_run(tmp_path / "once", root, answers).path)


def test_all_that_print_a_run_say_the_same(twice: RecordedRun, once: RecordedRun) -> None:
    gold, _ = gold_of_run(twice)
    seconds, right = (5.0 + 0.95 + 105.0) / 2, 0.55
    shown = summarise(twice.folder)
    point = frontier([twice], "small", gold).runs[0].point
    compared = compare(once, [twice], gold)[0]
    row = matrix_table({"once": once, "twice": twice}, "once", gold).rows[1]
    report = overview(load(twice.folder.path, "A"), [])
    tuned = answered(twice, ACCURACY)
    assert compared.latency is not None
    for told in (
        shown["latency"]["avg"],
        point.seconds,
        compared.latency.b["avg"],
        compared.latency.difference + 20.0,
        row.latency["avg"],
        report.latency["avg"],
        np.mean([one.seconds for one in tuned]),
    ):
        assert told == pytest.approx(seconds)
    for told in (
        shown["accuracy"]["conditional"],
        point.value,
        compared.rows[0].b,
        row.accuracy,
        report.accuracy.value,
        np.mean([one.quality for one in tuned]),
    ):
        assert told == pytest.approx(right)
    beside = {one.measure: one.b for one in compared.beside}
    found = (shown["evidence"]["hit"], row.evidence_hit, report.hit.value, beside["evidence_hit"])
    assert found == (0.5, 0.5, 0.5, 0.5)
    assert (beside["all_pieces_hit"], shown["evidence"]["all_pieces_hit"], row.all_pieces_hit) == (
        0.5,
        0.5,
        0.5,
    )
    assert (beside["answer_in_context"], shown["answer_in_context"], row.answer_in_context) == (0.5, 0.5, 0.5)
    assert (shown["evidence"]["n"], shown["answer_in_context_n"]) == (QUESTIONS, QUESTIONS)
    # Percentiles are over all passes, of which half took 105 s.
    assert (shown["latency"]["p95"], compared.latency.b["p95"], report.latency["p95"]) == (
        105.0,
        105.0,
        105.0,
    )


def test_their_intervals_are_those_of_the_means(twice: RecordedRun) -> None:
    gold, _ = gold_of_run(twice)
    shown = summarise(twice.folder)
    found = frontier([twice], "small", gold)
    interval = found.runs[0].point.interval
    assert interval is not None
    assert shown["accuracy"]["interval"] == [interval.low, interval.high]
    report = overview(load(twice.folder.path, "A"), [])
    assert report.accuracy.interval == interval
    # Every question has the same share of its answers in context: no spread, and Wilson's would claim 40.
    assert shown["answer_in_context_interval"] is None
    scored = scored_of(twice, ACCURACY, list(twice.results))
    assert scored.seconds[0] == pytest.approx(55.0)
    assert found.gain_interval is not None
    assert found.gain is not None
    assert found.gain_interval.low <= found.gain <= found.gain_interval.high


def test_a_repeat_that_is_nobodys_answer_counts_nowhere_and_hides_no_other(
    tmp_path: Path, root: Path
) -> None:
    failed = Answer(seconds=900.0, outcome=Outcome.SANDBOX_ERROR)
    answers: dict[str, Answer | tuple[Answer, ...]] = {
        f"q-{n}": (failed, Answer(score=1, seconds=10.0, spans=hit(n)))
        if n < 10
        else (Answer(score=0, seconds=30.0, spans=hit(n)), Answer(score=0, seconds=50.0, spans=hit(n)))
        for n in range(QUESTIONS)
    }
    run = read_run(write_run(tmp_path / "run", root, answers).path)
    gold, _ = gold_of_run(run)
    assert len(run.answered()) == len(run.scored()) == QUESTIONS
    point = frontier([run], "small", gold).runs[0].point
    shown = summarise(run.folder)
    report = overview(load(run.folder.path, "A"), [])
    assert (point.value, point.questions, point.seconds) == (0.5, QUESTIONS, 25.0)
    assert (shown["accuracy"]["conditional"], shown["latency"]["avg"]) == (0.5, 25.0)
    assert (report.accuracy.value, report.latency["avg"]) == (0.5, 25.0)
    on_the_clock = [shown["latency_breakdown"]["parts"][name]["avg"] for name in ("candidates", "harness")]
    assert sum(on_the_clock) == pytest.approx(25.0)
    assert len(answered(run, ACCURACY)) == QUESTIONS
    for measure in MEASURES[:1] + MEASURES[3:]:
        values = scored_of(run, measure, list(run.results))
        assert np.isfinite(values.scores).all()
        assert np.isfinite(values.seconds).all()


def test_an_interval_is_of_the_questions_of_its_figure(tmp_path: Path, root: Path) -> None:
    answers = {
        f"q-{n}": Answer(score=1, spans=hit(n)) if n < 10 else Answer(outcome=Outcome.PROVIDER_ERROR)
        for n in range(QUESTIONS)
    }
    run = read_run(write_run(tmp_path / "half", root, answers).path)
    gold, _ = gold_of_run(run)
    shown = summarise(run.folder)["accuracy"]
    row = matrix_table({"half": run}, "half", gold).rows[0]
    report = overview(load(run.folder.path, "A"), [])
    point = frontier([run], "small", gold).runs[0].point
    assert (row.accuracy, row.scored, row.accuracy_strict) == (1.0, 10, 0.5)
    assert (shown["conditional"], report.accuracy.value, point.value) == (1.0, 1.0, 1.0)
    assert row.accuracy_interval == shown["interval"]
    assert report.accuracy.interval == point.interval
    assert point.interval is not None
    assert [point.interval.low, point.interval.high] == shown["interval"]
    assert point.interval.high == 1.0
    assert (row.evidence_hit, report.hit.value, report.hit.count) == (1.0, 1.0, 10)
