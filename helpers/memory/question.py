"""What a question asks for: its parts, its words and how much each says, its quotes, options and kind."""

from __future__ import annotations

import re

from .words import LONGEST, MOST_TERMS, words

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
        self.parts = _parts(self.text)
        # What is quoted in a sentence about the form of the answer names its parts, not what was recorded.
        self.quotes = quotes("\n".join(s for s in _SENTENCE.split(self.text) if not _FORM.search(s)))
        self.weights = _weights(self.parts)
        asked = " ".join(part.text for part in self.parts if part.kind != "option")
        self.negated = bool(_NEGATION.search(asked))
        self.runs = len({word.lower() for word in _RUNS.findall(asked)})

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


def quotes(text: str) -> list[str]:
    """What stands in quotation marks."""
    return [next(group for group in match.groups() if group) for match in _QUOTED.finditer(text)]


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
