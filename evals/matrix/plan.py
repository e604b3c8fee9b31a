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
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.runs.config import RunConfig
from evals.runs.config_file import ConfigError, config_of, place_paths, read_toml
from evals.runs.measuring import MEASURED_ALIKE, unequal

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
        ConfigError: it cannot be read, or does not fit; the message names the file and the key.
    """
    table = read_toml(file)
    if unknown := sorted(table.keys() - _KEYS):
        raise ConfigError(f"{file}: there is no key {unknown[0]!r}; there are {', '.join(sorted(_KEYS))}")
    shared, arms = table.get("run", {}), table.get("arms", {})
    if not isinstance(shared, dict) or not isinstance(arms, dict):
        raise ConfigError(f"{file}: [run] and [arms.NAME] are tables of a run's settings")
    if len(arms) < 2:
        raise ConfigError(f"{file}: name at least two arms, each as [arms.NAME]")
    configs = {name: _config(file, name, shared, arm, store) for name, arm in arms.items()}
    reference = table.get("reference", next(iter(configs)))
    if not isinstance(reference, str) or reference not in configs:
        raise ConfigError(f"{file}: reference: there is no arm {reference!r}; there are {', '.join(configs)}")
    _refuse_unlike(file, configs)
    return MatrixPlan(reference, configs)


def _config(file: Path, name: str, shared: dict[str, Any], arm: Any, store: Path) -> RunConfig:
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{file}: {name!r} names a folder: use letters, digits, dots, - and _, at most 40")
    if not isinstance(arm, dict):
        raise ConfigError(f"{file}: arms.{name} is no table of a run's settings")
    settings = _over(_over({"store": str(store)}, shared), arm)
    place_paths(settings, file.parent)
    return config_of(settings, f"{file}: arms.{name}: ")


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """`above` over `below`, table by table."""
    merged = deepcopy(dict(below))
    for key, value in above.items():
        known = merged.get(key)
        both = isinstance(known, dict) and isinstance(value, dict)
        merged[key] = _over(known, value) if both else deepcopy(value)  # type: ignore[arg-type]
    return merged


def _refuse_unlike(file: Path, configs: Mapping[str, RunConfig]) -> None:
    first, *others = configs.items()
    for name, config in others:
        for key in unequal(config, first[1]):
            if key in MEASURED_ALIKE:
                raise ConfigError(
                    f"{file}: arms.{name}: {key} is not that of arms.{first[0]}: put it into [run], "
                    "for arms differ in their memory alone"
                )
