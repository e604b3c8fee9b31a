"""Cutting a text to a number of tokens, by whichever counter."""

from collections.abc import Callable

_STEP = 64  # characters: finer is not worth a count


def cut_to_tokens(text: str, limit: int, count: Callable[[str], int]) -> str:
    """The longest beginning of about at most `limit` tokens; a text that fits is returned as it is.

    A token has at least one character, so a text of at most `limit` characters is not counted at all.
    """
    if len(text) <= limit or count(text) <= limit:
        return text
    fitting, too_long = 0, len(text)
    while too_long - fitting > _STEP:
        middle = (fitting + too_long) // 2
        if count(text[:middle]) <= limit:
            fitting = middle
        else:
            too_long = middle
    return text[:fitting]
