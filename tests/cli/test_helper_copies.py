"""Compiled helpers: one copy per content and interpreter, mounted from a place whose name tells nothing."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runbook.cli.assembly import helper_folders
from runbook.cli.helper_copies import STALE_SECONDS, HelperCopies
from sandbox.protocol import SandboxError
from tests.waiting import churn


@pytest.fixture
def copies(tmp_path: Path) -> HelperCopies:
    return HelperCopies(tmp_path / "helpers", helper_folders())


def age(path: Path, seconds: float) -> None:
    os.utime(path, (time.time() - seconds,) * 2)


def test_a_copy_runs_and_is_made_once(copies: HelperCopies) -> None:
    first = copies.compiled(sys.executable)
    made = first.stat().st_ino
    shown = subprocess.run(
        [sys.executable, "-I", "-S", "-B", first / "memory" / "__main__.py", "--help"],
        capture_output=True,
        check=True,
    )
    assert b"submit" in shown.stdout
    assert list(first.rglob("*.pyc"))
    assert copies.compiled(sys.executable).stat().st_ino == made


def test_what_is_mounted_has_a_random_name_in_the_place(copies: HelperCopies, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    first, second = copies.placed(sys.executable, place), copies.placed(sys.executable, place)
    assert first != second
    assert first.parent == second.parent == place
    kept = copies.compiled(sys.executable)
    assert kept.name not in first.name
    assert {file.relative_to(first) for file in first.rglob("*")} == {
        file.relative_to(kept) for file in kept.rglob("*")
    }


def test_copies_that_nobody_used_for_a_day_are_removed(copies: HelperCopies) -> None:
    kept = copies.compiled(sys.executable)
    old = kept.with_name("0123456789abcdef")
    old.mkdir()
    (old / "memory").mkdir()
    age(old, STALE_SECONDS + 60)
    age(kept, STALE_SECONDS + 60)
    assert copies.compiled(sys.executable) == kept
    assert copies.stale() == [old]
    assert copies.remove_stale() == [old]
    assert list(kept.parent.iterdir()) == [kept]


def test_copies_that_others_make_meanwhile_are_not_stale(copies: HelperCopies) -> None:
    folder = copies.compiled(sys.executable).parent
    with churn(folder):
        assert [copies.stale() for _ in range(300)] == [[]] * 300


def test_an_interpreter_that_fails_is_one_clear_error_and_leaves_no_copy(
    copies: HelperCopies, tmp_path: Path
) -> None:
    with pytest.raises(SandboxError, match="/bin/false cannot compile the helpers"):
        copies.compiled("/bin/false")
    with pytest.raises(
        SandboxError, match="/no/python cannot compile the helpers: /no/python: it is not there"
    ):
        copies.compiled("/no/python")
    assert list((tmp_path / "helpers").iterdir()) == []
