"""Imports that are killed, run twice at once or meet a full disk lose nothing and show nothing half."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from manifests.importing import import_lme_v2
from manifests.maintenance import verify
from manifests.store import Store
from tests.manifests.recordings import record, state, tree, write_root
from tests.waiting import AT_ONCE, FOREVER

REPOSITORY = Path(__file__).resolve().parents[2]

IMPORT = """
import sys, time
from pathlib import Path
from manifests.importing import import_lme_v2
from manifests.store import Store
def progress(done, total):
    print(done, flush=True)
    if done >= int(sys.argv[3]):
        time.sleep(0.2)
store = Store.open(Path(sys.argv[2]))
report = import_lme_v2(Path(sys.argv[1]), store, progress=progress)
print("done", report.trajectories, flush=True)
"""
TRAJECTORIES = 40


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pages = [
        state("\n".join(f"\t[{n}] cell '{n + i}'" for n in range(600)), action=f"click('{i}')")
        for i in range(5)
    ]
    return write_root(
        tmp_path_factory.mktemp("root"),
        [record(f"t{i}", *pages, goal=f"Goal {i}") for i in range(TRAJECTORIES)],
    )


@pytest.fixture(scope="module")
def expected(root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What an import that nothing disturbs makes."""
    store = Store.open(tmp_path_factory.mktemp("undisturbed") / "store")
    import_lme_v2(root, store)
    return tree(store.trajectories)


