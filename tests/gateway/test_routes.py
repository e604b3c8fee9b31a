"""Where a path leads at a provider."""

import pytest

from runbook.gateway import Wire, builtin_providers
from runbook.gateway.routes import upstream_url

OPENAI = (Wire.OPENAI_CHAT, Wire.OPENAI_RESPONSES)


@pytest.mark.parametrize(
    ("base", "wires", "path", "url"),
    [
        ("https://api.openai.com/v1", OPENAI, "/v1/responses", "https://api.openai.com/v1/responses"),
        ("https://api.openai.com/v1/", OPENAI, "/responses", "https://api.openai.com/v1/responses"),
        ("http://127.0.0.1:8000", OPENAI, "/v1/models", "http://127.0.0.1:8000/v1/models"),
        (
            "https://example.org/api/paas/v4",
            OPENAI,
            "/v1/chat/completions",
            "https://example.org/api/paas/v4/chat/completions",
        ),
        (
            "https://api.anthropic.com",
            (Wire.ANTHROPIC_MESSAGES,),
            "/v1/messages",
            "https://api.anthropic.com/v1/messages",
        ),
        (
            "https://example.org/anthropic/v1",
            (Wire.ANTHROPIC_MESSAGES,),
            "/v1/messages",
            "https://example.org/anthropic/v1/messages",
        ),
        (
            "https://example.org",
            (Wire.GEMINI,),
            "/v1beta/models/m:generateContent",
            "https://example.org/v1beta/models/m:generateContent",
        ),
        (
            "https://example.org/v1beta",
            (Wire.GEMINI,),
            "/v1beta/models/m:generateContent",
            "https://example.org/v1beta/models/m:generateContent",
        ),
    ],
)
def test_the_version_stands_once_in_the_address(base, wires, path, url):
    assert upstream_url(base, wires, path, "") == url
    assert upstream_url(base, wires, path, "alt=sse") == url + "?alt=sse"


def test_built_in_providers_speak_every_wire_and_want_a_key():
    providers = builtin_providers().values()
    assert {wire for provider in providers for wire in provider.wires} == set(Wire)
    assert all(provider.key_env and provider.base_url.startswith("https://") for provider in providers)
