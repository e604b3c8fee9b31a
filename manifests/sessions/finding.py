"""Finding session files: a file, a folder of them, or an agent's whole folder; links are not followed."""

import os
import stat
from pathlib import Path

from ..errors import DataError

_SUFFIX = ".jsonl"
_PACKED = ".jsonl.zst"
_NO_SESSIONS = frozenset({"history.jsonl", "session_index.jsonl"})  # lists of prompts and of sessions


def session_files(path: Path, folders: tuple[str, ...], warnings: list[str]) -> list[Path]:
    """The files at `path`, changed longest ago first; of an agent's own folder only those in `folders`.

    Raises DataError where `path` is not there.
    """
    try:
        found = path.stat()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}; give a session file or a folder of sessions") from error
    if stat.S_ISREG(found.st_mode):
        return [path]
    if not stat.S_ISDIR(found.st_mode):
        raise DataError(f"{path} is neither a file nor a folder; give a session file or a folder of sessions")
    own = [path / name for name in folders]
    tops = [top for top in own if top.is_dir() and not top.is_symlink()] or [path]
    files: list[tuple[int, str]] = []
    packed = 0
    for top in tops:
        for folder, _, names in os.walk(top, onerror=lambda error: warnings.append(_unreadable(error))):
            packed += sum(name.endswith(_PACKED) for name in names)
            for name in names:
                if name.endswith(_SUFFIX) and name not in _NO_SESSIONS:
                    files += _regular(os.path.join(folder, name))  # noqa: PTH118 - bytes of any name
    if packed:
        warnings.append(
            f"{path}: {packed} packed sessions (*{_PACKED}) were not read; unpack them with `zstd -d`"
        )
    return [Path(name) for _, name in sorted(files)]


def shown(path: Path) -> str:
    """The path as valid text."""
    return os.fsencode(path).decode("utf-8", "replace")


def _regular(path: str) -> list[tuple[int, str]]:
    try:
        found = os.lstat(path)
    except OSError:  # removed meanwhile
        return []
    return [(found.st_mtime_ns, path)] if stat.S_ISREG(found.st_mode) else []


def _unreadable(error: OSError) -> str:
    return (
        f"{os.fsencode(error.filename or '').decode('utf-8', 'replace')}: {error.strerror}; not looked into"
    )
