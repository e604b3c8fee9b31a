"""Keys reach the provider and nothing else."""

import logging

import httpx
import pytest

from runbook.gateway import Gateway, GatewayError, GatewaySettings, LineOrder, ProviderSettings, Wire
from runbook.gateway.keys import Key, KeyMask
from tests.gateway.scripted import CHAT, KEY, SSE, Break, Scripted, chat_request, event


def everything_said(answer) -> bytes:
    return answer.content + str(answer.headers).encode() + str(answer.status_code).encode()


ECHOES = [
    Scripted([b'{"error":{"message":"Incorrect API key provided: ' + KEY.encode() + b'"}}'], status=401),
    Scripted([b"Bearer " + KEY.encode()], status=500),
    Scripted([event({"said": KEY}), KEY[:7].encode(), 0.05, KEY[7:].encode(), b"\n\n"], type=SSE),
    Scripted([b"ends with its start " + KEY[:9].encode()], type=SSE),
    Scripted([b"{}"], headers={"x-debug": f"authorization: Bearer {KEY}", "set-cookie": KEY}),
    Scripted([event({"said": KEY}), Break()], type=SSE),
]


@pytest.mark.parametrize("answer", ECHOES)
@pytest.mark.parametrize("wire", [Wire.OPENAI_CHAT, Wire.ANTHROPIC_MESSAGES, Wire.GEMINI])
def test_a_provider_that_repeats_the_key_is_not_heard(
    attempt, provider, wire, answer, tmp_path, caplog, capfd
):
    provider.answers = [answer]
    caplog.set_level(logging.DEBUG)
    path = {Wire.OPENAI_CHAT: CHAT, Wire.ANTHROPIC_MESSAGES: "/v1/messages"}.get(wire)
    opened = attempt(wire, record=tmp_path / "cassette", retry_seconds=0)
    received = b""
    try:
        with opened.client.stream(
            "POST", path or "/v1beta/models/m:generateContent", json=chat_request()
        ) as got:
            received = str(got.headers).encode()
            for chunk in got.iter_raw():
                received += chunk
    except Exception as error:
        received += repr(error).encode()
    facts = opened.line.close()
    assert any(KEY in str(asked.headers) for asked in provider.asked)
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    heard = "".join(capfd.readouterr()) + caplog.text + repr(opened.line.__dict__) + facts.model_dump_json()
    for artefact in (received, written, heard.encode()):
        assert KEY.encode() not in artefact
    assert KEY[:9].encode() not in received.replace(b"ends with its start " + KEY[:9].encode(), b"")


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_masking_keeps_every_other_byte_whatever_the_chunks(size):
    text = f"{KEY} s{KEY[:5]}{KEY}{KEY[:-1]} {KEY}!sk-".encode()
    mask = KeyMask(KEY)
    got = b"".join(mask.feed(text[at : at + size]) for at in range(0, len(text), size)) + mask.flush()
    assert got == text.replace(KEY.encode(), b"*" * len(KEY))


def test_a_key_shows_nothing_when_it_is_printed():
    assert KEY not in repr([Key(KEY)])


def test_a_key_is_read_from_a_file(provider, tmp_path):
    (tmp_path / "key").write_text(f" {KEY}\n")
    provider.answers = [Scripted([b"{}"])]
    entry = ProviderSettings(base_url=provider.url, wires=(Wire.OPENAI_CHAT,), key_file=tmp_path / "key")
    with Gateway(GatewaySettings(providers={"p": entry})) as gateway:
        line = gateway.open_line(LineOrder(tmp_path, Wire.OPENAI_CHAT, "m"))
        httpx.get(f"http://127.0.0.1:{gateway.listen_tcp()}{line.prefix}/v1/models")
    assert provider.asked[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"key_env": "NO_SUCH_VARIABLE"}, "set NO_SUCH_VARIABLE, the key of provider p"),
        ({"key_file": "/no/such/file"}, "key file of provider p cannot be read"),
        ({"key_env": "ODD_KEY"}, "holds characters that no HTTP header can carry"),
    ],
)
def test_a_key_that_cannot_be_had_is_said_before_anything_runs(tmp_path, monkeypatch, source, message):
    monkeypatch.setenv("ODD_KEY", "a b")
    entry = ProviderSettings(base_url="http://127.0.0.1:9", wires=(Wire.GEMINI,), **source)
    with (
        Gateway(GatewaySettings(providers={"p": entry})) as gateway,
        pytest.raises(GatewayError, match=message),
    ):
        gateway.open_line(LineOrder(tmp_path, Wire.GEMINI, "m"))
    assert list(tmp_path.iterdir()) == []
