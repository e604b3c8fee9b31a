"""An embedding model behind an OpenAI-compatible address."""

import base64
import binascii
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from runbook.endpoint.calling import Caller
from runbook.endpoint.completion import MalformedReply, ReportedError, is_count
from runbook.endpoint.config import EmbeddingConfig
from runbook.endpoint.errors import EndpointError
from runbook.endpoint.ledger import Took
from runbook.endpoint.usage import Usage

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors of length 1 (texts x dimensions, float32), and what they took."""

    vectors: Vectors
    prompt_tokens: int | None
    """As the provider counted; None where it did not say."""
    seconds: float
    calls: int
    waited_seconds: float
    rate_limit_seconds: float
    """The part of `waited_seconds` that a rate limit asked for."""
    model: str | None = None
    """Who answered, as the reply says."""

    @property
    def took(self) -> Took:
        """As a ledger notes it."""
        usage = Usage(prompt_tokens=self.prompt_tokens, completion_tokens=0)
        return Took(
            self.seconds + self.waited_seconds, self.calls, usage, self.rate_limit_seconds, self.model
        )


class EmbeddingEndpoint:
    """One embedding model; safe to use from several threads at once. The arguments are those of `Caller`."""

    def __init__(
        self,
        config: EmbeddingConfig,
        *,
        error: type[EndpointError] = EndpointError,
        cancel: threading.Event | None = None,
        remark: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.config = config
        self._caller = Caller(config, error=error, cancel=cancel, remark=remark)

    def close(self) -> None:
        """Close the connections."""
        self._caller.close()

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed texts in one request, in their order. Raises the error class given to the constructor."""
        body: dict[str, object] = {"encoding_format": "float"}
        if self.config.dimensions is not None:
            body["dimensions"] = self.config.dimensions
        answered = self._caller.ask(
            lambda client: client.embeddings.with_streaming_response.create(
                model=self.config.model, input=list(texts), extra_body=body
            ),
            lambda reply: self._read(reply, len(texts)),
        )
        return Embedded(
            answered.value.vectors,
            answered.value.tokens,
            answered.seconds,
            answered.calls,
            answered.waited_seconds,
            answered.rate_limit_seconds,
            answered.value.model,
        )

    def _read(self, reply: bytes, count: int) -> "EmbeddingReply":
        found = read_embeddings(reply, count)
        asked, width = self.config.dimensions, found.vectors.shape[1]
        if asked is not None and width != asked:
            raise MalformedReply(f"the reply's vectors have {width} numbers, not {asked} as asked")
        return found


class EmbeddingReply(NamedTuple):
    """What a reply says: vectors of length 1 (texts x dimensions) in the order of their texts."""

    vectors: Vectors
    tokens: int | None
    """Of the texts; None where it does not say."""
    model: str | None


def read_embeddings(body: bytes, count: int) -> EmbeddingReply:
    """Read a reply with status 200.

    Raises MalformedReply for anything but `count` vectors of one length, ReportedError for an error in it.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise MalformedReply(f"the reply of {len(body)} bytes is not whole JSON") from None
    if not isinstance(value, Mapping):
        raise MalformedReply("the reply is not a JSON object")
    if error := value.get("error"):
        message = error.get("message") if isinstance(error, Mapping) else error
        raise ReportedError(f"the reply reports an error: {message}", None)
    rows = value.get("data")
    if not isinstance(rows, list) or len(rows) != count:
        raise MalformedReply(f"the reply has not the {count} vectors that were asked for")
    usage = value.get("usage")
    tokens = usage.get("prompt_tokens") if isinstance(usage, Mapping) else None
    model = value.get("model")
    return EmbeddingReply(
        _unit(_in_order(rows)),
        tokens if is_count(tokens) else None,
        model if isinstance(model, str) else None,
    )


def _in_order(rows: Sequence[object]) -> Vectors:
    vectors: dict[int, Vectors] = {}
    for place, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise MalformedReply("a row of the reply is no object")
        index = row.get("index", place)
        vectors[index if type(index) is int else place] = _vector(row.get("embedding"))
    if sorted(vectors) != list(range(len(rows))):
        raise MalformedReply("the reply's vectors are not numbered from 0")
    ordered = [vectors[place] for place in range(len(rows))]
    if len({len(one) for one in ordered}) != 1 or not len(ordered[0]):
        raise MalformedReply("the reply's vectors differ in length")
    return np.stack(ordered)


def _vector(value: object) -> Vectors:
    """From a list of numbers, or from base64 of little-endian float32, which some servers send unasked."""
    try:
        if isinstance(value, str):
            found = np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
        else:
            with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused below
                found = np.asarray(value, dtype=np.float32)
    except (ValueError, TypeError, binascii.Error) as error:
        raise MalformedReply(f"an embedding is no list of numbers: {error}") from None
    if found.ndim != 1 or not np.all(np.isfinite(found)):
        raise MalformedReply("an embedding is no list of finite numbers")
    return found.astype(np.float32, copy=False)


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32, copy=False)