@pytest.fixture
def start(root: Path, tmp_path: Path) -> Iterator[list[subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate()


def importing(
    root: Path, store: Path, started: list[subprocess.Popen[str]], slowly_from: int = TRAJECTORIES + 1
) -> subprocess.Popen[str]:
    """A process that imports, and takes its time once so many are done, to be interrupted then."""
    process = subprocess.Popen(
        [sys.executable, "-c", IMPORT, root, store, str(slowly_from)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    started.append(process)
    return process


def wait_for(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdout is not None
    for printed in process.stdout:
        if printed.strip() == line:
            return
    raise AssertionError(process.communicate()[1])


def alive_in_session(session: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found


def assert_session_ends(session: int) -> None:
    deadline = time.monotonic() + AT_ONCE
    while alive_in_session(session):
        assert time.monotonic() < deadline, "a process of the import outlived it"
        time.sleep(0.05)


def test_a_killed_import_shows_nothing_half_and_is_continued(
    root: Path, tmp_path: Path, expected: dict[str, bytes], start: list[subprocess.Popen[str]]
) -> None:
    store = Store.open(tmp_path / "store")
    moments = random.Random(7)
    for round_number in range(3):
        process = importing(root, store.root, start)
        wait_for(process, str(1 + 10 * round_number))
        time.sleep(moments.uniform(0, 0.05))
        process.kill()
        process.wait()
        assert_session_ends(process.pid)
        present = tree(store.trajectories)
        whole = {name.partition("/")[0] for name in present}
        assert whole
        assert present == {
            name: content for name, content in expected.items() if name.partition("/")[0] in whole
        }
    report = import_lme_v2(root, store)
    assert report.trajectories == TRAJECTORIES
    assert report.reused > 0
    assert tree(store.trajectories) == expected
    assert not list(store.incoming.glob("*/"))


def test_what_a_kill_right_after_the_last_receipt_left_goes_with_the_next_import(
    root: Path, tmp_path: Path
) -> None:
    script = """
import os, signal, sys
from pathlib import Path
from manifests.importing import import_lme_v2
from manifests.store import Store
root, store = Path(sys.argv[1]), Store.open(Path(sys.argv[2]))
import_lme_v2(root, store)
with store.writer(root):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    store = Store.open(tmp_path / "store")
    killed = subprocess.run([sys.executable, "-c", script, root, store.root], cwd=REPOSITORY, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert list(store.incoming.glob("*/"))
    report = import_lme_v2(root, store)
    assert report.reused == report.trajectories == TRAJECTORIES
    assert [path.name for path in store.incoming.iterdir()] == ["everybody.lock"]


def test_ctrl_c_ends_every_process_and_keeps_what_was_done(
    root: Path, tmp_path: Path, start: list[subprocess.Popen[str]]
) -> None:
    store = Store.open(tmp_path / "store")
    process = importing(root, store.root, start, slowly_from=3)
    wait_for(process, "3")
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=AT_ONCE)
    assert process.returncode == -signal.SIGINT
    assert errors.strip().endswith("KeyboardInterrupt")
    assert_session_ends(process.pid)
    assert not list(store.incoming.glob("*/"))
    assert import_lme_v2(root, store).reused >= 3


def test_two_imports_at_once_make_one_store(
    root: Path, tmp_path: Path, expected: dict[str, bytes], start: list[subprocess.Popen[str]]
) -> None:
    processes = [importing(root, tmp_path / "store", start) for _ in range(2)]
    for process in processes:
        output, errors = process.communicate(timeout=FOREVER)
        assert output.splitlines()[-1] == f"done {TRAJECTORIES}", errors
    store = Store.open(tmp_path / "store")
    assert tree(store.trajectories) == expected
    assert import_lme_v2(root, store).reused == TRAJECTORIES


def boxed(
    script: str, *arguments: str | Path, box: tuple[str | Path, ...]
) -> subprocess.CompletedProcess[str]:
    """Run a script where the file systems are as `box` (bubblewrap arguments) says."""
    command = ["bwrap", "--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc", *box]
    command += ["--die-with-parent", sys.executable, "-c", script, *arguments]
    return subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, timeout=FOREVER, check=False
    )


@pytest.mark.needs("bubblewrap")
def test_a_full_disk_is_one_clear_error_and_shows_nothing_half(root: Path, tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    script = """
import sys
from pathlib import Path
from manifests.errors import StoreError
from manifests.importing import import_lme_v2
from manifests.maintenance import verify
from manifests.store import Store
store = Store.open(Path(sys.argv[2]) / "store")
for processes in (1, 2):
    try:
        import_lme_v2(Path(sys.argv[1]), store, processes=processes)
    except StoreError as error:
        print(error)
    print(len(store.entries()) > 0, verify(store), list(store.incoming.glob("*/")))
"""
    done = boxed(script, root, tmp_path / "small", box=("--size", "2000000", "--tmpfs", tmp_path / "small"))
    assert done.stderr == ""
    first, kept, second, still = done.stdout.splitlines()
    for message in (first, second):
        assert "no space left on the device" in message
        assert "free space, then run the same again" in message
    assert kept == still == "True [] []"


@pytest.mark.needs("bubblewrap")
def test_a_read_only_store_serves_what_it_has_and_refuses_the_rest(root: Path, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store")
    some = [f"t{i}" for i in range(4)]
    import_lme_v2(root, store, only=some)
    script = """
import sys
from pathlib import Path
from manifests.errors import StoreError
from manifests.importing import import_lme_v2
from manifests.store import Store
from manifests.views import Views
store = Store.open(Path(sys.argv[2]))
report = import_lme_v2(Path(sys.argv[1]), store, only=sys.argv[4:])
print(report.reused)
with Views(store, Path(sys.argv[3])).acquire(report.slugs.values()) as view:
    print(len(list(view.path.rglob("0000.txt"))))
for attempt in (
    lambda: import_lme_v2(Path(sys.argv[1]), store),
    lambda: Views(store).acquire(report.slugs.values()),
):
    try:
        attempt()
    except StoreError as error:
        print(error)
"""
    writable = tmp_path / "writable"
    writable.mkdir()
    box = ("--ro-bind", tmp_path, tmp_path, "--ro-bind", root, root, "--tmpfs", writable)
    done = boxed(script, root, store.root, writable, *some, box=box)
    assert done.stderr == ""
    reused, shown, unwritable, no_view = done.stdout.splitlines()
    assert (reused, shown) == ("4", "4")
    assert "read-only" in unwritable
    assert "choose another" in unwritable
    assert "cannot be written" in no_view
    assert verify(store) == []
