r"""Halves of characters: JSON can write them (`"\ud83d"` alone), UTF-8 and so every record cannot.

A model's reply or an agent's file may hold them wherever it was cut, so they are replaced before it is read.
"""

import re

_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""Any escape of a JSON text, so that an escaped backslash is not taken for the beginning of the next one."""


def without_halves(json_text: str) -> str:
    r"""A JSON text of the same length in which `\ufffd` stands for each half of a character."""
    if "\\u" not in json_text:
        return json_text
    return _ESCAPE.sub(lambda found: r"\ufffd" if found["half"] else found[0], json_text)
