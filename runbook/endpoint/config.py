"""Where a model answers and how it samples: plain settings, safe to record."""

import os
from typing import Annotated, Literal

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, SecretStr

from runbook.addresses import HttpAddress


def _storable(extra: dict[str, JsonValue]) -> dict[str, JsonValue]:
    try:
        orjson.dumps(extra)
    except TypeError:
        raise ValueError(
            "no request can hold this: a whole number beyond 64 bits, or too many levels"
        ) from None
    return extra


class Sampling(BaseModel):
    """Sampling parameters; None is left to the provider."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    temperature: float | None = Field(default=None, ge=0, le=100)
    top_p: float | None = Field(default=None, ge=0, le=1)
    top_k: int | None = Field(default=None, ge=-1, le=10**9)
    reasoning_effort: str | None = None
    max_output_tokens: int | None = Field(default=None, gt=0, le=10**9)
    output_limit_name: Literal["max_tokens", "max_completion_tokens"] | None = None
    """What the provider calls the output limit; None is max_tokens with a base URL, else the other."""
    drop: tuple[str, ...] = ()
    """Names of parameters that this provider refuses; they are not sent."""
    extra: Annotated[dict[str, JsonValue], AfterValidator(_storable)] = Field(default_factory=dict)
    """Further fields of the request body, sent as they are."""


class Address(BaseModel):
    """Where a model answers, and how patiently it is asked. The key itself never leaves this object."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    model: str = Field(min_length=1)
    base_url: HttpAddress | None = None
    """None is the openai package's own default."""
    api_key: SecretStr | None = Field(default=None, exclude=True, repr=False)
    api_key_variable: str = "OPENAI_API_KEY"
    """Environment variable with the key, where none is given."""
    timeout_seconds: float = Field(default=600.0, gt=0, le=1e6)
    """Of one request, from sending to the last byte of its answer."""
    connect_seconds: float = Field(default=10.0, gt=0, le=1e6)
    retry_seconds: float = Field(default=900.0, ge=0, le=1e6)
    """No request is repeated later than this after the first one began, waits included."""
    backoff_seconds: float = Field(default=1.0, gt=0, le=1e6)
    """First step of the random exponential wait, where the provider names no time."""

    def key(self) -> str | None:
        """The key given, or the environment's, or None."""
        given = self.api_key.get_secret_value() if self.api_key else os.environ.get(self.api_key_variable, "")
        return given.strip() or None


class EndpointConfig(Address):
    """A model that completes chats."""

    sampling: Sampling | None = None
    """None is the usual sampling of whoever asks."""

    def sampled(self, usual: Sampling) -> "EndpointConfig":
        """The same endpoint, with the usual sampling where none was chosen."""
        return self if self.sampling else self.model_copy(update={"sampling": usual})

    def body(self, seed: int | None) -> dict[str, JsonValue]:
        """The request body's fields beside model and messages."""
        sampling = self.sampling or Sampling()
        limit = sampling.output_limit_name or ("max_tokens" if self.base_url else "max_completion_tokens")
        fields: dict[str, JsonValue] = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": sampling.top_k,
            "reasoning_effort": sampling.reasoning_effort,
            limit: sampling.max_output_tokens,
            "seed": seed,
        }
        sent = {
            name: value for name, value in fields.items() if value is not None and name not in sampling.drop
        }
        return sent | sampling.extra


class EmbeddingConfig(Address):
    """A model that embeds texts."""

    dimensions: int | None = Field(default=None, gt=0, le=10**6)
    """Asked of models that can shorten their vectors; None is the model's own number."""
    max_input_tokens: int = Field(default=8_192, gt=0, le=10**9)
    """Longer texts are cut before they are sent."""
    batch: int = Field(default=32, ge=1, le=2048)
    """Texts a request."""
    concurrency: int = Field(default=4, ge=1, le=64)
    """Requests at a time, while a haystack is prepared."""
    query_instruction: str = (
        "Given a question about what happened in a recorded environment, find the recordings that answer it"
    )
    """Put before questions, not before what is searched; empty for models that want none."""
