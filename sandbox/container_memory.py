"""What the kernel counted about the memory of a container, read on the host from its cgroup (v1 or v2)."""

from dataclasses import dataclass
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Processes killed for memory, and the largest use in bytes (None where the kernel does not keep it)."""

    oom_kills: int
    peak_bytes: int | None


def memory_cgroup(pid: int, container_id: str) -> Path | None:
    """The memory cgroup of a container by the host pid of its first process.

    None where the engine's processes are not ours to see (a virtual machine, a remote engine): then the pid
    belongs to nobody or somebody else, which the container's id in the path tells.
    """
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


def read_memory_use(cgroup: Path) -> MemoryUse | None:
    """Read the counters; None when the cgroup is gone."""
    version1 = cgroup / "memory.oom_control"
    events, peak = (
        (version1, cgroup / "memory.max_usage_in_bytes")
        if version1.is_file()
        else (cgroup / "memory.events", cgroup / "memory.peak")
    )
    try:
        counters = dict(line.split() for line in events.read_text(encoding="ascii").splitlines())
    except (OSError, ValueError):
        return None
    try:
        peak_bytes = int(peak.read_text(encoding="ascii"))
    except (OSError, ValueError):
        peak_bytes = None
    return MemoryUse(int(counters.get("oom_kill", 0)), peak_bytes)
