"""Files that lie in HOME before the agent starts."""

from __future__ import annotations

import os


def write_files(home: str, files: dict[str, str]) -> None:
    """Write each text below `home`: files for the owner alone (0600), folders made on the way 0700.

    Raises:
        ValueError: `home` is no absolute path, or a path is absolute, empty or leaves `home`.
        OSError: a file cannot be written, or a link is in its place.
    """
    if not os.path.isabs(home):
        raise ValueError("HOME is not an absolute path, so no file can be written there")
    for path, text in files.items():
        parts = path.split("/")
        if any(part in ("", ".", "..") or "\0" in part for part in parts):
            raise ValueError("%r is not a path below HOME" % path)
        folder = home
        for part in parts[:-1]:
            folder = os.path.join(folder, part)
            try:
                os.mkdir(folder, 0o700)
            except FileExistsError:
                if os.path.islink(folder):
                    raise
        _write(os.path.join(folder, parts[-1]), text.encode("utf-8", "replace"))


def _write(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
