"""A gateway in front of a scripted provider, and a line through it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from runbook.gateway import Gateway, GatewaySettings, LineOrder, ProviderSettings, Wire
from tests.gateway.scripted import KEY, Attempt, Provider


@pytest.fixture
def provider() -> Iterator[Provider]:
    provider = Provider()
    yield provider
    provider.close()


@pytest.fixture
def settings_for(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Callable[..., GatewaySettings]:
    """Settings with the scripted provider, whose key is the canary; keywords are GatewaySettings fields."""
    monkeypatch.setenv("CANARY_KEY", KEY)

    def make(*, concurrency: int = 16, **fields: Any) -> GatewaySettings:
        entry = ProviderSettings(
            base_url=provider.url, wires=tuple(Wire), key_env="CANARY_KEY", concurrency=concurrency
        )
        return GatewaySettings(providers={"scripted": entry}, **fields)

    return make


@pytest.fixture
def attempt(settings_for: Callable[..., GatewaySettings], tmp_path: Path) -> Iterator[Callable[..., Attempt]]:
    """Opens a gateway with one line; keywords: wire, order fields in `order`, the rest are settings."""
    with ExitStack() as stack:

        def make(
            wire: Wire = Wire.OPENAI_CHAT, order: dict[str, Any] | None = None, **fields: Any
        ) -> Attempt:
            folder = tmp_path / f"attempt-{len(list(tmp_path.iterdir()))}"
            folder.mkdir()
            gateway = stack.enter_context(Gateway(settings_for(**fields)))
            line = gateway.open_line(
                LineOrder(**{"folder": folder, "wire": wire, "model": "m", **(order or {})})
            )
            transport = httpx.HTTPTransport(uds=str(line.directory / "model.sock"), verify=False)
            client = httpx.Client(transport=transport, base_url=f"http://agent{line.prefix}", timeout=30)
            stack.callback(client.close)
            return Attempt(line, client, folder)

        yield make
