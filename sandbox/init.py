"""PID 1 of a sandbox: reaps, holds the deadline by itself, and runs commands that the host asks for.

    python3 -I -S init.py --seconds N [--file-bytes N] [--processes N] [--user UID:GID] [--serve FD]
                          [--scratch FOLDER] [-- ARGV...]

It runs inside every back end with whatever Python is there, so this file stands alone: standard library,
syntax of Python 3.8. It ends after N seconds on the monotonic clock (exit 124), when ARGV ends (with its exit
code), or when the host's end of the control socket closes (exit 143), and takes every process of its sandbox
and the scratch folder with it. As PID 1 of a namespace that is everybody else, whose signals it does not
hear; elsewhere it ends at SIGTERM and SIGINT too (exit 143), and becomes the subreaper of its children, so
that also a process that left its session is still found.

The control socket FD carries requests to init: four bytes of length (big endian), then a marshalled dict
`{"run": ID, "argv": [...], "env": {...}, "cwd": "..."}`, with the descriptors of stdin, stdout and stderr.
Init answers in lines: `ready PID` once, and `exited ID CODE` at each end (128 + n for signal n, 126 or 127
where the command could not be run, with the reason on its stderr).

Modules are few and light, because every sandbox waits for this program to start.
"""

from __future__ import annotations

import errno
import marshal
import os
import resource
import select
import signal
import socket
import struct
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEADLINE_EXIT = 124
STOPPED_EXIT = 143
ENDING_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER = 4, 24, 36
CAPABILITY_VERSION = 0x20080522
# The kernel takes a command before it takes init, whose death would end the sandbox without a word.
OOM_PREFERENCE = b"300"


class Options:
    """The parsed command line."""

    def __init__(self, arguments: list[str]) -> None:
        self.seconds = 0.0
        self.serve = -1
        self.file_bytes = 0
        self.processes = 0
        self.user = ""
        self.scratch = ""
        self.argv: list[str] = []
        rest = list(arguments)
        while rest:
            name = rest.pop(0)
            if name == "--":
                self.argv = rest
                break
            if name == "--seconds":
                self.seconds = float(rest.pop(0))
            elif name == "--serve":
                self.serve = int(rest.pop(0))
            elif name == "--user":
                self.user = rest.pop(0)
            elif name == "--scratch":
                self.scratch = rest.pop(0)
            elif name == "--processes":
                self.processes = int(rest.pop(0))
            elif name == "--file-bytes":
                self.file_bytes = int(rest.pop(0))
            else:
                sys.exit("init: unknown option " + name)
        if not self.seconds > 0:
            sys.exit("init: --seconds must be above zero")


class Wakeup:
    """Turns signals into readable bytes, so that one select waits for everything."""

    def __init__(self) -> None:
        self.reader, writer = os.pipe()
        os.set_blocking(self.reader, False)
        os.set_blocking(writer, False)
        self._writer = writer
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        # The kernel keeps signals without a handler from the first process of a namespace, so that no command
        # inside ends the sandbox with `kill -1`; Python alone puts a handler on SIGINT.
        ending = ENDING_SIGNALS if os.getpid() != 1 else ()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for number in (*ending, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)

    def signals(self) -> set[int]:
        """The numbers of the signals since the last call."""
        try:
            return set(os.read(self.reader, 4096))
        except BlockingIOError:
            return set()


class Control:
    """Init's end of the control socket."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self.socket = socket.socket(fileno=descriptor)
        self._bytes = b""
        self._descriptors: list[int] = []
        self.send("ready", os.getpid())

    def send(self, *words: object) -> None:
        """Tell the host; a host that is gone is noticed at the next read."""
        try:
            self.socket.sendall(" ".join(map(str, words)).encode("ascii") + b"\n")
        except OSError:
            pass

    def receive(self) -> list[tuple[dict[str, Any], list[int]]] | None:
        """The requests that are complete, each with its descriptors, or None at the end of the host."""
        flags = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
        try:
            data, ancillary, _, _ = self.socket.recvmsg(1 << 16, socket.CMSG_SPACE(64), flags)
        except OSError:
            return None
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                self._descriptors.extend(struct.unpack("%di" % (len(payload) // 4), payload))
        if not data:
            return None
        self._bytes += data
        requests = []
        while len(self._bytes) >= 4:
            end = 4 + int.from_bytes(self._bytes[:4], "big")
            if len(self._bytes) < end:
                break
            taken, self._descriptors = self._descriptors[:3], self._descriptors[3:]
            requests.append((marshal.loads(self._bytes[4:end]), taken))
            self._bytes = self._bytes[end:]
        return requests


class Libc:
    """System calls that Python does not offer; without ctypes they are left out."""

    def __init__(self) -> None:
        try:
            import ctypes
        except ImportError:
            self._library = None
        else:
            self._library = ctypes.CDLL(None)

    def prctl(self, option: int, argument: int) -> None:
        if self._library is not None:
            self._library.prctl(option, argument, 0, 0, 0)

    def clear_capabilities(self) -> None:
        """Give up also the inheritable capabilities, which a change of user leaves."""
        if self._library is not None:
            header, nothing = struct.pack("=Ii", CAPABILITY_VERSION, 0), bytes(24)
            self._library.capset(header, nothing)


def settle(options: Options) -> None:
    """Close what a command could use against init, and set the limits that commands inherit."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if options.file_bytes:
        resource.setrlimit(resource.RLIMIT_FSIZE, (options.file_bytes, options.file_bytes))
    if options.processes:
        resource.setrlimit(resource.RLIMIT_NPROC, (options.processes, options.processes))
    if sys.platform != "linux":
        return
    libc = Libc()
    if options.user:
        uid, gid = map(int, options.user.split(":"))
        for capability in range(64):
            libc.prctl(PR_CAPBSET_DROP, capability)
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        libc.clear_capabilities()
    libc.prctl(PR_SET_DUMPABLE, 0)
    if os.getpid() != 1:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1)


