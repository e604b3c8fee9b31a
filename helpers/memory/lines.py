"""Match the caller's pattern against lines, and show a line around its match."""

from __future__ import annotations

import re

from .failure import HelperError
from .page import around, quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

WIDTH = 300  # characters of an excerpt


def matcher(pattern: str, *, fixed: bool = False) -> Callable[[str], re.Match[str] | None]:
    """A search function for one line; case is ignored unless the pattern has an upper-case letter.

    Raises:
        HelperError: the pattern is empty or no regular expression.
    """
    if not pattern:
        raise HelperError("the pattern is empty")
    flags = 0 if has_upper(pattern) else re.IGNORECASE
    try:
        return re.compile(re.escape(pattern) if fixed else pattern, flags).search
    except (re.error, OverflowError, RecursionError) as error:
        raise HelperError(f"{quote(pattern)} is no regular expression: {error}") from None


def has_upper(pattern: str) -> bool:
    r"""Whether a pattern asks for upper case, escapes such as \S and \W aside."""
    return re.sub(r"\\.", "", pattern) != re.sub(r"\\.", "", pattern).lower()


def excerpt(line: str, match: re.Match[str] | None, width: int = WIDTH) -> str:
    """The line, or where it is long the part around the match."""
    start, end = match.span() if match else (0, 0)
    return around(line, start, end, width)
