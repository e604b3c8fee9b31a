"""The kinds of text in an adapter's file. It may come from anybody, so each says what it must not hold."""

import math
import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, Field, JsonValue

from runbook.agents.templates import PLACEHOLDER

VERSION = r"^[0-9A-Za-z][0-9A-Za-z.+-]*$"
MOST_LEVELS = 32
_LONGEST_WHOLE = 63  # bits
_NPM = re.compile(
    r"(@[a-z0-9-][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*@[a-z0-9][a-z0-9.+-]*(?<!\.tgz)(?<!\.tar)(?<!\.tar\.gz)",
    re.IGNORECASE | re.ASCII,
)
_PYPI = re.compile(
    r"[a-z0-9][a-z0-9._-]*(\[[a-z0-9._,-]+\])?==[a-z0-9][a-z0-9.+!-]*", re.IGNORECASE | re.ASCII
)


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must be one line without control characters")
    return text


def _below(path: str) -> str:
    if not {".", ".."}.isdisjoint(path.split("/")) or not path.isprintable():
        raise ValueError(f"{path!r} is not a path below its folder")
    return path


def _pattern_below(pattern: str) -> str:
    if any("**" in part and part != "**" for part in _below(pattern).split("/")):
        raise ValueError(f"{pattern!r}: ** stands for folders and must be a part of its own")
    return pattern


def _environment_name(name: str) -> str:
    if name == "HOME":
        raise ValueError("HOME is the sandbox's own; [home] puts files there")
    return name


def _of_npm(package: str) -> str:
    # Anything else that npm takes is an option, or comes from a folder, an address or a repository.
    if not _NPM.fullmatch(PLACEHOLDER.sub("1", package)):
        raise ValueError(
            f"{package!r} is not a package of npm with its version: NAME@VERSION or @SCOPE/NAME@VERSION"
        )
    return package


def _of_pypi(package: str) -> str:
    # Anything else that pip takes is an option, a folder or an address, and may run code on this machine.
    if not _PYPI.fullmatch(PLACEHOLDER.sub("1", package)):
        raise ValueError(f"{package!r} is not a package of PyPI with its version: NAME==VERSION")
    return package


Line = Annotated[str, AfterValidator(_printable)]
RelativePath = Annotated[str, Field(pattern=r"^[^/\x00]+(/[^/\x00]+)*$"), AfterValidator(_below)]
"""Of a file, relative to the folder that its key speaks of."""
RelativeGlob = Annotated[str, Field(pattern=r"^[^/\x00]+(/[^/\x00]+)*$"), AfterValidator(_pattern_below)]
EnvironmentName = Annotated[
    str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$"), AfterValidator(_environment_name)
]
NpmPackage = Annotated[str, AfterValidator(_of_npm)]
PypiPackage = Annotated[str, AfterValidator(_of_pypi)]


def check_words(words: Sequence[str | list[str]]) -> None:
    """Raise ValueError where they can be no command line, whatever the placeholders become."""
    if not words or not isinstance(words[0], str) or not words[0]:
        raise ValueError("the first word must name the program")
    if [] in words:
        raise ValueError("a list in it is empty")
    if any("\0" in part for word in words for part in ([word] if isinstance(word, str) else word)):
        raise ValueError("a word holds a NUL character, which no program can be given")


def check_version_pattern(pattern: str) -> None:
    """Raise ValueError unless it is a regular expression with a group."""
    try:
        groups = re.compile(pattern).groups
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is not a regular expression: {error}") from None
    if not groups:
        raise ValueError("needs a group, in parentheses, around the version")


def check_json(value: JsonValue) -> None:
    """Raise ValueError where a value of TOML cannot be written as JSON."""
    left = [(value, 0)]
    while left:
        one, depth = left.pop()
        if depth > MOST_LEVELS:
            raise ValueError(f"has more than {MOST_LEVELS} levels")
        if isinstance(one, float) and not math.isfinite(one):
            raise ValueError(f"{one} is no number in JSON")
        if isinstance(one, int) and one.bit_length() > _LONGEST_WHOLE:
            raise ValueError("holds a number of more than 64 bits")
        if isinstance(one, dict):
            left += [(member, depth + 1) for member in one.values()]
        elif isinstance(one, list):
            left += [(member, depth + 1) for member in one]


def clash(paths: Sequence[str]) -> str:
    """A path that is both a file and the folder of another one; "" where none is."""
    folders = {str(folder) for path in paths for folder in PurePosixPath(path).parents}
    return next((path for path in paths if path in folders), "")
