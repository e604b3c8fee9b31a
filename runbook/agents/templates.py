"""Filling the placeholders of an adapter: `{model}` in a text, a list of words, or a value for JSON."""

import re
from collections.abc import Mapping, Sequence

import orjson
from pydantic import JsonValue

Values = Mapping[str, str | int | None]
"""What each placeholder stands for; None where it has no value this time."""

Word = str | list[str]
"""A word of a command line, or words that belong together (an option and its value)."""

PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


class NoValueError(ValueError):
    """A placeholder has no value, and nothing says that it may be left out."""


def placeholders(value: object) -> set[str]:
    """The names in all texts and keys of a value."""
    if isinstance(value, str):
        return set(PLACEHOLDER.findall(value))
    if isinstance(value, Mapping):
        return placeholders(list(value)) | placeholders(list(value.values()))
    if isinstance(value, Sequence):
        return {name for part in value for name in placeholders(part)}
    return set()


def fill(text: str, values: Values) -> str:
    """Replace every placeholder, never inside a value that was just put in.

    Raises:
        NoValueError: one of them has no value.
    """

    def replace(found: re.Match[str]) -> str:
        value = values[found[1]]
        if value is None:
            raise NoValueError(f"{{{found[1]}}} has no value")
        return str(value)

    return PLACEHOLDER.sub(replace, text)


def fill_words(words: Sequence[Word], values: Values) -> tuple[str, ...]:
    """A command line; words that belong together are left out where a placeholder in them has no value."""
    filled: list[str] = []
    for word in words:
        if isinstance(word, str):
            filled.append(fill(word, values))
        elif all(values[name] is not None for name in placeholders(word)):
            filled += [fill(part, values) for part in word]
    return tuple(filled)


def fill_value(value: JsonValue, values: Values) -> JsonValue:
    """A value for JSON; members of tables are left out where a placeholder in them has no value.

    A text that is nothing but one placeholder becomes its value, whole numbers included.
    """
    if isinstance(value, str):
        name = PLACEHOLDER.fullmatch(value)
        return values[name[1]] if name and isinstance(values[name[1]], int) else fill(value, values)
    if isinstance(value, list):
        return [fill_value(part, values) for part in value]
    if isinstance(value, dict):
        return {
            fill(key, values): fill_value(member, values)
            for key, member in value.items()
            if all(values[name] is not None for name in _deciding(key, member))
        }
    return value


def _deciding(key: str, member: JsonValue) -> set[str]:
    """The placeholders without whose value the member is left out; a table decides about its own members."""
    return placeholders(key) | (set() if isinstance(member, dict) else placeholders(member))


def fill_texts(table: Mapping[str, JsonValue], values: Values) -> dict[str, str]:
    """A table of texts: text as it is, anything else as JSON; left out as by `fill_value`."""
    filled = fill_value(dict(table), values)
    assert isinstance(filled, dict)
    return {
        name: part if isinstance(part, str) else orjson.dumps(part).decode() for name, part in filled.items()
    }
