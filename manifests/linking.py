"""Many names for one file where the file system allows it, or files of one's own where it must not be."""

import errno
import os

from .files import copy_file

# What the kernel says where two names cannot share one file: other disk, other owner, too many names.
NO_LINK = frozenset({errno.EXDEV, errno.EMLINK, errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOSYS})


class Linker:
    """Gives files a further name; copies a file that cannot have one, once, and links to that copy then.

    `copied` counts the bytes of the copies. One linker serves one tree: its copies live where their names do.
    """

    def __init__(self) -> None:
        self.copied = 0
        self._copies: dict[tuple[int, int], str] = {}

    def link(self, source: str, target: str) -> None:
        """Make the new path `target` the same file as `source`."""
        if not self._linked(source, target):
            self._copy(source, target)

    def _copy(self, source: str, target: str) -> None:
        found = os.stat(source)  # noqa: PTH116
        key = (found.st_dev, found.st_ino)
        if key in self._copies and self._linked(self._copies[key], target):
            return
        copy_file(source, target)
        self.copied += found.st_size
        self._copies[key] = target

    def _linked(self, source: str, target: str) -> bool:
        """Whether the file could be given a further name."""
        try:
            os.link(source, target)
        except OSError as error:
            if error.errno not in NO_LINK:
                raise
            return False
        return True


class Copier(Linker):
    """Makes a tree that shares no file with another one: what is written to it stays in it.

    Where the file system can, copies share their blocks with the originals.
    """

    def link(self, source: str, target: str) -> None:
        """Make the new path `target` a copy of `source`, or a further name of the tree's own copy of it."""
        self._copy(source, target)
