"""The words of a question or query, and how much each says."""

from __future__ import annotations

from .english import COMMON, FUNCTION
from .tokens import TERM_LENGTH, pieces, places, spelled, stem

LONGEST = 20_000  # characters of a text that are looked at
MOST_TERMS = 120

COMMON_WEIGHT = 0.3
PART_WEIGHT = 0.35  # of a compound's parts, beside the whole

_COMMON_STEMS = frozenset(map(stem, COMMON))
_FUNCTION_STEMS = frozenset(map(stem, FUNCTION - COMMON))


def words(text: str) -> dict[str, float]:
    """The terms of a text with weights: no function words, less for common words and parts of compounds."""
    found: dict[str, float] = {}
    for start, end, terms in places(text[:LONGEST]):
        chunk = text[start:end]
        for term, weight in _graded(chunk, terms):
            if _says_something(term):
                worth = weight * (COMMON_WEIGHT if term in _COMMON_STEMS else 1.0)
                found[term] = max(worth, found.get(term, 0.0))
    return found


def spelling(text: str) -> dict[str, str]:
    """How the text wrote its words, by their term."""
    written: dict[str, str] = {}
    for start, end, terms in places(text[:LONGEST]):
        chunk = text[start:end].strip("._-/:@,")
        for term in terms:
            written.setdefault(term, spelled(chunk, term))
    return written


def _graded(chunk: str, terms: tuple[str, ...]) -> list[tuple[str, float]]:
    """The terms of one chunk: a compound counts as itself, its parts less; `well-known` is two words."""
    if len(terms) < 2:
        return [(term, 1.0) for term in terms]
    if "-" in chunk and chunk.replace("-", "").isalpha():
        single = [term for part in chunk.split("-") for term in pieces(part)]
        return [(term, 1.0) for term in single]
    whole = terms[0]
    mixed = any(letter.isdigit() or letter.isupper() for letter in chunk[1:])
    if not mixed and not any(mark in whole for mark in "._-/:@"):
        return [(term, 1.0) for term in terms]  # words joined by a comma, or characters in pairs
    return [(whole, 1.0)] + [(term, PART_WEIGHT) for term in terms[1:]]


def _says_something(term: str) -> bool:
    if len(term) == 1:
        return term.isdigit() or not term.isascii()
    return term not in FUNCTION and term not in _FUNCTION_STEMS and len(term) <= TERM_LENGTH
