"""Runs of equal settings are repeats: how much their accuracy moves by chance alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from evals.recorded import RecordedRun
from evals.statistics.variance import Repeats, VarianceSplit, split_variance, unsteady


@dataclass(frozen=True, slots=True)
class Noise:
    """What repeats say. Each run is one repeat of agent, reader and judge together."""

    runs: int
    questions: int
    """With a score in at least two of the runs."""
    split: VarianceSplit
    deviation: float | None
    """Standard deviation of the accuracy of one such run over these questions, 0..1."""
    unsteady: list[str]
    """Questions whose score is not the same in all runs."""


def noise_of(runs: Sequence[RecordedRun]) -> Noise | None:
    """The noise of repeats; None where no question has a score in two of them."""
    scored = [run.scored() for run in runs]
    repeats: dict[str, Repeats] = {}
    for question_id in dict.fromkeys(question for one in scored for question in one):
        scores = [one[question_id].score for one in scored if question_id in one]
        if len(scores) > 1:
            repeats[question_id] = [[[float(score or 0)]] for score in scores]
    if not repeats:
        return None
    split = split_variance(repeats)
    return Noise(
        runs=len(runs),
        questions=len(repeats),
        split=split,
        deviation=split.deviation(len(repeats)),
        unsteady=sorted(unsteady(repeats)),
    )
