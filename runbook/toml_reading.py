"""TOML that a user hands in: settings, studies, adapters, prices, errata. Whatever is wrong is one line."""

import tomllib
from pathlib import Path
from typing import Any

from runbook.complaints import of_any


class TomlError(ValueError):
    """What is handed in is no TOML; the message says why and where."""


def parse_toml(text: str | bytes) -> dict[str, Any]:
    """The table that a TOML document is.

    Raises:
        TomlError: it is none, or holds what no document needs: thousands of levels, or of digits.
    """
    try:
        return tomllib.loads(text if isinstance(text, str) else text.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise TomlError(f"byte {error.start + 1} is not UTF-8 (save it as UTF-8)") from None
    except RecursionError:
        raise TomlError("its lists or tables have too many levels") from None
    except ValueError as error:  # of tomllib, or of Python for a number of thousands of digits
        raise TomlError(of_any(error)) from None


def read_toml(file: Path) -> dict[str, Any]:
    """The content of a TOML file. Raises OSError, and TomlError, which names the file."""
    try:
        return parse_toml(file.read_bytes())
    except TomlError as error:
        raise TomlError(f"{file}: this is no TOML: {error}") from None
