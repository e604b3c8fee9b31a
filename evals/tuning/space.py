"""The settings that a study may try: choices and ranges of a run's settings, checked before anything runs."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import sha256
from itertools import product
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from evals.runs.config import RunConfig
from evals.runs.measuring import MEASURED_ALIKE
from evals.tuning.study_file import Scalar, SpaceError, StudyError, StudyFile, flat
from runbook.complaints import of_validation
from runbook.toml_places import Fault

Setting = Mapping[str, Scalar]
"""A value for each dimension of the space: of a key itself, or the option of a variant."""

MEASURING = MEASURED_ALIKE | {"store", "gates", "concurrency", "tuned_on"}
"""Keys that say what is measured and how: the same in all settings, or they could not be compared."""


_LARGEST = 2**53  # beyond it a float skips whole numbers
_UNUSABLE = "numbers have to be finite, and whole ones at most 2**53"


class Range(BaseModel):
    """Numbers from low to high, both included."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    low: int | float
    high: int | float
    step: int | float | None = None
    log: bool = False
    """Even on a logarithmic scale."""

    @model_validator(mode="after")
    def _sound(self) -> "Range":
        if not all(map(_is_usable, (self.low, self.high, self.step or 1))):
            raise ValueError(_UNUSABLE)
        if not self.low < self.high:
            raise ValueError("low has to be below high")
        if self.step is not None and (self.step <= 0 or self.log):
            raise ValueError("step has to be above 0, and goes without log")
        if self.step is not None and (self.high - self.low) / self.step > _LARGEST:
            raise ValueError("step is too small for so wide a range")
        if self.log and self.low <= 0:
            raise ValueError("log needs a low above 0")
        return self

    @property
    def whole(self) -> bool:
        """Whether its numbers are whole ones."""
        return isinstance(self.low, int) and isinstance(self.high, int) and isinstance(self.step or 1, int)

    @property
    def count(self) -> int | None:
        """How many there are; None for infinitely many."""
        if self.whole:
            return int((self.high - self.low) // (self.step or 1)) + 1
        return None if self.step is None else math.floor((self.high - self.low) / self.step + 1e-9) + 1

    def values(self) -> Iterator[Scalar]:
        """All of them, where they can be counted."""
        step = self.step or 1
        return (self.low + index * step for index in range(self.count or 0))


def _is_usable(value: int | float) -> bool:
    """Whether a number is finite, and every program that it passes through can hold it as it is."""
    return abs(value) <= _LARGEST if isinstance(value, int) else math.isfinite(value)


Dimension = Range | tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Space:
    """Dimensions by name, and what the options of variants stand for."""

    dimensions: Mapping[str, Dimension]
    variants: Mapping[str, Mapping[str, Mapping[str, Any]]]

    @property
    def size(self) -> int | None:
        """How many settings there are; None for infinitely many."""
        sizes = [one.count if isinstance(one, Range) else len(one) for one in self.dimensions.values()]
        return None if None in sizes else math.prod(size for size in sizes if size is not None)

    def settings(self) -> Iterator[Setting]:
        """All settings of a finite space, which is not large."""
        values = [one.values() if isinstance(one, Range) else one for one in self.dimensions.values()]
        return (dict(zip(self.dimensions, one, strict=True)) for one in product(*values))

    def changes(self, setting: Setting) -> dict[str, Any]:
        """What a setting puts over the base, by dotted key."""
        changes: dict[str, Any] = {}
        for name, value in setting.items():
            changes |= flat(self.variants[name][str(value)]) if name in self.variants else {name: value}
        return changes


def digest(setting: Setting) -> str:
    """The same for equal settings."""
    return sha256(orjson.dumps(dict(setting), option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def space_of(study: StudyFile, check: Callable[[Mapping[str, Any]], object]) -> Space:
    """The space of a study.

    Args:
        check: raises ValueError for changes, by dotted key, that do not fit the base.

    Raises:
        SpaceError: it is empty, or keys or values are none of a run's settings, each tried alone on the base.
    """
    dimensions: dict[str, Dimension] = {}
    faults: list[Fault] = []
    for key, value in flat(study.space).items():
        try:
            dimensions[key] = _dimension(key, value)
        except StudyError as error:
            faults.append((_place(key, study), str(error)))
    for name, options in study.variants.items():
        if name in RunConfig.model_fields or name in dimensions:
            faults.append(
                (_place(name, study), f"variants.{name}: a variant needs a name that is no setting's")
            )
        else:
            dimensions[name] = tuple(options)
    faults += [*_twice(study)]
    space = Space(dimensions, study.variants)
    for name in dimensions:
        faults += [(_place(name, study), fault) for fault in _unfit(name, space, check, study)]
    if faults:
        raise SpaceError(faults)
    _refuse_empty(dimensions)
    return space


def _unfit(
    name: str, space: Space, check: Callable[[Mapping[str, Any]], object], study: StudyFile
) -> Iterator[str]:
    """What is wrong with the values of one dimension, each tried alone on the base."""
    dimension = space.dimensions[name]
    wrong: set[str] = set()
    for value in (dimension.low, dimension.high) if isinstance(dimension, Range) else dimension:
        changes = space.changes({name: value})
        fault = next((fault for key in changes if (fault := _no_setting(name, key))), "")
        if not fault:
            try:
                check(changes)
            except ValueError as error:
                fault = f"{'.'.join(_place(name, study))} = {value!r}: {error}"
        if fault and fault not in wrong:
            wrong.add(fault)
            yield fault


def _dimension(key: str, value: Any) -> Dimension:
    if isinstance(value, dict):
        try:
            return Range.model_validate(value)
        except ValidationError as error:
            raise StudyError(f"space.{key}: {of_validation(error, Range)}") from None
    if not isinstance(value, list) or not all(isinstance(one, (bool, int, float, str)) for one in value):
        raise StudyError(
            f"space.{key}: write a list of values, or {{low = 1, high = 9}}; "
            "what is no number, word or truth value goes into [variants.NAME.OPTION]"
        )
    if not all(isinstance(one, str) or _is_usable(one) for one in value):
        raise StudyError(f"space.{key}: {_UNUSABLE}")
    return tuple(dict.fromkeys(value)) if len({type(one) for one in value}) == 1 else tuple(value)


def _refuse_empty(dimensions: Mapping[str, Dimension]) -> None:
    if not dimensions:
        empty = "the space is empty: name what to try under [space] or [variants.NAME.OPTION]"
        raise SpaceError([(("space",), empty)])
    for name, dimension in dimensions.items():
        if not isinstance(dimension, Range) and not dimension:
            raise SpaceError([(("space", name), f"space.{name}: there is nothing to choose from")])
    if all(not isinstance(one, Range) and len(one) == 1 for one in dimensions.values()):
        raise SpaceError([(("space",), "the space holds one setting only: there is nothing to tune")])


def _twice(study: StudyFile) -> Iterator[Fault]:
    """Keys that two dimensions set, which would be whatever came last."""
    owners = dict.fromkeys(flat(study.space), "space")
    for name, options in study.variants.items():
        keys = {key for option in options.values() for key in flat(option)}
        for key in sorted(keys):
            if key in owners:
                yield _place(name, study), f"{key} is tried twice: in {owners[key]} and in variants.{name}"
        owners |= dict.fromkeys(keys, f"variants.{name}")


def _no_setting(name: str, key: str) -> str:
    """Why a key cannot be tried; empty where it can."""
    top = key.partition(".")[0]
    if top not in RunConfig.model_fields:
        close = get_close_matches(top, RunConfig.model_fields, 1)
        meant = f"; did you mean {close[0]}?" if close else ""
        return f"{name}: there is no setting {key!r}{meant}"
    if top in MEASURING:
        return f"{name}: {top} says what is measured, so it is the same in all settings: put it into [base]"
    return ""


def _place(name: str, study: StudyFile) -> tuple[str, ...]:
    return ("variants", name) if name in study.variants else ("space", *name.split("."))
