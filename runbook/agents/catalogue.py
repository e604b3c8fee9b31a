"""Which adapters there are: those that come with Runbook, those of installed packages, and files by path.

A package offers adapters by entry points of the group `runbook.agents`: the name is the adapter's, the value
a package whose folder holds `<name>.toml`, or an object that is the path of such a file (also a Traversable).
"""

import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from importlib.resources.abc import Traversable
from os import PathLike, fspath
from pathlib import Path
from types import ModuleType

from runbook.agents.adapter import LARGEST, Adapter, read_adapter
from runbook.agents.errors import AdapterError
from sandbox.protocol import MIB

GROUP = "runbook.agents"
SUFFIX = ".toml"
RESERVED = ("scout", "command", "external")
"""Agents that are no CLI with a model of its own."""
LARGEST_FILE = 64 * MIB
"""Bytes of a file that an adapter brings along."""


@dataclass(frozen=True, slots=True)
class FoundAdapter:
    """An adapter, and where it was found."""

    adapter: Adapter
    asked: str
    """How the user names it: its name, or the path of its file."""
    origin: str
    """In words, for messages."""
    text: str
    """The TOML file."""
    files: Mapping[str, bytes]
    """What it brings along, by path."""


class Catalogue:
    """The adapters of this installation, read when asked for."""

    def __init__(self, found: list[EntryPoint] | None = None) -> None:
        """`found` are the entry points to use; by default those of the installed packages."""
        self._entry_points = list(entry_points(group=GROUP)) if found is None else found

    @property
    def names(self) -> list[str]:
        """All names, without reading a file of a package."""
        return sorted({*(_stem(file) for file in _built_in()), *(point.name for point in self._entry_points)})

    def find(self, name: str) -> FoundAdapter:
        """The adapter of that name, or in the file of that path.

        Raises:
            AdapterError: there is none, two share the name, or the file is wrong.
        """
        if name.endswith(SUFFIX):
            return self._of_path(Path(name))
        found = [*self._candidates(name)]
        if not found:
            raise AdapterError(
                f"no agent is called {name!r}; there are {', '.join([*RESERVED, *self.names])}, "
                "and ./FILE.toml names an adapter of your own"
            )
        if len(found) > 1:
            first, second = (one.origin for one in found[:2])
            raise AdapterError(f"two agents are called {name!r}: {first} and {second}; uninstall one")
        return found[0]

    def _candidates(self, name: str) -> Iterator[FoundAdapter]:
        for file in _built_in():
            if _stem(file) == name:
                yield _read(file, name, f"the built-in {file.name}")
        for point in self._entry_points:
            if point.name == name:
                found = _of_entry_point(point)
                if found.adapter.name != name:
                    raise AdapterError(f"{found.origin} calls itself {found.adapter.name!r}, not {name!r}")
                yield found

    def _of_path(self, path: Path) -> FoundAdapter:
        found = _read(path, str(path), str(path))
        if found.adapter.name in (*RESERVED, *self.names):
            raise AdapterError(
                f"{path} calls itself {found.adapter.name!r}, as another agent does; give it another name"
            )
        _refuse_links_away(path, found)
        return found


def _built_in() -> Iterator[Traversable]:
    package = files("runbook.agents")
    for folder in (package / "builtin", package / "react"):
        for file in sorted(folder.iterdir(), key=lambda file: file.name):
            if file.name.endswith(SUFFIX):
                yield file


def _stem(file: Traversable) -> str:
    return file.name.removesuffix(SUFFIX)


def _of_entry_point(point: EntryPoint) -> FoundAdapter:
    package = point.dist.name if point.dist else "an installed package"
    origin = f"{point.name!r} of {package} ({point.value})"
    try:
        loaded = point.load()
    except (Exception, SystemExit) as error:  # whatever a package raises when it is imported
        raise AdapterError(f"agent {origin} cannot be loaded: {error!r}") from error
    if isinstance(loaded, ModuleType) and loaded.__spec__ and loaded.__spec__.submodule_search_locations:
        return _read(files(loaded) / f"{point.name}{SUFFIX}", point.name, origin)
    if isinstance(loaded, (str, PathLike)):
        return _read(Path(fspath(loaded)), point.name, origin)
    if isinstance(loaded, Traversable):
        return _read(loaded, point.name, origin)
    raise AdapterError(f"agent {origin} is neither a package nor the path of a TOML file")


def _read(file: Traversable, asked: str, origin: str) -> FoundAdapter:
    """Read an adapter; `file` may be a Path, or lie in an archive."""
    data = _bytes(file, origin, LARGEST)
    adapter = read_adapter(data, origin)
    beside = {name: _beside(file, name, origin) for name in adapter.install.files}
    return FoundAdapter(adapter, asked, origin, data.decode("utf-8"), beside)


def _beside(file: Traversable, name: str, origin: str) -> bytes:
    folder = file.parent if isinstance(file, Path) else None
    if folder is None:
        raise AdapterError(f"{origin}: install.files needs an adapter that lies in a folder")
    return _bytes(folder.joinpath(name), f"{origin}: install.files: {name}", LARGEST_FILE)


def _bytes(file: Traversable, what: str, largest: int) -> bytes:
    """The content of a file, and never of a device or a pipe, which has no end."""
    try:
        regular = not isinstance(file, Path) or stat.S_ISREG(file.stat().st_mode)
        data = _beginning(file, largest + 1) if regular else b""
    except OSError as error:
        raise AdapterError(f"{what}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # a NUL character in the name
        raise AdapterError(f"{what!r}: cannot be read: {error}") from None
    if not regular:
        raise AdapterError(f"{what}: is not a file")
    if len(data) > largest:
        raise AdapterError(f"{what}: has more than {largest:,} bytes")
    return data


def _beginning(file: Traversable, size: int) -> bytes:
    with file.open("rb") as opened:
        data: bytes = opened.read(size)
    return data


def _refuse_links_away(path: Path, found: FoundAdapter) -> None:
    """A file of an adapter by path may come from anybody: it must not bring along what else lies here."""
    folder = path.parent.resolve()
    for name in found.adapter.install.files:
        if not (folder / name).resolve().is_relative_to(folder):
            raise AdapterError(f"{path}: install.files: {name} leads out of its folder")
