"""Limits of memory, cpu and process count by control groups, version 1 or a delegated version 2.

Each sandbox gets a group with the limits and in it a group `in` for its processes: the inner one is all that
they could ever see or own. Names are random; a group without processes can be told from a live one by the
kernel alone, so that what a crashed process left needs no register to be removed.
"""

import contextlib
import os
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sandbox.protocol import Limits, SandboxError

CONTROLLERS = frozenset({"memory", "pids", "cpu"})
PERIOD_MICROSECONDS = 100_000
# Processes of ours in the group: init and the launcher.
OWN_PROCESSES = 2
INNER = "in"
# Between making a group and filling it lies an instant; older and empty means left behind.
STALE_SECONDS = 600
REMOVE_SECONDS = 10.0
_NAME = re.compile(r"sb-[0-9a-f]{16}")
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Group:
    """The limit groups of one sandbox, one folder per hierarchy (a single one for version 2)."""

    folders: tuple[Path, ...]
    version: "Version"

    @property
    def entrances(self) -> tuple[Path, ...]:
        """The files into which a process writes its pid to be limited, children included."""
        return tuple(folder / INNER / "cgroup.procs" for folder in self.folders)

    def pids(self) -> list[int]:
        """The processes in the group."""
        with contextlib.suppress(OSError):
            return [int(pid) for pid in self.entrances[0].read_text().split()]
        return []

    def oom_kills(self) -> int:
        """How many processes the kernel killed for memory."""
        return sum(self.version.oom_kills(folder) for folder in self.folders)

    def memory_peak(self) -> int | None:
        """Most bytes ever in use at once, None where the kernel does not tell."""
        peaks = [self.version.memory_peak(folder) for folder in self.folders]
        return next((peak for peak in peaks if peak is not None), None)

    def remove(self) -> bool:
        """Remove the groups once their processes are gone; False if some did not go in time."""
        deadline = time.monotonic() + REMOVE_SECONDS
        while sum(_remove(folder) for folder in self.folders) < len(self.folders):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True


@dataclass(frozen=True, slots=True)
class GroupMount:
    """One mounted hierarchy; `root` is the group that its mount point shows."""

    folder: Path
    root: str
    version: int
    options: frozenset[str]

    def folder_of(self, group: str) -> Path:
        """Where `group` is seen; the mount point itself where it is not below it."""
        if self.root in ("/", group) or group.startswith(self.root + "/"):
            folder = self.folder / group.removeprefix(self.root).strip("/")
            if folder.is_dir():
                return folder
        return self.folder


class Version(Protocol):
    """What differs between the two versions of control groups."""

    def set_limits(self, folder: Path, limits: Limits) -> None: ...

    def oom_kills(self, folder: Path) -> int: ...

    def memory_peak(self, folder: Path) -> int | None: ...


class VersionOne:
    """One hierarchy per controller; a folder has the files of its own controller only."""

    def set_limits(self, folder: Path, limits: Limits) -> None:
        if (folder / "pids.max").exists():
            _write(folder / "pids.max", limits.pids + OWN_PROCESSES)
        if (folder / "memory.limit_in_bytes").exists():
            _write(folder / "memory.limit_in_bytes", limits.memory_bytes)
            if (folder / "memory.memsw.limit_in_bytes").exists():
                _write(folder / "memory.memsw.limit_in_bytes", limits.memory_bytes)
        if (folder / "cpu.shares").exists():
            _write(folder / "cpu.cfs_period_us", PERIOD_MICROSECONDS)
            _write(folder / "cpu.cfs_quota_us", round(limits.cpus * PERIOD_MICROSECONDS))

    def oom_kills(self, folder: Path) -> int:
        # Version 1 counts a kill in the group of the killed process alone.
        return _field(folder / INNER / "memory.oom_control", "oom_kill")

    def memory_peak(self, folder: Path) -> int | None:
        return _number(folder / "memory.max_usage_in_bytes")


class VersionTwo:
    """One hierarchy for all controllers."""

    def set_limits(self, folder: Path, limits: Limits) -> None:
        _write(folder / "pids.max", limits.pids + OWN_PROCESSES)
        _write(folder / "memory.max", limits.memory_bytes)
        if (folder / "memory.swap.max").exists():
            _write(folder / "memory.swap.max", 0)
        _write(folder / "cpu.max", f"{round(limits.cpus * PERIOD_MICROSECONDS)} {PERIOD_MICROSECONDS}")

    def oom_kills(self, folder: Path) -> int:
        return _field(folder / "memory.events", "oom_kill")

    def memory_peak(self, folder: Path) -> int | None:
        return _number(folder / "memory.peak")


