"""Reading a judge's reply: strictly, or as leniently as the public harness does.

The strict form is one JSON object and nothing else, so that an object which the judge quotes from the
material it grades can never be taken for its verdict.
"""

import json
import re
from typing import Literal

Label = Literal[0, 1]

_FENCE = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL | re.IGNORECASE)
_LEADING_THOUGHT = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_BARE_LABEL = re.compile(r"label[\"']?\s*[:=]\s*[\"']?([01])\b", re.IGNORECASE)


class UnusableReplyError(ValueError):
    """A reply that is no verdict."""


def strict_verdict(reply: str) -> tuple[Label, str]:
    """The label and reason of a reply that is exactly one JSON object, in a code fence or not.

    Raises UnusableReplyError for other text beside it, a second object, a key given twice, a label that is
    not the number 0 or 1, and a missing or empty reason.
    """
    text = _LEADING_THOUGHT.sub("", reply, count=1).strip()
    fenced = _FENCE.fullmatch(text)
    try:
        value = json.loads(fenced.group(1) if fenced else text, object_pairs_hook=_unique_keys)
    except (json.JSONDecodeError, RecursionError) as error:
        raise UnusableReplyError(f"not exactly one JSON object: {error}") from error
    if not isinstance(value, dict):
        raise UnusableReplyError("not a JSON object")
    label, reason = value.get("label"), value.get("reason")
    if type(label) is not int or label not in (0, 1):
        raise UnusableReplyError(f"the label is {label!r}, not 0 or 1")
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

    The first JSON object counts; without a label in it, the first `label: 0|1` in the text does.
    Raises UnusableReplyError where neither gives 0 or 1.
    """
    value = _first_object(reply)
    reason = value.get("reason")
    stated = value.get("label")
    if stated is None:
        found = _BARE_LABEL.search(reply)
        stated = found.group(1) if found else None
    try:
        number = int(stated) if isinstance(stated, int | float | str) else None
    except (ValueError, OverflowError):
        number = None
    if number not in (0, 1):
        raise UnusableReplyError(f"no label 0 or 1 in {reply[:200]!r}")
    return _label(number), reason if isinstance(reason, str) else ""


def _first_object(reply: str) -> dict[str, object]:
    """The JSON object that starts at the first brace; empty where there is none."""
    start = reply.find("{")
    if start < 0:
        return {}
    try:
        value, _ = json.JSONDecoder().raw_decode(reply, start)
    except (ValueError, RecursionError):  # ValueError: no JSON, or a number of thousands of digits
        return {}
    return value if isinstance(value, dict) else {}


def _label(number: int) -> Label:
    return 1 if number else 0
