"""What a sandbox holds against commands that want out, too much, or to stay."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.protocol import Capability, Ending, Limits, Sandbox
from tests.waiting import AT_ONCE, FOREVER

MIB = 1024 * 1024
DRIVER = Path(__file__).with_name("drive.py")

claims = pytest.mark.claims


# --- read-only haystack -------------------------------------------------------------------------------------

# Each attempt that succeeds prints its name; the paths are given as arguments.
TAMPER = """
import ctypes, os, sys
hay, ws = sys.argv[1:3]
t = hay + "/trajectories/t1"; f = t + "/0000.txt"
libc = ctypes.CDLL(None, use_errno=True)
def call(function, *arguments):
    if function(*arguments) != 0:
        raise OSError(ctypes.get_errno(), "refused")
def remount():
    call(libc.mount, None, hay.encode(), None, 32 | 4096, None)
def in_a_user_namespace():
    call(libc.unshare, 0x10020000)
    remount()
def via_link():
    os.symlink(f, ws + "/link"); open(ws + "/link", "a")
def via_hard_link():
    os.link(f, ws + "/hard"); open(ws + "/hard", "a")
attempts = {
    "write": lambda: open(f, "r+"),
    "append": lambda: open(f, "a"),
    "truncate": lambda: os.truncate(f, 0),
    "create": lambda: open(t + "/new", "w"),
    "mkdir": lambda: os.mkdir(t + "/folder"),
    "chmod": lambda: os.chmod(f, 0o777),
    "chown": lambda: os.chown(f, os.getuid(), os.getgid()),
    "utime": lambda: os.utime(f, (1, 1)),
    "unlink": lambda: os.unlink(f),
    "rename": lambda: os.rename(f, t + "/1.txt"),
    "replace": lambda: (open(ws + "/mine", "w").write("x"), os.rename(ws + "/mine", f)),
    "setxattr": lambda: os.setxattr(f, "user.x", b"1"),
    "rmdir of the mount": lambda: os.rmdir(hay),
    "rename of the mount": lambda: os.rename(hay, ws + "/elsewhere"),
    "remount": remount,
    "remount in a user namespace": in_a_user_namespace,
    "mount over": lambda: call(libc.mount, b"tmpfs", hay.encode(), b"tmpfs", 0, None),
    "umount": lambda: call(libc.umount2, hay.encode(), 2),
    "through proc": lambda: open("/proc/self/root" + f, "a"),
    "through cwd": lambda: open("/proc/self/cwd/" + os.path.relpath(f), "a"),
    "through a link": via_link,
    "through a hard link": via_hard_link,
}
for name, attempt in attempts.items():
    try:
        attempt()
    except OSError:
        continue
    print(name)
"""


def content(folder: Path) -> Mapping[str, object]:
    return {
        str(path): (path.lstat().st_mode, path.lstat().st_mtime_ns, path.is_file() and path.read_bytes())
        for path in folder.rglob("*")
    }


@claims(Capability.READ_ONLY)
def test_haystack_withstands_every_attempt(backend: Sandbox, start, run, place) -> None:
    before = content(place.haystack)
    sandbox = start()
    haystack = backend.locate(place.workspace, place.spec().mounts[0])
    ran = run(sandbox, [backend.python, "-c", TAMPER, haystack, sandbox.workdir])
    assert (ran.stdout, ran.stderr, ran.result.exit_code) == (b"", b"", 0)
    collected = sandbox.collect()
    assert collected.read_only_violations == ()
    assert content(place.haystack) == before
    assert not (place.workspace / "haystack").exists()


# --- no network ---------------------------------------------------------------------------------------------

CONNECT = """
import json, socket, sys
targets = json.loads(sys.argv[1])
def attempt(name, action):
    try:
        action()
    except OSError:
        return
    print(name)
def tcp(host, port):
    socket.create_connection((host, port), 1.5)
def udp(host, port):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    socket.socket(family, socket.SOCK_DGRAM).sendto(b"x", (host, port))
for host, port in targets:
    attempt("tcp %s" % host, lambda: tcp(host, port))
    attempt("udp %s" % host, lambda: udp(host, port))
