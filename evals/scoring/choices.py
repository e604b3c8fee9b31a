"""Multiple-choice matchers: one letter, or a set of letters."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from evals.scoring.eval_function import EvalFunctionError, OptionValue

_CLOSED_BOX = re.compile(r"\\boxed\{([^}]*)\}")
_LEADING_WORDS = re.compile(r"\b(?:choice|option)\b", re.IGNORECASE)
_LETTER_RUN = re.compile(r"[A-Z]+")
_FILLER = frozenset(
    {
        "AND",
        "ANSWER",
        "ANSWERS",
        "CHOICE",
        "CHOICES",
        "FINAL",
        "LETTER",
        "LETTERS",
        "OPTION",
        "OPTIONS",
    }
)


@dataclass(frozen=True, slots=True)
class ChoiceOptions:
    """`strip_chars` are deleted wherever they stand in the answer; a set of letters needs none."""

    require_non_empty: bool = True
    strip_chars: str = "."


def choice_options(options: Mapping[str, OptionValue], *, strips: bool) -> ChoiceOptions:
    """The options of a choice matcher; others are ignored.

    Args:
        strips: whether the matcher strips characters, so that `strip_chars` has to be text.

    Raises EvalFunctionError for a wrong value.
    """
    characters = options.get("strip_chars", ".") if strips else ""
    if not isinstance(characters, str):
        raise EvalFunctionError(f"strip_chars must be characters, not {characters!r}")
    return ChoiceOptions(bool(options.get("require_non_empty", True)), characters)


def mc_choice_match(prediction: str, gold: str, options: ChoiceOptions) -> bool:
    """Whether the answer, without the words choice and option and without strip characters, is the gold."""
    if options.require_non_empty and not (prediction.strip() and gold.strip()):
        return False
    box = _CLOSED_BOX.search(prediction.lower())
    text = box.group(1) if box else prediction
    text = _LEADING_WORDS.sub("", text)
    text = text.translate(dict.fromkeys(map(ord, options.strip_chars)))
    return text.strip().upper() == gold.strip().upper()


def mc_choice_set_match(prediction: str, gold: str, options: ChoiceOptions) -> bool:
    """Whether answer and gold name the same letters, filler words aside."""
    answered, wanted = _letters(prediction), _letters(gold)
    if options.require_non_empty and not (answered and wanted):
        return False
    return answered == wanted


def _letters(text: str) -> set[str]:
    runs = _LETTER_RUN.findall(text.upper())
    return {letter for run in runs if run not in _FILLER for letter in run}
