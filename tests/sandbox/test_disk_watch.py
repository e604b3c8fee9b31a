"""The disk watch counts what lies in a folder, whatever is done to hide it or to lead it astray."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox.disk_watch import DiskWatch, find_excess
from tests.waiting import AT_ONCE, wait_for

KIB = 1024
MANY = 10**9


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "workspace"
    made.mkdir()
    return made


@pytest.fixture
def ordinary_user(folder: Path) -> Iterator[None]:
    """Be somebody for whom modes count, also where the tests are run by root."""
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0:
        for path in (folder, *folder.parents[:3]):
            path.chmod(0o755)
        os.chown(folder, 1234, 1234)
        os.setegid(1234)
        os.seteuid(1234)
    yield
    os.seteuid(uid)
    os.setegid(gid)


def test_within_the_limits_nothing_is_exceeded(folder: Path) -> None:
    (folder / "notes").mkdir()
    (folder / "notes" / "a.txt").write_bytes(b"x" * 1000)
    assert find_excess(folder, 64 * KIB, 2) == ""


def test_bytes_are_summed_over_folders(folder: Path) -> None:
    for name in "abc":
        (folder / name).mkdir()
        (folder / name / "data").write_bytes(os.urandom(40 * KIB))
    assert find_excess(folder, 100 * KIB, MANY) == f"more than {100 * KIB} bytes"
    assert find_excess(folder, 200 * KIB, MANY) == ""


def test_folders_and_links_count_as_files(folder: Path) -> None:
    (folder / "folder").mkdir()
    (folder / "link").symlink_to("nowhere")
    os.mkfifo(folder / "fifo")
    assert find_excess(folder, MANY, 3) == ""
    assert find_excess(folder, MANY, 2) == "more than 2 files"


def test_holes_of_a_sparse_file_are_free(folder: Path) -> None:
    with (folder / "sparse").open("wb") as file:
        file.write(b"x" * 4096)
        file.flush()
        os.fsync(file.fileno())
        file.truncate(100 * KIB * KIB)
    assert find_excess(folder, KIB * KIB, MANY) == ""


def test_a_file_with_two_names_counts_once(folder: Path) -> None:
    (folder / "a").write_bytes(os.urandom(40 * KIB))
    for number in range(10):
        (folder / f"link{number}").hardlink_to(folder / "a")
    assert find_excess(folder, 100 * KIB, 1) == ""


def test_links_lead_nowhere(folder: Path) -> None:
    outside = folder.parent / "outside"
    outside.mkdir()
    for number in range(50):
        (outside / str(number)).touch()
    (folder / "to-folder").symlink_to(outside)
    (folder / "to-itself").symlink_to(folder)
    assert find_excess(folder, MANY, 2) == ""


def test_a_tree_without_end_exceeds(folder: Path) -> None:
    deep = folder.joinpath(*["d"] * 150)
    deep.mkdir(parents=True)
    assert find_excess(folder, MANY, MANY) == "folders nested over 100 deep"


def test_a_missing_folder_exceeds_nothing(folder: Path) -> None:
    assert find_excess(folder / "missing", 0, 0) == ""


def test_a_folder_that_its_owner_closed_hides_nothing(folder: Path, ordinary_user: None) -> None:
    closed = folder / "closed"
    closed.mkdir()
    (closed / "data").write_bytes(os.urandom(40 * KIB))
    closed.chmod(0o300)
    assert find_excess(folder, 20 * KIB, MANY) == f"more than {20 * KIB} bytes"


def test_a_deleted_file_that_is_still_open_counts(folder: Path) -> None:
    with (folder / "gone").open("wb") as file:
        file.write(os.urandom(80 * KIB))
        file.flush()
        (folder / "gone").unlink()
        assert find_excess(folder, 40 * KIB, MANY) == ""
        assert find_excess(folder, 40 * KIB, MANY, [os.getpid()]) == f"more than {40 * KIB} bytes"


def test_files_may_vanish_while_they_are_counted(folder: Path) -> None:
    ended = threading.Event()

    def churn() -> None:
        while not ended.is_set():
            for number in range(20):
                (folder / f"d{number}").mkdir()
                (folder / f"d{number}" / "file").touch()
            for number in range(20):
                (folder / f"d{number}" / "file").unlink()
                (folder / f"d{number}").rmdir()

    churning = threading.Thread(target=churn)
    churning.start()
    try:
        found = {find_excess(folder, MANY, 1000) for _ in range(300)}
    finally:
        ended.set()
        churning.join()
    assert found == {""}


def test_counting_ends_at_the_limit(folder: Path) -> None:
    for number in range(1500):
        (folder / str(number)).touch()

    def seconds_for(files: int) -> float:
        began = time.thread_time()
        find_excess(folder, MANY, files)
        return time.thread_time() - began

    assert min(seconds_for(20) for _ in range(5)) < min(seconds_for(MANY) for _ in range(5)) / 2


Watched = Callable[[], list[str]]


@pytest.fixture
def watched(folder: Path) -> Iterator[list[str]]:
    """Calls of a running watch with a limit of 10 files."""
    calls: list[str] = []
    watch = DiskWatch(folder, MANY, 10, calls.append)
    watch.start()
    yield calls
    watch.stop()
    assert threading.active_count() < 50


def test_watch_calls_soon_and_only_once(folder: Path, watched: list[str]) -> None:
    for number in range(20):
        (folder / str(number)).touch()
    wait_for(lambda: watched)
    time.sleep(0.3)
    assert watched == ["more than 10 files"]


def test_watch_is_silent_below_the_limit(folder: Path, watched: list[str]) -> None:
    (folder / "one").touch()
    time.sleep(0.4)
    assert watched == []


def test_watch_can_be_stopped_by_its_own_call(folder: Path) -> None:
    called = threading.Event()

    def stop(_: str) -> None:
        watch.stop()
        called.set()

    watch = DiskWatch(folder, MANY, 0, stop)
    (folder / "file").touch()
    watch.start()
    assert called.wait(AT_ONCE)
