"""Running two or more arms in turn, question by question, before they are compared."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runbook.cli.failures import Mistake

if TYPE_CHECKING:
    from evals.runs.config import RunConfig
    from runbook.cli.places import Place
    from runbook.cli.saying_once import SharedConsole

_SAME_QUESTIONS = ("data", "tier", "limit", "sample", "question_ids", "seed")
"""Settings by which the arms are asked the same questions; nothing allows these to differ."""
_ASPECTS = {
    **dict.fromkeys(("reader", "token_counter", "tokenizer", "preprocessor"), "reader"),
    **dict.fromkeys(("judge", "votes"), "judge"),
    **dict.fromkeys(("profile", "upstream"), "profile"),
}
"""Settings that have to be equal unless that aspect is allowed, as in the comparison itself."""


def run_in_turn(
    files: Sequence[Path],
    out: "Place",
    allowed: frozenset[str],
    console: "SharedConsole",
    *,
    no_gates: bool = False,
) -> list[Path]:
    """Run the arms that some settings files describe, in turn; returns their run folders, `out/FILE'S STEM`.

    What is recorded there already is not done again.

    Raises:
        Mistake: a file cannot be used, or the arms differ in more than their memory, which nobody allowed.
        RunFailure: as with any run.
    """
    from evals.matrix.plan import MatrixPlan
    from runbook.cli.matrix import run_arms

    configs = _read(files)
    first = next(iter(configs))
    _refuse_unlike(configs, allowed)
    run_arms(MatrixPlan(first, configs), out, console, no_gates=no_gates)
    return [out.path / name for name in configs]


def _read(files: Sequence[Path]) -> dict[str, "RunConfig"]:
    from evals.runs.config_file import ConfigError, read_config
    from runbook.cli.home import store_folder

    configs: dict[str, RunConfig] = {}
    for file in files:
        if file.stem in configs:
            raise Mistake(f"{file}: another arm is called {file.stem!r} already: give its file another name")
        try:
            configs[file.stem] = read_config(file, {}, store=store_folder(None))
        except ConfigError as error:
            raise Mistake(str(error)) from None
    return configs


def _refuse_unlike(configs: Mapping[str, "RunConfig"], allowed: frozenset[str]) -> None:
    """Raise Mistake before anything is spent on arms that could not be compared."""
    (base, one), *others = configs.items()
    for name, other in others:
        for key in (*_SAME_QUESTIONS, *_ASPECTS):
            if _named(one, key) == _named(other, key):
                continue
            aspect = _ASPECTS.get(key)
            if aspect is None:
                raise Mistake(f"{base} and {name} are not asked the same questions: their {key} differs")
            if aspect not in allowed:
                raise Mistake(
                    f"{base} and {name} differ in more than the memory: {key} "
                    f"(--allow {aspect} runs and compares them all the same)"
                )


def _named(config: "RunConfig", key: str) -> Any:
    """A setting; of an endpoint only which model it is, for the address changes no answer."""
    value = getattr(config, key)
    return value.model if key in ("reader", "judge") and value is not None else value
