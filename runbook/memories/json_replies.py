"""Asking a chat model for one JSON object: form is repaired here, content once by the model itself."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from instructions.retrieval import repair_messages
from runbook.complaints import of_validation
from runbook.embedding.recorded import RecordedAnswer, RecordedCalls
from runbook.endpoint.chat import Endpoint, Message
from runbook.endpoint.ledger import Asked, Ledger
from runbook.evidence.text import NoObject, NotUtf8, find_object
from runbook.gateway.records import Wire

T = TypeVar("T", bound=BaseModel)
_SHOWN_REPLY = 20_000  # characters of a broken reply that the model sees again


@dataclass(frozen=True, slots=True)
class JsonReply(Generic[T]):
    """What came of asking."""

    value: T | None
    """None where neither the reply nor its repair fits."""
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
        self,
        kind: type[T],
        shape: str,
        messages: Sequence[Message],
        ledger: Ledger,
        *,
        seed: int | None = None,
    ) -> JsonReply[T]:
        """Ask for an object of `kind`, whose shape in words is `shape`; once more where it does not fit.

        Raises EndpointError.
        """
        first = self._reply(messages, ledger, seed)
        value, complaint = _read(kind, first)
        if value is not None:
            return JsonReply(value, repaired=False, complaint="")
        repair = repair_messages(shape, first[:_SHOWN_REPLY], complaint)
        value, complaint = _read(kind, self._reply(repair, ledger, seed))
        return JsonReply(value, repaired=True, complaint=complaint)

    def _reply(self, messages: Sequence[Message], ledger: Ledger, seed: int | None) -> str:
        config = self.endpoint.config
        content: dict[str, JsonValue] = {
            "model": config.model,
            "base_url": config.base_url,
            "body": config.body(seed),
            "messages": [dict(one) for one in messages],
        }
        characters = sum(len(str(one["content"])) for one in messages)
        asked = Asked(config.model, config.base_url, "/chat/completions", characters, wire=Wire.OPENAI_CHAT)
        return str(
            self.recorded.ask(content, asked, ledger, lambda: _answered(self.endpoint, messages, seed)).value
        )


def _answered(endpoint: Endpoint, messages: Sequence[Message], seed: int | None) -> RecordedAnswer:
    completion = endpoint.complete(messages, seed=seed)
    reply = completion.reply
    return RecordedAnswer(
        value=reply.content or reply.reasoning or reply.reasoning_content,
        seconds=completion.seconds + completion.waited_seconds,
        calls=completion.calls,
        usage=completion.reply.usage,
        rate_limit_seconds=completion.rate_limit_seconds,
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
