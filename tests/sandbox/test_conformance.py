"""What every sandbox promises: one claim per test, tried on every back end that declares the capability."""

import hashlib
import os
import secrets
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.protocol import Capability, Ending, Limits, Sandbox
from tests.waiting import AT_ONCE, FOREVER

MIB = 1024 * 1024
# Deadlines to be tried in turn by a test whose command must have got somewhere by then: the first is enough
# but on a slow machine.
DEADLINES = (1.5, 30.0)

claims = pytest.mark.claims


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# --- exec ---------------------------------------------------------------------------------------------------


@claims(Capability.EXEC)
@pytest.mark.parametrize(
    ("script", "code"),
    [("exit 0", 0), ("exit 3", 3), ("kill -TERM $$", 143), ("kill -KILL $$", 137), ("/nowhere/at/all", 127)],
)
def test_exit_code_is_the_commands_own(running, run, script: str, code: int) -> None:
    ran = run(running, ["sh", "-c", script])
    assert (ran.result.ending, ran.result.exit_code) == (Ending.EXITED, code)


@claims(Capability.EXEC)
def test_unknown_command_is_its_own_failure_and_not_the_sandboxs(running, run) -> None:
    ran = run(running, ["no-such-command-anywhere"])
    assert (ran.result.ending, ran.result.exit_code) == (Ending.EXITED, 127)
    assert b"no-such-command-anywhere" in ran.stderr


@claims(Capability.EXEC)
def test_streams_are_apart_and_bytes_stay_as_they_are(backend: Sandbox, running, run) -> None:
    script = "import sys; b = bytes(range(256)); sys.stdout.buffer.write(b); sys.stderr.buffer.write(b[::-1])"
    ran = run(running, [backend.python, "-c", script])
    assert ran.stdout == bytes(range(256))
    assert ran.stderr == bytes(range(256))[::-1]


@claims(Capability.EXEC)
def test_50_mb_of_output_arrive_byte_exact(backend: Sandbox, running, run) -> None:
    script = (
        "import hashlib, random, sys\n"
        "rng = random.Random(7); sha = hashlib.sha256()\n"
        "for _ in range(50):\n"
        "    block = rng.randbytes(1 << 20); sha.update(block); sys.stdout.buffer.write(block)\n"
        "sys.stderr.write(sha.hexdigest())\n"
    )
    ran = run(running, [backend.python, "-c", script])
    assert len(ran.stdout) == 50 * MIB
    assert sha256(ran.stdout) == ran.stderr.decode()
    assert ran.result.dropped_bytes == {"stdout": 0, "stderr": 0}


@claims(Capability.EXEC)
def test_output_beyond_the_cap_is_counted_and_not_kept(start, run, limits: Limits) -> None:
    sandbox = start(limits=replace(limits, output_bytes=1 * MIB))
    ran = run(sandbox, ["sh", "-c", "head -c 3145728 /dev/zero; echo fine >&2"])
    assert ran.stdout == bytes(1 * MIB)
    assert ran.stderr == b"fine\n"
    assert ran.result.dropped_bytes == {"stdout": 2 * MIB, "stderr": 0}


@claims(Capability.EXEC)
def test_output_arrives_while_the_command_runs(running) -> None:
    script = "echo one; while ! test -e one-arrived; do sleep 0.05; done; echo two"
    arriving = iter(running.exec(["sh", "-c", script], timeout=AT_ONCE))
    one = next(arriving)
    asked = time.monotonic()
    assert running.exec(["touch", "one-arrived"]).result().exit_code == 0
    (two,) = arriving
    assert (one.data, two.data) == (b"one\n", b"two\n")
    assert one.at <= asked <= two.at


@claims(Capability.EXEC)
def test_stdin_is_at_its_end_unless_given(running, run) -> None:
    ran = run(running, ["sh", "-c", "cat; echo end"], timeout=AT_ONCE)
    assert (ran.result.ending, ran.stdout) == (Ending.EXITED, b"end\n")


@claims(Capability.EXEC)
def test_stdin_arrives_whole_while_output_comes_back(running, run) -> None:
    data = secrets.token_bytes(4 * MIB)
    ran = run(running, ["cat"], stdin=data, timeout=AT_ONCE)
    assert ran.result.exit_code == 0
    assert sha256(ran.stdout) == sha256(data)


@claims(Capability.EXEC)
def test_command_that_never_reads_its_stdin_ends(running, run) -> None:
    ran = run(running, ["sh", "-c", "exec 0<&-; exit 5"], stdin=bytes(4 * MIB), timeout=AT_ONCE)
    assert (ran.result.ending, ran.result.exit_code) == (Ending.EXITED, 5)


