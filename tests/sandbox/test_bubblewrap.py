"""The bubblewrap back end: what holds beyond the table of all back ends, as root and as an ordinary user."""

import contextlib
import dataclasses
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import sandbox
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.bubblewrap_host import Host, Interpreter
from sandbox.cgroup import INNER, Group, Groups
from sandbox.init import descendants, parents
from sandbox.protocol import Ending, Limits, Mount, RunningSandbox, SandboxError, SandboxSpec
from tests.waiting import AT_ONCE, FOREVER

pytestmark = pytest.mark.needs("bubblewrap")

ORDINARY_CALLER = Path(__file__).with_name("ordinary_caller.py")


@pytest.fixture
def running(bubblewrap_sandbox: BubblewrapSandbox, place) -> Iterator[RunningSandbox]:
    started = bubblewrap_sandbox.start(place.spec())
    yield started
    started.collect()


def test_host_cannot_be_changed_through_proc_or_devices(running, run) -> None:
    before = Path("/dev/null").stat()
    # Should one of these succeed, it writes what is there already.
    script = (
        "for f in /proc/sys/kernel/core_pattern /proc/sys/vm/swappiness /proc/irq/default_smp_affinity; do"
        ' [ -e $f ] && (cat $f >$f) 2>/dev/null && echo "wrote $f"; done;'
        " for d in /dev/null /dev/zero /dev/full /dev/tty /dev/random /dev/urandom; do"
        " chmod $(stat -c %a $d) $d 2>/dev/null && echo changed $d; done"
    )
    assert run(running, ["sh", "-c", script]).stdout == b""
    after = Path("/dev/null").stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert before.st_uid == 0


def test_no_capability_can_be_had(running, run) -> None:
    told = run(running, ["grep", "-E", "^(Cap|NoNewPrivs|Seccomp:)", "/proc/self/status"]).stdout.decode()
    status = dict(line.split(":\t") for line in told.splitlines())
    assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"


@pytest.mark.parametrize(
    ("call", "number"),
    [("unshare(CLONE_NEWUSER)", 272), ("keyctl", 250), ("io_uring_setup", 425), ("bpf", 321)],
)
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of another machine")
def test_far_reaching_system_calls_are_denied(
    bubblewrap_sandbox, running, run, call: str, number: int
) -> None:
    source = (
        "import ctypes; libc = ctypes.CDLL(None, use_errno=True);"
        f"print(libc.syscall({number}, 0x10000000, 0, 0, 0, 0), ctypes.get_errno())"
    )
    assert run(running, [bubblewrap_sandbox.python, "-c", source]).stdout == b"-1 1\n"


def test_threads_and_processes_work_under_the_filter(bubblewrap_sandbox, running, run) -> None:
    source = (
        "import threading, subprocess; done = [];"
        "t = threading.Thread(target=lambda: done.append(subprocess.check_output(['echo', 'hi'])));"
        "t.start(); t.join(); print(done)"
    )
    assert run(running, [bubblewrap_sandbox.python, "-c", source]).stdout == b"[b'hi\\n']\n"


def test_init_withstands_the_commands(running, run) -> None:
    script = (
        "for s in KILL STOP TERM INT HUP USR1; do kill -$s 1; done; kill -TERM -1;"
        " cat /proc/1/environ /proc/1/mem /proc/1/maps; ls /proc/1/fd"
    )
    assert run(running, ["sh", "-c", script]).stdout == b""
    assert run(running, ["echo", "alive"]).stdout == b"alive\n"


def test_command_line_of_bwrap_tells_nothing(running, place) -> None:
    lines = []
    for pid in parents():
        try:
            lines.append(Path(f"/proc/{pid}/cmdline").read_bytes())
        except OSError:
            continue
    ours = [line for line in lines if line.split(b"\0")[0].endswith(b"bwrap")]
    assert ours
    assert not any(bytes(place.workspace) in line for line in ours)


