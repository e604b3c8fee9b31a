"""A study's TOML file: what is the same in all settings, what is tried, and what it may cost.

[study]     objective, shares and confidence    [caps]   settings, usd, hours
[base]      a run's settings, as for `runbook eval run CONFIG.toml`
[space]     key = [values] or {low, high, step, log}; a key may be dotted
[variants.NAME.OPTION]   keys that change together; one option of each name is tried at a time
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runbook.complaints import faults_of, of_system
from runbook.toml_places import Fault, TomlPlaces, told_faults
from runbook.toml_reading import TomlError, read_toml

Scalar = bool | int | float | str


class StudyError(ValueError):
    """The study cannot be done as its file says; the message names file, key and mend."""


class SpaceError(StudyError):
    """What is wrong with the space of a study, each with its place in the file."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("\n".join(text for _, text in faults))
        self.faults = faults


class StudyOptions(BaseModel):
    """What is looked for, and how surely."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    objective: Literal["lafs", "pareto"] | None = None
    """LAFS gain over the published points, or quality, latency and price side by side; None is lafs with a
    reader and pareto without one."""
    money: bool = True
    """Whether a lower price makes a point of the Pareto set."""
    confirm: float = Field(default=0.4, ge=0.1, le=0.9)
    """Share of the questions that is kept for confirmation."""
    keep: float = Field(default=0.5, ge=0, le=1)
    """Share of the best quality below which a setting is of no use, however quick it is."""
    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    """Of the limits that stop a setting early."""
    block: int = Field(default=5, ge=1, le=10**9)
    """Questions between two looks at a setting."""
    seed: int = Field(default=0, ge=0, le=2**63 - 1)
    """Splits and orders the questions, and draws settings."""


class Caps(BaseModel):
    """Where the study ends. Of money and hours the search leaves a quarter to confirm with."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    settings: int = Field(default=20, ge=1, le=10_000)
    usd: float | None = Field(default=None, gt=0, le=1e9)
    """Of the memory's model calls; a reader's and a judge's are not counted."""
    hours: float | None = Field(default=None, gt=0, le=1e6)


class StudyFile(BaseModel):
    """The file as it was written; `space` and `variants` are checked by `evals.tuning.space`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    study: StudyOptions = StudyOptions()
    caps: Caps = Caps()
    base: dict[str, Any]
    space: dict[str, Any] = Field(default_factory=dict)
    variants: dict[str, dict[str, dict[str, Any]]] = Field(default_factory=dict)

    def lasting(self) -> dict[str, Any]:
        """What a study cannot change once it began: all but the caps."""
        return self.model_dump(mode="json", exclude={"caps"})


def read_study(file: Path) -> StudyFile:
    """Raises StudyError."""
    try:
        return StudyFile.model_validate(read_toml(file))
    except FileNotFoundError:
        raise StudyError(f"{file}: there is no such file") from None
    except OSError as error:
        raise StudyError(of_system(error)) from None
    except TomlError as error:
        raise StudyError(str(error)) from None
    except ValidationError as error:
        raise StudyError(told_faults(file, TomlPlaces.of_file(file), faults_of(error, StudyFile))) from None


def flat(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Nested tables as dotted keys; a range, which has both `low` and `high`, is a value."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict) and value and not {"low", "high"} <= value.keys():
            found |= flat(value, f"{before}{key}.")
        else:
            found[before + key] = value
    return found
