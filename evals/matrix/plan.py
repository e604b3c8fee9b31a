"""What a matrix file says: settings that all arms share, and what each arm changes.

reference = "scout"             the arm that differences are taken to; the first where none is named

[run]                           keys of a run's settings, for all arms
data = "data"
reader = { base_url = "...", model = "..." }

[arms.none]                     keys of a run's settings, over those of [run], table by table
memory = "none"
[arms.scout]
agent = "scout"
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evals.runs.config import RunConfig
from evals.runs.config_file import ConfigError, checked, place_paths, read_toml
from evals.runs.measuring import MEASURED_ALIKE, unequal
from runbook.complaints import faults_of
from runbook.toml_places import Fault, Place, TomlPlaces, told_faults

_KEYS = {"reference", "run", "arms"}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


@dataclass(frozen=True, slots=True)
class MatrixPlan:
    """The arms by name, in the file's order."""

    reference: str
    arms: Mapping[str, RunConfig]


def read_plan(file: Path, *, store: Path) -> MatrixPlan:
    """Read a matrix file; `store` is used where it names none.

    Raises:
        ConfigError: it cannot be read, or does not fit; the message names the file and all that is wrong.
    """
    table = read_toml(file)
    faults: list[Fault] = [
        ((key,), f"there is no key {key!r}; there are {', '.join(sorted(_KEYS))}")
        for key in sorted(table.keys() - _KEYS)
    ]
    shared, arms = table.get("run", {}), table.get("arms", {})
    if not isinstance(shared, dict) or not isinstance(arms, dict):
        raise _error(file, [*faults, (("arms",), "[run] and [arms.NAME] are tables of a run's settings")])
    if len(arms) < 2:
        faults.append((("arms",), "name at least two arms, each as [arms.NAME]"))
    reference = table.get("reference", next(iter(arms), ""))
    if arms and (not isinstance(reference, str) or reference not in arms):
        faults.append(
            (("reference",), f"reference: there is no arm {reference!r}; there are {', '.join(arms)}")
        )
    configs = _configs(file, shared, arms, store, faults)
    faults += _unlike(configs)
    if faults:
        raise _error(file, faults)
    return MatrixPlan(str(reference), configs)


def _error(file: Path, faults: Sequence[Fault]) -> ConfigError:
    return ConfigError(told_faults(file, TomlPlaces.of_file(file), faults))


def _configs(
    file: Path, shared: dict[str, Any], arms: dict[str, Any], store: Path, faults: list[Fault]
) -> dict[str, RunConfig]:
    """The arms that fit; what is wrong with the others goes to `faults`, once where it is in [run]."""
    configs: dict[str, RunConfig] = {}
    for name, arm in arms.items():
        if not _NAME.fullmatch(name):
            fault = f"{name!r} names a folder: use letters, digits, dots, - and _, at most 40"
            faults.append((("arms", name), fault))
        if not isinstance(arm, dict):
            faults.append((("arms", name), f"arms.{name} is no table of a run's settings"))
            continue
        settings = _over(_over({"store": str(store)}, shared), arm)
        place_paths(settings, file.parent)
        try:
            configs[name] = checked(settings)
        except ValidationError as error:
            for place, told in faults_of(error, RunConfig):
                of_all = place and place[0] in shared and place[0] not in arm
                within: Place = ("run",) if of_all else ("arms", name)
                one: Fault = ((*within, *place), f"{'.'.join(map(str, within))}: {told}")
                faults += [one] if one not in faults else []
    return configs


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """`above` over `below`, table by table."""
    merged = deepcopy(dict(below))
    for key, value in above.items():
        known = merged.get(key)
        both = isinstance(known, dict) and isinstance(value, dict)
        merged[key] = _over(known, value) if both else deepcopy(value)  # type: ignore[arg-type]
    return merged


def _unlike(configs: Mapping[str, RunConfig]) -> Iterator[Fault]:
    """The settings that arms do not have alike, though figures need it."""
    named = list(configs.items())
    for name, config in named[1:]:
        for key in unequal(config, named[0][1]):
            if key in MEASURED_ALIKE:
                yield (
                    ("arms", name, key),
                    f"arms.{name}: {key} is not that of arms.{named[0][0]}: put it into [run], for arms "
                    "differ in their memory alone",
                )
