"""How much of a run's score is chance, told from its repeats."""

from collections.abc import Sequence
from typing import Any

from evals.runs.config import RepeatCounts
from evals.runs.results import QuestionResult
from evals.statistics.variance import STAGES, split_variance, unsteady

NOT_ESTIMATED = "not estimated"


def repeat_figures(results: Sequence[QuestionResult], counts: RepeatCounts) -> dict[str, Any] | None:
    """Variances of a question's score by stage; None where nothing is repeated.

    `deviation` is the standard deviation of the run's accuracy, a mean over its repeats, from what was
    estimated.
    """
    if not counts.several:
        return None
    scores = {one.question_id: one.scores for one in results if one.mean_score is not None}
    split = split_variance(scores)
    variances = {stage: getattr(split, stage) for stage in STAGES}
    return {
        "counts": counts.model_dump(),
        "variance": {stage: NOT_ESTIMATED if value is None else value for stage, value in variances.items()},
        "includes": {stage: list(split.includes(stage)) for stage in STAGES if variances[stage] is not None},
        "deviation": split.deviation(scores.values()),
        "unsteady": sorted(unsteady(scores)),
    }