def test_standard_streams_can_be_opened_by_name(running, run) -> None:
    ran = run(
        running, ["sh", "-c", "cat /dev/stdin; echo out >/dev/stdout; echo err >/dev/stderr"], stdin=b"in\n"
    )
    assert (ran.stdout, ran.stderr) == (b"in\nout\n", b"err\n")


def test_socket_in_a_mounted_folder_can_be_reached(bubblewrap_sandbox, place, run) -> None:
    with tempfile.TemporaryDirectory() as name, socket.socket(socket.AF_UNIX) as server:
        folder = Path(name)
        folder.chmod(0o711)
        server.bind(f"{name}/gateway")
        (folder / "gateway").chmod(0o666)
        server.listen()
        running = bubblewrap_sandbox.start(place.spec(mounts=(Mount(folder, "/run/gateway"),)))
        source = (
            "import socket; s = socket.socket(socket.AF_UNIX);"
            "s.connect('/run/gateway/gateway'); s.send(b'hi')"
        )
        ran = run(running, [bubblewrap_sandbox.python, "-c", source])
        assert ran.result.exit_code == 0, ran.stderr
        with server.accept()[0] as client:
            assert client.recv(10) == b"hi"
        running.collect()


def test_sandbox_outlives_the_thread_that_started_it(bubblewrap_sandbox, place, run) -> None:
    started: list[RunningSandbox] = []
    thread = threading.Thread(target=lambda: started.append(bubblewrap_sandbox.start(place.spec())))
    thread.start()
    thread.join()
    time.sleep(0.3)
    assert run(started[0], ["echo", "alive"]).stdout == b"alive\n"
    started[0].collect()


def test_64_at_once_end_at_their_deadline(bubblewrap_sandbox, place, marker, gone_within) -> None:
    limits = Limits(wall_seconds=8)

    def hold(number: int) -> tuple[Ending, float]:
        workspace = place.workspace / str(number)
        workspace.mkdir()
        deadline = time.monotonic() + limits.wall_seconds
        running = bubblewrap_sandbox.start(SandboxSpec(workspace, limits))
        ending = running.exec(["sh", "-c", f"setsid sleep {marker} & sleep {marker}"]).result().ending
        late = time.monotonic() - deadline
        running.collect()
        return ending, late

    with ThreadPoolExecutor(64) as pool:
        told = list(pool.map(hold, range(64)))
    assert {ending for ending, _ in told} == {Ending.DEADLINE}
    assert max(late for _, late in told) < AT_ONCE
    assert gone_within(marker, 0)


def test_deleted_files_do_not_hide_a_flood(bubblewrap_sandbox, place, run, limits: Limits) -> None:
    few = dataclasses.replace(limits, workspace_bytes=8 << 20)
    running = bubblewrap_sandbox.start(place.spec(few))
    script = f"exec 3>gone; rm gone; head -c 16777216 /dev/zero >&3; sleep {FOREVER}"
    assert run(running, ["sh", "-c", script], timeout=AT_ONCE).result.ending is Ending.DISK_LIMIT
    running.collect()


def test_a_folder_that_cannot_be_mounted_is_named_and_nothing_is_left(bubblewrap_sandbox, place) -> None:
    missing = Mount(place.workspace.parent / "nowhere", "haystack")
    with pytest.raises(SandboxError, match="nowhere"):
        bubblewrap_sandbox.start(place.spec(mounts=(missing,)))
    assert list(place.workspace.iterdir()) == []
    assert place.workspace.stat().st_uid == os.geteuid()


def test_another_python_is_mounted_where_usr_has_none(place, run) -> None:
    prefix = Path(sys.base_prefix)
    if prefix.is_relative_to("/usr"):
        pytest.skip("the only Python here is in /usr")
    own = prefix / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    host = dataclasses.replace(Host.find(), interpreter=Interpreter(str(own), prefix))
    backend = BubblewrapSandbox(host)
    running = backend.start(place.spec())
    assert run(running, [backend.python, "-c", "import sqlite3; print(1)"]).stdout == b"1\n"
    running.collect()


