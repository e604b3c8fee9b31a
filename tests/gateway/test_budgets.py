"""Budgets per attempt and per run, and the prices behind those in money."""

import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import httpx
import pytest

from runbook.gateway import Budget, Gateway, GatewayError, LineOrder, Usage, Wire, budgets, load_calls
from runbook.gateway.prices import Price, Prices
from tests.gateway.scripted import CHAT, SSE, Scripted, chat_request, chat_stream, event
from tests.waiting import AT_ONCE, FOREVER

TABLE = """
[models.priced]
input = 2.0
output = 10.0
cache_read = 0.5
source = "https://example.org/prices"
checked = "2026-01-01"
"""


@pytest.mark.parametrize(
    ("budget", "allowed", "why"),
    [
        (Budget(calls=2), 2, "2 model calls"),
        (Budget(tokens=150), 2, "150 tokens"),  # each call uses 110
        (Budget(tokens=110), 1, "110 tokens"),
        (Budget(calls=0), 0, "0 model calls"),
    ],
)
def test_a_call_beyond_the_budget_is_answered_with_an_error(attempt, provider, budget, allowed, why):
    provider.answers = [chat_stream()]
    opened = attempt(order={"budget": budget})
    for _ in range(allowed):
        assert opened.post(CHAT, chat_request()).status_code == 200
        assert opened.line.over_budget() == ""
    refused = opened.post(CHAT, chat_request())
    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == "budget_exceeded"
    assert why in opened.line.over_budget()
    facts = opened.line.close()
    assert (facts.failure, facts.calls, len(provider.asked)) == ("budget_exceeded", allowed, allowed)
    assert why in facts.detail
    assert load_calls(opened.folder)[-1].outcome == "budget_exceeded"


def test_a_budget_in_money_stops_at_the_price(attempt, provider, tmp_path):
    (tmp_path / "prices.toml").write_text(TABLE)
    provider.answers = [chat_stream(model="priced")]  # 100 in, 10 out: 300 millionths of a dollar
    opened = attempt(
        order={"model": "priced", "budget": Budget(money_usd=0.0005)}, prices=tmp_path / "prices.toml"
    )
    request = {**chat_request(), "model": "priced"}
    statuses = [opened.post(CHAT, request).status_code for _ in range(3)]
    assert statuses == [200, 200, 400]
    facts = opened.line.close()
    assert facts.cost_usd == pytest.approx(0.0006)
    assert "0.0005 USD" in facts.detail


def test_wall_time_is_up_without_a_call(attempt, provider, monkeypatch):
    provider.answers = [chat_stream()]
    opened = attempt(order={"budget": Budget(seconds=FOREVER)})
    assert opened.line.over_budget() == ""
    later = SimpleNamespace(monotonic=lambda: time.monotonic() + FOREVER)
    monkeypatch.setattr(budgets, "time", later)
    assert f"{FOREVER} s" in opened.line.over_budget()
    assert opened.post(CHAT, chat_request()).status_code == 400


def test_a_run_budget_is_shared_by_its_attempts(settings_for, provider, tmp_path):
    provider.answers = [chat_stream()]
    with Gateway(settings_for(run_budget=Budget(calls=1))) as gateway:
        port = gateway.listen_tcp()
        lines = []
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            lines.append(gateway.open_line(LineOrder(tmp_path / name, Wire.OPENAI_CHAT, "m")))
        addresses = [f"http://127.0.0.1:{port}{line.prefix}{CHAT}" for line in lines]
        statuses = [
            httpx.post(address, json=chat_request(), timeout=AT_ONCE).status_code for address in addresses
        ]
        assert statuses == [200, 400]
        assert [bool(line.over_budget()) for line in lines] == [False, True]
        assert "run's" in lines[1].over_budget()


def test_counting_tokens_and_listing_models_costs_nothing(attempt, provider):
    provider.answers = [chat_stream()]
    opened = attempt(order={"budget": Budget(calls=0)})
    assert opened.client.get("/v1/models").status_code == 200


def test_a_budget_in_money_that_cannot_be_kept_is_an_error_up_front(settings_for, tmp_path):
    with Gateway(settings_for()) as gateway:
        order = LineOrder(tmp_path, Wire.OPENAI_CHAT, "unheard-of", budget=Budget(money_usd=1))
        with pytest.raises(GatewayError, match="the price of unheard-of is unknown"):
            gateway.open_line(order)
    assert list(tmp_path.iterdir()) == []


