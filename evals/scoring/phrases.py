"""Phrase matchers: every phrase of the gold must stand in the answer, as whole words after normalising."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields

from evals.scoring.eval_function import EvalFunctionError, OptionValue

_HYPHENS = re.compile(r"[-_]")
_COMMAS = re.compile(r"[,;]")
_PUNCTUATION = re.compile(r"[^\w\s]")
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class PhraseOptions:
    """How gold and answer are split and normalised before they are compared."""

    separators: tuple[str, ...] = (",", ";")
    require_non_empty: bool = True
    lower: bool = True
    normalize_hyphen: bool = True
    strip_punct: bool = True


def phrase_options(options: Mapping[str, OptionValue]) -> PhraseOptions:
    """The options of a phrase matcher; raises EvalFunctionError for any other."""
    known = {field.name for field in fields(PhraseOptions)}
    unknown = sorted(set(options) - known)
    if unknown:
        raise EvalFunctionError(f"a phrase matcher has no option {unknown[0]!r}")
    return PhraseOptions(
        separators=_separators(options.get("separators", [",", ";"])),
        require_non_empty=bool(options.get("require_non_empty", True)),
        lower=bool(options.get("lower", True)),
        normalize_hyphen=bool(options.get("normalize_hyphen", True)),
        strip_punct=bool(options.get("strip_punct", True)),
    )


def _separators(value: OptionValue) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return tuple(str(one) for one in value)
    raise EvalFunctionError("separators must be characters or a JSON list of strings")


def normalize(text: str, options: PhraseOptions) -> str:
    """Lower-case words and single spaces, as far as the options say so."""
    if options.lower:
        text = text.lower()
    if options.normalize_hyphen:
        text = _HYPHENS.sub(" ", text)
    text = _COMMAS.sub(" ", text)
    if options.strip_punct:
        text = _PUNCTUATION.sub("", text)
    return _SPACES.sub(" ", text).strip()


def phrases(gold: str, options: PhraseOptions) -> list[str]:
    """The gold's phrases, normalised, without the empty ones."""
    parts = [gold]
    if options.separators:
        parts = re.split("|".join(map(re.escape, options.separators)), gold)
    return [phrase for part in parts if (phrase := normalize(part, options))]


def norm_phrase_set_match(prediction: str, gold: str, options: PhraseOptions) -> bool:
    """Whether all phrases of the gold stand in the prediction, in any order."""
    wanted = phrases(gold, options)
    if not wanted:
        return not options.require_non_empty
    text = normalize(prediction, options)
    return all(_find(phrase, text) is not None for phrase in wanted)


def norm_phrase_set_match_ordered(prediction: str, gold: str, options: PhraseOptions) -> bool:
    """Whether all phrases of the gold stand in the prediction, each one after the end of the one before."""
    wanted = phrases(gold, options)
    if not wanted:
        return not options.require_non_empty
    text = normalize(prediction, options)
    for phrase in wanted:
        end = _find(phrase, text)
        if end is None:
            return False
        # The rest is searched as a text of its own: a word boundary may lie at its very start.
        text = text[end:]
    return True


def _find(phrase: str, text: str) -> int | None:
    found = re.search(rf"\b{re.escape(phrase)}\b", text)
    return found.end() if found else None
