"""A provider as the gateway holds it while it runs."""

from dataclasses import dataclass

from runbook.gateway.keys import Key
from runbook.gateway.lanes import Lane
from runbook.gateway.settings import ProviderSettings


@dataclass(frozen=True, slots=True)
class Provider:
    """Its settings, its key, and the lane that all requests with this key share."""

    name: str
    settings: ProviderSettings
    key: Key
    lane: Lane
