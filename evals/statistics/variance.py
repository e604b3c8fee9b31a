"""Where the noise of a score comes from: repeats of the agent, the reader and the judge, each in the other.

Method of moments for nested random effects (Searle, Casella and McCulloch, Variance Components, 1992, ch. 4),
question by question, so that the difficulty of questions is no noise; unequal numbers of repeats are allowed.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeAlias

Repeats: TypeAlias = Sequence[Sequence[Sequence[float]]]
"""Scores of one question: agent's repeats > readings of each > verdicts on each."""

STAGES = ("agent", "reader", "judge")


@dataclass(frozen=True, slots=True)
class VarianceSplit:
    """Variances of a question's score, 0..1; None is not estimated: the stage was never repeated."""

    agent: float | None
    reader: float | None
    judge: float | None
    questions: int

    @property
    def total(self) -> float | None:
        """The sum of what was estimated; None where nothing was."""
        known = [one for one in (self.agent, self.reader, self.judge) if one is not None]
        return sum(known) if known else None

    def deviation(self, questions: Collection[Repeats]) -> float | None:
        """Standard deviation of the accuracy over these questions, were each run again with as many repeats.

        A question's score is the mean over its repeats, so that each stage's noise is less by their number.
        None where nothing was estimated, or no question has a score.
        """
        scored = [shares for question in questions if (shares := _shares(question))]
        if self.total is None or not scored:
            return None
        variances = (self.agent or 0.0, self.reader or 0.0, self.judge or 0.0)
        sums = [math.fsum(stage) for stage in zip(*scored, strict=True)]
        total = math.fsum(one * share for one, share in zip(variances, sums, strict=True))
        return math.sqrt(total) / len(scored)

    def includes(self, stage: str) -> tuple[str, ...]:
        """The stages below that were never repeated, so that their noise is in this stage's figure."""
        below = STAGES[STAGES.index(stage) + 1 :]
        return tuple(one for one in below if getattr(self, one) is None)


def split_variance(questions: Mapping[str, Repeats]) -> VarianceSplit:
    """Split the variance of scores over repeats. An estimate below 0 is 0, as usual."""
    agents = [[readings for readings in question if any(readings)] for question in questions.values()]
    readings = [readings for question in agents for readings in question]
    judge = _pooled([([*verdicts], 0.0) for group in readings for verdicts in group])
    reader = _pooled([_reader_group(group, judge or 0.0) for group in readings])
    agent = _pooled([_agent_group(group, reader or 0.0, judge or 0.0) for group in agents])
    return VarianceSplit(agent, reader, judge, len(questions))


def unsteady(questions: Mapping[str, Repeats]) -> list[str]:
    """The questions whose score was not the same in every repeat."""
    return [
        question_id
        for question_id, agents in questions.items()
        if len({score for readings in agents for verdicts in readings for score in verdicts}) > 1
    ]


def _shares(question: Repeats) -> tuple[float, float, float] | None:
    """By stage the sum of the squares of what each of its repeats has in the mean; None without a score."""
    verdicts = [[len(one) for one in readings] for readings in question]
    count = sum(map(sum, verdicts))
    if count == 0:
        return None
    agent = sum(sum(readings) ** 2 for readings in verdicts)
    reader = sum(one**2 for readings in verdicts for one in readings)
    return agent / count**2, reader / count**2, 1 / count


def _pooled(groups: Sequence[tuple[list[float], float]]) -> float | None:
    """Mean variance within groups, less the noise of their members, weighted by degrees of freedom."""
    repeated = [(members, noise) for members, noise in groups if len(members) > 1]
    if not repeated:
        return None
    freedom = sum(len(members) - 1 for members, _ in repeated)
    excess = sum((len(members) - 1) * (_variance(members) - noise) for members, noise in repeated)
    return max(0.0, excess / freedom)


def _variance(members: Sequence[float]) -> float:
    """Sample variance in floating point: the standard library's is exact, and far slower."""
    middle = fmean(members)
    return math.fsum((one - middle) ** 2 for one in members) / (len(members) - 1)


def _reader_group(group: Sequence[Sequence[float]], judge: float) -> tuple[list[float], float]:
    judged = [verdicts for verdicts in group if verdicts]
    return [fmean(verdicts) for verdicts in judged], judge * fmean(1 / len(verdicts) for verdicts in judged)


def _agent_group(
    question: Sequence[Sequence[Sequence[float]]], reader: float, judge: float
) -> tuple[list[float], float]:
    means, noises = [], []
    for group in question:
        members, judged = _reader_group(group, judge)
        means.append(fmean(members))
        noises.append((reader + judged) / len(members))
    return means, fmean(noises) if noises else 0.0
