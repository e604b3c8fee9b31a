"""The model gateway: the only way from a sandbox to a model, and the record of what went through.

with Gateway(GatewaySettings()) as gateway:
    line = gateway.open_line(LineOrder(folder, Wire.ANTHROPIC_MESSAGES, "claude-sonnet-4-5"))
    ...  # mount line.directory; base URL = forwarder's address + line.prefix
    facts = line.close()
"""

from runbook.gateway.bodies import Bodies, load_calls, load_request
from runbook.gateway.gateway import Gateway
from runbook.gateway.line import Line
from runbook.gateway.records import ModelCall, ToolCall, ToolResult, Usage, Wire, WireFacts
from runbook.gateway.settings import (
    Budget,
    GatewayError,
    GatewaySettings,
    LineOrder,
    ProviderSettings,
    builtin_providers,
)

__all__ = [
    "Bodies",
    "Budget",
    "Gateway",
    "GatewayError",
    "GatewaySettings",
    "Line",
    "LineOrder",
    "ModelCall",
    "ProviderSettings",
    "ToolCall",
    "ToolResult",
    "Usage",
    "Wire",
    "WireFacts",
    "builtin_providers",
    "load_calls",
    "load_request",
]
