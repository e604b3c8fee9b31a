"""Folders as the user names them, which stay where they are when a package changes the current folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from evals.runs.folder import RunError


@dataclass(frozen=True, slots=True)
class Place:
    """A folder that a command writes to."""

    path: Path
    """Absolute."""
    shown: Path
    """As one would type it where the command was given."""

    @classmethod
    def named(cls, given: Path) -> "Place":
        """What the user named, before anything of a package ran."""
        return cls(given.absolute(), from_here(given))

    def __truediv__(self, name: str) -> "Place":
        return Place(self.path / name, self.shown / name)

    @contextmanager
    def shown_in_errors(self) -> Iterator[None]:
        """Let what is wrong with a run meanwhile be said of the folder as it is shown."""
        try:
            yield
        except RunError as error:
            raise type(error)(self.showing(str(error))) from error

    def showing(self, text: str) -> str:
        """A text that names the folder, with the name by which it is shown."""
        return text.replace(str(self.path), str(self.shown))


def from_here(folder: Path) -> Path:
    """The folder as one would type it: relative where it lies below the current one."""
    whole, here = folder.resolve(), Path.cwd()
    return whole.relative_to(here) if whole.is_relative_to(here) else whole
