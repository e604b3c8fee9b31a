"""One haystack as a folder: exactly what a question may see."""

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from .contact_sheets import sheet_files
from .entry import Entry
from .errors import StoreError
from .files import make_folder, seal_folder, write_new
from .linking import Copier, Linker
from .orientation import orientation
from .summaries import CONCISE_TITLE, FULL_TITLE
from .tables import STATES_HEADER, TRAJECTORIES_HEADER, trajectory_row

_FOLDER_BYTES = 4096  # what a folder takes on disk, about


@dataclass(frozen=True, slots=True)
class Built:
    """What a finished view has: its own files' sizes (bytes by name), and what its tree of links takes.

    `copied` where files of the tree are not the store's own. `manifest_seconds` is what making its manifests,
    tables and summaries took.
    """

    sizes: dict[str, int]
    tree: int
    copied: bool
    manifest_seconds: float


@dataclass(frozen=True, slots=True)
class Kind:
    """Which files a view has beside its trajectories and their table, which every reader needs.

    A `private` one shares no file with the store.
    """

    summaries: bool = False
    manifests: bool = True
    private: bool = False

    @property
    def suffix(self) -> str:
        """What tells the folders of the kinds apart."""
        return "-summaries" * self.summaries + "-bare" * (not self.manifests) + "-private" * self.private


SUFFIXES = frozenset(Kind(*switches).suffix for switches in product((False, True), repeat=3))


def build_view(folder: Path, entries: Sequence[Entry], kind: Kind) -> Built:
    """Make the view of `entries`, in order of slug, in the new folder `folder`."""
    top = make_folder(os.fspath(folder))
    linker = Copier() if kind.private else Linker()
    try:
        return _filled(folder, top, entries, kind, linker)
    except FileNotFoundError as error:
        raise StoreError(
            f"{error.filename} is missing; "
            "mend: runbook store verify --repair, then import its recordings again"
        ) from error


def _filled(folder: Path, top: int, entries: Sequence[Entry], kind: Kind, linker: Linker) -> Built:
    tree = _link_trajectories(folder, top, entries, linker)
    begun = time.monotonic()
    files = {"trajectories.tsv": _trajectories_table(entries)}
    if kind.manifests:
        files["MANIFEST.md"] = orientation(entries)
        files["states.tsv"] = _joined(STATES_HEADER.encode(), entries, "states.tsv")
    if kind.summaries:
        files["SUMMARY_CONCISE.md"] = _joined(CONCISE_TITLE, entries, "summary_concise.md")
        files["SUMMARY_FULL.md"] = _joined(FULL_TITLE, entries, "summary_full.md")
    for name, data in files.items():
        write_new(name, data, top)
    seconds = time.monotonic() - begun
    seal_folder(top)
    return Built({name: len(data) for name, data in files.items()}, tree, linker.copied > 0, seconds)


def _link_trajectories(folder: Path, top: int, entries: Sequence[Entry], linker: Linker) -> int:
    parent = make_folder("trajectories", top)
    for entry in entries:
        own = make_folder(entry.slug, parent)
        source, target = os.fspath(entry.path), f"{folder}/trajectories/{entry.slug}"
        linker.link(f"{source}/about.txt", f"{target}/about.txt")
        for index in range(entry.states):
            linker.link(f"{source}/states/{index:04d}.txt", f"{target}/{index:04d}.txt")
        for index, image in entry.images.items():
            name, extension = f"{index:04d}.{image.extension}", image.extension
            if image.agent:
                name, extension = f"{index:04d}.agent.{image.agent.extension}", image.agent.extension
            linker.link(f"{source}/screenshots/{name}", f"{target}/{index:04d}.{extension}")
        for sheet in sheet_files(entry):
            linker.link(os.fspath(sheet), f"{target}/{sheet.name}")
        seal_folder(own)
    seal_folder(parent)
    return linker.copied + _FOLDER_BYTES * (len(entries) + 1)


def _trajectories_table(entries: Iterable[Entry]) -> bytes:
    rows = (
        trajectory_row(e.slug, e.id, e.states, e.outcome, e.convention, e.start_url, e.goal) for e in entries
    )
    return (TRAJECTORIES_HEADER + "".join(rows)).encode()


def _joined(title: bytes, entries: Iterable[Entry], part: str) -> bytes:
    pieces = [title]
    for entry in entries:
        with open(f"{entry.path}/parts/{part}", "rb") as file:  # noqa: PTH123 - hundreds of them in a view
            pieces.append(file.read())
    return b"".join(pieces)
