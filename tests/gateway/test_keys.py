"""Keys reach the provider and nothing else."""

import gzip
import json
import logging
import re

import httpx
import pytest

from runbook.gateway import Gateway, GatewayError, GatewaySettings, LineOrder, ProviderSettings, Wire
from runbook.gateway.keys import Key, KeyMask
from tests.gateway.scripted import CHAT, KEY, SSE, Break, Scripted, chat_request, event
from tests.waiting import AT_ONCE

REPEATED = b'{"error":{"message":"bad key ' + KEY.encode() + b'"}}'
ESCAPED = b"".join(b"\\u%04X" % character for character in KEY.encode())
ECHOES = [
    Scripted([b'{"error":{"message":"Incorrect API key provided: ' + KEY.encode() + b'"}}'], status=401),
    Scripted([b"Bearer " + KEY.encode()], status=500),
    Scripted([event({"said": KEY}), KEY[:7].encode(), 0.05, KEY[7:].encode(), b"\n\n"], type=SSE),
    Scripted([b"ends with its start " + KEY[:9].encode()], type=SSE),
    Scripted([b"{}"], headers={"x-debug": f"authorization: Bearer {KEY}", "set-cookie": KEY}),
    Scripted([event({"said": KEY}), Break()], type=SSE),
    Scripted([gzip.compress(REPEATED)], status=401, headers={"content-encoding": "gzip"}),
    Scripted([gzip.compress(REPEATED)], headers={"content-encoding": "compress"}),
    Scripted([REPEATED.replace(KEY.encode(), ESCAPED)], status=401),
    Scripted(
        [b'data: {"choices":[{"delta":{"content":"', ESCAPED[:33], 0.05, ESCAPED[33:], b'"}}]}'], type=SSE
    ),
    Scripted([event({"error": {"message": REPEATED.replace(KEY.encode(), ESCAPED).decode()}})], type=SSE),
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
            raw = b"".join(got.iter_raw())
            received += raw + (gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else b"")
    except Exception as error:
        received += repr(error).encode()
    facts = opened.line.close()
    opened.gateway.close()  # only then the recording is whole
    assert any(KEY in str(asked.headers) for asked in provider.asked)
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    heard = "".join(capfd.readouterr()) + caplog.text + repr(opened.line.__dict__) + facts.model_dump_json()
    for artefact in (received, written, heard.encode()):
        assert KEY.encode() not in artefact
        assert ESCAPED not in artefact
    assert KEY[:9].encode() not in received.replace(b"ends with its start " + KEY[:9].encode(), b"")


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_masking_keeps_every_other_byte_whatever_the_chunks(size):
    text = f"{KEY} s{KEY[:5]}{KEY}{KEY[:-1]} {KEY}!\\\\\\n\\u0073\\u006bx sk-".encode()
    mask = KeyMask(KEY)
    got = b"".join(mask.feed(text[at : at + size]) for at in range(0, len(text), size)) + mask.flush()
    assert got == text.replace(KEY.encode(), b"*" * len(KEY))


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_key_in_json_escapes_is_masked_as_well(size):
    key = "k/y+Z=k/y+Z="
    text = json.dumps(
        ["k\\/y\\u002bZ\\u003D" * 2, json.dumps("".join(f"\\u{ord(c):04x}" for c in key))]
    ).encode()
    text += b" k\\/y\\u002bZ\\u003D" + b"k\\/y\\u002bZ\\u003D"
    mask = KeyMask(key)
    got = b"".join(mask.feed(text[at : at + size]) for at in range(0, len(text), size)) + mask.flush()
    assert len(got) == len(text)
    assert not re.search(rb"[kyZ]|003d|u00", got)


@pytest.mark.parametrize("key", ["none", "EMPTY", "x"])
def test_a_word_that_stands_for_a_key_is_no_secret(key):
    said = b'{"content": "none EMPTY x"}'
    assert KeyMask(key).whole(said) == said
    mask = KeyMask(key)
    assert mask.feed(said) + mask.flush() == said


def test_a_key_shows_nothing_when_it_is_printed():
    assert KEY not in repr([Key(KEY)])


def test_a_key_is_read_from_a_file(provider, tmp_path):
    (tmp_path / "key").write_text(f" {KEY}\n")
    provider.answers = [Scripted([b"{}"])]
    entry = ProviderSettings(base_url=provider.url, wires=(Wire.OPENAI_CHAT,), key_file=tmp_path / "key")
    with Gateway(GatewaySettings(providers={"p": entry})) as gateway:
        line = gateway.open_line(LineOrder(tmp_path, Wire.OPENAI_CHAT, "m"))
        address = f"http://127.0.0.1:{gateway.listen_tcp()}{line.prefix}/v1/models"
        httpx.get(address, timeout=AT_ONCE)
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