def prefer_for_oom() -> None:
    try:
        descriptor = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
    except OSError:
        return
    try:
        os.write(descriptor, OOM_PREFERENCE)
    except OSError:
        pass
    finally:
        os.close(descriptor)


def spawn(argv: list[str], env: dict[str, str], cwd: str, descriptors: list[int]) -> int:
    """Start a command in a session of its own and return its pid; what cannot be run exits 126 or 127."""
    pid = os.fork()
    if pid:
        return pid
    code = 126
    try:
        signal.set_wakeup_fd(-1)
        for number in (*ENDING_SIGNALS, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        for target, descriptor in enumerate(descriptors):
            os.dup2(descriptor, target)
        prefer_for_oom()
        os.chdir(cwd)
        os.execvpe(argv[0], argv, env)
    except (OSError, ValueError) as error:
        code = 127 if getattr(error, "errno", 0) == errno.ENOENT else 126
        os.write(2, ("cannot run " + argv[0] + ": " + str(error) + "\n").encode("utf-8", "backslashreplace"))
    finally:
        os._exit(code)


def exit_code(status: int) -> int:
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def reap() -> dict[int, int]:
    """Exit codes by pid of all children that ended."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = exit_code(status)


def parents() -> dict[int, int]:
    """The parent of every live process that can be seen."""
    found = {}
    if not os.path.isdir("/proc/self"):
        import subprocess

        listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], stdout=subprocess.PIPE, check=False)
        for line in listing.stdout.splitlines():
            pid, parent = line.split()
            found[int(pid)] = int(parent)
        return found
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/" + name + "/stat", "rb") as stat:
                fields = stat.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields[0] != b"Z":
            found[int(name)] = int(fields[1])
    return found


def children_of(pid: int) -> list[int]:
    """Children of all threads of a process, those that ended but were not reaped included."""
    found: list[int] = []
    try:
        for thread in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, thread), "rb") as children:
                found.extend(map(int, children.read().split()))
    except OSError:
        pass
    return found


def descendants(root: int) -> set[int]:
    """All processes below `root`, by asking each for its children, or all for their parents."""
    can_ask = os.path.exists("/proc/self/task/%d/children" % os.getpid())
    by_parent: dict[int, list[int]] = {}
    for pid, parent in () if can_ask else parents().items():
        by_parent.setdefault(parent, []).append(pid)
    found: set[int] = set()
    ahead = [root]
    while ahead:
        pid = ahead.pop()
        new = set(children_of(pid) if can_ask else by_parent.get(pid, [])) - found
        found |= new
        ahead.extend(new)
    return found


def signal_all(pids: set[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            pass


def destroy() -> None:
    """Kill every other process of this sandbox."""
    if os.getpid() == 1:
        try:
            os.kill(-1, signal.SIGKILL)
        except OSError:
            pass
        return
    # Stopped processes cannot fork, so the set that is killed is complete.
    stopped: set[int] = set()
    for _ in range(50):
        new = descendants(os.getpid()) - stopped
        if not new:
            break
        signal_all(new, signal.SIGSTOP)
        stopped |= new
    for _ in range(200):
        left = descendants(os.getpid())
        if not left:
            return
        signal_all(left, signal.SIGKILL)
        reap()
        time.sleep(0.005)


def supervise(options: Options, wakeup: Wakeup, control: Control | None) -> int:
    """Wait for what ends the sandbox and return the exit code; no work is done while nothing happens."""
    deadline = time.monotonic() + options.seconds
    runs: dict[int, int] = {}
    main = spawn(options.argv, dict(os.environ), os.getcwd(), []) if options.argv else 0
    sources = select.poll()
    sources.register(wakeup.reader, select.POLLIN)
    if control:
        sources.register(control.socket.fileno(), select.POLLIN)
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return DEADLINE_EXIT
        readable = [descriptor for descriptor, _ in sources.poll(min(left, 3600.0) * 1000 + 1)]
        if wakeup.reader in readable and wakeup.signals() & set(ENDING_SIGNALS):
            return STOPPED_EXIT
        if control and control.socket.fileno() in readable:
            requests = control.receive()
            if requests is None:
                return STOPPED_EXIT
            for request, descriptors in requests:
                start_run(request, descriptors, control, runs)
        for pid, code in reap().items():
            if pid in runs and control:
                control.send("exited", runs.pop(pid), code)
            if pid == main:
                return code


def start_run(
    request: dict[str, Any], descriptors: list[int], control: Control, runs: dict[int, int]
) -> None:
    try:
        runs[spawn(request["argv"], request["env"], request["cwd"], descriptors)] = request["run"]
    except OSError as error:
        os.write(descriptors[2], ("cannot start a process: " + str(error) + "\n").encode())
        control.send("exited", request["run"], 126)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def main(arguments: list[str]) -> int:
    options = Options(arguments)
    wakeup = Wakeup()
    settle(options)
    control = Control(options.serve) if options.serve >= 0 else None
    try:
        return supervise(options, wakeup, control)
    finally:
        destroy()
        if options.scratch:
            import shutil

            shutil.rmtree(options.scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
