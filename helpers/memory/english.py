"""Generic English: words that say nothing about a subject, and words that say little.

The two paragraphs of english.txt hold the language's commonest words and know nothing of any recording.
"""

from __future__ import annotations

import os


def _paragraphs() -> list[frozenset[str]]:
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "english.txt")
    with open(path, encoding="utf-8") as file:
        return [frozenset(paragraph.split()) for paragraph in file.read().split("\n\n")]


FUNCTION, COMMON = _paragraphs()
