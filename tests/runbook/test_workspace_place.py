"""Workspaces of a killed process are removed by the next one; those of a living process never."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runbook.workspace_place import WorkspacePlace, sweep

HOLD = """
import sys, time
from pathlib import Path
from runbook.workspace_place import WorkspacePlace
place = WorkspacePlace.open(Path(sys.argv[1]))
(place.path / "left").mkdir()
print(place.path, flush=True)
time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[str]]:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    command = [sys.executable, "-c", HOLD, str(tmp_path / "registry")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def announced(holder: subprocess.Popen[str]) -> Path:
    assert holder.stdout is not None
    return Path(holder.stdout.readline().strip())


def test_a_closed_place_leaves_nothing(tmp_path: Path) -> None:
    with WorkspacePlace.open(tmp_path / "registry") as place:
        (place.path / "workspace").mkdir()
    assert not place.path.exists()
    assert list((tmp_path / "registry").iterdir()) == []


def test_sweep_spares_the_living_and_removes_the_dead(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    place = announced(holder)
    assert sweep(tmp_path / "registry") == []
    assert (place / "left").is_dir()
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert sweep(tmp_path / "registry") == [place]
    assert not place.exists()
    assert sweep(tmp_path / "registry") == []


def test_sweep_never_removes_a_folder_the_entry_does_not_name(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    registry = tmp_path / "registry"
    registry.mkdir()
    (registry / "elsewhere").write_bytes(os.fsencode(precious))
    assert sweep(registry) == []
    assert precious.is_dir()
