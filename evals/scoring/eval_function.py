"""The `eval_function` of a question: a name and `|key=value` options, checked before anything is spent."""

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

OptionValue: TypeAlias = bool | int | float | str | list[object] | None

PHRASE_MATCHERS = frozenset({"norm_phrase_set_match", "norm_phrase_set_match_ordered"})
CHOICE_MATCHERS = frozenset({"mc_choice_match", "mc_choice_set_match"})
ABSTENTION_CHECKER = "llm_abstention_checker"
GOTCHAS_CHECKER = "llm_gotchas_checker"
CHECKERS = frozenset({ABSTENTION_CHECKER, GOTCHAS_CHECKER})
KNOWN = PHRASE_MATCHERS | CHOICE_MATCHERS | CHECKERS

_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "none": None, "null": None}
_SEPARATORS = ("separators", "separator")


class EvalFunctionError(ValueError):
    """An `eval_function` that names no known evaluator, or an option that it cannot take."""


@dataclass(frozen=True, slots=True)
class EvalFunction:
    """An evaluator's name and its options as written; the evaluator decides what they mean."""

    name: str
    options: Mapping[str, OptionValue] = field(default_factory=dict)

    @property
    def needs_model(self) -> bool:
        """Whether a judge model is asked, rather than a matcher."""
        return self.name in CHECKERS

    @property
    def require_non_empty(self) -> bool:
        """Whether an empty gold or answer is wrong without further look; the default of every evaluator."""
        return bool(self.options.get("require_non_empty", True))


def parse_eval_function(text: str) -> EvalFunction:
    """Read `name|key=value|...`; empty parts are skipped.

    Raises EvalFunctionError for an unknown name, an option without `=`, and an option given twice.
    """
    name, *parts = text.split("|")
    name = name.strip()
    if name not in KNOWN:
        raise EvalFunctionError(f"unknown evaluator {name!r}; known: {', '.join(sorted(KNOWN))}")
    options: dict[str, OptionValue] = {}
    for part in filter(str.strip, parts):
        key, equals, value = part.partition("=")
        key = key.strip()
        if not equals or not key:
            raise EvalFunctionError(f"option {part!r} of {name} is no key=value")
        if key in options:
            raise EvalFunctionError(f"option {key!r} of {name} is given twice")
        options[key] = _value(key, value)
    return EvalFunction(name, options)


def _value(key: str, text: str) -> OptionValue:
    word = text.strip()
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    if key in _SEPARATORS:
        return _separators(word)
    with contextlib.suppress(ValueError):
        # So only: the public harness takes `1e5`, `inf` and `nan` for text.
        return float(word) if "." in word else int(word)
    return word


def _separators(word: str) -> list[object]:
    """A JSON list, or else the characters one by one, without white space."""
    if not (word.startswith("[") and word.endswith("]")):
        return [character for character in word if not character.isspace()]
    try:
        listed: list[object] = json.loads(word)
    except (ValueError, RecursionError) as error:
        raise EvalFunctionError(f"the separators {word!r} are no JSON list: {error}") from error
    return listed
