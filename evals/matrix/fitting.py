"""Whether recorded runs are the arms of a matrix: made with its settings, and comparable with each other."""

from collections.abc import Mapping

from evals.comparison.differences import differences
from evals.matrix.plan import MatrixPlan
from evals.recorded import RecordedRun
from evals.runs.folder import RunFolder
from evals.runs.measuring import unequal


class MisfitError(ValueError):
    """The runs make no table; the message says which, why, and what to do."""


def refuse_unfit(plan: MatrixPlan, runs: Mapping[str, RecordedRun]) -> None:
    """Raise MisfitError where a run is not the arm of its name, or differs from the reference in more.

    A later reader or judge is no other arm, but all arms need the same one.
    """
    base = runs[plan.reference]
    for name, run in runs.items():
        begun = RunFolder(run.folder.path, 0).record()
        if other := unequal(begun.config, plan.arms[name]):
            raise MisfitError(
                f"{run.folder.path} was made with another {other[0]} than arms.{name} has: name the folder "
                "of the matrix's own runs with --out, or restore the settings"
            )
        common = [one for one in base.results if one in run.results]
        if unlike := [one for one in differences(base, run, common) if one.aspect]:
            raise MisfitError(
                f"arms {plan.reference} and {name} differ in more than the memory: "
                f"{'; '.join(map(str, unlike))} (`runbook eval rejudge` and `reread` bring arms to one judge "
                "and one reader; else run them anew in another folder)"
            )
