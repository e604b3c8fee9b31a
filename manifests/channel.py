"""Python objects through a socket between a crew and its members.

As `multiprocessing.connection` does it, whose import takes a member longer than all of ours together.
"""

import os
import pickle
from typing import Any, Final

_HEAD: Final = 8  # bytes of a message's length
_BLOCK: Final = 2**16


class Channel:
    """One end of a connected stream socket, by its descriptor, which the channel closes.

    What arrives is trusted: both ends are ours.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def fileno(self) -> int:
        return self._fd

    def close(self) -> None:
        os.close(self._fd)

    def send(self, message: object) -> None:
        """Raises OSError where nobody listens any more."""
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        left = memoryview(len(data).to_bytes(_HEAD, "big") + data)
        while left:
            left = left[os.write(self._fd, left) :]

    def receive(self) -> Any:
        """The next message. Raises EOFError, or OSError, where the other end has gone."""
        length = int.from_bytes(self._exactly(_HEAD), "big")
        return pickle.loads(self._exactly(length))

    def _exactly(self, length: int) -> bytes:
        data = bytearray()
        while len(data) < length:
            part = os.read(self._fd, min(length - len(data), _BLOCK))
            if not part:
                raise EOFError
            data += part
        return bytes(data)
