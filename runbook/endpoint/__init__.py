"""Models behind OpenAI-compatible addresses: chat completions and embeddings, retried, every fault typed."""

from runbook.endpoint.chat import Completion, Endpoint, Message
from runbook.endpoint.config import EmbeddingConfig, EndpointConfig, Sampling
from runbook.endpoint.errors import EndpointError

__all__ = [
    "Completion",
    "EmbeddingConfig",
    "Endpoint",
    "EndpointConfig",
    "EndpointError",
    "Message",
    "Sampling",
]
