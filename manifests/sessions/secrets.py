"""Masking secrets in recorded text: keys, tokens and passwords become "[masked: <kind>]".

tokens.toml and secrets.toml tell what a secret is, pattern by pattern. They know text as it was shown, so
a key is also found where its line feeds are the two characters `\\n`. What no pattern knows stays: masked is
not public.
"""

import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import merge
from importlib.resources import files
from typing import Any

from .assignments import (
    assignment_of,
    is_attribute,
    is_literal,
    is_named,
    is_one,
    is_reference,
    is_remark,
    is_stand_in,
    is_whole_line,
    may_hold_secret,
)

# Not inside a longer word; the n of a written-out \n is none.
_BOUNDARY = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
_NAME = re.compile(r"[A-Za-z_]\w*")
_WORDS = re.compile(r"(?:[a-z]+\d{0,2}|\d{1,4})(?:[_.-](?:[a-z]+\d{0,2}|\d{1,4}))*")  # deploy-bot-2
_ENTROPY_SAMPLE = 256  # characters
_LOOKED_INTO = 200  # characters
_PASSWORD = 6  # characters at least
_RANDOM = 12  # characters at least
_RANDOM_BITS = 3.0  # per character


Judge = Callable[[re.Match[str], int, int], bool]  # whether a match is a secret, and that from where to where


@dataclass(frozen=True, slots=True)
class Pattern:
    """One kind of secret; see tokens.toml and secrets.toml."""

    kind: str
    words: tuple[str, ...]
    expression: re.Pattern[str]
    groups: tuple[str, ...]
    judge: Judge


class Masker:
    """Masks text and counts, over all of it, what it masked by kind."""

    def __init__(self) -> None:
        self.masked: Counter[str] = Counter()

    def mask(self, text: str) -> str:
        """`text` with every secret replaced, in time linear in its length."""
        lowered = _lowered(text)
        for pattern in PATTERNS:
            words = [word for word in pattern.words if word in lowered]
            if words and (spans := list(_find(pattern, words, text, lowered))):
                self.masked[pattern.kind] += len(spans)
                text = _replaced(text, spans, f"[masked: {pattern.kind}]")
                lowered = _lowered(text)
        return text


def _lowered(text: str) -> str:
    """`text` in lower case, each character at its place (İ alone would become two)."""
    return text.replace("İ", "I").lower()


def _find(pattern: Pattern, words: list[str], text: str, lowered: str) -> Iterator[tuple[int, int]]:
    """The secrets of one kind in order, as (start, end)."""
    done = 0
    for start in _starts(words, lowered):
        if start < done:
            continue
        found = pattern.expression.match(text, start)
        if found is None:
            continue
        begin, end = _secret(found, pattern.groups)
        called = found.lastgroup == "secret" and text[end : end + 1] in ("(", "[")
        if end > begin and not called and pattern.judge(found, begin, end):
            yield begin, end
            done = found.end()
        else:
            # A short value that is none may hold one; a long one is passed over, or time would not be linear.
            done = begin if end - begin <= _LOOKED_INTO else found.end()


def _starts(words: list[str], lowered: str) -> Iterator[int]:
    """Where any of the words begins, in order."""
    return merge(*(_occurrences(word, lowered) for word in words))


def _occurrences(word: str, lowered: str) -> Iterator[int]:
    at = lowered.find(word)
    while at >= 0:
        yield at
        at = lowered.find(word, at + 1)


def _secret(found: re.Match[str], groups: tuple[str, ...]) -> tuple[int, int]:
    for group in groups:
        if found[group] is not None:
            return found.span(group)
    return found.span()


def _replaced(text: str, spans: list[tuple[int, int]], mark: str) -> str:
    parts: list[str] = []
    at = 0
    for begin, end in spans:
        parts += (text[at:begin], mark)
        at = end
    return "".join((*parts, text[at:]))


def _always(_found: re.Match[str], _begin: int, _end: int) -> bool:
    return True


def _of_value(judge: Callable[[str], bool]) -> Judge:
    return lambda found, begin, end: judge(found.string[begin:end])


def _assigned(looks_secret: Callable[[str], bool]) -> Judge:
    """Of a name and its value: a literal of a name that says so, or what looks like a secret anyway."""

    def judge(found: re.Match[str], begin: int, end: int) -> bool:
        if end - begin < _PASSWORD or is_remark(found.string[begin:end]):
            return False
        assignment = assignment_of(found, begin, end)
        if not is_one(assignment):
            return False
        if is_named(assignment) and is_literal(assignment):
            return True
        return may_hold_secret(assignment.name) and looks_secret(assignment.value)

    return judge


def _line_assigned(found: re.Match[str], begin: int, end: int) -> bool:
    """Of a line of an environment: a name that holds a secret, and no program text for a value."""
    assignment = assignment_of(found, begin, end)
    return is_named(assignment) and is_whole_line(assignment)


def _literal(secret: str) -> bool:
    """A value itself, rather than a variable or a word that stands for one."""
    return not is_stand_in(secret)


def _varied(secret: str) -> bool:
    """No example such as gsk_xxxxxxxx: for what has the shape of a token anyway."""
    return _entropy(secret[:_ENTROPY_SAMPLE]) >= _RANDOM_BITS


def _password(secret: str) -> bool:
    """A literal with a digit or a sign in it, which is no path and no attribute in program text."""
    if len(secret) < _PASSWORD or is_stand_in(secret) or is_reference(secret) or is_attribute(secret):
        return False
    letters = any(c.isalpha() for c in secret)
    return letters and any(c.isdigit() or c in "!@#$%^&*+=?~" for c in secret)


def _random(secret: str) -> bool:
    """A literal that no person would write: letters and digits mixed without being words."""
    if len(secret) < _RANDOM or not _password(secret) or _WORDS.fullmatch(secret):
        return False
    digits = sum(c.isdigit() for c in secret)
    if _NAME.fullmatch(secret) and digits < 2:
        return False
    return digits > 0 and _entropy(secret[:_ENTROPY_SAMPLE]) >= _RANDOM_BITS


def _entropy(text: str) -> float:
    """Bits per character."""
    counts = Counter(text).values()
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts)


_JUDGES: dict[str, Judge] = {
    "": _always,
    "literal": _of_value(_literal),
    "varied": _of_value(_varied),
    "password": _of_value(_password),
    "random": _of_value(_random),
    "assigned": _assigned(_random),
    "password assigned": _assigned(_password),
    "line assigned": _line_assigned,
}


def _patterns() -> tuple[Pattern, ...]:
    folder = files(__package__)
    texts = [folder.joinpath(name).read_text("utf-8") for name in ("tokens.toml", "secrets.toml")]
    return tuple(_pattern(entry) for text in texts for entry in tomllib.loads(text)["secret"])


def _pattern(entry: dict[str, Any]) -> Pattern:
    boundary = _BOUNDARY if entry.get("boundary", True) else ""
    flags = re.IGNORECASE if entry.get("any_case", False) else re.NOFLAG
    source = entry["pattern"]
    if source.startswith("(?x)"):
        source, flags = source.removeprefix("(?x)"), flags | re.VERBOSE
    expression = re.compile(boundary + source, flags)
    groups = tuple(name for name in expression.groupindex if name.startswith("secret"))
    return Pattern(entry["kind"], tuple(entry["words"]), expression, groups, _JUDGES[entry.get("judge", "")])


PATTERNS = _patterns()