# --- control groups -----------------------------------------------------------------------------------------


@pytest.fixture
def groups() -> Groups:
    found = Groups.find()
    if found is None:
        pytest.skip("no control group can be made here")
    return found


def folders_of(groups: Groups) -> set[Path]:
    """The folders of all sandboxes there are, other programs' too."""
    return {folder for parent in groups.parents for folder in parent.glob("sb-*")}


def pids_in(folder: Path) -> set[int]:
    with contextlib.suppress(OSError):
        return {int(pid) for pid in (folder / INNER / "cgroup.procs").read_text().split()}
    return set()


def test_groups_go_with_their_sandbox(groups: Groups, bubblewrap_sandbox, place) -> None:
    running = bubblewrap_sandbox.start(place.spec())
    ours = descendants(os.getpid())
    made = {folder for folder in folders_of(groups) if ours & pids_in(folder)}
    assert len(made) == len(groups.parents)
    running.collect()
    assert not any(folder.exists() for folder in made)


def test_reaping_removes_what_is_empty_and_old_and_only_that(groups: Groups, limits: Limits) -> None:
    young, empty, populated = (groups.make(limits) for _ in range(3))
    for folder in (*empty.folders, *populated.folders):
        os.utime(folder, (0, 0))
    with subprocess.Popen(["sleep", str(FOREVER)]) as process:
        for entrance in populated.entrances:
            entrance.write_text(str(process.pid))
        assert groups.reap() >= 1
        assert not exists(empty)
        assert exists(populated)
        process.kill()
    assert exists(young)
    assert young.remove()
    assert populated.remove()


def exists(group: Group) -> bool:
    return any(folder.exists() for folder in group.folders)


# --- an ordinary caller -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def seen() -> dict[str, object]:
    """What ordinary_caller.py saw: with a bwrap of today, then as if it had none of the newer options."""
    python = "/usr/bin/python3"
    asked = subprocess.run(
        [python, "-c", "import sys; print(sys.version_info >= (3, 11))"], capture_output=True, check=False
    )
    if os.geteuid() != 0 or asked.stdout != b"True\n":
        pytest.skip("needs root, to become somebody else, and a Python 3.11 that everybody may run")
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        home.chmod(0o755)
        package = home / "package"
        shutil.copytree(
            Path(sandbox.__file__).parent, package / "sandbox", ignore=shutil.ignore_patterns("__pycache__")
        )
        program = shutil.copy(ORDINARY_CALLER, package)
        place = home / "place"
        place.mkdir()
        os.chown(place, 4321, 4321)
        ran = subprocess.run(
            [python, program, str(place)],
            user=4321,
            group=4321,
            extra_groups=[],
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(package), "HOME": str(place)},
            cwd=place,
            capture_output=True,
            timeout=FOREVER,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr.decode()
        told: dict[str, object] = json.loads(ran.stdout)
        return told


@pytest.mark.parametrize("options", ["all", "few"])
@pytest.mark.parametrize(
    ("what", "wanted"),
    [
        ("user", "1000:1000"),
        ("root_writable", ""),
        ("haystack_writable", ""),
        ("host_visible", ""),
        ("network", "lo"),
        ("capabilities", "0000000000000000"),
        ("owner_of_made_file", 4321),
        ("deadline", "deadline"),
        ("left_alive", 0),
        ("flood_by_deleted_file", "disk_limit"),
        ("closed_folder_is_readable_afterwards", True),
    ],
)
def test_ordinary_caller_gets_the_same(seen, options: str, what: str, wanted: object) -> None:
    assert seen[options][what] == wanted


def test_ordinary_caller_without_groups_has_fewer_processes_and_no_promise(seen) -> None:
    if seen["all"]["limits"]:
        pytest.skip("this machine delegates control groups to ordinary users")
    if not seen["all"]["counts_by_namespace"]:
        pytest.skip("this kernel counts a user's processes on the whole machine")
    assert 10 < seen["all"]["processes"] <= 64
