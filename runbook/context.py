"""The memory context: the ordered text and image items a reader answers from."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class TextItem(BaseModel):
    """A piece of text, shown to the reader as it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["text"] = "text"
    text: str


class ImageItem(BaseModel):
    """A screenshot, by path on this host and digest; its bytes never enter a record."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["image"] = "image"
    path: str
    sha256: str


ContextItem = Annotated[TextItem | ImageItem, Field(discriminator="type")]


class MemoryContext(BaseModel):
    """Items in order of importance; no items is the empty context."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    items: tuple[ContextItem, ...] = ()

    @property
    def text(self) -> str:
        """All text items, one after the other."""
        return "\n".join(item.text for item in self.items if isinstance(item, TextItem))
