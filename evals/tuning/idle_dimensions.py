"""What a study would try for nothing: dimensions whose values all make the same run."""

from collections.abc import Iterator
from itertools import product

from evals.runs.idle_switches import effective
from evals.tuning.plan import Plan
from evals.tuning.space import Dimension, Range, Setting
from evals.tuning.study_file import Scalar, StudyError

_WHO = frozenset({"agent", "memory", "retrieval.cascade.quick", "retrieval.cascade.slow"})
"""Settings on which it depends who reads what."""


def refuse_idle(plan: Plan) -> None:
    """Raise StudyError where nobody whom the study asks reads what a dimension changes."""
    for name, dimension in plan.space.dimensions.items():
        values = _values(dimension)
        if len(values) > 1 and not any(_differ(plan, who, name, values) for who in _askers(plan, name)):
            key = f"variants.{name}" if name in plan.study.variants else f"space.{name}"
            raise StudyError(
                f"{key}: agent {plan.base.agent}, memory {plan.base.memory} do not read it, so all its "
                "values are the same setting: leave it out"
            )


def _differ(plan: Plan, who: Setting, name: str, values: tuple[Scalar, ...]) -> bool:
    first, *others = (effective(plan.search_config({**who, name: value})) for value in values)
    return any(other != first for other in others)


def _askers(plan: Plan, without: str) -> Iterator[Setting]:
    """All that the study may ask, as far as other dimensions than this one choose it."""
    chosen = {
        name: _values(dimension)
        for name, dimension in plan.space.dimensions.items()
        if name != without and (name in _WHO or name in plan.study.variants)
    }
    return (dict(zip(chosen, one, strict=True)) for one in product(*chosen.values()))


def _values(dimension: Dimension) -> tuple[Scalar, ...]:
    return (dimension.low, dimension.high) if isinstance(dimension, Range) else dimension
