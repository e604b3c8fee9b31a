"""Models behind OpenAI-compatible addresses: chat completions and embeddings, retried, every fault typed."""

from runbook.endpoint.chat import Completion, Endpoint, Message
from runbook.endpoint.config import EndpointConfig, Sampling
from runbook.endpoint.embeddings import Embedded, EmbeddingConfig, EmbeddingEndpoint
from runbook.endpoint.errors import EndpointError

__all__ = [
    "Completion",
    "Embedded",
    "EmbeddingConfig",
    "EmbeddingEndpoint",
    "Endpoint",
    "EndpointConfig",
    "EndpointError",
    "Message",
    "Sampling",
]