@dataclass(frozen=True, slots=True)
class Groups:
    """Where this process may make limit groups: a parent in each hierarchy, and the hierarchies' tops."""

    parents: tuple[Path, ...]
    tops: tuple[Path, ...]
    version: Version

    @classmethod
    def find(cls) -> "Groups | None":
        """Find parents for all three controllers in which a group can really be made, or None."""
        own = own_groups(Path("/proc/self/cgroup").read_text())
        mounts = group_mounts(Path("/proc/self/mountinfo").read_text())
        for candidate in (find_version_two(own, mounts), find_version_one(own, mounts)):
            if candidate is not None:
                try:
                    candidate.make(Limits(wall_seconds=1)).remove()
                except SandboxError:
                    continue
                return candidate
        return None

    def make(self, limits: Limits) -> Group:
        """Make the groups of one sandbox.

        Raises:
            SandboxError: a group cannot be made; none is left behind.
        """
        name = f"sb-{secrets.token_hex(8)}"
        group = Group(tuple(parent / name for parent in self.parents), self.version)
        try:
            for folder in group.folders:
                folder.mkdir()
                self.version.set_limits(folder, limits)
                (folder / INNER).mkdir()
        except OSError as error:
            group.remove()
            raise SandboxError(f"cannot limit processes by {error.filename}: {error.strerror}") from error
        return group

    def reap(self, older_than: float = STALE_SECONDS) -> int:
        """Remove what sandboxes left behind in which nothing runs; returns of how many sandboxes."""
        removed = set()
        oldest = time.time() - older_than
        for top in self.tops:
            # Everywhere, since the process that left them may have lain in another group than ours.
            for folder, names, _ in os.walk(top):
                ours = [name for name in names if _NAME.fullmatch(name)]
                names[:] = [name for name in names if name not in ours]
                for group in (Path(folder, name) for name in ours):
                    with contextlib.suppress(OSError):
                        if group.stat().st_mtime < oldest and _remove(group):
                            removed.add(group.name)
        return len(removed)


def reap_groups() -> int:
    """Remove what crashed sandboxes of this user left behind; returns of how many sandboxes."""
    groups = Groups.find()
    return groups.reap() if groups is not None else 0


def _remove(folder: Path) -> bool:
    """Remove one group, unless there are processes in it, which the kernel refuses."""
    try:
        for path in (folder / INNER, folder):
            with contextlib.suppress(FileNotFoundError):
                path.rmdir()
    except OSError:
        return False
    return True


def find_version_one(own: Mapping[str, str], mounts: Sequence[GroupMount]) -> Groups | None:
    """Our own group of each controller."""
    found: dict[Path, Path] = {}
    for controller in sorted(CONTROLLERS):
        for mount in mounts:
            if mount.version == 1 and controller in mount.options and controller in own:
                found[mount.folder_of(own[controller])] = mount.folder
                break
        else:
            return None
    return Groups(tuple(found), tuple(found.values()), VersionOne())


def find_version_two(own: Mapping[str, str], mounts: Sequence[GroupMount]) -> Groups | None:
    """The nearest group above ours that hands the controllers to its children."""
    for mount in mounts:
        if mount.version != 2 or "" not in own:
            continue
        start = mount.folder_of(own[""])
        for folder in (start, *start.parents):
            if _hands_down(folder):
                return Groups((folder,), (mount.folder,), VersionTwo())
            if folder == mount.folder:
                break
    return None


def _hands_down(folder: Path) -> bool:
    control = folder / "cgroup.subtree_control"
    try:
        if not set(control.read_text().split()) >= CONTROLLERS:
            # Refused where processes lie in the folder itself or it was not delegated to us.
            control.write_text(" ".join(f"+{controller}" for controller in sorted(CONTROLLERS)))
        return os.access(folder, os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK)
    except OSError:
        return False


def own_groups(text: str) -> dict[str, str]:
    """The path of our group by controller, from /proc/self/cgroup; the key "" is version 2."""
    found = {}
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        found.update(dict.fromkeys(controllers.split(","), path))
    return found


def group_mounts(text: str) -> list[GroupMount]:
    """The mounts of control groups, from /proc/self/mountinfo."""
    found = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, (kind, _, options) = before.split(), after.split(" ", 2)
        if kind in ("cgroup", "cgroup2"):
            folder = _OCTAL.sub(lambda code: chr(int(code[1], 8)), fields[4])
            version = 2 if kind == "cgroup2" else 1
            found.append(GroupMount(Path(folder), fields[3], version, frozenset(options.split(","))))
    return found


def _write(path: Path, value: object) -> None:
    path.write_text(str(value))


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _field(path: Path, name: str) -> int:
    with contextlib.suppress(OSError):
        for line in path.read_text().splitlines():
            key, _, value = line.partition(" ")
            if key == name:
                return int(value)
    return 0
