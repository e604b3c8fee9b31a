"""What a memory is asked: a text and perhaps an image. No id, no type, no gold ever gets here."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class Question(BaseModel):
    """One question as a memory sees it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str = Field(min_length=1)
    image: Path | None = None
    """A picture the question refers to, on this host."""
