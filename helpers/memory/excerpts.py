"""Find the place in a state that shows most of the terms looked for."""

from __future__ import annotations

from bisect import bisect_right
from math import fsum

from .page import around, clip
from .tokens import pieces, spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

BREAK = " ⏎ "  # between the lines of a piece
WINDOW = 240  # characters in which terms count as standing together
MOST_HITS = 200  # of one term in one text
_REACH = 64  # characters to both sides in which a hit's chunk is looked for
_ENDS = b" \t\n'\"()[]{}<>|=;!*+&%$#^~`\\"  # and ?, which stands for all that is not ASCII
_TO_BLANK = bytes(32 if byte in _ENDS else byte for byte in range(256))


class Excerpt:
    """A piece of a text: the number of its line (from 1), the piece itself, and the weight of its terms."""

    __slots__ = ("line", "text", "weight")

    def __init__(self, line: int, text: str, weight: float) -> None:
        self.line = line
        self.text = text
        self.weight = weight


def excerpt(text: str, weights: dict[str, float], width: int = WINDOW) -> Excerpt:
    """The piece of about `width` characters with most weight of distinct terms; without any, the start."""
    lower, blanks = text.lower(), _blanks(text)
    hits = sorted(hit for term in weights for hit in _hits(text, lower, blanks, term))
    start, end, weight = _densest(hits, weights, width)
    line_start = text.rfind("\n", 0, start) + 1
    line_end = _line_end(text, start)
    number = text.count("\n", 0, line_start) + 1
    if end <= line_end:
        piece = around(text[line_start:line_end], start - line_start, end - line_start, width).strip()
    else:
        lines = text[line_start : _line_end(text, end)].split("\n")
        piece = clip(BREAK.join(line.strip() for line in lines if line.strip()), 2 * width)
    return Excerpt(number, piece, weight)


def has_phrase(text: str, phrase: str) -> bool:
    """Whether the text shows the words of the phrase in a row, case and spacing aside."""
    wanted = phrase.lower().split()
    if not wanted:
        return False
    text = text.lower()
    return " ".join(wanted) in text or (len(wanted) > 1 and " ".join(wanted) in " ".join(text.split()))


def as_written(text: str, terms: Iterable[str]) -> dict[str, str]:
    """How the text writes these terms where it first has them."""
    lower, blanks = text.lower(), _blanks(text)
    written = {}
    for term in terms:
        for start, end, _ in _hits(text, lower, blanks, term, 1):
            written[term] = spelled(text[start:end].strip("._-/:@,"), term)
    return written


def _hits(
    text: str, lower: str, blanks: bytes, term: str, most: int = MOST_HITS
) -> list[tuple[int, int, str]]:
    """Where the term stands: start and end of its chunk, and the term."""
    root = term[:-1] if len(term) > 3 and term.isalpha() else term  # study and studies share all but the end
    found: list[tuple[int, int, str]] = []
    place = lower.find(root)
    while place >= 0 and len(found) < most:
        after = place + len(root)
        start = max(blanks.rfind(b" ", max(0, place - _REACH), place) + 1, place - _REACH, 0)
        furthest = min(len(text), max(after, place + _REACH))
        end = blanks.find(b" ", after, furthest)
        if end < 0:
            end = furthest
        if term in pieces(text[start:end].strip(",")):
            found.append((start, end, term))
        place = lower.find(root, max(end, place + 1))
    return found


def _blanks(text: str) -> bytes:
    """A byte for each character, blank for those that end a chunk: bytes are searched many times as fast."""
    return text.replace("?", " ").encode("ascii", "replace").translate(_TO_BLANK)


def _densest(
    hits: list[tuple[int, int, str]], weights: dict[str, float], width: int
) -> tuple[int, int, float]:
    """Start, end and weight of the stretch of at most `width` characters, or one chunk, with most weight."""
    ends = [hit[1] for hit in hits]
    best = (0, 0, 0.0)
    for first, (start, _, _) in enumerate(hits):
        last = max(first + 1, bisect_right(ends, start + width))
        weight = fsum(weights[term] for term in {hit[2] for hit in hits[first:last]})
        if weight > best[2] + 1e-9:
            best = (start, max(ends[first:last]), weight)
    return best


def _line_end(text: str, place: int) -> int:
    found = text.find("\n", place)
    return len(text) if found < 0 else found
