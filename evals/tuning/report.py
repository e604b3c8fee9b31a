"""What a study found: every setting that was tried, the chosen ones on other questions than they were chosen
on, and how much of the best one's lead is chance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evals.frontier.frontier import Frontier, frontier
from evals.frontier.points import scored_of
from evals.recorded import read_run
from evals.statistics.clusters import clusters_of
from evals.statistics.intervals import Interval
from evals.statistics.shares import mean_share_interval
from evals.tuning.answers import answered
from evals.tuning.choosing import expected_lead, mean_of_means, operating_points, paired_lead
from evals.tuning.plan import Plan
from evals.tuning.proposals import Proposal, State
from evals.tuning.racing import Answered, Figures, figures


@dataclass(frozen=True, slots=True)
class Tried:
    """One setting on the search questions; figures are over the questions that it answered."""

    number: int
    setting: Mapping[str, Any]
    state: State
    reason: str
    questions: int
    figures: Figures | None


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A chosen setting on the questions kept for confirmation."""

    names: list[str]
    """The operating points that it is."""
    number: int
    run: str
    questions: int
    figures: Figures
    interval: Interval | None
    """Of the quality, 95 %, by cluster."""
    searched_quality: float
    """What it was chosen for, beside which the confirmed quality shows how much of that was chance."""


@dataclass(frozen=True, slots=True)
class Chance:
    """How much better the best of equal settings looks than it is, 0..1."""

    settings: int
    """How many were tried."""
    questions: int
    independent: float
    """Were their answers independent."""
    paired: float | None
    """As the finished settings really vary over the same questions; None with fewer than two of them."""


@dataclass(frozen=True, slots=True)
class StudyResult:
    """`result.json`. Only `confirmed` and `frontier` are headline figures."""

    measure: str
    objective: str
    tier: str
    ended: str
    """Why the search ended."""
    search_questions: int
    confirm_questions: int
    clusters: int
    settings: list[Tried]
    chosen: Mapping[str, int]
    """Operating points by name, chosen on the search questions."""
    chance: Chance
    confirmed: list[Confirmed]
    frontier: Frontier | None
    """Of the confirmed settings; None where none could be confirmed."""
    usd: float
    hours: float
    remarks: list[str]


@dataclass(frozen=True, slots=True)
class Searched:
    """What the search left behind."""

    ended: str
    proposals: Sequence[Proposal]
    answers: Mapping[int, Sequence[Answered]]
    """Of each setting that was run, by number."""

    @property
    def done(self) -> dict[int, Figures]:
        """Of the settings that answered all questions."""
        complete = (one.number for one in self.proposals if one.state is State.COMPLETE)
        return {number: figures(self.answers[number]) for number in complete}

    @property
    def tried(self) -> int:
        """How many settings were run, finished or not: each was a chance to look good."""
        return sum(bool(self.answers.get(one.number)) for one in self.proposals)

    def chosen(self, plan: Plan) -> dict[str, int]:
        """The setting of each operating point."""
        return operating_points(
            self.done, plan.objective, plan.base.tier, keep=plan.study.study.keep, money=plan.money
        )


def result_of(
    plan: Plan, searched: Searched, confirmed: Mapping[int, Path], *, usd: float, hours: float
) -> StudyResult:
    """All that there is to say.

    Args:
        confirmed: runs over the questions kept for confirmation, by number of the setting.
    """
    chosen, done = searched.chosen(plan), searched.done
    runs = {number: read_run(path) for number, path in confirmed.items()}
    remarks = list(plan.remarks)
    if unconfirmed := sorted(set(chosen.values()) - set(confirmed)):
        remarks.append(
            f"Not confirmed, since a cap was reached: {', '.join(f'setting {one}' for one in unconfirmed)}. "
            "Figures of the search are no result; raise the cap and start the study again."
        )
    if runs and clusters_of(plan.split.confirm, plan.data.gold).few:
        remarks.append(
            "The confirmed figures are over few clusters of questions: take their intervals as rough."
        )
    return StudyResult(
        measure=plan.measure.name,
        objective=plan.objective,
        tier=plan.base.tier,
        ended=searched.ended,
        search_questions=len(plan.split.search),
        confirm_questions=len(plan.split.confirm),
        clusters=plan.split.clusters,
        settings=[_tried(one, searched.answers.get(one.number, ())) for one in searched.proposals],
        chosen=chosen,
        chance=_chance(searched, len(plan.split.search)),
        confirmed=[
            _confirmed(plan, number, confirmed[number], chosen, done[number].quality) for number in runs
        ],
        frontier=frontier(list(runs.values()), plan.base.tier, plan.data.gold or {}) if runs else None,
        usd=usd,
        hours=hours,
        remarks=remarks,
    )


def _tried(proposal: Proposal, answers: Sequence[Answered]) -> Tried:
    return Tried(
        proposal.number,
        proposal.setting,
        proposal.state,
        proposal.reason,
        len(answers),
        figures(answers) if answers else None,
    )


def _chance(searched: Searched, questions: int) -> Chance:
    done = searched.done
    values = np.array([[one.quality for one in searched.answers[number]] for number in done], dtype=float)
    return Chance(
        settings=searched.tried,
        questions=questions,
        independent=expected_lead(max(1, searched.tried), questions, mean_of_means(list(done.values()))),
        paired=paired_lead(values, searched.tried) if len(done) > 1 else None,
    )


def _confirmed(
    plan: Plan, number: int, path: Path, chosen: Mapping[str, int], searched_quality: float
) -> Confirmed:
    run = read_run(path)
    answers = answered(run, plan.measure)
    ids = list(run.record.questions)
    values = scored_of(run, plan.measure, ids).scores
    there = np.isfinite(values)
    return Confirmed(
        names=[name for name, one in chosen.items() if one == number],
        number=number,
        run=str(path),
        questions=len(answers),
        figures=figures(answers),
        interval=mean_share_interval(values[there], clusters_of(ids, plan.data.gold).among(there)),
        searched_quality=searched_quality,
    )
