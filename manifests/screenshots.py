"""Finding a state's screenshot in a data root, and nothing outside of it."""

import errno
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from .errors import DataError
from .images import Image, ImageStore, NotAnImageError
from .model import State, Trajectory


@dataclass(slots=True)
class Screenshots:
    """The pictures of one trajectory. `folders` are those looked into: a change in them makes an import stale."""

    images: dict[int, Image] = field(default_factory=dict)
    folders: dict[str, int | None] = field(default_factory=dict)  # relative path -> mtime_ns, None if absent
    warnings: list[str] = field(default_factory=list)


class ScreenshotFinder:
    """Looks screenshots up in one data root."""

    def __init__(self, data_root: Path) -> None:
        self._root = os.path.realpath(data_root)

    def collect(self, trajectory: Trajectory, store: ImageStore, where: str) -> Screenshots:
        """Add the trajectory's screenshots to `store`.

        What is missing or no image is a warning and a state without screenshot. A path that leaves the data root,
        by itself or through a link, raises DataError; so does a file that may not be read.
        """
        found = Screenshots()
        missing: list[str] = []
        fallback = self._fallback_names(trajectory.id, found)
        for state in trajectory.states:
            at = f"{where}: state {state.index}"
            path = self._recorded(state, found, at) or self._by_step(trajectory.id, state, fallback)
            if path is None:
                if state.screenshot:
                    missing.append(state.screenshot)
                continue
            try:
                found.images[state.index] = store.add(self._confined(path, at))
            except NotAnImageError as error:
                found.warnings.append(f"{at}: {_shown(path)} {error}; the state is kept without screenshot")
            except PermissionError as error:
                raise DataError(
                    f"{at}: {_shown(path)} may not be read; give yourself read permission"
                ) from error
        if missing:
            count = f"{len(missing)} of {len(trajectory.states)} screenshots are missing"
            found.warnings.append(f"{where}: {count}, the first is {_shown(missing[0])}")
        return found

    def _recorded(self, state: State, found: Screenshots, at: str) -> str | None:
        """The absolute path that the state names, None where there is no such file."""
        if not state.screenshot:
            return None
        path = os.path.normpath(os.path.join(self._root, state.screenshot))  # noqa: PTH118 - hot loop
        if not self._inside(path):
            raise DataError(
                f"{at}: screenshot {_shown(state.screenshot)} leaves the data root; use a path inside it"
            )
        self._note_folder(os.path.dirname(path), found)  # noqa: PTH120
        try:
            os.lstat(path)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP):
                return None
            raise
        return path

    def _fallback_names(self, trajectory_id: str, found: Screenshots) -> frozenset[str]:
        """The names in screenshots/<id>/, the layout of the prepared public data."""
        path = os.path.normpath(os.path.join(self._root, "screenshots", trajectory_id))  # noqa: PTH118
        if not self._inside(path) or "\0" in trajectory_id:
            return frozenset()
        self._note_folder(path, found)
        try:
            return frozenset(os.listdir(path))  # noqa: PTH208
        except OSError:
            return frozenset()

    def _by_step(self, trajectory_id: str, state: State, names: frozenset[str]) -> str | None:
        step = state.index if state.step is None else state.step
        padded = f"{str(step).zfill(4)}.png"
        for name in (f"{step}.png", padded):
            if name in names:
                return os.path.join(self._root, "screenshots", trajectory_id, name)  # noqa: PTH118
        return None

    def _confined(self, path: str, at: str) -> str:
        """`path` with its links resolved, still inside the data root and a regular file."""
        real = os.path.realpath(path)
        if not self._inside(real):
            raise DataError(
                f"{at}: {_shown(path)} is a link that leaves the data root; replace it by the file itself"
            )
        try:
            regular = stat.S_ISREG(os.lstat(real).st_mode)
        except FileNotFoundError:
            raise NotAnImageError("is a link to nothing") from None
        if not regular:
            raise NotAnImageError("is not a regular file")
        return real

    def _inside(self, path: str) -> bool:
        return path.startswith(self._root.rstrip("/") + "/")

    def _note_folder(self, path: str, found: Screenshots) -> None:
        relative = path[len(self._root) + 1 :]
        if relative not in found.folders:
            found.folders[relative] = folder_time(path)


def folder_time(path: str | Path) -> int | None:
    """When the folder last changed (mtime_ns); None where there is none."""
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116
    except OSError:
        return None


def _shown(path: str) -> str:
    return repr(path if len(path) <= 200 else path[:200] + "…")
