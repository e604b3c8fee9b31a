"""Pictures that a session carries in its lines, put into files until they are in the store."""

import base64
import binascii
import hashlib
from pathlib import Path

_DATA_URL = "data:image/"


class Pictures:
    """Writes pictures into `folder`; the store finds them there by the names that are handed out."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, encoded: str) -> str | None:
        """The name of the file of what is base64-encoded, None where nothing is. The store verifies it."""
        try:
            data = base64.b64decode(encoded)
        except (binascii.Error, ValueError):
            return None
        if not data:
            return None
        name = hashlib.sha256(data).hexdigest()
        (self._folder / name).write_bytes(data)
        return name

    def add_url(self, url: str) -> str | None:
        """The same for a `data:` URL."""
        head, _, encoded = url.partition(",")
        return self.add(encoded) if head.startswith(_DATA_URL) and head.endswith(";base64") else None

    def clear(self) -> None:
        """Remove the files."""
        for path in self._folder.iterdir():
            path.unlink()
