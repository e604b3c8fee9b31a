"""Two runs beside each other: what they have in common, and why not more."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from evals.comparison.compare import Comparison, compare
from evals.frontier.frontier import Frontier, frontier
from evals.frontier.points import NoPointError
from evals.report.chapter import Chapter
from evals.report.loading import ReportedRun
from evals.runs.remarks import told_of

Flip = Literal["", "a", "b"]


@dataclass(frozen=True, slots=True)
class Paired:
    """A comparison, or why there is none."""

    comparison: Comparison | None
    problem: str

    @property
    def warnings(self) -> list[str]:
        """In what the runs differ beside their memory, so that a difference may not be the memory's."""
        if self.comparison is None:
            return []
        return [str(one) for one in self.comparison.differences if one.aspect]


def pair(a: ReportedRun, b: ReportedRun) -> Paired:
    """Compare two runs over the questions that both have."""
    common = a.run.results.keys() & b.run.results.keys()
    if not common:
        return Paired(None, "The two runs have no question in common, so nothing is compared.")
    try:
        return Paired(compare(a.run, [b.run], a.gold or b.gold)[0], "")
    except ValueError as error:
        return Paired(None, f"Nothing is compared: {error}.")


def flip_of(chapters: Sequence[Chapter]) -> Flip:
    """Which of two runs alone has a question right; "" for neither, both, or where one has no score."""
    marks = {one.letter: one.mark for one in chapters}
    if marks.get("A") == "right" and marks.get("B") == "wrong":
        return "a"
    return "b" if marks.get("A") == "wrong" and marks.get("B") == "right" else ""


def frontier_of(runs: Sequence[ReportedRun]) -> tuple[Frontier | None, str]:
    """The runs on the frontier of the first one's tier, or why there is none.

    What is said of the runs at the head of the report is not said again.
    """
    tier = runs[0].run.record.config.tier
    try:
        gold = {question: one for run in reversed(runs) for question, one in run.gold.items()}
        found = frontier([run.run for run in runs], tier, gold)
        above = told_of(run.run for run in runs)
        found = replace(found, remarks=[one for one in found.remarks if one not in above])
    except NoPointError as error:
        return None, f"No frontier: {error}."
    except KeyError:
        return None, f"No frontier: there are no published points of tier {tier}."
    if not found.reference and len(runs) < 2:
        return None, "No frontier: without a reader there is no accuracy to put beside the published points."
    return found, ""
