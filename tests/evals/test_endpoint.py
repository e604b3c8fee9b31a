"""A model call either gives a reply or one typed error; retries are visible, bounded and patient."""

import json
import threading
import time

import pytest

from evals.model_errors import ReaderError
from runbook.endpoint import Endpoint, EndpointConfig, EndpointError, Sampling
from runbook.endpoint.completion import read_reply
from runbook.endpoint.embeddings import read_embeddings
from runbook.outcomes import Outcome
from tests.waiting import AT_ONCE, FOREVER

ASK = [{"role": "user", "content": "hello"}]


def fails(endpoint: Endpoint) -> EndpointError:
    with pytest.raises(EndpointError) as caught:
        endpoint.complete(ASK)
    return caught.value


def test_a_reply_comes_with_usage_and_the_model_that_gave_it(model, config):
    model.says("hi")
    done = Endpoint(config()).complete(ASK)
    assert done.reply.content == "hi"
    assert done.reply.model == "scripted-1"
    assert (done.reply.usage.prompt_tokens, done.reply.usage.cached_tokens) == (100, 60)
    assert done.reply.usage.reasoning_tokens is None
    assert (done.calls, done.waited_seconds) == (1, 0.0)


def test_429_waits_as_long_as_the_provider_asks(model, config, answer, saying):
    model.answers = [answer(b"{}", 429, headers={"retry-after": "1"}), answer(saying("late"))]
    done = Endpoint(config()).complete(ASK)
    assert done.reply.content == "late"
    assert done.calls == 2
    assert 1.0 <= done.waited_seconds < AT_ONCE
    assert model.arrivals[1] - model.arrivals[0] >= 1.0


def test_retry_after_may_be_milliseconds_or_a_date(model, config, answer, saying):
    model.answers = [
        answer(b"{}", 429, headers={"retry-after-ms": "300", "retry-after": "900"}),
        answer(b"{}", 503, headers={"retry-after": "Thu, 01 Jan 2015 00:00:00 GMT"}),
        answer(saying("late")),
    ]
    done = Endpoint(config()).complete(ASK)
    assert done.calls == 3
    assert 0.3 <= done.waited_seconds < AT_ONCE


def test_a_wait_beyond_the_budget_is_not_waited(model, config, answer):
    model.answers = [answer(b"{}", 429, headers={"retry-after": "3600"})]
    began = time.monotonic()
    error = fails(Endpoint(config(), error=ReaderError))
    assert error.outcome is Outcome.RATE_LIMITED
    assert "3600 s" in str(error)
    assert time.monotonic() - began < AT_ONCE
    assert len(model.requests) == 1


def test_a_storm_of_429_ends_with_the_wall_clock_budget(model, config, answer):
    model.answers = [answer(b"{}", 429)]
    error = fails(Endpoint(config(retry_seconds=1.5)))
    assert error.outcome is Outcome.RATE_LIMITED
    assert len(model.requests) > 1
    assert model.arrivals[-1] - model.arrivals[0] < AT_ONCE


def test_no_credit_is_not_waited_for(model, config, answer):
    model.answers = [answer({"error": {"code": "insufficient_quota", "message": "no money"}}, 429)]
    assert fails(Endpoint(config())).outcome is Outcome.RATE_LIMITED
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("status", "outcome", "repeated"),
    [
        (400, Outcome.READER_ERROR, False),
        (401, Outcome.AUTH_ERROR, False),
        (403, Outcome.AUTH_ERROR, False),
        (404, Outcome.READER_ERROR, False),
        (422, Outcome.READER_ERROR, False),
        (408, Outcome.PROVIDER_ERROR, True),
        (500, Outcome.PROVIDER_ERROR, True),
        (529, Outcome.PROVIDER_ERROR, True),
    ],
)
def test_a_status_says_whose_fault_it_was(model, config, answer, saying, status, outcome, repeated):
    model.answers = [answer({"error": {"message": "no"}}, status)]
    error = fails(Endpoint(config(retry_seconds=0), error=ReaderError))
    assert isinstance(error, ReaderError)
    assert (error.outcome, error.status) == (outcome, status)
    model.requests.clear()
    model.answers.append(answer(saying("back")))
    if repeated:
        assert Endpoint(config()).complete(ASK).reply.content == "back"
    else:
        assert fails(Endpoint(config())).status == status
    assert (len(model.requests) == 2) is repeated


