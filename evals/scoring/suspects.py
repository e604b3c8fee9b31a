"""Official scores that a person would want to look at: the matchers' known traps, question by question.

The official score stays as it is. A suspect says what a lenient look at the same response would have given,
or why the match itself is doubtful.
"""

import re
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from evals.question import EvalQuestion
from evals.scoring.answer import is_unknown, parse_answer
from evals.scoring.eval_function import PHRASE_MATCHERS, parse_eval_function
from evals.scoring.evaluate import matcher
from evals.scoring.phrases import normalize, phrase_options, phrases

_TEXT_COMMAND = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\s*\{([^{}]*)\}")
_LONE_LETTER = re.compile(r"(?<![A-Za-z])[A-Z](?![A-Za-z'’])")
_NEGATION = re.compile(r"\b(?:not|no|never|isn t|isnt|without|rather than|instead of)\b")
_NEGATION_WORDS = 3
_UNKNOWN_WORDS = frozenset({"unknown", "i don t know", "i do not know", "not known", "n a"})


class SuspectKind(StrEnum):
    """Why a score is doubtful."""

    CHOICE_FORM = "choice_form"  # the right letters, in a form that the matcher does not take
    UNKNOWN_FORM = "unknown_form"  # says unknown, in a form that does not count as unknown
    UNCLOSED_UNKNOWN = "unclosed_unknown"  # counts as unknown because the response broke off
    NEGATED = "negated"  # the gold phrase matched behind a negation
    OTHER_BOX = "other_box"  # an earlier box would have scored otherwise


class Suspect(BaseModel):
    """One doubt about one score."""

    model_config = ConfigDict(frozen=True)

    kind: SuspectKind
    note: str


def suspects(question: EvalQuestion, response: str) -> tuple[Suspect, ...]:
    """The doubts about the score of a response; none for evaluators that need a judge model.

    Raises EvalFunctionError for a question whose `eval_function` is not valid.
    """
    function = parse_eval_function(question.eval_function)
    if function.needs_model:
        return ()
    answer = parse_answer(response)
    match = matcher(function)
    matched = match(answer, question.answer)
    found = [*_unknown_doubts(answer, response)]
    if function.name in PHRASE_MATCHERS:
        options = phrase_options(function.options)
        if matched and _negated(normalize(answer, options), phrases(question.answer, options)):
            found.append(Suspect(kind=SuspectKind.NEGATED, note="a gold phrase stands behind a negation"))
    elif not matched and _lone_letters(answer) == _lone_letters(question.answer) != set():
        letters = ", ".join(sorted(_lone_letters(answer)))
        found.append(Suspect(kind=SuspectKind.CHOICE_FORM, note=f"names {letters}, as the gold does"))
    for box in _earlier_boxes(response):
        if match(box, question.answer) is not matched:
            found.append(Suspect(kind=SuspectKind.OTHER_BOX, note=f"the box {box[:80]!r} scores otherwise"))
            break
    return tuple(found)


def _unknown_doubts(answer: str, response: str) -> list[Suspect]:
    if is_unknown(answer):
        broke_off = "\\boxed{" in response and not response.rpartition("\\boxed{")[2].count("}")
        note = "the box was never closed"
        return [Suspect(kind=SuspectKind.UNCLOSED_UNKNOWN, note=note)] if broke_off else []
    words = " ".join(re.findall(r"\w+", _plain(answer).lower()))
    if words in _UNKNOWN_WORDS:
        return [Suspect(kind=SuspectKind.UNKNOWN_FORM, note=f"{answer[:80]!r} does not count as unknown")]
    return []


def _plain(answer: str) -> str:
    return _TEXT_COMMAND.sub(r"\1", answer)


def _lone_letters(answer: str) -> set[str]:
    """Capital letters that stand alone; also a lone small letter that is the whole answer."""
    text = _plain(answer).strip(" .()[]*")
    return set(_LONE_LETTER.findall(text.upper() if len(text) == 1 else text))


def _negated(text: str, wanted: list[str]) -> bool:
    for phrase in wanted:
        found = re.search(rf"\b{re.escape(phrase)}\b", text)
        before = text[: found.start()].split()[-_NEGATION_WORDS:] if found else []
        if _NEGATION.search(" ".join(before)):
            return True
    return False


def _earlier_boxes(response: str) -> list[str]:
    """The contents of all boxes but the last."""
    starts = [found.end() for found in re.finditer(r"\\boxed\{", response)]
    ends = [found.start() for found in re.finditer(r"\\boxed\{", response)][1:]
    pieces = zip(starts, ends, strict=False)
    return [box for start, end in pieces if (box := parse_answer("\\boxed{" + response[start:end]))]
