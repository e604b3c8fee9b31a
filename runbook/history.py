"""The history of an attempt's workspace: what it was before the agent, what after, and the difference.

A bare repository outside the workspace. Git itself never looks into the workspace, where an agent may have
planted attributes, filters, hooks, monitors or repositories: the files are read here, safely, and streamed
into `git fast-import`; the user's own git configuration and environment play no part.
"""

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from runbook.untrusted_files import UnreadableFile, read_untrusted
from runbook.untrusted_tree import Found, Notes, walk

MAX_FILE_BYTES = 1024 * 1024
MAX_FILES = 2_000
MAX_BYTES = 64 * 1024 * 1024
MAX_DIFF_BYTES = 256 * 1024
_BRANCH = "refs/heads/main"
_OPTIONS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.fsync=none",
    "fastimport.unpackLimit=0",  # one pack, no second process
)
_INERT_ATTRIBUTES = "* !text !eol !ident !filter !diff !merge !working-tree-encoding\n"


class HistoryError(OSError):
    """Git is missing or failed."""


def refuse_missing_git() -> None:
    """Raise HistoryError where there is no git, before anything is spent."""
    if shutil.which("git") is None:
        raise HistoryError("git is not on the PATH, and workspaces' histories need it (install git)")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One recorded state of a workspace."""

    label: str
    files: int
    skipped: list[str]
    """What was left out and why; bounded."""


class WorkspaceHistory:
    """Snapshots of `work_tree` in the bare repository `git_dir`, which the first snapshot makes.

    Regular files up to 1 MiB, 2,000 files and 64 MiB in all; links are recorded as links. The top-level
    places in `excluded` and every `.git` are left out.
    """

    def __init__(
        self, git_dir: Path, work_tree: Path, *, excluded: frozenset[str] = frozenset({"haystack"})
    ) -> None:
        self._git_dir = git_dir.absolute()
        self._work_tree = work_tree
        self._excluded = excluded
        self._labels: list[str] = []

    def snapshot(self, label: str) -> Snapshot:
        """Record the workspace as it is now, on the branch main and as the tag `label`.

        Raises:
            HistoryError: git is missing or failed.
        """
        if not self._labels:
            self._create()
        notes = Notes()
        with tempfile.TemporaryFile() as stream:
            files = self._write_commit(stream, label, notes)
            stream.seek(0)
            self._run("fast-import", "--quiet", istream=stream)
        self._labels.append(label)
        return Snapshot(label, files, notes.lines)

    def diff(self) -> str:
        """What changed between the first and the last snapshot: a patch, cut at 256 KiB.

        Raises:
            HistoryError: git is missing or failed.
        """
        if len(self._labels) < 2:
            return ""
        ends = [f"refs/tags/{label}" for label in (self._labels[0], self._labels[-1])]
        with tempfile.TemporaryFile() as output:
            self._run(
                *("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames"),
                *(*ends, "--"),
                output_stream=output,
            )
            size = output.tell()
            output.seek(0)
            text = output.read(MAX_DIFF_BYTES).decode("utf-8", "replace")
        return text if size <= MAX_DIFF_BYTES else f"{text}\n[... {size - MAX_DIFF_BYTES:,} bytes cut]\n"

    def _create(self) -> None:
        self._git_dir.mkdir(parents=True)
        self._run("init", "--quiet", "--bare", "--template=", "--initial-branch=main")
        (self._git_dir / "info").mkdir()
        (self._git_dir / "info/attributes").write_text(_INERT_ATTRIBUTES, encoding="ascii")

    def _write_commit(self, stream: BinaryIO, label: str, notes: Notes) -> int:
        """Write blobs, then the commit that names them, as `git fast-import` reads it."""
        names: list[bytes] = []
        for number, (mode, place, content) in enumerate(self._blobs(notes), 1):
            stream.write(b"blob\nmark :%d\ndata %d\n%b\n" % (number, len(content), content))
            names.append(b"M %b :%d %b\n" % (mode, number, _quoted(place)))
        message = "\n".join([label, "", *notes.lines]).encode()
        committer = f"committer history <history> {int(time.time())} +0000"
        head = f"commit {_BRANCH}\nmark :{len(names) + 1}\n{committer}\n"
        parent = f"from {_BRANCH}^0\n" if self._labels else ""
        stream.write(head.encode() + b"data %d\n%b\n" % (len(message), message) + parent.encode())
        stream.writelines([b"deleteall\n", *names])
        stream.write(f"\nreset refs/tags/{label}\nfrom :{len(names) + 1}\n".encode())
        return len(names)

    def _blobs(self, notes: Notes) -> Iterator[tuple[bytes, str, bytes]]:
        """Mode, place and content of all that is recorded."""
        files = total = 0
        for found in walk(self._work_tree, notes, skip=lambda place: self._skips(place, notes)):
            if found.kind == stat.S_IFDIR:
                continue
            if files == MAX_FILES:
                notes.add(f"{found.place} and what follows: more than {MAX_FILES:,} files")
                return
            if (content := self._content(found, MAX_BYTES - total, notes)) is None:
                continue
            files += 1
            total += len(content)
            yield _mode(found), found.place, content

    def _content(self, found: Found, room: int, notes: Notes) -> bytes | None:
        path = self._work_tree / found.place
        try:
            if found.kind == stat.S_IFLNK:
                return os.fsencode(path.readlink())
            return read_untrusted(path, min(MAX_FILE_BYTES, room), below=self._work_tree)
        except UnreadableFile as error:
            notes.add(f"{found.place}: {error}")
        except OSError as error:
            notes.add(f"{found.place}: {error.strerror}")
        return None

    def _skips(self, place: str, notes: Notes) -> bool:
        if place in self._excluded:
            return True
        if place.rpartition("/")[2].lower() == ".git":
            notes.add(f"{place}: a repository inside the workspace, left out")
            return True
        return False

    def _run(
        self, *command: str, istream: BinaryIO | None = None, output_stream: BinaryIO | None = None
    ) -> None:
        try:
            from git import Git, GitCommandError
        except ImportError as error:
            raise HistoryError("workspace history: git is not installed") from error

        options = [word for option in _OPTIONS for word in ("-c", option)]
        try:
            Git(self._git_dir).execute(
                [Git.GIT_PYTHON_GIT_EXECUTABLE, *options, *command],
                istream=istream,
                output_stream=output_stream,
                env=_environment(self._git_dir),
            )
        except GitCommandError as error:
            said = str(error.stderr).strip().splitlines()
            reason = said[-1] if said else f"status {error.status}"
            raise HistoryError(f"workspace history: git {command[0]} failed: {reason}") from error


def _environment(git_dir: Path) -> dict[str, str]:
    """Variables that point git at this repository alone, whatever the caller's environment says."""
    return {
        "HOME": str(git_dir),
        "XDG_CONFIG_HOME": str(git_dir),
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_COUNT": "0",
        "GIT_CONFIG_PARAMETERS": "",
        "GIT_DIR": str(git_dir),
        "GIT_OBJECT_DIRECTORY": str(git_dir / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": "",
        "GIT_INDEX_FILE": str(git_dir / "index"),
    }


def _mode(found: Found) -> bytes:
    if found.kind == stat.S_IFLNK:
        return b"120000"
    return b"100755" if found.status.st_mode & stat.S_IXUSR else b"100644"


def _quoted(place: str) -> bytes:
    """A path as fast-import reads it: in quotes, everything odd as an octal escape."""
    raw = os.fsencode(place)
    plain = b'"\\'
    escaped = (b"%c" % byte if 32 <= byte < 127 and byte not in plain else b"\\%03o" % byte for byte in raw)
    return b'"' + b"".join(escaped) + b'"'
