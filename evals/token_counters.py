"""Exact token counts: from the reader's own server, or from its tokenizer file.

Both count a context as the chat format of Qwen3.5 makes it: each image stands between two marks and becomes
as many tokens as its size says; white space around the whole message is left out.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit, urlunsplit

from evals.tokens import ImageTokens, image_tokens
from runbook.endpoint.config import EndpointConfig

_USER_START, _USER_END = "<|im_start|>user\n", "<|im_end|>\n"
_IMAGE = "<|vision_start|><|image_pad|><|vision_end|>"
_RETRIES = 3
_NO_KEY = "none"  # local servers take any key, and the openai package refuses to send none


class CountingError(OSError):
    """A count that could not be had; the message says why and what to do."""


class _Texts(Protocol):
    """Counts texts alone; special tokens written in them count as one each."""

    @property
    def mode(self) -> str: ...

    def text(self, text: str) -> int: ...


class ExactTokens:
    """A counter of whole contexts from a counter of texts.

    Args:
        texts: counts texts, exactly.
        images: how the reader's model cuts images; None leaves their count an estimate.
    """

    def __init__(self, texts: _Texts, images: ImageTokens | None) -> None:
        self._texts = texts
        self._images = images or ImageTokens()
        self._images_known = images is not None

    @property
    def mode(self) -> str:
        """How it counts, as results state it."""
        return f"text by {self._texts.mode}, images " + ("from model" if self._images_known else "estimated")

    def text(self, text: str) -> int:
        """Tokens of one text. Raises CountingError."""
        return self._texts.text(text)

    def image(self, path: Path) -> int:
        """Tokens of one image, without its marks. Raises OSError for a file that is no image."""
        return image_tokens(path, self._images)

    def whole(self, items: Sequence[str | Path]) -> int:
        """Tokens of the items as one user message; 0 for none. Raises OSError as `image` and `text` do."""
        if not items:
            return 0
        parts = [one if isinstance(one, str) else _IMAGE for one in items]
        padding = sum(self.image(one) - 1 for one in items if isinstance(one, Path))
        return self.text(_USER_START + "".join(parts).strip() + _USER_END) + padding


class ServerTexts:
    """Asks the tokenize endpoint of the server that the reader runs on (vLLM, SGLang, llama.cpp)."""

    def __init__(self, config: EndpointConfig) -> None:
        import openai  # takes a second to import

        if config.base_url is None:
            raise CountingError("the provider has no tokenize endpoint: count by a tokenizer file instead")
        address = urlsplit(config.base_url)
        root = address.path.rstrip("/").removesuffix("/v1")
        self._model = config.model
        self._url = urlunsplit((address.scheme, address.netloc, f"{root}/tokenize", "", ""))
        self._client = openai.OpenAI(
            base_url=config.base_url,
            api_key=config.key() or _NO_KEY,
            max_retries=_RETRIES,
            timeout=openai.Timeout(60.0, connect=config.connect_seconds),
        )

    mode = "the reader's server"

    def text(self, text: str) -> int:
        """Raises CountingError where the server gives no count."""
        import openai

        # The first key is for vLLM and SGLang, the second for llama.cpp.
        body = {"model": self._model, "prompt": text, "content": text, "add_special_tokens": False}
        try:
            reply = self._client.post(self._url, cast_to=object, body=body)
        except openai.OpenAIError as error:
            raise CountingError(f"{self._url} gives no token count: {error}") from error
        return _count(self._url, reply)


class FileTexts:
    """Counts with a tokenizer.json, as the `tokenizers` package (an optional dependency) reads it."""

    def __init__(self, path: Path) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise CountingError(
                "a tokenizer file needs the package `tokenizers`: pip install tokenizers"
            ) from None
        try:
            content = path.read_bytes()
            self._tokenizer = Tokenizer.from_str(content.decode("utf-8"))
        except OSError:
            raise
        except Exception as error:  # the package raises its own, and bare Exception for a wrong file
            raise CountingError(f"{path} is no tokenizer.json: {error}") from error
        self._digest = hashlib.sha256(content).hexdigest()

    @property
    def mode(self) -> str:
        return f"tokenizer {self._digest[:12]}"

    def text(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)


def _count(url: str, reply: object) -> int:
    """The number of tokens in a reply, told or to be counted."""
    if isinstance(reply, dict):
        count, tokens = reply.get("count"), reply.get("tokens")
        if type(count) is int and count >= 0:
            return count
        if isinstance(tokens, list):
            return len(tokens)
    raise CountingError(f"{url} gives no token count but {str(reply)[:200]!r}")
