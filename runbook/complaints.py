"""What the system or a library complains of, in one line: where it is, what is wrong, and the mend."""

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from runbook.close_keys import close_key

_LONGEST = 300  # characters of a value's complaint
_MOST_KEYS = 5
_MENDS: Mapping[int, tuple[str, str]] = {
    errno.ENOSPC: ("the disk is full", "free some space, then run the same command again"),
    errno.EDQUOT: ("the disk quota is used up", "free some space, then run the same command again"),
    errno.EROFS: ("it is on a read-only file system", "choose a place that can be written"),
    errno.EACCES: ("permission denied", "change its permissions, or choose another place"),
    errno.EPERM: ("operation not permitted", "change its owner or permissions, or choose another place"),
    errno.ENOENT: (
        "it is not there",
        "bring it back or choose another place; `runbook store verify --repair` and an import mend a store",
    ),
    errno.ENOTDIR: ("a file stands where a folder is needed", "move that file away, or choose another place"),
    errno.EISDIR: ("it is a folder, not a file", "name a file"),
    errno.EEXIST: ("it is there already", "move it away, or choose another name"),
    errno.ENAMETOOLONG: ("the name is too long", "choose a shorter path"),
    errno.ELOOP: ("links lead in a circle", "replace the link by what it should lead to"),
    errno.EMFILE: ("too many files are open", "raise `ulimit -n`, or lower --concurrency"),
    errno.ENFILE: ("too many files are open on this machine", "close some programs, or lower --concurrency"),
    errno.ENOMEM: ("there is not enough memory", "close some programs, or lower --concurrency"),
    errno.EIO: ("the disk does not answer properly", "look at the system's log; copy what is precious"),
    errno.ESTALE: ("the network disk lost it", "mount the disk again"),
}

_OPTIONS: Mapping[tuple[int | str, ...], str] = {("out",): "; give it with --out"}
"""What is no key of a settings file, but an option of the command."""
_PLAINLY: Mapping[str, str] = {
    "missing": "is missing",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "string_pattern_mismatch": "must have the form {pattern}",
    "string_type": "must be text",
    "too_short": "must hold at least {min_length}",
    "path_type": "must be a path",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "frozen_set_type": "must be a list",
    "dict_type": "must be a table",
    "mapping_type": "must be a table",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
}
"""By pydantic's type of error; all others have its own message."""


def of_system(error: OSError) -> str:
    """What the operating system refused, as `file: problem (mend)`; any other error's own text."""
    if error.errno is None:
        return str(error) or type(error).__name__
    said, mend = _MENDS.get(error.errno, (error.strerror or str(error), "mend that, then try again"))
    place = _text(error.filename)
    # Of a rename or a link, the second name is the one that could not be made.
    place = f"{place} -> {_text(error.filename2)}" if error.filename2 else place
    return f"{place}: {said} ({mend})" if place else f"{said} ({mend})"


def of_validation(error: ValidationError, model: type[BaseModel] | None = None) -> str:
    """What does not fit a model: `key: message`, several with semicolons between; no addresses, no values.

    `model` is what was validated, where keys like those that are unknown are to be told.
    """
    found = error.errors(include_url=False, include_input=False)
    lines = [_fault(one, model) for one in found[:_MOST_KEYS]]
    more = [f"and {len(found) - _MOST_KEYS} more"] if len(found) > _MOST_KEYS else []
    return "; ".join([*lines, *more])


def faults_of(
    error: ValidationError, model: type[BaseModel] | None = None
) -> list[tuple[tuple[int | str, ...], str]]:
    """All that does not fit a model, each with its place and as `key: message`; `model` as above."""
    return [(one["loc"], _fault(one, model)) for one in error.errors(include_url=False, include_input=False)]


def of_any(error: BaseException) -> str:
    """One line for any error that reading or writing a record can end in."""
    if isinstance(error, ValidationError):
        return of_validation(error)
    text = of_system(error) if isinstance(error, OSError) else str(error) or type(error).__name__
    return " ".join(text.split())[:_LONGEST]


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Give an OSError raised inside the name of the file it is about; a failed write does not know it."""
    try:
        yield
    except OSError as error:
        named(error, path)
        raise


def named(error: OSError, path: Path) -> OSError:
    """The error, with the name of the file it is about where it has none."""
    if error.errno is not None and error.filename is None:
        error.filename = str(path)
    return error


def _text(name: object) -> str:
    if isinstance(name, bytes):
        return name.decode("utf-8", "replace")
    return name if isinstance(name, str) else ""  # a descriptor's number tells nobody anything


def _fault(one: ErrorDetails, model: type[BaseModel] | None) -> str:
    key = ".".join(map(str, one["loc"]))
    message = _plainly(one)[:_LONGEST]
    is_unknown = one["type"] == "extra_forbidden" and one["loc"] not in _OPTIONS
    if is_unknown and model is not None and (close := close_key(model, one["loc"])):
        message += f"; did you mean {close}?"
    return f"{key}: {message}" if key else message


def _plainly(one: ErrorDetails) -> str:
    """The library's complaint in words for people who do not know the library."""
    if one["type"] == "extra_forbidden":
        return f"there is no such key{_OPTIONS.get(one['loc'], '')}"
    if (plain := _PLAINLY.get(one["type"])) is None:
        return one["msg"].removeprefix("Value error, ")
    return plain.format_map(one.get("ctx", {}))