@claims(Capability.EXEC)
def test_arguments_arrive_unchanged(backend: Sandbox, running, run) -> None:
    arguments = ["", " a  b ", "$HOME", "`id`", "'\"\\", "line\nbreak", "käse", "-x", "A=b"]
    ran = run(running, [backend.python, "-c", "import sys; print(ascii(sys.argv[1:]))", *arguments])
    assert ran.stdout.decode().strip() == ascii(arguments)


@claims(Capability.EXEC)
@pytest.mark.parametrize("argument", ["x" * 200_000, "nul\0inside"], ids=["too long", "NUL"])
def test_argument_that_no_kernel_takes_is_the_commands_failure(running, run, argument: str) -> None:
    ran = run(running, ["echo", argument])
    assert (ran.result.ending, ran.result.exit_code, ran.stdout) == (Ending.EXITED, 126, b"")
    assert ran.stderr


@claims(Capability.EXEC)
def test_environment_is_what_was_given_and_four_names(backend: Sandbox, start, run) -> None:
    os.environ["CANARY_OF_THE_CALLER"] = "secret"
    try:
        sandbox = start(env={"GIVEN": "by spec", "BOTH": "spec"})
        show = "import os; print('\\n'.join(sorted(k + '=' + v for k, v in os.environ.items())))"
        ran = run(sandbox, [backend.python, "-I", "-S", "-c", show], env={"BOTH": "exec"})
    finally:
        del os.environ["CANARY_OF_THE_CALLER"]
    seen = dict(line.split("=", 1) for line in ran.stdout.decode().splitlines())
    assert seen.keys() - {"LC_CTYPE"} == {"GIVEN", "BOTH", "HOME", "PATH", "TMPDIR", "LANG"}
    assert (seen["GIVEN"], seen["BOTH"]) == ("by spec", "exec")


@claims(Capability.EXEC)
def test_home_and_tmp_can_be_written_and_executed(running, run) -> None:
    script = 'for d in "$HOME" "$TMPDIR"; do printf "#!/bin/sh\\necho ran" >$d/x; chmod +x $d/x; $d/x; done'
    assert run(running, ["sh", "-c", script]).stdout == b"ran\nran\n"


@claims(Capability.EXEC)
def test_working_directory_is_the_workspace(start, run, place) -> None:
    sandbox = start()
    ran = run(sandbox, ["sh", "-c", "pwd; echo written >note"])
    assert ran.stdout.decode().strip() == sandbox.workdir
    assert (place.workspace / "note").read_text() == "written\n"


@claims(Capability.EXEC)
def test_mounts_are_where_locate_says(backend: Sandbox, start, run, place) -> None:
    mounts = place.spec().mounts
    inside = backend.locate(place.workspace, mounts[0])
    ran = run(start(), ["cat", f"{inside}/trajectories/t1/0000.txt"])
    assert ran.stdout == (place.haystack / "trajectories" / "t1" / "0000.txt").read_bytes()


@claims(Capability.EXEC)
def test_child_that_keeps_stdout_does_not_keep_the_result(running, run) -> None:
    began = time.monotonic()
    ran = run(running, ["sh", "-c", f"setsid sleep {FOREVER} & echo done; exit 4"])
    assert (ran.stdout, ran.result.exit_code) == (b"done\n", 4)
    assert time.monotonic() - began < AT_ONCE


@claims(Capability.EXEC)
def test_two_commands_run_at_once(running) -> None:
    waiting = running.exec(
        ["sh", "-c", "while ! test -e go; do sleep 0.05; done; echo went"], timeout=AT_ONCE
    )
    assert running.exec(["touch", "go"]).result().exit_code == 0
    assert b"".join(chunk.data for chunk in waiting) == b"went\n"
    assert waiting.result().exit_code == 0


# --- deadline -----------------------------------------------------------------------------------------------


@claims(Capability.DEADLINE)
def test_timeout_kills_a_child_that_left_its_session_and_holds_stdout(
    start, run, marker: str, gone_within
) -> None:
    sandbox = start()
    began = time.monotonic()
    ran = run(sandbox, ["sh", "-c", f"setsid sleep {marker} & sleep {marker}"], timeout=1.0)
    assert (ran.result.ending, ran.result.exit_code) == (Ending.DEADLINE, None)
    assert time.monotonic() - began < AT_ONCE
    assert gone_within(marker)


