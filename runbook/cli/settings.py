"""From a settings file and the options that were really given to the settings of a run."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer

from evals.runs.config import RunConfig
from evals.runs.config_file import ConfigError, read_config
from runbook.cli.endpoints import endpoint
from runbook.cli.failures import Mistake
from runbook.cli.home import store_folder
from runbook.complaints import of_system

ELSEWHERE = {"config", "out", "changes", "dry_run", "questions", "record", "replay"}
ENDPOINTS = ("reader", "judge")


def settle(ctx: typer.Context, file: Path | None, changes: Iterable[str]) -> RunConfig:
    """The settings of `runbook eval run`; an option that was not given leaves the file's value alone.

    Raises:
        Mistake: a setting is missing or does not fit.
    """
    given = {
        name: value
        for name, value in ctx.params.items()
        if (source := ctx.get_parameter_source(name)) is not None and source.name != "DEFAULT"
    }
    options: dict[str, Any] = {name: value for name, value in given.items() if name not in ELSEWHERE}
    for role in ENDPOINTS:
        url, model = options.pop(role, None), options.pop(f"{role}_model", None)
        if endpoint(role, url, model) is not None:
            options |= {f"{role}.base_url": url, f"{role}.model": model}
    for name in ("record", "replay"):
        if name in given:
            options[f"gateway.{name}"] = given[name].resolve()
    for name in ("data", "upstream", "tokenizer", "preprocessor"):
        if name in options:
            options[name] = options[name].resolve()
    if "store" in options:
        options["store"] = store_folder(options["store"])
    if "questions" in given:
        options["question_ids"] = _question_ids(given["questions"])
    if file is None and "data" not in options and not any(one.startswith("data=") for one in changes):
        raise Mistake("name a data root with --data, or a settings file that does")
    try:
        return read_config(file, options, changes, store=store_folder(None))
    except ConfigError as error:
        raise Mistake(str(error)) from None


def _question_ids(file: Path) -> tuple[str, ...]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise Mistake(f"--questions: {of_system(error)}") from None
    except UnicodeDecodeError as error:
        raise Mistake(
            f"--questions: {file}: byte {error.start + 1} is not UTF-8 (save it as UTF-8)"
        ) from None
    ids = tuple(line.strip() for line in lines if line.strip())
    if not ids:
        raise Mistake(f"--questions: {file} lists no question id")
    return ids
