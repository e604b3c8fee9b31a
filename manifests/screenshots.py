"""Finding a state's screenshot in a data root, and nothing outside of it."""

import errno
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from .errors import DataError
from .images import Image, ImageStore, NotAnImageError
from .model import State, Trajectory

_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP})


@dataclass(slots=True)
class Screenshots:
    """The pictures of one trajectory. A change in one of the `folders` looked into makes an import stale."""

    images: dict[int, Image] = field(default_factory=dict)
    folders: dict[str, int | None] = field(default_factory=dict)  # relative path -> mtime_ns, None if absent
    missing: str = ""  # what is said of those that are not there
    warnings: list[str] = field(default_factory=list)


class ScreenshotFinder:
    """Looks screenshots up in one data root."""

    def __init__(self, data_root: Path) -> None:
        self._root = os.path.realpath(data_root)

    def collect(self, trajectory: Trajectory, store: ImageStore, where: str) -> Screenshots:
        """Add the trajectory's screenshots to `store`.

        What is missing or no image is a warning and a state without screenshot. A path that leaves the data
        root, by itself or through a link, raises DataError; so does a file that may not be read.
        """
        return _Search(self._root, trajectory, store, where).run()


class _Search:
    """The search for one trajectory's screenshots. Folders are resolved once each."""

    def __init__(self, root: str, trajectory: Trajectory, store: ImageStore, where: str) -> None:
        self._root = root
        self._inside = root.rstrip("/") + "/"
        self._trajectory = trajectory
        self._store = store
        self._where = where
        self._found = Screenshots()
        self._real: dict[str, str] = {}
        self._prepared: frozenset[str] | None = None

    def run(self) -> Screenshots:
        missing = []
        for state in self._trajectory.states:
            try:
                image = self._image(state)
            except NotAnImageError as error:
                self._found.warnings.append(
                    f"{self._at(state)}: {error}; the state is kept without screenshot"
                )
                continue
            if image:
                self._found.images[state.index] = image
            elif state.screenshot:
                missing.append(state.screenshot)
        if missing:
            count = f"{len(missing)} of {len(self._trajectory.states)} screenshots are missing"
            self._found.missing = f"{self._where}: {count}, the first is {_shown(missing[0])}"
        return self._found

    def _at(self, state: State) -> str:
        """The place of a state, for messages."""
        return f"{self._where}: state {state.index}"

    def _image(self, state: State) -> Image | None:
        """The picture where the state says it is, else where the prepared public data has it."""
        if state.screenshot:
            path = self._lexical(state.screenshot)
            if not path.startswith(self._inside):
                shown = _shown(state.screenshot)
                raise DataError(
                    f"{self._at(state)}: screenshot {shown} leaves the data root; use a path inside it"
                )
            if image := self._load(path, state):
                return image
        name = self._name_by_step(state)
        return self._load(f"{self._root}/screenshots/{self._trajectory.id}/{name}", state) if name else None

    def _lexical(self, recorded: str) -> str:
        path = f"{self._root}/{recorded}"
        plain = not recorded.startswith("/") and ".." not in recorded
        return path if plain else os.path.normpath(os.path.join(self._root, recorded))  # noqa: PTH118

    def _load(self, path: str, state: State) -> Image | None:
        folder, _, name = path.rpartition("/")
        try:
            real = f"{self._resolved(folder)}/{name}"
            found = os.lstat(real)
            if stat.S_ISLNK(found.st_mode):
                real = os.path.realpath(real)
                found = os.lstat(real)
            if not real.startswith(self._inside):
                shown = _shown(path)
                raise DataError(
                    f"{self._at(state)}: {shown} is a link out of the data root; put the file itself there"
                )
            return self._store.add(real, found)
        except NotAnImageError as error:
            raise NotAnImageError(f"{_shown(path)} {error}") from error
        except PermissionError as error:
            raise DataError(
                f"{self._at(state)}: {_shown(path)} may not be read; give yourself read permission"
            ) from error
        except OSError as error:
            if error.errno in _ABSENT:
                return None
            raise

    def _resolved(self, folder: str) -> str:
        real = self._real.get(folder)
        if real is None:
            real = self._real[folder] = os.path.realpath(folder)
            self._found.folders[folder[len(self._root) + 1 :]] = folder_time(folder)
        return real

    def _prepared_names(self) -> frozenset[str]:
        """The names in screenshots/<id>/."""
        folder = f"{self._root}/screenshots/{self._trajectory.id}"
        if os.path.normpath(folder) != folder:
            return frozenset()
        try:
            return frozenset(os.listdir(self._resolved(folder)))  # noqa: PTH208
        except OSError:
            return frozenset()

    def _name_by_step(self, state: State) -> str | None:
        if self._prepared is None:
            self._prepared = self._prepared_names()
        names = self._prepared
        step = str(state.index if state.step is None else state.step)
        return next((n for n in (f"{step}.png", f"{step.zfill(4)}.png") if n in names), None)


def folder_time(path: str | Path) -> int | None:
    """When the folder last changed (mtime_ns); None where there is none."""
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116
    except OSError:
        return None


def _shown(path: str) -> str:
    return repr(path if len(path) <= 200 else path[:200] + "…")
