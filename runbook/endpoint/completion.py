"""Completion: what a chat reply says, read from a body that may be anything."""

import re
from collections.abc import Mapping
from typing import TypeGuard

import orjson
from pydantic import BaseModel, ConfigDict

from runbook.endpoint.usage import Usage
from runbook.half_characters import without_halves

_SHOWN_CHARACTERS = 200
_MOST_TOKENS = 2**50
_STATUS = re.compile(r"[1-5][0-9]{2}")


class MalformedReply(Exception):  # noqa: N818 (the fault is the provider's reply)
    """A reply with status 200 that is no chat completion."""


class ReportedError(Exception):
    """An error that a provider reports in the body of a reply with status 200."""

    def __init__(self, message: str, status: int | None) -> None:
        super().__init__(message)
        self.status = status


class Reply(BaseModel):
    """The first choice of a chat completion."""

    model_config = ConfigDict(frozen=True)

    content: str
    """Empty where the message has none."""
    reasoning: str
    """The text of the message's field `reasoning`, if it has one."""
    reasoning_content: str = ""
    """The text of its field `reasoning_content`, as other servers call it."""
    finish_reason: str | None
    model: str | None
    usage: Usage


def read_reply(body: bytes) -> Reply:
    """Read the body of a reply with status 200.

    Raises MalformedReply for anything but a chat completion with a message, ReportedError for an error in it.
    """
    value = _parse(body)
    error = value.get("error")
    if error:
        raise _reported(error)
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices:
        raise MalformedReply("the reply has no choices")
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(message, Mapping):
        raise MalformedReply("the reply's first choice has no message")
    return Reply(
        content=_text(message.get("content")),
        reasoning=_text(message.get("reasoning")),
        reasoning_content=_text(message.get("reasoning_content")),
        finish_reason=_name(choice.get("finish_reason")),
        model=_name(value.get("model")),
        usage=_usage(value.get("usage")),
    )


def _parse(body: bytes) -> Mapping[str, object]:
    start = body.lstrip()[:1]
    if start == b"<":
        raise MalformedReply("the reply is HTML, not JSON (does the address lack its /v1?)")
    try:
        value = _loads(body)
    except orjson.JSONDecodeError:
        shown = body[:_SHOWN_CHARACTERS].decode("utf-8", "replace")
        raise MalformedReply(f"the reply of {len(body)} bytes is not whole JSON: {shown!r}") from None
    if not isinstance(value, Mapping):
        raise MalformedReply("the reply is not a JSON object")
    return value


def _loads(body: bytes) -> object:
    """Also where texts were cut within a character, and what was left escaped. Raises JSONDecodeError."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return orjson.loads(without_halves(body.decode("utf-8", "replace")))


def _reported(error: object) -> ReportedError:
    details = error if isinstance(error, Mapping) else {"message": error}
    code = details.get("code")
    status = int(code) if isinstance(code, int | str) and _STATUS.fullmatch(str(code)) else None
    return ReportedError(f"the reply reports an error: {details.get('message')}", status)


def _text(value: object) -> str:
    """A string, or the text parts of a list of content parts, line by line."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    texts = (_text(part.get("text")).strip() for part in value if isinstance(part, Mapping))
    return "\n".join(filter(None, texts))


def _name(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _usage(value: object) -> Usage:
    counts = value if isinstance(value, Mapping) else {}
    return Usage(
        prompt_tokens=_count(counts, "prompt_tokens"),
        completion_tokens=_count(counts, "completion_tokens"),
        total_tokens=_count(counts, "total_tokens"),
        cached_tokens=_count(counts.get("prompt_tokens_details"), "cached_tokens"),
        reasoning_tokens=_count(counts.get("completion_tokens_details"), "reasoning_tokens"),
    )


def _count(counts: object, name: str) -> int | None:
    value = counts.get(name) if isinstance(counts, Mapping) else None
    return value if is_count(value) else None


def is_count(value: object) -> TypeGuard[int]:
    """Whether a provider's number can be one of tokens, also where many of them are added up and written."""
    return type(value) is int and 0 <= value < _MOST_TOKENS
