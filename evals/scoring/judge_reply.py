"""Reading a judge's reply: strictly, or as leniently as the public harness does.

The strict form is one JSON object and nothing else, so that an object which the judge quotes from the
material it grades can never be taken for its verdict.
"""

import json
import re
from typing import Literal

from runbook.half_characters import without_halves

Label = Literal[0, 1]

_FENCE = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL | re.IGNORECASE)
_LEADING_THOUGHT = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_LOOSE_LABELS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (r'"label"\s*:\s*([01])', r"'label'\s*:\s*([01])", r"\blabel\b\s*[:=]\s*([01])")
)
"""In the order in which the public harness tries them; the number may go on (`10` is a 1)."""


class UnusableReplyError(ValueError):
    """A reply that is no verdict."""


def strict_verdict(reply: str) -> tuple[Label, str]:
    """The label and reason of a reply that is exactly one JSON object, in a code fence or not.

    Raises UnusableReplyError for other text beside it, a second object, a key given twice, a label that is
    not the number 0 or 1, and a missing or empty reason.
    """
    text = without_halves(_LEADING_THOUGHT.sub("", reply, count=1).strip())
    fenced = _FENCE.fullmatch(text)
    try:
        value = json.loads(fenced.group(1) if fenced else text, object_pairs_hook=_unique_keys)
    except UnusableReplyError:
        raise
    except (ValueError, RecursionError) as error:  # no JSON, a number of thousands of digits, or too deep
        raise UnusableReplyError(f"not exactly one JSON object: {error}") from error
    if not isinstance(value, dict):
        raise UnusableReplyError("not a JSON object")
    label, reason = value.get("label"), value.get("reason")
    if type(label) is not int or label not in (0, 1):
        raise UnusableReplyError(f"the label is {_shown(label)}, not 0 or 1")
    if not isinstance(reason, str) or not reason.strip():
        raise UnusableReplyError("there is no reason")
    return _label(label), reason.strip()


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise UnusableReplyError("a key is given twice")
    return value


def lenient_verdict(reply: str) -> tuple[Label, str]:
    """The label and reason as the public harness reads them; the reason may be empty.

    What stands from the first brace to the last is read as JSON. Where that is none, or its label is not 0 or
    1, the first thing in the text that looks like a label counts, and the whole text is the reason.
    Raises UnusableReplyError where there is neither.
    """
    text = without_halves(_without_fence(reply.strip()))
    value = _outermost_object(text)
    label = value.get("label")
    if isinstance(label, list | dict):
        raise UnusableReplyError(f"the label is {_shown(label)}, not 0 or 1")
    if isinstance(label, int | float | str) and label in (0, 1, "0", "1"):
        reason = value.get("reason")
        return _label(int(label)), "" if reason is None else str(reason).strip()
    for pattern in _LOOSE_LABELS:
        if found := pattern.search(text):
            return _label(int(found.group(1))), text
    raise UnusableReplyError(f"no label 0 or 1 in {reply[:200]!r}")


def _without_fence(text: str) -> str:
    """The lines within a code fence that surrounds the whole text."""
    lines = text.splitlines()
    if text.startswith("```") and text.endswith("```") and len(lines) > 2:
        return "\n".join(lines[1:-1]).strip()
    return text


def _outermost_object(text: str) -> dict[str, object]:
    """The JSON object from the first brace to the last; empty where there is none."""
    start, end = text.find("{"), text.rfind("}")
    if not 0 <= start < end:
        return {}
    try:
        value: dict[str, object] = json.loads(text[start : end + 1])
    except json.JSONDecodeError:
        return {}
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, or too deep
        raise UnusableReplyError(f"unreadable JSON: {error}") from error
    return value


def _shown(label: object) -> str:
    """A wrong label in a few words, whatever it is."""
    return "a list or object" if isinstance(label, list | dict) else f"{label!r:.80}"


def _label(number: int) -> Label:
    return 1 if number else 0
