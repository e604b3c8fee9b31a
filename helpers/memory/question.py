"""What a question asks for: its parts, its words and how much each says, its quotes, options and kind."""

from __future__ import annotations

import re

from .english import COMMON, FUNCTION
from .tokens import TERM_LENGTH, pieces, places, stem

LONGEST = 20_000  # characters of a question that are looked at
MOST_TERMS = 120

COMMON_WEIGHT = 0.3
PART_WEIGHT = 0.35  # of a compound's parts, beside the whole
FORM_WEIGHT = 0.25  # of words about the form of the answer

_SENTENCE = re.compile(r"(?<=[.?!])[\"'”’)]*\s+(?=[A-Z\"'“‘(])|\n")
_CLAUSE = re.compile(r"(?<=[,;:?])\s+|\s+[–—]\s+|\((?=\w)|\)(?=[\s,.;:?]|$)")
_FORM = re.compile(
    r"\\boxed|\b(?:answer|reply|respond)\s+(?:as|in|with|only|by)\b|\bfinal answer\b", re.IGNORECASE
)
_OPTION = re.compile(r"^\s*(?:\(([A-Za-z])\)|([A-Za-z])[.):])\s+(\S.*)$", re.MULTILINE)
_QUOTED = re.compile(
    "\"([^\"\n]{2,200})\"|“([^”\n]{2,200})”|‘([^’\n]{2,200})’|`([^`\n]{2,200})`|(?<![\\w'])'([^'\n]{2,200})'(?!\\w)"
)
_NEGATION = re.compile(r"\b(?:not|never|no|without|n't|cannot|nor|none|neither)\b|n['’]t\b", re.IGNORECASE)
_RUNS = re.compile(
    r"\b(?:attempts?|runs?|trials?|recordings?|times|both|each|every|two|three|several|other|another|respectively|"
    r"first|second|third|compared?|differ\w*|versus|vs)\b",
    re.IGNORECASE,
)
_STEMS = frozenset(stem(word) for word in COMMON)
_FUNCTION_STEMS = frozenset(stem(word) for word in FUNCTION if word not in COMMON)


class Part:
    """A clause of the question, an option or a quote: its text, and its terms."""

    __slots__ = ("kind", "terms", "text")

    def __init__(self, text: str, kind: str) -> None:
        self.text = " ".join(text.split())
        self.kind = kind  # clause, option, quote or form
        self.terms = set(words(text))


class Question:
    """A question taken apart. `weights` maps each term to how much it says, from 0 to 1."""

    def __init__(self, text: str) -> None:
        self.text = text[:LONGEST].replace("\0", " ")
        self.options = [match.group(3) for match in _OPTION.finditer(self.text)]
        self.quotes = [
            next(group for group in match.groups() if group) for match in _QUOTED.finditer(self.text)
        ]
        self.parts = _parts(self.text)
        self.weights = _weights(self.parts)
        self.negated = bool(_NEGATION.search(self.text))
        self.runs = len({word.lower() for word in _RUNS.findall(self.text)})

    def kind(self) -> str:
        """In a few words, for a note that says what was looked for."""
        traits = []
        if self.options:
            traits.append(f"choice of {len(self.options)}")
        if self.runs > 1:
            traits.append("comparison of runs or of steps")
        if self.quotes:
            traits.append(f"{len(self.quotes)} quoted")
        if self.negated:
            traits.append("negated")
        return ", ".join(traits) or "one fact"


def words(text: str) -> dict[str, float]:
    """The terms of a text with weights: no function words, less for common words and parts of compounds."""
    found: dict[str, float] = {}
    for start, end, terms in places(text[:LONGEST]):
        chunk = text[start:end]
        for term, weight in _graded(chunk, terms):
            if _says_something(term):
                worth = weight * (COMMON_WEIGHT if term in _STEMS else 1.0)
                found[term] = max(worth, found.get(term, 0.0))
    return found


def spelling(text: str) -> dict[str, str]:
    """How the text wrote its words, by their term."""
    written: dict[str, str] = {}
    for start, end, terms in places(text[:LONGEST]):
        if terms:
            written.setdefault(terms[0], text[start:end].strip("._-/:@,"))
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


def _parts(text: str) -> list[Part]:
    parts = []
    for sentence in _SENTENCE.split(text):
        if _OPTION.match(sentence):
            parts.append(Part(sentence, "option"))
            continue
        form = bool(_FORM.search(sentence))
        for clause in _CLAUSE.split(sentence):
            part = Part(clause, "form" if form else "clause")
            if part.terms:
                parts.append(part)
    return parts


def _weights(parts: list[Part]) -> dict[str, float]:
    """The terms of all parts; of a very long question the first ones."""
    weights: dict[str, float] = {}
    for part in parts:
        factor = FORM_WEIGHT if part.kind == "form" else 1.0
        for term, weight in words(part.text).items():
            if term in weights or len(weights) < MOST_TERMS:
                weights[term] = max(weight * factor, weights.get(term, 0.0))
    return weights
