"""A model behind an OpenAI-compatible address: one chat completion per call."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, JsonValue

from runbook.endpoint.calling import Caller
from runbook.endpoint.completion import Reply, read_reply
from runbook.endpoint.config import EndpointConfig
from runbook.endpoint.errors import EndpointError

Message = Mapping[str, JsonValue]


class Completion(BaseModel):
    """A reply, and what it took to get it."""

    model_config = ConfigDict(frozen=True)

    reply: Reply
    seconds: float
    """Wall time of the request that succeeded."""
    calls: int
    """Requests sent, with those that failed."""
    waited_seconds: float
    """Time spent between requests."""
    rate_limit_seconds: float = 0.0
    """The part of it that a rate limit asked for."""


class Endpoint:
    """One model; safe to use from several threads at once. The arguments are those of `Caller`."""

    def __init__(
        self,
        config: EndpointConfig,
        *,
        error: type[EndpointError] = EndpointError,
        cancel: threading.Event | None = None,
        remark: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.config = config
        self._caller = Caller(config, error=error, cancel=cancel, remark=remark)

    @property
    def base_url(self) -> str:
        """The address that requests go to."""
        return self._caller.base_url

    def close(self) -> None:
        """Close the connections."""
        self._caller.close()

    def complete(self, messages: Sequence[Message], *, seed: int | None = None) -> Completion:
        """Send chat messages and return the reply, whose content may be empty.

        Repeated as `Caller.ask` says. Raises the error class given to the constructor.
        """
        answered = self._caller.ask(
            lambda client: client.chat.completions.with_streaming_response.create(
                model=self.config.model,
                messages=cast("Any", messages),
                extra_body=self.config.body(seed),
            ),
            read_reply,
        )
        return Completion(
            reply=answered.value,
            seconds=answered.seconds,
            calls=answered.calls,
            waited_seconds=answered.waited_seconds,
            rate_limit_seconds=answered.rate_limit_seconds,
        )
