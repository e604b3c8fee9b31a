"""An embedding model with its cache: many texts in batches, several at a time; one query on the clock."""

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from pathlib import Path

import numpy as np
import orjson
from pydantic import JsonValue

from runbook.embedding.cache import VectorCache, Vectors
from runbook.embedding.recorded import RecordedAnswer, RecordedCalls
from runbook.embedding.truncation import cut_to_tokens
from runbook.endpoint.config import EmbeddingConfig
from runbook.endpoint.embeddings import Embedded, EmbeddingEndpoint
from runbook.endpoint.errors import EndpointError
from runbook.endpoint.ledger import Asked, Ledger

# What the query model's own card asks for; models without instructions get the bare question.
_INSTRUCTED = "Instruct: {instruction}\nQuery:{query}"


def vectors_folder(config: EmbeddingConfig, folder: Path) -> Path:
    """Where, below the folder of all models, one model's vectors are."""
    return folder / hashlib.sha256(orjson.dumps(_identity(config))).hexdigest()[:16]


def _identity(config: EmbeddingConfig) -> dict[str, JsonValue]:
    return {"model": config.model, "base_url": config.base_url, "dimensions": config.dimensions}


class Embedder:
    """Embeds texts once each. Safe to use from several threads at once."""

    def __init__(
        self,
        endpoint: EmbeddingEndpoint,
        folder: Path,
        count_tokens: Callable[[str], int],
        cancel: threading.Event,
    ) -> None:
        """`folder` holds the vectors of all embedding models, each in a folder of its own."""
        self._endpoint = endpoint
        self._identity = _identity(endpoint.config)
        self.folder = vectors_folder(endpoint.config, folder)
        self._cache = VectorCache(self.folder)
        self._queries = RecordedCalls(self.folder / "queries")
        self._count = count_tokens
        self.cancel = cancel

    @property
    def model(self) -> str:
        """The model's name."""
        return self._endpoint.config.model

    @property
    def max_input_tokens(self) -> int:
        """Longer texts are cut."""
        return self._endpoint.config.max_input_tokens

    def prepared(self, text: str) -> tuple[bytes, str]:
        """A text as it is sent, and the key of its vector."""
        cut = cut_to_tokens(text, self.max_input_tokens, self._count) or " "  # servers refuse the empty text
        return hashlib.sha256(cut.encode("utf-8", "replace")).digest(), cut

    def places(self, keys: Sequence[bytes]) -> list[int | None]:
        """The rows of `matrix` that hold the vectors of these keys; None where one is not there."""
        return self._cache.places(keys)

    def matrix(self) -> Vectors:
        """All vectors, mapped from disk."""
        return self._cache.matrix()

    def embed(self, texts: Iterable[tuple[bytes, str]], ledger: Ledger) -> int:
        """Embed those of the prepared texts that are not there yet; how many. Each batch is kept as it comes.

        Texts are taken from the iterable as they are needed, so that a haystack's are never all in memory.
        Raises EndpointError and OSError; what came before stays.
        """
        config = self._endpoint.config
        count = 0
        running: dict[Future[Embedded], list[bytes]] = {}
        pool = ThreadPoolExecutor(config.concurrency, thread_name_prefix="embedding")
        try:
            for batch in self._batches(texts, config.batch):
                keys = [key for key, _ in batch]
                running[pool.submit(self._sent, [text for _, text in batch], ledger)] = keys
                if len(running) > config.concurrency:
                    count += self._kept(running)
            while running:
                count += self._kept(running)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        return count

    def query(self, questions: Sequence[str], ledger: Ledger) -> Vectors:
        """The vectors of some questions (questions x dimensions), asked for now or recorded.

        Raises EndpointError.
        """
        instruction = self._endpoint.config.query_instruction
        sent = [
            self.prepared(_INSTRUCTED.format(instruction=instruction, query=one) if instruction else one)[1]
            for one in questions
        ]
        content: JsonValue = {**self._identity, "texts": list(sent)}
        answer = self._queries.ask(content, self._asked(sent), ledger, lambda: self._answered(sent))
        vectors = np.asarray(answer.value, dtype=np.float32)
        self._refuse_other_width(vectors.shape[1])
        return vectors

    def _refuse_other_width(self, width: int) -> None:
        """Raise EndpointError where vectors cannot be compared with those that are there."""
        known = self._cache.dimensions
        if known is not None and known != width:
            raise EndpointError(
                f"{self.model}: it gives vectors of {width} numbers, those in {self.folder} have {known}: "
                "ask the model that made them, or remove the folder"
            )

    def _answered(self, texts: Sequence[str]) -> RecordedAnswer:
        embedded = self._endpoint.embed(texts)
        self._refuse_other_width(embedded.vectors.shape[1])
        took = embedded.took
        return RecordedAnswer(
            value=embedded.vectors.tolist(),
            seconds=took.seconds,
            calls=took.calls,
            usage=took.usage,
            rate_limit_seconds=took.rate_limit_seconds,
            model=took.model,
        )

    def _sent(self, texts: Sequence[str], ledger: Ledger) -> Embedded:
        return ledger.ask(self._asked(texts), lambda: self._endpoint.embed(texts))

    def _asked(self, texts: Sequence[str]) -> Asked:
        config = self._endpoint.config
        return Asked(config.model, config.base_url, "/embeddings", sum(map(len, texts)))

    def _batches(self, texts: Iterable[tuple[bytes, str]], size: int) -> Iterator[list[tuple[bytes, str]]]:
        asked: set[bytes] = set()
        missing = (one for one in texts if self._is_new(one[0], asked))
        while batch := list(islice(missing, size)):
            yield batch

    def _is_new(self, key: bytes, asked: set[bytes]) -> bool:
        if key in asked or self._cache.places([key])[0] is not None:
            return False
        asked.add(key)
        return True

    def _kept(self, running: dict[Future[Embedded], list[bytes]]) -> int:
        ended, _ = wait(running, return_when=FIRST_COMPLETED)
        count = 0
        for future in ended:
            keys = running.pop(future)
            embedded = future.result()
            self._refuse_other_width(embedded.vectors.shape[1])
            self._cache.add(keys, embedded.vectors)
            count += len(keys)
        return count
