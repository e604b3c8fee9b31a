"""Match the caller's pattern against lines, in Python."""

from __future__ import annotations

import re

from .failure import HelperError
from .page import around, quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

WIDTH = 300  # characters of an excerpt


def matcher(pattern: str) -> Callable[[str], re.Match[str] | None]:
    """A search function for one line; case is ignored unless the pattern asks for upper case.

    Raises:
        HelperError: the pattern is empty or no regular expression.
    """
    if not pattern:
        raise HelperError("the pattern is empty")
    return compiled(pattern, fixed=False, any_case=any_case(pattern))


def compiled(pattern: str, *, fixed: bool, any_case: bool) -> Callable[[str], re.Match[str] | None]:
    """A search function for one line.

    Raises:
        HelperError: the pattern is no regular expression.
    """
    try:
        return re.compile(re.escape(pattern) if fixed else pattern, re.IGNORECASE if any_case else 0).search
    except (re.error, OverflowError, RecursionError) as error:
        mend = "escape its special characters, or use memory grep --fixed"
        raise HelperError(f"{quote(pattern)} is no regular expression: {error}; {mend}") from None


def any_case(pattern: str) -> bool:
    r"""Whether case is ignored: the pattern has no upper-case letter, escapes such as \S aside."""
    escaped = False
    for letter in pattern:
        if letter.isupper() and not escaped:
            return False
        escaped = letter == "\\" and not escaped
    return True


def excerpt(line: str, match: re.Match[str] | None, width: int = WIDTH) -> str:
    """The line, or where it is long the part around the match."""
    start, end = match.span() if match else (0, 0)
    return around(line, start, end, width)
