"""A container seen from its host, past the engine: its first process and its memory cgroup (v1 or v2).

An engine that is busy starting sixty containers answers late; the kernel does not. Where the engine runs on
this very host and lets us, a container is killed and its counters are read directly.
"""

import os
import select
import signal
from dataclasses import dataclass
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_EXITING = 0x4  # PF_EXITING among the flags of /proc/<pid>/stat


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Processes killed for memory, and the largest use in bytes (None where the kernel does not keep it)."""

    oom_kills: int
    peak_bytes: int | None


class HostView:
    """The first process and the cgroup of one container; only its own, never a namesake's."""

    def __init__(self, pid: int, process: int, cgroup: Path) -> None:
        """`process` is a pidfd of `pid`, owned from now on."""
        self._pid = pid
        self._process = process
        self._cgroup = cgroup

    @classmethod
    def open(cls, pid: int, container_id: str) -> "HostView | None":
        """View a container by the host pid of its first process.

        None where the engine's processes are not ours to see (a virtual machine, a remote engine): the pid
        then belongs to nobody or to somebody else, which the container's id in its cgroup tells.
        """
        try:
            process = os.pidfd_open(pid)
        except (OSError, AttributeError):
            return None
        # Looked up after the process is held, so it cannot have changed hands between.
        cgroup = _find_cgroup(pid, container_id)
        if cgroup is None:
            os.close(process)
            return None
        return cls(pid, process, cgroup)

    def kill(self, seconds: float) -> bool:
        """Kill every process of the container; whether all are known to be dead within `seconds`.

        The kernel kills all of a pid namespace with its first process, and reports the end of that one after
        the end of all others.
        """
        try:
            signal.pidfd_send_signal(self._process, signal.SIGKILL)
        except ProcessLookupError:
            return True
        except OSError:
            return False
        return self._ends_within(seconds)

    def is_ending(self) -> bool:
        """Whether the container's first process is dead or dying, which takes all others along."""
        try:
            fields = Path(f"/proc/{self._pid}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            return True
        return bool(int(fields[6]) & _EXITING) or self._ends_within(0)

    def _ends_within(self, seconds: float) -> bool:
        """Wait until every process of the container is dead; False if that takes longer."""
        poll = select.poll()
        poll.register(self._process, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def pids(self) -> list[int]:
        """The processes inside by their pids on this host; empty when the container is gone."""
        try:
            return [int(line) for line in (self._cgroup / "cgroup.procs").read_text(encoding="ascii").split()]
        except (OSError, ValueError):
            return []

    def memory_use(self) -> MemoryUse | None:
        """The kernel's counters; None when the container is gone."""
        version1 = self._cgroup / "memory.oom_control"
        events, peak = (
            (version1, self._cgroup / "memory.max_usage_in_bytes")
            if version1.is_file()
            else (self._cgroup / "memory.events", self._cgroup / "memory.peak")
        )
        try:
            counters = dict(line.split() for line in events.read_text(encoding="ascii").splitlines())
            oom_kills = int(counters["oom_kill"])
        except (OSError, ValueError, KeyError):
            return None
        try:
            return MemoryUse(oom_kills, int(peak.read_text(encoding="ascii")))
        except (OSError, ValueError):
            return MemoryUse(oom_kills, None)

    def close(self) -> None:
        os.close(self._process)


def _find_cgroup(pid: int, container_id: str) -> Path | None:
    """The memory cgroup of a process, if it is that of the container."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if container_id not in path:
            continue
        if "memory" in controllers.split(","):
            found = _CGROUPS / "memory" / path.lstrip("/")
        elif not controllers and (_CGROUPS / "cgroup.controllers").is_file():
            found = _CGROUPS / path.lstrip("/")
        else:
            continue
        if found.is_dir():
            return found
    return None
