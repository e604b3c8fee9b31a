"""The interval beside a run's accuracy, with and without repeats."""

from pathlib import Path

import pytest

from evals.recorded import read_run
from evals.runs.records import VerdictRecord
from evals.runs.score_interval import score_interval
from evals.statistics.intervals import wilson_interval
from runbook.cli.tables import _rows
from runbook.outcomes import Outcome
from tests.data_roots import write_data_root
from tests.recorded_runs import Answer, write_run


def judged_twice(path: Path, *, questions: int, trajectories: int) -> Path:
    """A run with two verdicts on each response: a third of the questions right in both, a third in one."""
    root = write_data_root(path / "data", questions=questions, trajectories=trajectories)
    answers = {f"q-{n}": Answer(score=int(n % 3 == 0)) for n in range(questions)}
    folder = write_run(path / "run", root, answers, repeats={"judge": 2})
    for number, question_id in enumerate(answers):
        first = folder.records(question_id, VerdictRecord)[0]
        assert first.verdict is not None
        score = int(number % 3 < 2)
        verdict = first.verdict.model_copy(update={"score": score, "label": score})
        again = VerdictRecord(
            question_id=question_id, reading_k=1, repeat=1, outcome=Outcome.OK, verdict=verdict
        )
        folder.append(again)
    return folder.path


def test_without_repeats_it_is_wilsons(data_root: Path, tmp_path: Path) -> None:
    write_run(tmp_path / "run", data_root, {f"q-{n}": Answer(score=n % 2) for n in range(3)})
    told = score_interval(read_run(tmp_path / "run"))
    assert (told.ends, told.method) == (wilson_interval(1, 3), "Wilson's")


def test_with_repeats_questions_are_drawn_with_their_means(tmp_path: Path) -> None:
    told = score_interval(read_run(judged_twice(tmp_path, questions=30, trajectories=30)))
    assert told.ends is not None
    assert told.ends.low < 0.5 < told.ends.high
    # Means of 0, 1/2 and 1: they spread less than zeros and ones do.
    assert told.ends.high - told.ends.low == pytest.approx(2 * 2.05 * (1 / 6 / 30) ** 0.5, rel=0.15)
    assert told.method.endswith("over 30 clusters of questions, by gold evidence")


def test_few_clusters_and_missing_gold_are_said(tmp_path: Path) -> None:
    run = judged_twice(tmp_path, questions=30, trajectories=6)
    assert score_interval(read_run(run)).method.endswith("by gold evidence: too few to trust it")
    (tmp_path / "data" / "gold.json").unlink()
    assert "over 30 clusters of questions, by question (" in score_interval(read_run(run)).method


def test_the_table_names_it(tmp_path: Path) -> None:
    from evals.runs.summary import summarise

    run = read_run(judged_twice(tmp_path, questions=30, trajectories=30))
    rows = dict(_rows(summarise(run.folder)))
    assert "95 % interval" in rows["accuracy"]
    assert rows["  interval"].startswith("bootstrap of the questions' means")


def test_near_an_end_it_is_no_surer_than_wilsons_and_says_so(data_root: Path, tmp_path: Path) -> None:
    right, wrong = Answer(score=1), Answer(score=0)
    write_run(
        tmp_path / "run", data_root, {"q-0": (right, right), "q-1": (right, wrong), "q-2": (right, right)}
    )
    told, wilsons = score_interval(read_run(tmp_path / "run")), wilson_interval(2.5, 3)
    assert told.ends is not None
    assert wilsons is not None
    assert told.ends.low <= wilsons.low
    assert told.method.endswith("joined with Wilson's, for few are right or wrong")
