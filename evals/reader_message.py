"""The reader's user message: memory context, question, its image. Images live only as long as the message."""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson
from pydantic import JsonValue

from evals.question import EvalQuestion
from instructions import ReaderFrame
from runbook.context import ImageItem, MemoryContext

_MEDIA_TYPES = {
    re.compile(rb"\x89PNG\r\n\x1a\n"): "image/png",
    re.compile(rb"\xff\xd8\xff"): "image/jpeg",
    re.compile(rb"GIF8[79]a"): "image/gif",
    re.compile(rb"RIFF....WEBP", re.DOTALL): "image/webp",
}


class ImageError(Exception):
    """An image that cannot be sent: missing, changed since it was recorded, or of an unknown format."""


@dataclass(frozen=True, slots=True)
class Picture:
    """An image on its way into a request."""

    media_type: str
    content: bytes
    sha256: str


Part = str | Picture


@dataclass(frozen=True, slots=True)
class UserMessage:
    """The content of a chat message, and its digest with each image replaced by its own SHA-256."""

    content: list[JsonValue]
    sha256: str


def message_parts(frame: ReaderFrame, question: EvalQuestion, context: MemoryContext) -> list[Part]:
    """The parts of the user message in order, neighbouring texts joined; raises ImageError."""
    return list(_joined(_parts(frame, question, context)))


def _parts(frame: ReaderFrame, question: EvalQuestion, context: MemoryContext) -> Iterator[Part]:
    yield frame.context_heading
    if not context.items:
        yield frame.empty_context
    for item in context.items:
        yield checked_picture(Path(item.path), item.sha256) if isinstance(item, ImageItem) else item.text
    yield frame.question_heading
    yield question.question
    if question.image is not None:
        yield checked_picture(question.image, None)


def _joined(parts: Iterable[Part]) -> Iterator[Part]:
    # Servers differ in what they put between neighbouring text parts, so there are none.
    texts: list[str] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        if texts:
            yield "\n\n".join(texts)
            texts.clear()
        yield part
    if texts:
        yield "\n\n".join(texts)


def checked_picture(path: Path, recorded_sha256: str | None) -> Picture:
    """The image of a file; raises ImageError where it cannot be sent or is not the one that was recorded."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ImageError(f"{path}: the image cannot be read: {error.strerror}") from error
    sha256 = hashlib.sha256(content).hexdigest()
    if recorded_sha256 not in (None, sha256):
        raise ImageError(f"{path}: the image is not the one that was recorded, its SHA-256 differs")
    media_type = next((kind for start, kind in _MEDIA_TYPES.items() if start.match(content)), None)
    if media_type is None:
        raise ImageError(f"{path}: no PNG, JPEG, GIF or WebP image")
    return Picture(media_type, content, sha256)


def sent_content(parts: Iterable[Part]) -> list[JsonValue]:
    """The parts as a chat message's content, images as data URLs."""
    return [_sent(part) for part in parts]


def _sent(part: Part) -> JsonValue:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    encoded = base64.b64encode(part.content).decode("ascii")
    return {"type": "image_url", "image_url": {"url": f"data:{part.media_type};base64,{encoded}"}}


def parts_sha256(parts: Iterable[Part]) -> str:
    """A digest of the message in which each image stands as its own SHA-256."""
    listed = [part if isinstance(part, str) else {"image_sha256": part.sha256} for part in parts]
    return hashlib.sha256(orjson.dumps(listed)).hexdigest()
