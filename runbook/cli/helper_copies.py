"""The helpers with bytecode: compiled once per content and interpreter, copied to where a run mounts them."""

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from runbook.complaints import naming, of_system
from sandbox.protocol import SandboxError

STALE_SECONDS = 24 * 3600.0


class HelperCopies:
    """Compiled copies of the helper programs in one folder, shared by all processes of a user."""

    def __init__(self, root: Path, programs: Mapping[str, Path]) -> None:
        """`root` is the folder of the copies; `programs` are the folders of the helpers, by name."""
        self._root = root
        self._programs = programs

    def compiled(self, python: str) -> Path:
        """The copy for an interpreter, made if it is not there.

        Raises:
            SandboxError: the interpreter does not compile them.
            OSError: the folder cannot be written.
        """
        target = self._target(python)
        if not target.is_dir():
            self._make(target, python)
        os.utime(target)  # it was used: see `stale`
        return target

    def placed(self, python: str, place: Path) -> Path:
        """A copy of the compiled helpers in a new folder with a random name in `place`.

        What is mounted is seen from inside by its path on this host, which must tell nothing.
        Raises like `compiled`.
        """
        chosen = Path(tempfile.mkdtemp(prefix="", dir=place))
        compiled = self.compiled(python)
        _copy(
            ((str(file.relative_to(compiled)), file) for file in compiled.rglob("*") if file.is_file()),
            chosen,
        )
        return chosen

    def stale(self) -> list[Path]:
        """Copies that nobody asked for within a day: of older helpers, or left by killed processes."""
        if not self._root.is_dir():
            return []
        last = time.time() - STALE_SECONDS
        found = []
        for path in self._root.iterdir():
            with suppress(FileNotFoundError):  # a copy that another process has just finished
                if path.lstat().st_mtime < last:
                    found.append(path)
        return sorted(found)

    def remove_stale(self) -> list[Path]:
        """Remove the stale copies; returns what was removed."""
        removed = self.stale()
        for path in removed:
            shutil.rmtree(path, ignore_errors=True)
        return removed

    def _target(self, python: str) -> Path:
        digest = hashlib.sha256(python.encode())
        for place, file in self._files():
            digest.update(place.encode() + b"\0" + file.read_bytes() + b"\0")
        return self._root / digest.hexdigest()[:16]

    def _files(self) -> Iterator[tuple[str, Path]]:
        """Each file of the helpers and its place in a copy, in the same order always."""
        for name, folder in sorted(self._programs.items()):
            for file in sorted(folder.rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    yield f"{name}/{file.relative_to(folder).as_posix()}", file

    def _make(self, target: Path, python: str) -> None:
        self._root.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=self._root))
        try:
            _copy(self._files(), made)
            _compile(python, made)
            with suppress(OSError):  # another process was faster
                made.rename(target)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        target.stat()


def _copy(files: Iterable[tuple[str, Path]], folder: Path) -> None:
    """Copy files to their places in a folder, which everybody may read then."""
    for place, file in files:
        copy = folder / place
        copy.parent.mkdir(parents=True, exist_ok=True)
        with naming(copy):
            shutil.copyfile(file, copy)
    folder.chmod(0o755)


def _compile(python: str, folder: Path) -> None:
    words = ("-I", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash")
    try:
        done = subprocess.run(
            [python, *words, str(folder)], capture_output=True, text=True, timeout=120, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        said = of_system(error) if isinstance(error, OSError) else "it does not end"
        raise SandboxError(f"{python} cannot compile the helpers: {said}") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[-300:]
        raise SandboxError(f"{python} cannot compile the helpers: {said}")
