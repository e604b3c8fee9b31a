"""Settings of a run from a TOML file, changed by the command line; every complaint names file and key."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evals.runs.config import RunConfig
from evals.sampling import JUDGE_SAMPLING, READER_SAMPLING
from runbook.complaints import faults_of, of_system, of_validation
from runbook.endpoint.config import Sampling
from runbook.toml_places import TomlPlaces, told_faults
from runbook.toml_reading import TomlError, parse_toml
from runbook.toml_reading import read_toml as read_table

PATHS = (
    *("data", "store", "upstream", "tokenizer", "preprocessor"),
    *("gateway.record", "gateway.replay", "gateway.prices"),
)


class ConfigError(ValueError):
    """The settings cannot be used; the message names the file or option, the key and the mend."""


def read_config(
    file: Path | None, options: Mapping[str, Any], changes: Iterable[str] = (), *, store: Path
) -> RunConfig:
    """The settings of a run: those of `file`, over them `options`, over them `changes` ("key=value").

    Args:
        file: TOML with the keys of `RunConfig`; its paths are relative to its folder.
        options: settings by key; tables (reader, judge, model) replace those of the file key by key.
        changes: as typed after --set; a dotted key reaches into a table, a value is TOML or else text.
        store: the store where none of them names one.

    Raises:
        ConfigError: the file cannot be read, or a key or value does not fit.
    """
    settings: dict[str, Any] = {"store": store} | (_from_file(file) if file is not None else {})
    for key, value in options.items():
        _put(settings, key.split("."), value)
    for change in changes:
        _put(settings, *_parsed(change))
    place_paths(settings, Path.cwd())  # as typed; a package may change the current folder
    if file is None:
        return config_of(settings, "")
    try:
        return checked(settings)
    except ValidationError as error:
        raise ConfigError(told_faults(file, TomlPlaces.of_file(file), faults_of(error, RunConfig))) from None


def config_of(settings: dict[str, Any], where: str) -> RunConfig:
    """The settings of a run from a table of them. Raises ConfigError, whose message begins with `where`."""
    try:
        return checked(settings)
    except ValidationError as error:
        raise ConfigError(f"{where}{of_validation(error, RunConfig)}") from None


def checked(settings: dict[str, Any]) -> RunConfig:
    """The settings of a run from a table of them. Raises ValidationError."""
    for role, usual in (("reader", READER_SAMPLING), ("judge", JUDGE_SAMPLING)):
        _fill_in(settings.get(role), usual)
    return RunConfig.model_validate(settings)


def read_toml(file: Path) -> dict[str, Any]:
    """The content of a TOML file. Raises ConfigError where there is none."""
    try:
        return read_table(file)
    except OSError as error:
        raise ConfigError(of_system(error)) from None
    except TomlError as error:
        raise ConfigError(str(error)) from None


def place_paths(settings: dict[str, Any], folder: Path) -> None:
    """Make the paths of a settings table, which are relative to a folder, absolute."""
    for key in PATHS:
        *tables, last = key.split(".")
        table: Any = settings
        for name in tables:
            table = table.get(name, {})
        if isinstance(table, dict) and isinstance(table.get(last), str):
            table[last] = str((folder / table[last]).resolve())


def _from_file(file: Path) -> dict[str, Any]:
    settings = read_toml(file)
    place_paths(settings, file.parent)
    return settings


def _fill_in(endpoint: Any, usual: Sampling) -> None:
    """Complete the sampling of a reader's or judge's table, so that one parameter can be changed alone."""
    if isinstance(endpoint, dict) and isinstance(chosen := endpoint.get("sampling", {}), dict):
        endpoint["sampling"] = usual.model_dump(exclude_defaults=True) | chosen


def _parsed(change: str) -> tuple[list[str], Any]:
    key, equals, text = change.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"--set {change}: write KEY=VALUE, for example --set timeout=600")
    try:
        value = parse_toml(f"value = {text}")["value"]
    except TomlError:
        value = text  # what is no TOML value is text, so that words need no quotes
    return key.strip().split("."), value


def _put(settings: dict[str, Any], key: list[str], value: Any) -> None:
    *tables, last = key
    for name in tables:
        table = settings.setdefault(name, {})
        if not isinstance(table, dict):
            raise ConfigError(f"{'.'.join(key)}: {name} is no table")
        settings = table
    settings[last] = value
