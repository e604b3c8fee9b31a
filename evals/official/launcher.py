"""Starting the public harness of a user's checkout with our class registered.

The harness gets the arguments of its own command line; what it needs of the data root is made by its own
functions. Nothing of the checkout is copied or changed on disk.
"""

import ast
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson

from evals.official.backend import Backend, OfficialError
from evals.official.plugin import MEMORY_TYPE, memory_class
from runbook.files import write_atomically

PARTS = ("memory_modules.memory", "data.public_data", "evaluation.harness")


@dataclass(frozen=True, slots=True)
class HarnessRun:
    """One run of the harness: a domain of a tier."""

    data: Path
    domain: str
    tier: str
    out: Path
    """New folder; named <method>_<domain>_<tier>, as the public packaging expects."""
    arguments: tuple[str, ...] = ()
    """Further arguments of the harness: reader, judge, sampling."""
    workers: int = 1
    """Questions at a time; more than one needs the harness's leave, see `launch`."""
    limit: int | None = None
    description: tuple[tuple[str, str], ...] = ()
    """What the harness's record of the memory says beside our paths: agent, version."""


def launch(upstream: Path, run: HarnessRun, backend: Backend) -> None:
    """Run the harness of a checkout to its end.

    The harness refuses unknown memories more than one question at a time where haystacks differ. With
    `run.workers` over 1 our type is added to its own list of exceptions, in this process only.

    Raises:
        OfficialError: `upstream` is no checkout, or of an unknown version; the out folder is taken.
        QueryFailure: an infrastructure failure of a query.
    """
    if run.out.exists():
        raise OfficialError(
            f"{run.out} is there already: the harness cannot go on with a run, name a new one"
        )
    with importable(upstream):
        memory, public_data, harness = (part(upstream, name) for name in PARTS)
        _refuse_missing(upstream, harness)
        named(memory, "register_memory")(memory_class(named(memory, "Memory"), backend))
        if run.workers > 1:
            _allow_parallel(harness)
        arguments = _prepare(public_data, run)
        previous = sys.argv
        sys.argv = ["evaluation.harness", *arguments]
        try:
            named(harness, "main")()
        except RuntimeError as error:
            # With several workers the harness wraps what we raised into an error of its own.
            if isinstance(error.__cause__, OfficialError):
                raise error.__cause__ from None
            raise
        finally:
            sys.argv = previous


def _prepare(public_data: ModuleType, run: HarnessRun) -> list[str]:
    """Write the harness's inputs; returns its arguments."""
    inputs = run.out / "runtime_inputs"
    inputs.mkdir(parents=True)
    questions = named(public_data, "materialize_runtime_questions")(
        data_root=run.data,
        domain=run.domain,
        question_ids=None,
        limit=run.limit,
        output_path=inputs / "questions.json",
    )
    named(public_data, "materialize_runtime_haystack")(
        data_root=run.data,
        tier=run.tier,
        selected_questions=questions,
        output_path=inputs / "haystack.json",
    )
    config = {
        "memory_type": MEMORY_TYPE,
        "memory_params": {"traces": str((run.out / "traces").resolve()), **dict(run.description)},
    }
    write_atomically(inputs / "memory_config.json", orjson.dumps(config, option=orjson.OPT_INDENT_2))
    given = {
        "--domain": run.domain,
        "--questions-path": str(inputs / "questions.json"),
        "--haystack-path": str(inputs / "haystack.json"),
        "--trajectories-path": str(run.data / "trajectories.jsonl"),
        "--memory-config-path": str(inputs / "memory_config.json"),
        "--output-dir": str(run.out),
        "--prompt-build-max-workers": str(run.workers),
    }
    return [*(part for pair in given.items() for part in pair), *run.arguments]


@contextmanager
def importable(upstream: Path) -> Iterator[None]:
    """The checkout first on the path, as PYTHONPATH would have it."""
    sys.path.insert(0, str(upstream.resolve()))
    try:
        yield
    finally:
        sys.path.remove(str(upstream.resolve()))


def part(upstream: Path, name: str) -> ModuleType:
    """A module of the checkout. Raises OfficialError where it is another's, or cannot be imported."""
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise OfficialError(
            f"{upstream}: {name} cannot be imported ({error}): name a checkout of the public harness, and "
            "install its requirements into this environment"
        ) from error
    file = Path(module.__file__ or "").resolve()
    if not file.is_relative_to(upstream.resolve()):
        raise OfficialError(f"{name} comes from {file}, not from the checkout {upstream}")
    return module


def named(module: ModuleType, name: str) -> Any:
    """A public name of the harness. Raises OfficialError where this version has it no more."""
    try:
        return getattr(module, name)
    except AttributeError:
        raise OfficialError(
            f"{module.__name__} has no {name}: this version of the harness is not known"
        ) from None


def _refuse_missing(upstream: Path, module: ModuleType) -> None:
    """Raise OfficialError where a module imports in its functions, so after hours, what is not installed."""
    tree = ast.parse(Path(module.__file__ or "").read_bytes())
    tried = {inner for outer in ast.walk(tree) if isinstance(outer, ast.Try) for inner in ast.walk(outer)}
    names = {name for node in ast.walk(tree) if node not in tried for name in _packages(node)}
    missing = sorted(name for name in names - sys.modules.keys() if importlib.util.find_spec(name) is None)
    if missing:
        raise OfficialError(
            f"{upstream}: {module.__name__} needs {', '.join(missing)}: install its requirements into this "
            "environment"
        )


def _packages(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module.partition(".")[0]]
    return []


def _allow_parallel(harness: ModuleType) -> None:
    allowed = getattr(harness, "NONSHARED_PARALLEL_MEMORY_TYPES", None)
    if not isinstance(allowed, set):
        raise OfficialError("this checkout has no list of memories that may answer in parallel: use 1 worker")
    allowed.add(MEMORY_TYPE)
