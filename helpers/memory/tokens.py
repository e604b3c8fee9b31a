"""How text becomes search terms: the one rule of the index (on the host) and of queries (in the sandbox).

A chunk is what stands between blanks, quotes and brackets: `setup.cfg`, `2024-05-17`, `UnicodeEncodeError`.
It gives
- the whole, in lower case, where it has several parts: `setup.cfg`;
- each part, and the words and numbers inside a mixed part: `setup`, `cfg`; `unicod`, `encod`, `error`;
- of words their stem, of numbers the digits without thousands separators, of Chinese, Japanese, Korean and
  other scripts without blanks every two neighbouring characters.
Accents and points are left out, for many write words without; vowel signs of Indic scripts and the like are
not, for without them other words would be the same. Terms hold no blank and of ASCII punctuation only
`. _ - / : @`.
"""

from __future__ import annotations

from itertools import chain

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

VERSION = "2"  # of this rule; an index made with another one cannot be searched

TERM_LENGTH = 64  # characters; the rest of a longer one is cut, in text and query alike
_WHOLE_LENGTH = 48
_WHOLE_PARTS = 6
_MEMORY = 200_000  # chunks whose terms are remembered

JOINING = "._-/:@"  # of ASCII punctuation, what terms may hold
# One character for one, so that places in the translated text are places in the text.
_TO_BLANK = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) not in JOINING + ","}
_TO_PARTS = str.maketrans("._-:@", "     ")
# Regular expressions are compiled where they are first needed: a search for plain words needs none.
_THOUSANDS = r"(?<![\d.,])(\d{1,3}(?:,\d{3})+)(?![\d,])"
_CAMEL = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"
_WIDE = (
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
)
_FOREIGN = f"([{_WIDE}]+)|([^ {_WIDE}]+)"
_NO_LETTER = r"[^\w.\-:@/, ]"
# Hints to who draws the text, such as soft hyphens and variants of characters.
_UNSEEN = (
    "[\u00ad\u034f\u061c\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
# Combining classes; those between are of signs that are read as letters.
_ACCENTS = frozenset((1, *range(10, 37), *range(200, 255)))
_VOWELS = frozenset("aeiouy")


def terms(text: str) -> set[str]:
    """The distinct terms of a text."""
    return set(chain.from_iterable(map(_known.__getitem__, set(text.translate(_TO_BLANK).split()))))


def telling(text: str, chunks: int) -> set[str]:
    """The distinct terms of so many of a text's most telling chunks."""
    found = sorted(set(text.translate(_TO_BLANK).split()), key=telling_first)
    return set(chain.from_iterable(map(_known.__getitem__, found[:chunks])))


def telling_first(chunk: str) -> tuple[bool, int, str]:
    """An order that begins with what is mostly rarest: with digits before without, long before short."""
    return not any(map(str.isdigit, chunk)), -len(chunk), chunk


def places(text: str) -> list[tuple[int, int, tuple[str, ...]]]:
    """Each chunk of a text in order: its start and end (characters), and its terms."""
    found, end = [], 0
    blanked = text.translate(_TO_BLANK)
    for chunk in blanked.split():
        start = blanked.index(chunk, end)
        end = start + len(chunk)
        found.append((start, end, pieces(chunk)))
    return found


def pieces(chunk: str) -> tuple[str, ...]:
    """The terms of one chunk; where it is a compound the whole comes first."""
    found: tuple[str, ...] = _known[chunk]
    return found


def spelled(chunk: str, term: str) -> str:
    """How a chunk writes one of its terms: the whole of it, or the word in it that the term comes from."""
    if pieces(chunk)[:1] == (term,):
        return chunk
    words = "".join(letter if letter.isalnum() else " " for letter in chunk).split()
    return next((word for word in words if term in pieces(word)), term)


def stem(word: str) -> str:
    """A word in lower case without its commonest English endings: files, filed, filing -> fil."""
    if len(word) < 4:
        return word
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith("es") and len(word) > 4 and word[:-2].endswith(("s", "x", "z", "ch", "sh")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        short = word[: -len(ending)]
        if word.endswith(ending) and len(short) > 2 and not _VOWELS.isdisjoint(short):
            word = short
            break
    if len(word) > 3 and word[-1] == "e":
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word[:-1] + "i" if len(word) > 3 and word[-1] == "y" else word


def _pieces(chunk: str) -> list[str]:
    if chunk.isascii():
        return _ascii(chunk)
    import re
    from unicodedata import combining, normalize

    found = []
    chunk = normalize("NFKC", re.sub(_UNSEEN, "", chunk)).translate(_TO_BLANK)
    for wide, other in re.findall(_FOREIGN, re.sub(_NO_LETTER, _mark, chunk)):
        if wide:
            found += [wide[place : place + 2] for place in range(max(1, len(wide) - 1))]
        else:
            letters = normalize("NFKD", other)
            plain = "".join(letter for letter in letters if combining(letter) not in _ACCENTS)
            found += _ascii(normalize("NFC", plain))
    return found


def _mark(found: re.Match[str]) -> str:
    """What stands for a character that is no letter: marks belong to the word, all others end it."""
    from unicodedata import category

    return {"Mn": found[0], "Mc": found[0], "Me": ""}.get(category(found[0]), " ")


def _ascii(chunk: str) -> list[str]:
    if "," in chunk:
        import re

        chunk = re.sub(_THOUSANDS, lambda match: match.group(1).replace(",", ""), chunk)
    segments = [
        segment for segment in (s.strip("._-:@") for s in chunk.replace(",", "/").split("/")) if segment
    ]
    if len(segments) == 1:
        return _segment(segments[0])
    found = []
    whole = chunk.strip(JOINING + ",").lower()
    if 1 < len(segments) <= _WHOLE_PARTS and len(whole) <= _WHOLE_LENGTH and "," not in whole:
        found.append(whole)
    for segment in segments:
        found += _segment(segment)
    return found


def _segment(segment: str) -> list[str]:
    parts = segment.translate(_TO_PARTS).split()
    found = []
    if 1 < len(parts) <= _WHOLE_PARTS and len(segment) <= _WHOLE_LENGTH:
        found.append(segment.lower())
        if all(part.isdigit() for part in parts):  # dates, times, amounts, versions: short parts say nothing
            return found + [part for part in parts if len(part) > 2]
    for part in parts:
        found += _part(part)
    return found


def _part(part: str) -> list[str]:
    lower = part.lower()
    if lower.isalpha():
        found = [stem(lower)]
        if part in (lower, lower.capitalize()):
            return found
    else:
        found = [lower]
        if part.isdigit():
            return found
    import re

    words = [word for word in re.findall(_CAMEL, part) if len(word) > 2]
    if any(word.isalpha() for word in words):  # UnicodeError, python3, INC0012; but not the element a324
        found += [stem(word.lower()) for word in words]
    return found


class _Known(dict):  # type: ignore[type-arg]  # subscripted only from Python 3.9 on
    """The terms of chunks seen before: a haystack repeats its chunks a hundred times."""

    def __missing__(self, chunk: str) -> tuple[str, ...]:
        found = tuple(dict.fromkeys(term[:TERM_LENGTH] for term in _pieces(chunk) if term))
        if len(self) >= _MEMORY:
            self.clear()
        if len(chunk) <= TERM_LENGTH:
            self[chunk] = found
        return found


_known = _Known()
