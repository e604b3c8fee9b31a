"""An embedding model with its cache: many texts in batches, several at a time; one query on the clock."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import orjson
from pydantic import JsonValue

from runbook.embedding.cache import VectorCache, Vectors
from runbook.embedding.recorded import Given, RecordedAnswer, RecordedCalls
from runbook.embedding.truncation import cut_to_tokens
from runbook.endpoint.embeddings import Embedded, EmbeddingEndpoint
from runbook.endpoint.usage import Usage

# What the query model's own card asks for; models without instructions get the bare question.
_INSTRUCTED = "Instruct: {instruction}\nQuery:{query}"


@dataclass(frozen=True, slots=True)
class EmbeddingCost:
    """What embedding some texts took; zeros where all were there."""

    texts: int = 0
    calls: int = 0
    prompt_tokens: int | None = 0
    """None where the provider did not say."""

    def __add__(self, other: "EmbeddingCost") -> "EmbeddingCost":
        known = (self.prompt_tokens, other.prompt_tokens)
        return EmbeddingCost(
            self.texts + other.texts,
            self.calls + other.calls,
            None if None in known else sum(one for one in known if one is not None),
        )


class Embedder:
    """Embeds texts once each. Safe to use from several threads at once."""

    def __init__(self, endpoint: EmbeddingEndpoint, folder: Path, count_tokens: Callable[[str], int]) -> None:
        """`folder` holds the vectors of all embedding models, each in a folder of its own."""
        config = endpoint.config
        self._endpoint = endpoint
        self._identity: dict[str, JsonValue] = {
            "model": config.model,
            "base_url": config.base_url,
            "dimensions": config.dimensions,
        }
        self.folder = folder / hashlib.sha256(orjson.dumps(self._identity)).hexdigest()[:16]
        self._cache = VectorCache(self.folder)
        self._queries = RecordedCalls(self.folder / "queries")
        self._count = count_tokens

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

    def embed(self, texts: Iterable[tuple[bytes, str]]) -> EmbeddingCost:
        """Embed those of the prepared texts that are not there yet; each batch is kept as it comes.

        Texts are taken from the iterable as they are needed, so that a haystack's are never all in memory.
        Raises EndpointError and OSError; what came before stays.
        """
        config = self._endpoint.config
        cost = EmbeddingCost()
        running: dict[Future[Embedded], list[bytes]] = {}
        pool = ThreadPoolExecutor(config.concurrency, thread_name_prefix="embedding")
        try:
            for batch in self._batches(texts, config.batch):
                keys = [key for key, _ in batch]
                running[pool.submit(self._endpoint.embed, [text for _, text in batch])] = keys
                if len(running) > config.concurrency:
                    cost += self._kept(running)
            while running:
                cost += self._kept(running)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        return cost

    def query(self, questions: Sequence[str]) -> tuple[Vectors, Given]:
        """The vectors of some questions (questions x dimensions), with what it took, now or when recorded.

        Raises EndpointError.
        """
        instruction = self._endpoint.config.query_instruction
        sent = [
            self.prepared(_INSTRUCTED.format(instruction=instruction, query=one) if instruction else one)[1]
            for one in questions
        ]
        given = self._queries.ask({**self._identity, "texts": list(sent)}, lambda: self._asked(sent))
        return np.asarray(given.answer.value, dtype=np.float32), given

    def _asked(self, texts: Sequence[str]) -> RecordedAnswer:
        embedded = self._endpoint.embed(texts)
        return RecordedAnswer(
            value=embedded.vectors.tolist(),
            seconds=embedded.seconds + embedded.waited_seconds,
            calls=embedded.calls,
            usage=Usage(prompt_tokens=embedded.prompt_tokens, completion_tokens=0),
            model=self.model,
        )

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

    def _kept(self, running: dict[Future[Embedded], list[bytes]]) -> EmbeddingCost:
        ended, _ = wait(running, return_when=FIRST_COMPLETED)
        cost = EmbeddingCost()
        for future in ended:
            keys = running.pop(future)
            embedded = future.result()
            self._cache.add(keys, embedded.vectors)
            cost += EmbeddingCost(len(keys), embedded.calls, embedded.prompt_tokens)
        return cost
