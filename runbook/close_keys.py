"""The key that somebody may have meant, where a settings model has none of the name."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel


def close_key(model: type[BaseModel], place: tuple[int | str, ...]) -> str:
    """The key most like the last of a place in a model's input, from among its neighbours; "" for none."""
    *tables, key = place
    models = [model]
    for name in tables:
        # What is no field is a number in a list or a name in a table of tables: their models are known.
        fields = [one.model_fields[name] for one in models if name in one.model_fields]
        models = [found for field in fields for found in _models(field.annotation)] or models
    known = {name for one in models for name in one.model_fields}
    return next(iter(get_close_matches(str(key), sorted(known), 1)), "")


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Those that a value of this type may be, or hold."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)