@claims(Capability.DEADLINE)
def test_wall_clock_ends_the_sandbox_whatever_runs(
    start, run, limits: Limits, marker: str, gone_within, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not init's own clock, which is for the case that we are gone.
    monkeypatch.setattr("sandbox.supervised.BACKSTOP_SECONDS", FOREVER)
    monkeypatch.setattr("sandbox.docker_engine._SELF_END_SECONDS", FOREVER)
    stubborn = f"trap '' TERM INT HUP; echo up; while :; do sleep {marker}; done"
    for seconds in DEADLINES:
        sandbox = start(limits=replace(limits, wall_seconds=seconds))
        began = time.monotonic()
        ran = run(sandbox, ["sh", "-c", stubborn])
        assert ran.result.ending is Ending.DEADLINE
        assert time.monotonic() - began < seconds + AT_ONCE
        assert gone_within(marker)
        sandbox.collect()
        if ran.stdout:
            break
    assert ran.stdout == b"up\n"


@claims(Capability.DEADLINE)
def test_flood_of_output_neither_delays_the_deadline_nor_fills_memory(start, run, limits: Limits) -> None:
    for seconds in DEADLINES:
        sandbox = start(limits=replace(limits, output_bytes=1 * MIB))
        began = time.monotonic()
        ran = run(sandbox, ["sh", "-c", "yes & yes >&2"], timeout=seconds)
        assert ran.result.ending is Ending.DEADLINE
        assert time.monotonic() - began < seconds + AT_ONCE
        sandbox.collect()
        if min(ran.result.dropped_bytes.values()) > 0:
            break
    assert (len(ran.stdout), len(ran.stderr)) == (MIB, MIB)
    assert min(ran.result.dropped_bytes.values()) > 0


@claims(Capability.DEADLINE)
def test_output_that_nobody_reads_does_not_delay_the_deadline(start) -> None:
    sandbox = start()
    execution = sandbox.exec(["yes"], timeout=0.7)
    time.sleep(1.0)
    began = time.monotonic()
    assert execution.result().ending is Ending.DEADLINE
    assert time.monotonic() - began < AT_ONCE


@claims(Capability.DEADLINE)
def test_after_the_end_every_command_ends_for_the_same_reason(start, run, limits: Limits) -> None:
    sandbox = start(limits=replace(limits, wall_seconds=0.5))
    assert run(sandbox, ["sleep", str(FOREVER)]).result.ending is Ending.DEADLINE
    assert run(sandbox, ["true"]).result.ending is Ending.DEADLINE
    sandbox.stop()
    assert run(sandbox, ["true"]).result.ending is Ending.DEADLINE


@claims(Capability.DEADLINE)
def test_stop_from_another_thread_ends_everything_at_once(start, marker: str, gone_within) -> None:
    sandbox = start()
    stopping = threading.Thread(target=sandbox.stop, daemon=True)
    execution = sandbox.exec(["sh", "-c", f"setsid sleep {marker} & echo up; sleep {marker}"])
    for chunk in execution:
        assert chunk.data == b"up\n"
        stopping.start()
    assert execution.result().ending is Ending.STOPPED
    stopping.join(AT_ONCE)
    assert not stopping.is_alive()
    assert gone_within(marker)


@claims(Capability.DEADLINE, Capability.COLLECT)
def test_what_was_written_before_the_deadline_is_collected(start, run, place) -> None:
    written = place.workspace / "memory_module_output.json"
    for seconds in DEADLINES:
        sandbox = start()
        ran = run(sandbox, ["sh", "-c", f"echo half >{written.name}; sleep {FOREVER}"], timeout=seconds)
        assert ran.result.ending is Ending.DEADLINE
        sandbox.collect()
        if written.exists():
            break
    assert written.read_text() == "half\n"


# --- collect ------------------------------------------------------------------------------------------------


@claims(Capability.COLLECT)
def test_files_come_back_owned_by_the_caller(start, run, place) -> None:
    (place.workspace / "question.json").write_text("{}")
    sandbox = start()
    assert (
        run(sandbox, ["sh", "-c", "mkdir -p a/b; echo x >a/b/c; echo y >>question.json"]).result.exit_code
        == 0
    )
    sandbox.collect()
    for path in [place.workspace, *place.workspace.rglob("*")]:
        assert (path.lstat().st_uid, path.lstat().st_gid) == (os.geteuid(), os.getegid()), path
    assert sorted(path.name for path in place.workspace.iterdir()) == ["a", "question.json"]


HOSTILE_TREE = """
import os, socket
os.symlink("/etc/passwd", "passwd"); os.symlink("/etc", "etc")
os.symlink("..", "up"); os.symlink("self", "self")
os.mkfifo("fifo"); socket.socket(socket.AF_UNIX).bind("socket")
os.mkdir(b"line\\nbreak"); open(b"line\\nbreak/\\xff\\xfe", "w").write("bytes")
os.mkdir("locked"); open("locked/inside", "w").write("x"); os.chmod("locked/inside", 0); os.chmod("locked", 0)
open("setuid", "w").write("x"); os.chmod("setuid", 0o6755); os.link("setuid", "setuid-too")
for _ in range(90):
    os.mkdir("deep"); os.chdir("deep")
open("bottom", "w").write("here")
"""


def _rights(path: Path) -> tuple[int, int, int, int]:
    """What taking a tree back could change by mistake; the times of our own folder are no such thing."""
    status = path.stat()
    return status.st_ino, status.st_mode, status.st_uid, status.st_gid


@claims(Capability.COLLECT)
def test_hostile_tree_is_taken_back_and_nothing_else_is_touched(backend: Sandbox, start, run, place) -> None:
    targets = [Path("/etc/passwd"), Path("/etc"), place.workspace.parent]
    before = [_rights(path) for path in targets]
    sandbox = start()
    ran = run(sandbox, [backend.python, "-c", HOSTILE_TREE])
    assert ran.result.exit_code == 0, ran.stderr
    sandbox.collect()
    assert [_rights(path) for path in targets] == before
    seen = {
        os.fsencode(path.relative_to(place.workspace)): path.lstat() for path in place.workspace.rglob("*")
    }
    assert {status.st_uid for status in seen.values()} == {os.geteuid()}
    assert not any(status.st_mode & 0o6000 for status in seen.values())
    assert (place.workspace / "locked" / "inside").read_text() == "x"
    assert b"line\nbreak/\xff\xfe" in seen
    assert b"deep/" * 90 + b"bottom" in seen


@claims(Capability.COLLECT)
def test_collect_again_says_the_same(start, run) -> None:
    sandbox = start()
    run(sandbox, ["true"])
    assert sandbox.collect() == sandbox.collect()


@claims(Capability.COLLECT)
def test_workspace_can_be_used_again(backend: Sandbox, place, run) -> None:
    for count in (1, 2):
        sandbox = backend.start(place.spec())
        ran = run(sandbox, ["sh", "-c", "echo line >>log; ls haystack; wc -l <log"])
        sandbox.collect()
        assert ran.stdout.split() == [b"trajectories", str(count).encode()]


# --- what is visible ----------------------------------------------------------------------------------------


@claims(Capability.FILESYSTEM)
def test_nothing_of_the_host_is_visible(running, run, tmp_path) -> None:
    secret = tmp_path / "gold.json"
    secret.write_text("answer")
    secret.chmod(0o644)
    ran = run(
        running, ["sh", "-c", f"cat {secret} /proc/1/root{secret} ../{secret.name}; ls /work /root /home"]
    )
    assert b"answer" not in ran.stdout
    assert set(ran.stdout.split()) <= {b"/home:", b"/root:", b"/work:", b"agent"}


@claims(Capability.FILESYSTEM)
def test_root_is_read_only(running, run) -> None:
    script = (
        "for d in / /usr /usr/bin /etc /opt /var /var/tmp /run /srv /home /sys /proc/sys/kernel;"
        ' do test -d $d && touch $d/x 2>/dev/null && echo "wrote $d"; done;'
        " touch /etc/passwd 2>/dev/null && echo passwd"
    )
    assert run(running, ["sh", "-c", script]).stdout == b""


@claims(Capability.FILESYSTEM)
def test_user_is_ordinary_and_has_a_name(running, run) -> None:
    ran = run(running, ["sh", "-c", "id -u; id -un; grep -E 'NoNewPrivs|CapEff|CapBnd' /proc/self/status"])
    uid, name, *status = ran.stdout.decode().split()
    assert int(uid) != 0
    assert name == "agent"
    values = dict(zip(status[::2], status[1::2], strict=True))
    assert values["NoNewPrivs:"] == "1"
    assert int(values["CapEff:"], 16) == int(values["CapBnd:"], 16) == 0


OF_OURS = """
import os
seen = [open("/proc/self/" + name, "rb").read() for name in ("mountinfo", "cgroup", "status")]
seen.append(os.uname().nodename.encode())
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("cmdline", "environ", "comm"):
        try:
            seen.append(open("/proc/%s/%s" % (pid, name), "rb").read())
        except OSError:
            pass
os.write(1, b"\\n".join(seen))
"""


@claims(Capability.FILESYSTEM)
def test_nothing_inside_tells_what_this_is(backend: Sandbox, start, run) -> None:
    sandbox = start(labels={"run": "canary-run", "attempt": "canary-attempt"}, env={"PLAIN": "value"})
    seen = run(sandbox, [backend.python, "-c", OF_OURS]).stdout.decode("utf-8", "replace").lower()
    assert "/workspace" in seen
    for word in ("canary", "runbook", "question", "gold", "reader", "judge", "lme", "longmem"):
        assert word not in seen, word


@claims(Capability.PROCESSES)
def test_processes_of_the_host_are_invisible(backend: Sandbox, running, run) -> None:
    script = (
        "import os\n"
        "print(*(p for p in os.listdir('/proc') if p.isdigit()))\n"
        f"try: os.kill({os.getpid()}, 0)\n"
        "except OSError as e: print(type(e).__name__)\n"
    )
    pids, error = run(running, [backend.python, "-c", script]).stdout.decode().splitlines()
    assert len(pids.split()) < 10
    assert error == "ProcessLookupError"