attempt("dns", lambda: socket.getaddrinfo("example.com", 443))
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt("abstract", lambda: socket.socket(socket.AF_UNIX).connect("\\0" + sys.argv[2]))
for _, name in socket.if_nameindex():
    if name != "lo" and open("/sys/class/net/%s/operstate" % name).read() == "up\\n":
        print("interface " + name)
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname(), 60)
"""


@claims(Capability.NO_NETWORK)
def test_there_is_no_network_but_loopback(backend: Sandbox, running, run) -> None:
    with socket.create_server(("0.0.0.0", 0)) as ours, socket.socket(socket.AF_UNIX) as abstract:
        name = f"canary-{os.getpid()}"
        abstract.bind("\0" + name)
        abstract.listen()
        port = ours.getsockname()[1]
        addresses = {address for address in own_addresses() if not address.startswith("127.")}
        targets = [(address, port) for address in sorted(addresses | {"172.17.0.1"})]
        targets += [
            ("127.0.0.1", port),
            ("169.254.169.254", 80),
            ("1.1.1.1", 53),
            ("2606:4700:4700::1111", 53),
        ]
        ran = run(running, [backend.python, "-c", CONNECT, json.dumps(targets), name])
    # A datagram to the own loopback leaves nothing; every other line is a way out.
    assert set(ran.stdout.decode().splitlines()) <= {"udp 127.0.0.1"}
    assert (ran.result.exit_code, ran.stderr) == (0, b"")


def own_addresses() -> set[str]:
    """The addresses of this host, bridges of the engine included."""
    found = set()
    for line in Path("/proc/net/fib_trie").read_text().split("\n|--"):
        words = line.replace("|--", " ").split()
        found.update(word for word in words if word.count(".") == 3 and "/" not in word)
    return {address for address in found if not address.endswith((".0", ".255"))}


# --- limits -------------------------------------------------------------------------------------------------


@claims(Capability.LIMITS)
def test_fork_bomb_stays_inside(start, run, marker: str, gone_within) -> None:
    sandbox = start()
    bomb = f"f() {{ f | f & sleep {marker}; }}; f 2>/dev/null; while :; do sleep {marker} & done 2>/dev/null"
    ran = run(sandbox, ["sh", "-c", bomb], timeout=2.0)
    assert ran.result.ending in (Ending.DEADLINE, Ending.EXITED)
    sandbox.stop()
    assert gone_within(marker)


@claims(Capability.LIMITS)
def test_number_of_processes_is_limited(backend: Sandbox, start, run, limits: Limits) -> None:
    count = (
        "import os, time\nn = 0\n"
        "try:\n"
        "    while n < 500:\n"
        "        if os.fork() == 0: time.sleep(600)\n"
        "        n += 1\n"
        "except OSError: pass\n"
        "print(n, flush=True); os._exit(0)\n"
    )
    ran = run(start(), [backend.python, "-c", count])
    assert 0.5 * limits.pids < int(ran.stdout) <= limits.pids


HOG = "import sys; sys.stdout.write('up'); sys.stdout.flush(); b = [b'x' * (1 << 20) for _ in range(2000)]"


@claims(Capability.LIMITS)
def test_memory_hog_is_killed_and_reported(backend: Sandbox, start, run, limits: Limits) -> None:
    sandbox = start()
    ran = run(sandbox, [backend.python, "-c", HOG], timeout=AT_ONCE)
    assert (ran.stdout, ran.result.ending, ran.result.exit_code) == (b"up", Ending.EXITED, 137)
    assert run(sandbox, ["echo", "still there"]).stdout == b"still there\n"
    collected = sandbox.collect()
    assert collected.oom_kills >= 1
    assert collected.main_oom
    assert collected.memory_peak_bytes is None or collected.memory_peak_bytes > 0.9 * limits.memory_bytes


@claims(Capability.LIMITS, Capability.FILESYSTEM)
def test_scratch_full_of_files_leaves_memory_for_commands(start, run, limits: Limits) -> None:
    sandbox = start(limits=replace(limits, memory_bytes=64 * MIB, scratch_bytes=128 * MIB))
    fill = 'for d in "$HOME" "$TMPDIR" /dev/shm; do head -c 128000000 /dev/zero >$d/x 2>/dev/null; done'
    assert run(sandbox, ["sh", "-c", fill], timeout=AT_ONCE).result.ending is Ending.EXITED
    assert run(sandbox, ["sh", "-c", "echo there"], timeout=AT_ONCE).stdout == b"there\n"


@claims(Capability.LIMITS)
def test_killed_child_is_no_killed_command(backend: Sandbox, start, run) -> None:
    sandbox = start()
    ran = run(sandbox, ["sh", "-c", f'{backend.python} -c "{HOG}"; echo; echo child $?'], timeout=AT_ONCE)
    assert (ran.stdout, ran.result.exit_code) == (b"up\nchild 0\n", 0)
    collected = sandbox.collect()
    assert (collected.oom_kills, collected.main_oom) == (1, False)


@claims(Capability.LIMITS)
def test_kill_of_ones_own_is_no_memory_kill(start, run) -> None:
    sandbox = start()
    assert run(sandbox, ["sh", "-c", "kill -9 $$"]).result.exit_code == 137
    collected = sandbox.collect()
    assert (collected.oom_kills, collected.main_oom) == (0, False)


@claims(Capability.LIMITS)
def test_cpu_is_limited(backend: Sandbox, start, run, limits: Limits) -> None:
    burn = (
        "import os, time\nend = time.monotonic() + 2\nos.fork()\n"
        "while time.monotonic() < end: pass\nprint(time.process_time(), flush=True)"
    )
    ran = run(start(limits=replace(limits, cpus=0.5)), [backend.python, "-c", burn])
    assert sum(map(float, ran.stdout.split())) < 0.5 * 2 * 1.4


@claims(Capability.PROCESSES)
def test_signals_to_everybody_do_not_end_the_sandbox(start, run) -> None:
    sandbox = start()
    signals = "TERM INT HUP QUIT USR1 USR2 ALRM PIPE ABRT CHLD TSTP STOP KILL"
    ran = run(sandbox, ["sh", "-c", f"for s in {signals}; do kill -$s 1; kill -$s -1; done"], timeout=AT_ONCE)
    assert ran.result.ending is Ending.EXITED
    time.sleep(0.3)
    assert run(sandbox, ["echo", "there"]).stdout == b"there\n"


# --- disk ---------------------------------------------------------------------------------------------------


@claims(Capability.DISK)
@pytest.mark.parametrize(
    "flood",
    [
        "i=0; while :; do head -c 8388608 /dev/zero >big$i; i=$((i+1)); done",
        "i=0; while :; do mkdir d$i; for j in 1 2 3 4 5 6 7 8; do : >d$i/$j; done; i=$((i+1)); done",
    ],
    ids=["bytes", "files"],
)
def test_flood_of_the_workspace_ends_the_sandbox(start, run, flood: str) -> None:
    sandbox = start()
    ran = run(sandbox, ["sh", "-c", flood], timeout=AT_ONCE)
    assert ran.result.ending is Ending.DISK_LIMIT
    assert sandbox.collect().disk_limit


@claims(Capability.DISK)
def test_file_larger_than_the_limit_cannot_be_made(start, run, place, limits: Limits) -> None:
    sandbox = start(limits=replace(limits, file_bytes=4 * MIB))
    script = "head -c 8388608 /dev/zero >full; truncate -s 1T sparse; ulimit -c; echo alive"
    ran = run(sandbox, ["sh", "-c", script])
    assert ran.stdout == b"0\nalive\n"
    sandbox.collect()
    assert (place.workspace / "full").stat().st_size == 4 * MIB
    sparse = place.workspace / "sparse"
    assert not sparse.exists() or sparse.stat().st_size == 0


@claims(Capability.DISK, Capability.FILESYSTEM)
def test_scratch_space_is_limited(start, run, limits: Limits) -> None:
    sandbox = start(limits=replace(limits, scratch_bytes=2 * MIB))
    script = 'for d in "$HOME" "$TMPDIR"; do head -c 4194304 /dev/zero >$d/x 2>/dev/null || echo full; done'
    assert run(sandbox, ["sh", "-c", script]).stdout == b"full\nfull\n"


# --- nothing is left ----------------------------------------------------------------------------------------


def drive(backend: Sandbox, place, marker: str, *seconds: float) -> "subprocess.Popen[bytes]":
    """A process of ours that has started a sandbox in which `sleep marker` runs in a session of its own.

    The sandbox lives for the first of `seconds` in which the machine gets so far.
    """
    for wall in seconds:
        process = subprocess.Popen(
            [sys.executable, DRIVER, backend.name, place.workspace, place.haystack, marker, str(wall)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(DRIVER.parents[2])},
        )
        assert process.stdout is not None
        if process.stdout.readline() == b"up\n":
            return process
        assert process.wait(AT_ONCE) == 0
    raise AssertionError(f"no command was begun within {seconds} s")


@claims(Capability.DEADLINE)
def test_interrupt_of_our_process_leaves_nothing(backend, place, marker, gone_within, alive_now) -> None:
    process = drive(backend, place, marker, FOREVER)
    assert len(alive_now(marker)) >= 1
    process.send_signal(signal.SIGINT)
    assert process.wait(AT_ONCE) == 130
    assert gone_within(marker)
    assert {path.lstat().st_uid for path in place.workspace.rglob("*")} <= {os.geteuid()}
    assert not (place.workspace / "haystack").exists()


@claims(Capability.SURVIVES_KILL)
def test_kill_of_our_process_leaves_nothing_beyond_the_deadline(backend, place, marker, gone_within) -> None:
    process = drive(backend, place, marker, 2, 20)
    process.kill()
    process.wait()
    assert gone_within(marker)
