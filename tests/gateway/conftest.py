"""A gateway in front of a scripted provider, and a line through it."""

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from runbook.gateway import Gateway, GatewayError, GatewaySettings, Line, LineOrder, ProviderSettings, Wire
from tests.gateway.scripted import KEY, Attempt, Provider
from tests.waiting import AT_ONCE


@pytest.fixture(scope="session")
def only_provider() -> Iterator[Provider]:
    provider = Provider()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CANARY_KEY", KEY)
        yield provider
    provider.close()


@pytest.fixture(scope="session")
def default_gateway(only_provider: Provider) -> Iterator[Gateway]:
    """For tests that need no settings of their own."""
    with Gateway(_settings(only_provider)) as gateway:
        yield gateway


@pytest.fixture
def provider(only_provider: Provider) -> Provider:
    """The scripted provider as new."""
    only_provider.rest()
    only_provider.reset()
    return only_provider


def _settings(provider: Provider, *, concurrency: int = 16, **fields: Any) -> GatewaySettings:
    entry = ProviderSettings(
        base_url=provider.url, wires=tuple(Wire), key_env="CANARY_KEY", concurrency=concurrency
    )
    return GatewaySettings(providers={"scripted": entry}, **fields)


@pytest.fixture
def settings_for(provider: Provider) -> Callable[..., GatewaySettings]:
    """Settings with the scripted provider, whose key is the canary; keywords are GatewaySettings fields."""
    return functools.partial(_settings, provider)


@pytest.fixture
def attempt(provider: Provider, default_gateway: Gateway, tmp_path: Path) -> Iterator[Callable[..., Attempt]]:
    """Opens a line and a client; keywords: wire, order fields in `order`, the rest are settings."""
    with ExitStack() as stack:

        def make(
            wire: Wire = Wire.OPENAI_CHAT, order: dict[str, Any] | None = None, **fields: Any
        ) -> Attempt:
            folder = tmp_path / f"attempt-{len(list(tmp_path.iterdir()))}"
            folder.mkdir()
            gateway = (
                stack.enter_context(Gateway(_settings(provider, **fields))) if fields else default_gateway
            )
            line = gateway.open_line(
                LineOrder(**{"folder": folder, "wire": wire, "model": "m", **(order or {})})
            )
            stack.callback(_close, line)
            transport = httpx.HTTPTransport(uds=str(line.directory / "model.sock"), verify=False)
            client = httpx.Client(transport=transport, base_url=f"http://agent{line.prefix}", timeout=AT_ONCE)
            stack.callback(client.close)
            return Attempt(gateway, line, client, folder)

        yield make


def _close(line: Line) -> None:
    with suppress(GatewayError):  # a test may have broken the record
        line.close()
