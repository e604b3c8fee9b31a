"""Folder names for trajectories: readable, safe on any file system, never colliding."""

import re
import unicodedata

READABLE = 40  # characters of the id that stay readable
HASH = 10  # hex characters of the content's digest

_UNSAFE = re.compile(r"[^a-z0-9._-]+")
_SLUG = re.compile(rf"[a-z0-9_][a-z0-9._-]{{0,{READABLE - 1}}}-[0-9a-f]{{{HASH}}}")


def slug_of(trajectory_id: str, digest: str) -> str:
    """The folder name for an id and its content's digest (hex).

    The digest keeps apart what the readable part cannot: ids that differ by case, by a character that no
    file system likes, or beyond the 40th character. It also defuses device names such as `CON`.
    """
    plain = unicodedata.normalize("NFKD", trajectory_id[: 4 * READABLE]).encode("ascii", "ignore").decode()
    readable = _UNSAFE.sub("-", plain.lower()).lstrip(".-")[:READABLE].rstrip(".-")
    return f"{readable or 'trajectory'}-{digest[:HASH]}"


def is_slug(name: str) -> bool:
    """Whether `name` could have come from slug_of; nothing else is ever used as a path."""
    return _SLUG.fullmatch(name) is not None
