"""What a model writes for a memory: text that can be stored, sent on and shown, and that ends."""

import re
from typing import Annotated

from pydantic import BeforeValidator, Field

LINE_CHARACTERS = 2_000
TEXT_CHARACTERS = 8_000
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def _line(value: object) -> object:
    return " ".join(_clean(value).split())[:LINE_CHARACTERS] if isinstance(value, str) else value


def _text(value: object) -> object:
    return _clean(value).strip()[:TEXT_CHARACTERS] if isinstance(value, str) else value


def _clean(text: str) -> str:
    """Without control characters, and without halves of characters, which only JSON can write."""
    return _CONTROL.sub(" ", text.encode("utf-8", "replace").decode("utf-8"))


Line = Annotated[str, BeforeValidator(_line), Field(min_length=1)]
"""One line of at most LINE_CHARACTERS."""

Text = Annotated[str, BeforeValidator(_text), Field(min_length=1)]
"""Lines of at most TEXT_CHARACTERS together."""
