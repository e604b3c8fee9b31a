"""Runs of equal settings are repeats: how much their accuracy moves by chance alone."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from evals.recorded import RecordedRun
from evals.statistics.variance import Repeats, VarianceSplit, split_variance, unsteady


@dataclass(frozen=True, slots=True)
class Noise:
    """What repeats say. Each run is one repeat of agent, reader and judge together, or several."""

    runs: int
    questions: int
    """With a score in at least two of the runs."""
    split: VarianceSplit
    deviation: float | None
    """Standard deviation of the accuracy of one such run over these questions, 0..1."""
    unsteady: list[str]
    """Questions whose score is not the same in all runs."""


def independent(runs: Sequence[RecordedRun]) -> bool:
    """Whether each asked the memory anew: no run twice, no copy, and no revision of another's answers."""
    return not any(_shared_answer(one, other) for one, other in combinations(runs, 2))


def _shared_answer(one: RecordedRun, other: RecordedRun) -> bool:
    if one.folder.path.resolve() == other.folder.path.resolve():
        return True
    common = one.results.keys() & other.results.keys()
    pairs = [(one.results[question].queries, other.results[question].queries) for question in common]
    return any(query in others for queries, others in pairs for query in queries)


def noise_of(runs: Sequence[RecordedRun]) -> Noise | None:
    """The noise of repeats, which are `independent`; None where no question has a score in two of them."""
    scored = [run.scored() for run in runs]
    repeats: dict[str, Repeats] = {}
    for question_id in dict.fromkeys(question for one in scored for question in one):
        found = [one[question_id].scores for one in scored if question_id in one]
        if len(found) > 1:
            repeats[question_id] = [agent for run in found for agent in run]
    if not repeats:
        return None
    split = split_variance(repeats)
    deviations = [
        split.deviation([result.scores for question, result in one.items() if question in repeats])
        for one in scored
    ]
    known = [one for one in deviations if one is not None]
    return Noise(
        runs=len(runs),
        questions=len(repeats),
        split=split,
        deviation=math.sqrt(fmean(one**2 for one in known)) if known else None,
        unsteady=sorted(unsteady(repeats)),
    )
