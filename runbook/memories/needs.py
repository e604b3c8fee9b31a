"""Which models a memory asks, by its name: so that it is checked and estimated without being made."""

from typing import Literal

from runbook.endpoint.config import EmbeddingConfig, EndpointConfig
from runbook.memories.errors import MemorySettingsError
from runbook.memories.settings import RetrievalSettings

Role = Literal["embedding", "controller", "writer"]

CASCADE = "cascade"
_ROLES: dict[str, tuple[Role, ...]] = {
    "rag-slice": ("embedding",),
    "rag-slice-notes": ("embedding", "writer"),
    "agentrunbook-r": ("embedding", "controller", "writer"),
    "oracle-slices-notes": ("writer",),
}


def members(name: str, settings: RetrievalSettings) -> tuple[str, ...]:
    """The memories that answer under this name: itself, or those that a cascade is made of."""
    return (settings.cascade.quick, settings.cascade.slow) if name == CASCADE else (name,)


def roles(name: str, settings: RetrievalSettings) -> tuple[Role, ...]:
    """The models that one memory asks beside an agent's; what a package's memory asks is not known."""
    asked = _ROLES.get(name, ())
    if name == "agentrunbook-r" and not {"events", "notes"} & set(settings.pools):
        return tuple(role for role in asked if role != "writer")
    return asked


def model_of(role: Role, memory: str, settings: RetrievalSettings) -> EmbeddingConfig | EndpointConfig:
    """Where the model of that role answers. Raises MemorySettingsError where it is not set."""
    if role == "embedding":
        return embedding_model(memory, settings)
    return chat_model(role, memory, settings)


def embedding_model(memory: str, settings: RetrievalSettings) -> EmbeddingConfig:
    """Raises MemorySettingsError where none is set."""
    if settings.embedding is None:
        raise MemorySettingsError(
            f"memory {memory} needs an embedding model: set retrieval.embedding.model and "
            "retrieval.embedding.base_url; rag-slice-bm25 needs none"
        )
    return settings.embedding


def chat_model(role: Role, memory: str, settings: RetrievalSettings) -> EndpointConfig:
    """The controller, which also writes where no writer is set. Raises MemorySettingsError."""
    found = (settings.writer or settings.controller) if role == "writer" else settings.controller
    if found is None:
        raise MemorySettingsError(
            f"memory {memory} needs a chat model: set retrieval.controller.model and "
            "retrieval.controller.base_url (retrieval.writer for another one that writes notes)"
        )
    return found
