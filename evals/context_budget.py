"""Fitting a memory context into a reader's token budget, from the most important item on.

`cut`: whole items as long as they fit; the first text that does not is shortened, with a marker at its end,
and what comes after it is left out. The first item is never dropped to nothing.
`prefix`: the longest prefix of whole items; a first item over the budget leaves nothing.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from evals.reading import Cut
from evals.tokens import TokenCounter
from runbook.context import ContextItem, ImageItem, MemoryContext, TextItem

MARKER = "\n[cut here: the rest did not fit]"
MIN_SHORTENED_TOKENS = 64  # behind other items, less than this is not worth its place
CUT_STEP_CHARACTERS = 32
CLOSING_LINE_CHARACTERS = 100

CutPolicy = Literal["cut", "prefix"]


def fit_context(
    context: MemoryContext, counter: TokenCounter, budget_tokens: int, policy: CutPolicy = "cut"
) -> tuple[MemoryContext, Cut]:
    """The part of the context that fits, and what had to go.

    Raises OSError where the counter cannot read an image.
    """
    fitted, used, original, shortened = (_prefix if policy == "prefix" else _cut)(
        context.items, counter, budget_tokens
    )
    return MemoryContext(items=tuple(fitted)), Cut(
        counter=counter.mode,
        budget_tokens=budget_tokens,
        original_tokens=original,
        final_tokens=used,
        original_items=len(context.items),
        final_items=len(fitted),
        shortened_item=shortened,
    )


Fitted = tuple[list[ContextItem], int, int, int | None]
"""The items that stay, their tokens, those of all items, and the position of one that was shortened."""


def _cut(items: Sequence[ContextItem], counter: TokenCounter, budget_tokens: int) -> Fitted:
    sizes = [_size(item, counter) for item in items]
    kept: list[ContextItem] = []
    used = 0
    shortened: int | None = None
    for position, (item, size) in enumerate(zip(items, sizes, strict=True)):
        if used + size <= budget_tokens:
            kept.append(item)
            used += size
            continue
        room = budget_tokens - used
        short = None
        if isinstance(item, TextItem) and (not kept or room >= MIN_SHORTENED_TOKENS):
            short = _shortened(item, counter, room)
        if short:
            kept.append(short)
            used += counter.text(short.text)
            shortened = position
        if kept:
            break
    return kept, used, sum(sizes), shortened


def _prefix(items: Sequence[ContextItem], counter: TokenCounter, budget_tokens: int) -> Fitted:
    """By bisection on the count of the items as one message, as the public harness does it."""
    parts = [Path(item.path) if isinstance(item, ImageItem) else item.text for item in items]
    original = counter.whole(parts)
    if original <= budget_tokens:
        return list(items), original, original, None
    fitting, most = 0, len(parts) - 1
    while fitting < most:
        middle = (fitting + most + 1) // 2
        if counter.whole(parts[:middle]) <= budget_tokens:
            fitting = middle
        else:
            most = middle - 1
    return list(items[:fitting]), counter.whole(parts[:fitting]), original, None


def _size(item: ContextItem, counter: TokenCounter) -> int:
    return counter.image(Path(item.path)) if isinstance(item, ImageItem) else counter.text(item.text)


def _shortened(item: TextItem, counter: TokenCounter, room: int) -> TextItem | None:
    """About the longest beginning of a text that fits, with the marker; None where nothing fits."""
    ending = MARKER + _closing_line(item.text)
    fitting, too_long = 0, len(item.text)
    while too_long - fitting > CUT_STEP_CHARACTERS:
        middle = (fitting + too_long) // 2
        if counter.text(item.text[:middle] + ending) <= room:
            fitting = middle
        else:
            too_long = middle
    return TextItem(text=item.text[:fitting] + ending) if fitting else None


def _closing_line(text: str) -> str:
    """The last line, if it is short: where recorded text is fenced, that line ends the fence."""
    _, newline, line = text.rstrip().rpartition("\n")
    return newline + line if len(line) <= CLOSING_LINE_CHARACTERS else ""
