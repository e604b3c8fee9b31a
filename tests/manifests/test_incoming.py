"""A place to build in belongs to whoever holds it, and to nobody once they were killed."""

import signal
import subprocess
import sys
from pathlib import Path

from manifests.incoming import Incoming, abandoned, nobody_builds, sweep
from tests.manifests.recordings import put

REPOSITORY = Path(__file__).resolve().parents[2]

HOLD = """
import sys
from pathlib import Path
from manifests.incoming import Incoming
with Incoming(Path(sys.argv[1])) as incoming:
    incoming.new_path().write_text("half")
    print("holding", flush=True)
    sys.stdin.read()
"""


def holding(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, folder],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "holding\n"
    return process


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_it_is_gone_when_its_holder_is_done(tmp_path: Path) -> None:
    with Incoming(tmp_path) as incoming:
        put(incoming.new_path() / "a" / "b", b"x")
    assert names(tmp_path) == ["everybody.lock"]


def test_what_is_in_use_stays_and_what_a_killed_process_left_goes(tmp_path: Path) -> None:
    process = holding(tmp_path)
    with Incoming(tmp_path) as ours:
        kept = ours.new_path()
        kept.mkdir()
        assert abandoned(tmp_path) == sweep(tmp_path) == []
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert len(sweep(tmp_path)) == 1
        assert kept.is_dir()
    assert names(tmp_path) == ["everybody.lock"]


def test_locks_without_a_folder_go_too(tmp_path: Path) -> None:
    put(tmp_path / "1-a.lock", b"")
    (tmp_path / "2-b").mkdir()
    assert [path.name for path in sweep(tmp_path)] == ["2-b"]
    assert names(tmp_path) == []


def test_nobody_builds_only_while_nobody_does(tmp_path: Path) -> None:
    with Incoming(tmp_path), nobody_builds(tmp_path) as alone:
        assert not alone
    with nobody_builds(tmp_path) as alone:
        assert alone
    with nobody_builds(tmp_path / "absent") as alone:
        assert alone
    assert names(tmp_path) == ["everybody.lock"]
