"""Asking a chat model for one JSON object: form is repaired here, content once by the model itself."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from instructions.retrieval import repair_messages
from runbook.complaints import of_validation
from runbook.embedding.recorded import Given, RecordedAnswer, RecordedCalls
from runbook.endpoint.chat import Endpoint, Message
from runbook.evidence.text import NoObject, NotUtf8, find_object

T = TypeVar("T", bound=BaseModel)
_SHOWN_REPLY = 20_000  # characters of a broken reply that the model sees again


@dataclass(frozen=True, slots=True)
class JsonReply(Generic[T]):
    """What came of asking."""

    value: T | None
    """None where neither the reply nor its repair fits."""
    calls: tuple[Given, ...]
    repaired: bool
    """Whether a second call was needed."""
    complaint: str
    """What was wrong with the last reply; "" where it fits."""


@dataclass(frozen=True, slots=True)
class JsonAsker:
    """A chat model whose answers are recorded by what it was asked."""

    endpoint: Endpoint
    recorded: RecordedCalls

    def ask(
        self, kind: type[T], shape: str, messages: Sequence[Message], *, seed: int | None = None
    ) -> JsonReply[T]:
        """Ask for an object of `kind`, whose shape in words is `shape`; once more where it does not fit.

        Raises EndpointError.
        """
        first = self._given(messages, seed)
        value, complaint = _read(kind, str(first.answer.value))
        if value is not None:
            return JsonReply(value, (first,), repaired=False, complaint="")
        reply = str(first.answer.value)[:_SHOWN_REPLY]
        second = self._given(repair_messages(shape, reply, complaint), seed)
        value, complaint = _read(kind, str(second.answer.value))
        return JsonReply(value, (first, second), repaired=True, complaint=complaint)

    def _given(self, messages: Sequence[Message], seed: int | None) -> Given:
        config = self.endpoint.config
        asked: dict[str, JsonValue] = {
            "model": config.model,
            "base_url": config.base_url,
            "body": config.body(seed),
            "messages": [dict(one) for one in messages],
        }
        return self.recorded.ask(asked, lambda: _asked(self.endpoint, messages, seed))


def _asked(endpoint: Endpoint, messages: Sequence[Message], seed: int | None) -> RecordedAnswer:
    completion = endpoint.complete(messages, seed=seed)
    return RecordedAnswer(
        value=completion.reply.content or completion.reply.reasoning,
        seconds=completion.seconds + completion.waited_seconds,
        calls=completion.calls,
        usage=completion.reply.usage,
        model=completion.reply.model or endpoint.config.model,
    )


def _read(kind: type[T], reply: str) -> tuple[T | None, str]:
    """The object, or why there is none."""
    keys: Collection[str] = kind.model_fields
    validate: Callable[[Any], T] = kind.model_validate
    try:
        return validate(find_object(reply.encode("utf-8", "replace"), keys).value), ""
    except (NoObject, NotUtf8) as error:
        return None, str(error)
    except ValidationError as error:
        return None, of_validation(error)
