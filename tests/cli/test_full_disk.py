"""A disk that is full while a run goes on: it waits, says so, and goes on; nothing is done twice."""

import errno
import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from stat import S_ISDIR

import pytest

from evals.runs.room import PROBE_BYTES, Room
from manifests.errors import StoreError, StoreFullError
from tests.cli.conftest import PROGRAM
from tests.conftest import lacking
from tests.waiting import AT_ONCE, FOREVER, wait_for

DISK = 24 * 2**20
LEFT = 256 * 2**10  # bytes: enough to begin, not enough to end


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of DISK bytes of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        lacking("mount", f"no disk can be mounted: {error}")
    if done.returncode:
        lacking("mount", f"no disk can be mounted: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path, left: int) -> Path:
    """Fill the disk but for so many bytes, by one file."""
    free = os.statvfs(disk)
    file = disk / "filler"
    file.write_bytes(bytes(free.f_bavail * free.f_frsize - left))
    return file


def test_a_run_pauses_while_the_disk_is_full_and_goes_on_when_there_is_room(
    disk: Path, make_data_root: Callable[..., Path], tmp_path: Path
) -> None:
    data = make_data_root(tmp_path / "data", questions=80, trajectories=4, states=5)
    filler = fill(disk, LEFT)
    process = subprocess.Popen(
        [
            *(*PROGRAM, "eval", "run", "--data", data, "--out", disk / "run", "--memory", "rag-slice-bm25"),
            *("--concurrency", "16", "--store", tmp_path / "store"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    said = next(line for line in process.stdout if line.startswith("paused: "))
    assert said.startswith(f"paused: the disk is full at {disk}/run")
    wait_for(lambda: list(disk.glob("run/questions/*/query.1.json")))
    early = {path: path.read_bytes() for path in disk.glob("run/questions/*/query.1.json")}
    assert len(early) < 80
    assert process.poll() is None
    filler.unlink()
    rest = process.stdout.read()
    assert process.wait(AT_ONCE) == 0, rest
    assert "80 of 80 finished" in rest
    assert rest.count("paused: ") == 0
    assert {path: path.read_bytes() for path in early} == early
    assert not list(disk.glob("run/questions/*/query.2.json"))


def room_of(view: Path) -> int:
    """The bytes on disk of what a view does not share with the store."""
    found = [path.stat() for path in (view, *view.rglob("*"))]
    return sum(one.st_blocks * 512 for one in found if S_ISDIR(one.st_mode) or one.st_nlink == 1)


def test_a_disk_with_room_for_two_views_gives_the_room_of_those_nobody_uses(
    disk: Path, make_data_root: Callable[..., Path], tmp_path: Path
) -> None:
    data = make_data_root(tmp_path / "data", questions=8, trajectories=8, states=120)
    ids = [f"tr-{number}" for number in range(8)]
    unlike = {f"q-{n}": [one for one in ids if one != f"tr-{(n + 1) % 8}"] for n in range(8)}
    (data / "haystacks" / "lme_v2_small.json").write_text(json.dumps(unlike))
    command = [*PROGRAM, "eval", "run", "--data", data, "--memory", "rag-slice-bm25"]
    command += ["--store", disk / "store", "--concurrency", "1", "--out"]
    imported = [*PROGRAM, "import", "lme-v2", data, "--store", disk / "store"]
    for first in (imported, [*command, tmp_path / "one", "--limit", "1"]):
        subprocess.run(first, check=True, capture_output=True, timeout=FOREVER)
    (view,) = disk.glob("store/views/*/trajectories")
    fill(disk, int(2.2 * room_of(view.parent)) + LEFT)
    done = subprocess.run(
        [*command, tmp_path / "all"], capture_output=True, text=True, timeout=FOREVER, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "8 of 8 finished" in done.stdout
    assert len(list(disk.glob("store/views/*/.index/layout"))) < 8


def test_ctrl_c_ends_a_pause(tmp_path: Path) -> None:
    cancel, said = threading.Event(), list[str]()
    room = Room(cancel, said.append, look_seconds=FOREVER)

    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(tmp_path / "record.json"))

    threading.Timer(0.2, cancel.set).start()
    begun = time.monotonic()
    with pytest.raises(OSError, match="No space left"):
        room.keep(full, tmp_path)
    assert time.monotonic() - begun < AT_ONCE
    assert len(said) == 1
    assert f"the disk is full at {tmp_path}: free some space" in said[0]


def test_a_pause_is_over_only_when_something_can_really_be_written(disk: Path) -> None:
    filler = fill(disk, PROBE_BYTES // 2)
    done = list[int]()

    def free_soon(_: str) -> None:
        threading.Timer(0.3, filler.unlink).start()

    room = Room(threading.Event(), free_soon, look_seconds=0.05)

    def work() -> str:
        done.append(1)
        if filler.exists():
            raise StoreFullError("no room") from OSError(errno.ENOSPC, "full", str(disk / "view"))
        return "made"

    assert room.keep(work, disk) == "made"
    assert len(done) == 2


def test_what_is_about_something_else_is_not_waited_for(tmp_path: Path) -> None:
    def refused() -> None:
        raise StoreError("the store is damaged")

    with pytest.raises(StoreError, match="damaged"):
        Room(threading.Event(), print).keep(refused, tmp_path)