def test_a_500_is_followed_by_a_reply(model, config, answer, saying):
    model.answers = [answer(b"<html>bad gateway</html>", 502), answer(saying("back"))]
    assert Endpoint(config()).complete(ASK).reply.content == "back"


MALFORMED = {
    "null choices": {"id": "x", "choices": None},
    "no choices": {"id": "x", "choices": []},
    "null message": {"choices": [{"index": 0, "message": None}]},
    "truncated JSON": b'{"choices": [{"index": 0, "mess',
    "HTML": b"\n<!doctype html><title>Login</title>",
    "nothing": b"",
    "a list": [1, 2],
    "not UTF-8": b"\xff\xfe{}",
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_reply_that_is_no_completion_is_asked_for_three_times(model, config, answer, kind):
    model.answers = [answer(MALFORMED[kind])]
    error = fails(Endpoint(config(), error=ReaderError))
    assert error.outcome is Outcome.READER_ERROR
    assert len(model.requests) == 3
    assert "\n" not in str(error)


def test_a_reply_that_is_no_completion_may_be_followed_by_one(model, config, answer, saying):
    model.answers = [answer({"choices": None}), answer(saying("fine"))]
    assert Endpoint(config()).complete(ASK).reply.content == "fine"


def test_a_body_that_breaks_off_is_the_providers_fault(model, config, answer):
    model.answers = [answer(b'{"choices": [', promised=500)]
    error = fails(Endpoint(config(retry_seconds=0.3)))
    assert error.outcome is Outcome.PROVIDER_ERROR
    assert "broke off" in str(error)


def test_an_error_inside_a_reply_with_status_200_counts_as_its_code(model, config, answer):
    model.answers = [answer({"error": {"code": 401, "message": "who are you"}})]
    assert fails(Endpoint(config())).outcome is Outcome.AUTH_ERROR
    assert len(model.requests) == 1


def test_silence_ends_at_the_timeout(model, config, answer):
    model.answers = [answer(b"{}", seconds=FOREVER)]
    began = time.monotonic()
    error = fails(Endpoint(config(timeout_seconds=0.5, retry_seconds=0)))
    assert error.outcome is Outcome.PROVIDER_ERROR
    assert time.monotonic() - began < AT_ONCE


def test_nobody_listening_is_the_providers_fault(config):
    error = fails(Endpoint(config(base_url="http://127.0.0.1:9/v1", retry_seconds=0)))
    assert error.outcome is Outcome.PROVIDER_ERROR


def test_cancelling_ends_a_wait(model, config, answer):
    model.answers = [answer(b"{}", 429, headers={"retry-after": str(FOREVER)})]
    cancel = threading.Event()
    threading.Thread(target=lambda: model.asked.wait(AT_ONCE) and cancel.set()).start()
    began = time.monotonic()
    error = fails(Endpoint(config(retry_seconds=2 * FOREVER), cancel=cancel))
    assert error.outcome is Outcome.CANCELLED
    assert time.monotonic() - began < AT_ONCE
    assert len(model.requests) == 1


def test_the_key_is_sent_and_never_shown(model, config, answer):
    model.answers = [answer({"error": {"message": "Incorrect API key provided: sk-test-key\x1b[2J"}}, 401)]
    endpoint = Endpoint(config())
    error = fails(endpoint)
    assert model.keys == ["Bearer sk-test-key"]
    assert "sk-test-key" not in str(error)
    assert "\x1b" not in str(error)
    assert "sk-test-key" not in repr(endpoint.config)
    assert "sk-test-key" not in endpoint.config.model_dump_json()


def test_the_key_comes_from_the_environment(model, config, monkeypatch):
    model.says("hi")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-environment")
    Endpoint(config(api_key=None)).complete(ASK)
    assert model.keys == ["Bearer sk-from-environment"]


def test_a_provider_without_a_key_is_refused_before_any_request(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ReaderError, match="set OPENAI_API_KEY") as caught:
        Endpoint(EndpointConfig(model="m"), error=ReaderError)
    assert caught.value.outcome is Outcome.AUTH_ERROR


@pytest.mark.parametrize(
    "url", ["ftp://x/v1", "http://", "http://[::1", "http://x:99999/v1", f"http://{'a' * 64}.x/v1", "x"]
)
def test_what_is_no_address_is_refused_as_such(config, url):
    with pytest.raises(ValueError, match="is no http or https address"):
        config(base_url=url)


def test_a_key_in_the_address_is_refused(config):
    with pytest.raises(ValueError, match="environment variable"):
        config(base_url="http://me:secret@127.0.0.1/v1")


def test_sampling_is_sent_under_the_providers_names(model, config):
    model.says("hi")
    sampling = Sampling(temperature=0.6, top_k=20, max_output_tokens=50, extra={"repetition_penalty": 1.1})
    Endpoint(config(sampling=sampling)).complete(ASK, seed=7)
    sent = model.requests[0]
    assert (sent["temperature"], sent["top_k"], sent["seed"]) == (0.6, 20, 7)
    assert (sent["max_tokens"], sent["repetition_penalty"]) == (50, 1.1)
    assert "top_p" not in sent
    assert "max_completion_tokens" not in sent


def test_without_an_address_the_output_limit_has_its_newer_name():
    body = EndpointConfig(model="m", sampling=Sampling(max_output_tokens=9)).body(seed=None)
    assert body == {"max_completion_tokens": 9}


def test_parameters_that_a_provider_refuses_are_dropped_only_when_listed(model, config):
    model.says("hi")
    sampling = Sampling(temperature=0.6, top_k=20, drop=("top_k", "seed"))
    Endpoint(config(sampling=sampling)).complete(ASK, seed=7)
    assert model.requests[0]["temperature"] == 0.6
    assert "top_k" not in model.requests[0]
    assert "seed" not in model.requests[0]


def test_one_endpoint_serves_many_threads(model, config):
    model.says("hi")
    endpoint = Endpoint(config())
    replies: list[str] = []
    threads = [
        threading.Thread(target=lambda: replies.append(endpoint.complete(ASK).reply.content))
        for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(AT_ONCE)
    assert replies == ["hi"] * 16


def test_content_in_parts_is_joined_line_by_line(model, config, answer, saying):
    model.answers = [answer(saying([{"type": "text", "text": "a "}, {"type": "text", "text": "b"}]))]
    assert Endpoint(config()).complete(ASK).reply.content == "a\nb"


def test_reasoning_is_kept_apart_from_content_under_its_name(model, config, answer, saying):
    model.answers = [answer(saying(None, reasoning_content="thinking")), answer(saying(None, reasoning="hm"))]
    replies = [Endpoint(config()).complete(ASK).reply for _ in range(2)]
    told = [(reply.content, reply.reasoning, reply.reasoning_content) for reply in replies]
    assert told == [("", "", "thinking"), ("", "hm", "")]


def test_a_long_wait_is_told_once_with_its_reason(model, config, answer):
    model.answers = [answer(b"{}", 429, headers={"retry-after": "90"})]
    cancel, told = threading.Event(), []

    def remark(line: str) -> None:
        told.append(line)
        cancel.set()

    fails(Endpoint(config(retry_seconds=600), cancel=cancel, remark=remark))
    assert len(told) == 1
    assert "asks to wait 90 s" in told[0]
    assert "tried again for up to 600 s" in told[0]


def test_a_short_wait_is_not_told(model, config, answer, saying):
    model.answers = [answer(b"{}", 500), answer(saying("hello"))]
    told: list[str] = []
    Endpoint(config(), remark=told.append).complete(ASK)
    assert told == []


def test_a_status_of_thousands_of_digits_is_no_status(model, config, answer):
    model.answers = [answer({"error": {"code": "9" * 5000, "message": "no"}})]
    assert fails(Endpoint(config(retry_seconds=0))).outcome is Outcome.PROVIDER_ERROR


@pytest.mark.parametrize("tokens", [-1, 2**50, 2**64 - 1, 10**30, 1.5, True, "7", None, [7]])
def test_a_count_that_no_tokens_can_have_is_not_known(tokens):
    body = {"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": tokens}}
    assert read_reply(json.dumps(body).encode()).usage.prompt_tokens is None
    row = {"data": [{"embedding": [1.0]}], "usage": {"prompt_tokens": tokens}}
    assert read_embeddings(json.dumps(row).encode(), 1).tokens is None
