"""Retries, and whose failure a call is."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from threading import Event, Thread

import httpx
import pytest

from runbook.gateway import Gateway, GatewaySettings, LineOrder, ProviderSettings, Wire, load_calls
from runbook.gateway.models import same_model
from runbook.gateway.retries import retry_after
from tests.gateway.scripted import CHAT, SSE, Break, Scripted, chat_request, chat_stream, event
from tests.waiting import AT_ONCE, FOREVER, wait_for


def error(status: int, message: str = "no", **fields) -> Scripted:
    body = event({"error": {"message": message, "type": "some_error", **fields}})[6:-2]
    return Scripted([body], status=status)


def outcome_after(attempt, provider, answers, wire=Wire.OPENAI_CHAT, **settings):
    provider.answers = answers
    opened = attempt(wire, **settings)
    answer = opened.post(CHAT, chat_request())
    opened.line.close()
    return answer, load_calls(opened.folder)[-1], opened.line.facts()


@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_what_may_pass_is_tried_again(attempt, provider, status):
    limited = error(status)
    limited.headers["retry-after"] = "0.1"
    answer, call, facts = outcome_after(attempt, provider, [limited, limited, chat_stream()])
    assert answer.status_code == 200
    assert (call.retries, call.outcome, facts.retries, facts.failure) == (2, None, 2, None)
    assert len(provider.asked) == 3


def test_a_broken_connection_is_tried_again(attempt, provider):
    provider.answers = [chat_stream()]
    with_break = Scripted([Break()], status=500)
    answer, call, _ = outcome_after(attempt, provider, [with_break, chat_stream()])
    assert (answer.status_code, call.retries) == (200, 1)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_refused_request_is_never_tried_again(attempt, provider, status):
    answer, call, _ = outcome_after(attempt, provider, [error(status)])
    assert (answer.status_code, call.retries, len(provider.asked)) == (status, 0, 1)


def test_a_stream_that_has_begun_is_not_tried_again(attempt, provider):
    provider.answers = [Scripted([event(1), Break()], type=SSE)]
    opened = attempt()
    with pytest.raises(httpx.RemoteProtocolError):
        opened.post(CHAT, chat_request())
    assert len(provider.asked) == 1


def test_waiting_for_a_rate_limit_is_told_apart(attempt, provider):
    limited = error(429)
    limited.headers["retry-after"] = "0.3"
    _, call, facts = outcome_after(attempt, provider, [limited, chat_stream()])
    assert 0.3 <= call.rate_limit_seconds < AT_ONCE
    assert facts.rate_limit_seconds == call.rate_limit_seconds
    assert call.first_byte_seconds > call.rate_limit_seconds


def test_waiting_after_a_server_error_is_no_rate_limit(attempt, provider):
    failed = error(500)
    failed.headers["retry-after"] = "0.2"
    _, call, _ = outcome_after(attempt, provider, [failed, chat_stream()])
    assert (call.retries, call.rate_limit_seconds) == (1, 0.0)


def test_a_wait_beyond_the_budget_is_not_begun(attempt, provider):
    limited = error(429)
    limited.headers["retry-after"] = "3600"
    started = time.monotonic()
    answer, call, facts = outcome_after(attempt, provider, [limited], retry_seconds=FOREVER)
    assert time.monotonic() - started < AT_ONCE
    assert (call.retries, call.rate_limit_seconds) == (0, 0.0)
    assert (answer.status_code, call.outcome, facts.failure) == (429, "rate_limited", "rate_limited")
    assert answer.headers["x-should-retry"] == "false"


def test_an_agent_that_retries_by_itself_does_not_get_the_whole_time_again(attempt, provider):
    provider.answers = [error(500)]
    opened = attempt(retry_seconds=0.5)
    opened.post(CHAT, chat_request())
    before = len(provider.asked)
    time.sleep(0.5)
    opened.post(CHAT, chat_request())
    assert len(provider.asked) == before + 1
    opened.line.close()
    assert load_calls(opened.folder)[-1].retries == 0


def test_retry_after_is_read_as_seconds_milliseconds_and_date():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    in_a_minute = format_datetime(now + timedelta(minutes=1), usegmt=True)
    assert retry_after([(b"Retry-After", b"7")], now) == 7
    assert retry_after([(b"retry-after-ms", b"250"), (b"retry-after", b"7")], now) == 0.25
    assert retry_after([(b"retry-after", in_a_minute.encode())], now) == 60
    assert retry_after([(b"retry-after", b"soon")], now) is None
    assert retry_after([], now) is None
    for nonsense in (
        b"nan",
        b"\xff",
        b"Mon, 01 Jan 2024 00:00:00 +99999999999999999999",
        b"9" * 5000 + b" GMT",
    ):
        assert retry_after([(b"retry-after", nonsense)], now) is None
    assert retry_after([(b"retry-after-ms", b"nan"), (b"retry-after", b"7")], now) == 7


@pytest.mark.parametrize("asked", ["0", "-5", "nan", "Mon, 01 Jan 1990 00:00:00 GMT"])
def test_a_provider_that_asks_for_no_wait_is_not_asked_at_once(attempt, provider, asked):
    limited = error(429)
    limited.headers["retry-after"] = asked
    _, call, _ = outcome_after(attempt, provider, [limited, chat_stream()])
    assert call.retries == 1
    first, second = (request.at for request in provider.asked)
    assert second - first >= 0.04


TOO_LONG = "This model's maximum context length is 1000 tokens."


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (error(401), "auth_error"),
        (error(403), "auth_error"),
        (error(429, code="insufficient_quota"), "auth_error"),
        (error(429), "rate_limited"),
        (error(500), "provider_error"),
        (error(529), "provider_error"),
        (error(404), "provider_error"),
        (error(400), "provider_error"),
        (error(400, TOO_LONG), "invalid_output"),
        (Scripted([event({"choices": []})], type=SSE), "provider_error"),
        (
            Scripted([event({"error": {"type": "rate_limit_error", "message": "x"}})], type=SSE),
            "rate_limited",
        ),
        (Scripted([event({"error": {"message": "boom"}})], type=SSE), "provider_error"),
        (chat_stream(model="other"), "model_mismatch"),
    ],
)
def test_each_failure_has_its_class(attempt, provider, answer, outcome):
    _, call, facts = outcome_after(attempt, provider, [answer], retry_seconds=0)
    assert (call.outcome, facts.failure, facts.failed_calls) == (outcome, outcome, 1)
    assert call.detail


def test_the_last_generation_decides(attempt, provider):
    provider.answers = [error(500), chat_stream()]
    opened = attempt(retry_seconds=0)
    opened.post(CHAT, chat_request())
    assert opened.post(CHAT, chat_request()).status_code == 200
    facts = opened.line.close()
    assert (facts.failure, facts.failed_calls, facts.calls) == (None, 1, 2)


def test_a_provider_that_cannot_be_reached_is_named_in_the_providers_own_shape(tmp_path):
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        entry = ProviderSettings(base_url=address, wires=(Wire.ANTHROPIC_MESSAGES,))
        with Gateway(GatewaySettings(providers={"dead": entry}, retry_seconds=0.2)) as gateway:
            line = gateway.open_line(LineOrder(tmp_path, Wire.ANTHROPIC_MESSAGES, "m"))
            url = f"http://127.0.0.1:{gateway.listen_tcp()}{line.prefix}/v1/messages"
            answer = httpx.post(url, json={"model": "m"}, timeout=AT_ONCE)
            facts = line.close()
    assert answer.status_code == 502
    assert answer.json()["error"]["type"] == "api_error"
    assert (facts.failure, facts.detail) == ("provider_error", "the provider cannot be reached")


def test_a_provider_that_falls_silent_has_failed(attempt, provider):
    silent = Scripted([b"{}"], before=FOREVER)
    answer, call, _ = outcome_after(attempt, provider, [silent], silence_seconds=0.3, retry_seconds=0)
    assert (answer.status_code, call.outcome, call.detail) == (
        502,
        "provider_error",
        "the provider fell silent",
    )


def test_a_refused_model_is_a_failure_only_where_no_other_call_was_made(attempt, provider):
    provider.answers = [chat_stream()]
    opened = attempt()
    opened.post(CHAT, {**chat_request(), "model": "small"})
    wait_for(lambda: opened.line.facts().failure)
    assert opened.line.facts().failure == "model_mismatch"
    opened.post(CHAT, chat_request())
    opened.post(CHAT, {**chat_request(), "model": "small"})
    facts = opened.line.close()
    assert (facts.failure, facts.calls) == (None, 1)


@pytest.mark.parametrize(
    ("policy", "outcome", "detail"),
    [("fail", "model_mismatch", True), ("flag", None, True), ("allow", None, False)],
)
def test_another_model_fails_is_flagged_or_allowed(attempt, provider, policy, outcome, detail):
    _, call, facts = outcome_after(attempt, provider, [chat_stream(model="other")], mismatch=policy)
    assert (call.outcome, bool(call.detail), call.actual_model) == (outcome, detail, "other")
    assert facts.actual_models == ["other"]


@pytest.mark.parametrize(("policy", "asked"), [("fail", 1), ("flag", 2)])
def test_after_another_model_answered_only_a_failing_policy_asks_no_more(attempt, provider, policy, asked):
    provider.answers = [chat_stream(model="other"), chat_stream(model="other")]
    opened = attempt(Wire.OPENAI_CHAT, mismatch=policy)
    answers = [opened.post(CHAT, chat_request()) for _ in range(2)]
    facts = opened.line.close()
    assert facts.calls == asked
    assert [answer.status_code for answer in answers] == [200, 200 if asked == 2 else 400]
    assert facts.failure == ("model_mismatch" if policy == "fail" else None)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("gpt-5", "gpt-5-2025-08-07", True),
        ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", True),
        ("anthropic/claude-opus-4-5", "Claude-Opus-4-5", True),
        ("gemini-2.5-pro", "models/gemini-2.5-pro-preview-05-06", True),
        ("gemini-1.5-pro", "gemini-1.5-pro-002", True),
        ("gpt-5", "gpt-5-mini", False),
        ("gpt-5", "gpt-5-mini-2025-08-07", False),
        ("claude-opus-4-1", "claude-opus-4-5", False),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06", False),
    ],
)
def test_a_date_does_not_make_another_model(one, other, same):
    assert same_model(one, other) is same


def test_requests_with_one_key_are_open_only_so_many_at_a_time(attempt, provider):
    gates = [Event(), Event(), Event()]
    provider.answers = [Scripted(chat_stream().chunks, type=SSE, before=gate) for gate in gates]
    opened = attempt(concurrency=1)
    with ThreadPoolExecutor(3) as agents:
        answers = [agents.submit(opened.post, CHAT, chat_request()) for _ in range(3)]
        wait_for(lambda: waiting(opened) == 2)
        for asked, gate in enumerate(gates, 1):
            wait_for(lambda asked=asked: len(provider.asked) == asked)
            time.sleep(0.1)
            gate.set()
    assert [answer.result().status_code for answer in answers] == [200] * 3
    opened.line.close()
    waits = sorted(call.rate_limit_seconds for call in load_calls(opened.folder))
    assert provider.most_open == 1
    assert waits[0] == 0.0
    assert waits[1] >= 0.1
    assert waits[2] >= 0.2


def waiting(opened) -> int:
    """How many requests the gateway makes wait."""
    return sum(exchange.waiting for exchange in list(opened.line._open))


def test_a_line_that_we_make_wait_is_not_idle(attempt, provider):
    limited = error(429)
    limited.headers["retry-after"] = str(FOREVER)
    provider.answers = [limited]
    opened = attempt(retry_seconds=2 * FOREVER)

    def ask() -> None:
        with suppress(httpx.RemoteProtocolError):  # the line is closed meanwhile
            opened.post(CHAT, chat_request())

    agent = Thread(target=ask)
    agent.start()
    wait_for(lambda: waiting(opened))
    time.sleep(0.3)
    assert opened.line.idle_seconds() == 0.0
    opened.line.close()
    agent.join()


def test_a_line_whose_provider_is_silent_is_idle_until_it_answers(attempt, provider):
    answer = Event()
    provider.answers = [Scripted(chat_stream().chunks, type=SSE, before=answer)]
    opened = attempt()
    agent = Thread(target=opened.post, args=(CHAT, chat_request()))
    agent.start()
    wait_for(lambda: provider.asked)
    wait_for(lambda: opened.line.idle_seconds() > 0.3)
    answered = time.monotonic()
    answer.set()
    agent.join()
    idle = opened.line.idle_seconds()
    assert idle < time.monotonic() - answered
