"""Scores of a run with and without an errata file. The recorded verdicts stay as they are."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evals.errata.overlay import Errata, ErrataError, Erratum
from evals.question import EvalQuestion
from evals.runs.results import QuestionResult
from evals.scoring.eval_function import parse_eval_function
from evals.scoring.evaluate import score


@dataclass(frozen=True, slots=True)
class Scores:
    """Accuracy over some questions; shares are 0..1, None over no question."""

    questions: int
    scored: int
    correct: int
    strict: float | None
    """Correct of all."""
    conditional: float | None
    """Correct of the scored."""


@dataclass(frozen=True, slots=True)
class Rescored:
    """A run's accuracy with and without an errata file."""

    errata: str
    """Its name and version."""
    sha256: str
    without: Scores
    with_errata: Scores
    excluded: list[str]
    became_right: list[str]
    needs_judge: list[str]
    """With further answers, but scored 0 by a judge model, which was not asked again: they stay 0."""
    unknown: list[str]
    """In the file, but no question of the run."""


def rescore(
    results: Iterable[QuestionResult], questions: Mapping[str, EvalQuestion], errata: Errata
) -> Rescored:
    """Apply an errata file to the recorded responses.

    A question with further answers is right where the response is right by the gold or by one of them, as its
    own evaluator says.
    """
    everything = list(results)
    errors = {one.id: one for one in errata.question}
    kept = [one for one in everything if not _excluded(errors.get(one.question_id))]
    became_right, needs_judge = [], []
    for one in kept:
        erratum = errors.get(one.question_id)
        if erratum is None or one.score != 0:
            continue
        if parse_eval_function(questions[one.question_id].eval_function).needs_model:
            needs_judge.append(one.question_id)
        elif _right_by(erratum, questions[one.question_id], one):
            became_right.append(one.question_id)
    present = {one.question_id for one in everything}
    return Rescored(
        errata=f"{errata.name} {errata.version}",
        sha256=errata.sha256,
        without=_scores(everything, ()),
        with_errata=_scores(kept, became_right),
        excluded=[one.question_id for one in everything if _excluded(errors.get(one.question_id))],
        became_right=became_right,
        needs_judge=needs_judge,
        unknown=[one.id for one in errata.question if one.id not in present],
    )


def check_made_for(errata: Errata, questions_sha256: str | None) -> None:
    """Raise ErrataError where the file names another questions.jsonl than the run's."""
    if errata.questions_sha256 is not None and errata.questions_sha256 != questions_sha256:
        raise ErrataError(
            f"the errata {errata.name} {errata.version} are for a questions.jsonl with SHA-256 "
            f"{errata.questions_sha256[:12]}, the run's has {(questions_sha256 or 'none')[:12]}"
        )


def _excluded(erratum: Erratum | None) -> bool:
    return erratum is not None and erratum.exclude


def _right_by(erratum: Erratum, question: EvalQuestion, result: QuestionResult) -> bool:
    if result.reading is None or result.reading.reading is None:
        return False
    response = result.reading.reading.response
    verdicts = [score(question.model_copy(update={"answer": answer}), response) for answer in erratum.also]
    return any(verdict is not None and verdict.score == 1 for verdict in verdicts)


def _scores(results: Sequence[QuestionResult], became_right: Sequence[str]) -> Scores:
    scores = [1 if one.question_id in became_right else one.score for one in results if one.score is not None]
    correct = sum(score or 0 for score in scores)
    return Scores(
        questions=len(results),
        scored=len(scores),
        correct=correct,
        strict=correct / len(results) if results else None,
        conditional=correct / len(scores) if scores else None,
    )
