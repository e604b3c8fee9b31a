"""Settings of the memories that search without an agent: `[retrieval]` of a run's settings."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from runbook.endpoint.config import EmbeddingConfig, EndpointConfig, Sampling

Pool = Literal["raw", "events", "notes"]
POOLS: tuple[Pool, ...] = ("raw", "events", "notes")

CONTROLLER_SAMPLING = Sampling(temperature=0.6, top_p=0.95, top_k=20, max_output_tokens=8_192)


class CascadeSettings(BaseModel):
    """A quick memory that answers where it is sure, and a slow one for the rest."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    quick: str = "rag-slice"
    slow: str = "agent"
    threshold: float = Field(default=0.5, ge=0, le=1)
    """The quick memory's confidence from which on its context is the answer."""


class RetrievalSettings(BaseModel):
    """Which models prepare and search, and how much comes into a context."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    embedding: EmbeddingConfig | None = None
    controller: EndpointConfig | None = None
    """Turns a question into queries."""
    writer: EndpointConfig | None = None
    """Writes events and notes, once per trajectory; None is the controller."""
    pools: tuple[Pool, ...] = Field(default=POOLS, min_length=1)
    """Ablation of agentrunbook-r: only these are searched."""
    radius: int = Field(default=1, ge=0, le=10)
    """States on each side of a slice's middle."""
    slices: int = Field(default=6, ge=1, le=100)
    per_query: int = Field(default=2, ge=1, le=100)
    """Slices that one of several queries may bring in."""
    raw_queries: int = Field(default=5, ge=1, le=20)
    events: int = Field(default=6, ge=1, le=100)
    notes: int = Field(default=3, ge=1, le=100)
    """Of each kind: procedures, hints."""
    summary_characters: int = Field(default=12_000, ge=0, le=10**7)
    """Of the haystack's orientation, shown to the controller."""
    cascade: CascadeSettings = CascadeSettings()