def test_an_attempt_is_bounded_unless_told_otherwise(settings_for):
    budget = settings_for().attempt_budget
    assert budget.calls and budget.tokens and budget.money_usd


def test_cache_reads_writes_and_long_inputs_have_their_own_rates():
    price = Price.model_validate(
        {
            "input": 1.0,
            "output": 10.0,
            "cache_read": 0.1,
            "cache_write": 2.0,
            "source": "x",
            "checked": "2026-01-01",
            "long": {"above": 1000, "input": 3.0, "output": 30.0, "cache_read": 0.3},
        }
    )
    short = Usage(fresh_input=100, cache_read=200, cache_write=300, output=10)
    assert price.cost(short) == pytest.approx((100 + 20 + 600 + 100) / 1e6)
    long = Usage(fresh_input=1, cache_read=1000, output=10)
    assert price.cost(long) == pytest.approx((3 + 300 + 300) / 1e6)
    assert price.cost(Usage(output=10)) is None


def test_the_built_in_table_finds_dated_names_and_does_not_guess():
    prices = Prices.read()
    assert prices.of("gpt-5-2025-08-07") == prices.of("gpt-5") is not None
    assert prices.of("anthropic/claude-sonnet-4-5-20250929") == prices.of("claude-sonnet-4-5") is not None
    assert prices.of("fake-model") is None
    assert prices.of(None) is None


def test_every_price_says_where_and_when_it_was_read():
    for name, price in Prices.read().items():
        assert price.source.startswith("https://"), name
        assert price.checked.startswith("20"), name


def test_a_table_that_is_none_is_refused_with_its_name(tmp_path):
    (tmp_path / "prices.toml").write_text("[models.x]\ninput = -1\n")
    with pytest.raises(GatewayError, match=r"prices\.toml is not a price table"):
        Prices.read(tmp_path / "prices.toml")


def test_calls_side_by_side_do_not_pass_a_budget_together(attempt, provider):
    slow = chat_stream(prompt_tokens=1000)
    slow.before = 0.1
    provider.answers = [slow]
    opened = attempt(order={"budget": Budget(tokens=100)})
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda _: opened.post(CHAT, chat_request()).status_code, range(8)))
    assert sorted(statuses) == [200, *[400] * 7]
    assert "(1,010)" in opened.line.close().detail


def test_calls_side_by_side_wait_for_each_other_where_the_budget_may_do(attempt, provider):
    provider.answers = [chat_stream()]
    opened = attempt(order={"budget": Budget(tokens=3000)})  # 4,096 tokens of output are expected of each
    with ThreadPoolExecutor(4) as pool:
        statuses = list(pool.map(lambda _: opened.post(CHAT, chat_request()).status_code, range(8)))
    assert statuses == [200] * 8


def test_a_stream_that_tells_no_usage_counts_by_its_length(attempt, provider):
    said = event({"model": "m", "choices": [{"index": 0, "delta": {"content": "word " * 100}}]})
    end = event({"model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    provider.answers = [Scripted([said, end, b"data: [DONE]\n\n"], type=SSE)]
    opened = attempt(order={"budget": Budget(tokens=200)})
    statuses = [opened.post(CHAT, chat_request()).status_code for _ in range(3)]
    assert statuses == [200, 200, 400]
    assert "estimated" in opened.line.over_budget()
    facts = opened.line.close()
    assert (facts.usage.output, facts.usage_unknown_calls) == (None, 2)
    assert 250 < facts.estimated_tokens < 300
    call = load_calls(opened.folder)[0]
    assert call.usage is None
    assert call.estimated_usage.output == 125


def test_a_stream_that_the_agent_leaves_counts_by_its_length(attempt, provider):
    said = event({"model": "m", "choices": [{"index": 0, "delta": {"content": "word " * 100}}]})
    provider.answers = [Scripted([said, FOREVER, said], type=SSE)]
    opened = attempt()
    with opened.client.stream("POST", CHAT, json=chat_request()) as answer:
        next(answer.iter_raw())
    facts = opened.line.close()
    assert facts.abandoned_calls == 1
    assert 125 <= facts.estimated_tokens < 160


def test_requests_that_cost_nothing_have_a_limit_of_their_own(attempt, provider, monkeypatch):
    monkeypatch.setattr("runbook.gateway.line.MOST_REFUSALS", 3)
    provider.answers = [Scripted([b"{}"])]
    opened = attempt()
    statuses = [opened.client.get("/v1/models").status_code for _ in range(6)]
    assert statuses == [200] * 4 + [400] * 2
    assert "no calls of a model" in opened.line.over_budget()
