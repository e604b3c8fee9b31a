"""Imports point one way: each package may import only what stands below it (README, "Packages")."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
OURS = {"runbook", "sandbox", "manifests", "helpers", "instructions", "evals"}
MAY_IMPORT = {
    "manifests": set[str](),
    "sandbox": set[str](),
    "instructions": set[str](),
    "helpers": set[str](),
    "runbook": {"manifests", "sandbox", "instructions"},
    "evals": {"manifests", "sandbox", "instructions", "helpers", "runbook"},
}

NAMES_FOR_USERS = {
    "runbook/__init__.py imports evals.notebook",
    "runbook/__init__.py imports evals.notebook.load_run",
}
"""`runbook.load_run` is where users look for it; it is imported when it is asked for."""


def imported_modules(path: Path) -> set[str]:
    """Absolute dotted names of all modules that a file imports, also inside functions."""
    package = path.relative_to(REPOSITORY).with_suffix("").parts[:-1]
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join((*start, *([node.module] if node.module else [])))
            names.add(base)
            names.update(f"{base}.{alias.name}" for alias in node.names)
    return names


def files_of(package: str) -> list[Path]:
    return sorted((REPOSITORY / package).rglob("*.py"))


@pytest.mark.parametrize("package", sorted(OURS))
def test_package_imports_only_what_stands_below_it(package: str) -> None:
    allowed = MAY_IMPORT[package] | {package}
    found = [
        f"{path.relative_to(REPOSITORY)} imports {name}"
        for path in files_of(package)
        if "cli" not in path.relative_to(REPOSITORY).parts[:2]
        for name in imported_modules(path)
        if name.split(".")[0] in OURS - allowed
    ]
    assert [one for one in found if one not in NAMES_FOR_USERS] == []


def test_a_name_for_users_costs_nothing_before_it_is_used() -> None:
    code = "import sys, runbook; assert not any(one.split('.')[0] == 'evals' for one in sys.modules); "
    code += "from runbook import load_run; assert load_run.__module__ == 'evals.notebook'"
    program = [sys.executable, "-c", code]
    ended = subprocess.run(program, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 0, ended.stderr


def test_asking_for_help_waits_for_no_array_and_no_server() -> None:
    heavy = {"numpy", "openai", "uvicorn", "starlette"}
    code = "import sys; from runbook.cli.app import app; "
    code += "app(['eval', 'run', '--help'], standalone_mode=False); "
    code += f"loaded = {heavy} & sys.modules.keys(); assert not loaded, loaded"
    program = [sys.executable, "-c", code]
    ended = subprocess.run(program, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 0, ended.stderr


def test_nothing_imports_the_command_line() -> None:
    wrong = [
        f"{path.relative_to(REPOSITORY)} imports {name}"
        for package in sorted(OURS)
        for path in files_of(package)
        if path.relative_to(REPOSITORY).parts[:2] != ("runbook", "cli")
        for name in imported_modules(path)
        if name.startswith("runbook.cli")
    ]
    assert wrong == []


def test_helpers_use_the_standard_library_alone() -> None:
    allowed = sys.stdlib_module_names | {"helpers", "memory", "scout"}
    wrong = [
        f"{path.relative_to(REPOSITORY)} imports {name}"
        for path in files_of("helpers")
        for name in imported_modules(path)
        if name.split(".")[0] not in allowed
    ]
    assert wrong == []


def test_helpers_parse_as_python_3_8() -> None:
    files = files_of("helpers")
    assert files
    for path in files:
        ast.parse(path.read_text(encoding="utf-8"), filename=str(path), feature_version=(3, 8))


PACKAGES = sorted(
    ".".join(path.parent.relative_to(REPOSITORY).parts)
    for package in OURS - {"helpers"}
    for path in (REPOSITORY / package).rglob("__init__.py")
)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_can_be_the_first_that_is_imported(package: str) -> None:
    """A circle of imports shows only from some entrances."""
    done = subprocess.run(
        [sys.executable, "-c", f"import {package}"],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-1500:]
