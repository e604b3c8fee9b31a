"""What a memory's own model calls took: recorded like an agent's, told apart by side, held to budgets."""

import threading
from dataclasses import replace

import orjson
import pytest

from evals.runs.inserting import insert_costs
from evals.runs.records import QueryRecord
from runbook.endpoint.errors import EndpointError
from runbook.endpoint.ledger import Account
from runbook.gateway import Wire, load_calls
from runbook.gateway.settings import GatewayError, GatewaySettings
from runbook.outcomes import Outcome

PRICES = """
[models.chat]
input = 1.0
output = 2.0
source = "test"
checked = "2026-01-01"
[models.bag]
input = 0.5
output = 0.0
source = "test"
checked = "2026-01-01"
"""


@pytest.fixture
def prices(tmp_path):
    file = tmp_path / "prices.toml"
    file.write_text(PRICES)
    return {"prices": file}


def asked(memory, task, haystack):
    memory.insert(haystack)
    return memory.query(task)


def test_each_call_of_a_query_is_a_line_of_its_attempt_with_tokens_and_money(bench, prices):
    task = bench.task()
    result = asked(bench.memory("agentrunbook-r", gateway=prices), task, bench.haystack)
    controller, embedding = load_calls(task.folder / "1")
    assert (controller.wire, controller.path, controller.status) == (
        Wire.OPENAI_CHAT,
        "/v1/chat/completions",
        200,
    )
    assert orjson.loads(controller.text)["raw_queries"]
    assert (embedding.wire, embedding.path) == (None, "/v1/embeddings")
    usage = controller.usage
    assert controller.cost_usd == pytest.approx((usage.fresh_input + 2 * usage.output) / 1e6)
    wire = result.attempts[0].wire
    assert wire.calls == 2
    assert wire.usage.fresh_input == usage.fresh_input + embedding.usage.fresh_input
    assert wire.cost_usd == pytest.approx(controller.cost_usd + embedding.cost_usd)
    assert orjson.loads((task.folder / "1" / "attempt.json").read_bytes())["wire"]["calls"] == 2


def test_what_preparing_took_lies_beside_it_and_is_told_once(bench, prices):
    task = bench.task()
    memory = bench.memory("agentrunbook-r", gateway=prices)
    result = asked(memory, task, bench.haystack)
    lines = (task.folder / "1" / "insert_calls.jsonl").read_bytes().splitlines()
    cost = result.insert_cost
    assert len(lines) == cost.embedding_calls + cost.writing_calls
    told = [orjson.loads(line) for line in lines]
    assert cost.cost_usd == pytest.approx(sum(one["cost_usd"] for one in told))
    assert cost.writing_tokens > 0
    assert result.attempts[0].wire.cost_usd < cost.cost_usd
    again = asked(memory, bench.task(1), bench.haystack)
    assert again.insert_cost is None
    assert not (bench.task(1).folder / "1" / "insert_calls.jsonl").exists()


def test_an_unknown_price_is_no_money_and_never_zero(bench):
    result = asked(bench.memory("rag-slice"), bench.task(), bench.haystack)
    assert result.attempts[0].wire.cost_usd is None
    assert result.insert_cost.cost_usd is None
    assert (
        insert_costs([QueryRecord(question_id="q", haystack_digest="", view_seconds=0, result=result)])[
            "cost_usd"
        ]
        is None
    )


def test_a_reused_answer_takes_what_it_took_and_nothing_of_the_runs_budget(bench, prices):
    first = asked(bench.memory("rag-slice", gateway=prices), bench.task(), bench.haystack)
    none_left = {**prices, "run_budget": {"calls": 0}}
    again = asked(bench.memory("rag-slice", gateway=none_left), bench.task(), bench.haystack)
    assert again.outcome is Outcome.OK
    assert again.attempts[0].number == 2
    (call,) = load_calls(bench.task().folder / "2")
    assert call.replayed
    assert again.attempts[0].wire.cost_usd == first.attempts[0].wire.cost_usd > 0
    assert (first.attempts[0].wire.reused_calls, again.attempts[0].wire.reused_calls) == (0, 1)


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
@pytest.mark.parametrize(
    ("budget", "why"),
    [
        ({"attempt_budget": {"calls": 1}}, "the attempt's budget of 1 model calls is used up"),
        ({"attempt_budget": {"tokens": 10}}, "the attempt's budget of 10 tokens is used up"),
        ({"attempt_budget": {"money_usd": 1e-9, "tokens": 10**9}}, "the attempt's budget of 1e-09 USD"),
    ],
)
def test_a_budget_that_is_used_up_ends_the_query_whether_or_not_answers_are_kept(
    bench, prices, budget, why, warm
):
    if warm:
        asked(bench.memory("agentrunbook-r", pools=["raw"], gateway=prices), bench.task(), bench.haystack)
    memory = bench.memory("agentrunbook-r", pools=["raw"], gateway=prices | budget)
    result = asked(memory, bench.task(), bench.haystack)
    assert result.outcome is Outcome.BUDGET_EXCEEDED
    assert result.attempts[0].detail.startswith(why)
    assert result.attempts[0].wire.calls == 1  # the controller's; the embedding was not asked for
    assert result.attempts[0].wire.reused_calls == warm


def test_the_time_that_a_reused_call_took_counts_in_a_budget_of_time(bench):
    asked(bench.memory("agentrunbook-r", pools=["raw"]), bench.task(), bench.haystack)
    for file in (bench.folder / "cache" / "controller").rglob("*.json"):
        answer = orjson.loads(file.read_bytes())
        file.write_bytes(orjson.dumps(answer | {"seconds": 50.0}))
    memory = bench.memory(
        "agentrunbook-r", pools=["raw"], gateway={"attempt_budget": {"seconds": 49, "tokens": 10**9}}
    )
    result = asked(memory, bench.task(), bench.haystack)
    assert result.outcome is Outcome.BUDGET_EXCEEDED
    assert "budget of 49 s is used up" in result.attempts[0].detail


def test_the_runs_budget_also_holds_for_preparing_and_what_was_spent_is_told(bench, prices):
    memory = bench.memory("rag-slice", gateway=prices | {"run_budget": {"calls": 2}})
    result = asked(memory, bench.task(), bench.haystack)
    assert result.outcome is Outcome.BUDGET_EXCEEDED
    assert "the run's budget of 2 model calls" in result.attempts[0].detail
    assert result.insert_cost.embedding_calls == 2
    assert result.insert_cost.cost_usd > 0


def test_a_failed_call_is_recorded_with_its_outcome_and_its_tries(bench):
    memory = bench.memory("rag-slice", retry_seconds=2)
    memory.insert(bench.haystack)
    bench.script.answering = 0
    result = memory.query(bench.task())
    assert result.outcome is Outcome.PROVIDER_ERROR
    (call,) = load_calls(bench.task().folder / "1")
    assert (call.status, call.outcome) == (503, Outcome.PROVIDER_ERROR)
    assert call.retries >= 1


def test_a_replayed_run_answers_from_what_is_recorded_and_asks_nobody(bench, tmp_path):
    replay = {"replay": tmp_path / "tape"}
    first = asked(bench.memory("rag-slice"), bench.task(), bench.haystack)
    requests = len(bench.script.requests)
    again = asked(bench.memory("rag-slice", gateway=replay), bench.task(), bench.haystack)
    assert again.context == first.context
    unknown = asked(bench.memory("rag-slice", gateway=replay), bench.task(1), bench.haystack)
    assert unknown.outcome is Outcome.PROVIDER_ERROR
    assert "a replayed run asks no model" in unknown.attempts[0].detail
    assert len(bench.script.requests) == requests


def test_another_model_than_was_asked_is_a_mismatch_and_its_answer_is_not_kept(bench):
    bench.script.answers_as = "another"
    result = asked(bench.memory("agentrunbook-r", pools=["raw"]), bench.task(), bench.haystack)
    assert result.outcome is Outcome.MODEL_MISMATCH
    bench.script.answers_as = None
    again = asked(bench.memory("agentrunbook-r", pools=["raw"]), bench.task(), bench.haystack)
    assert again.outcome is Outcome.OK


def test_what_an_interrupted_run_had_written_is_not_paid_for_again(bench, prices):
    asked(bench.memory("rag-slice-notes", gateway=prices), bench.task(), bench.haystack)
    written = bench.folder / "cache" / "written"
    for file in [*written.glob("*/*.json"), next(written.glob("*/replies/*/*.json"))]:
        file.unlink()
    again = asked(bench.memory("rag-slice-notes", gateway=prices), bench.task(), bench.haystack)
    lines = (bench.task().folder / "2" / "insert_calls.jsonl").read_bytes().splitlines()
    calls = list(map(orjson.loads, lines))
    (paid,) = [call for call in calls if not call.get("replayed")]
    assert len(calls) == 12
    cost = again.insert_cost
    assert (cost.written_trajectories, cost.writing_calls, cost.embedding_calls) == (6, 1, 0)
    assert cost.cost_usd == pytest.approx(paid["cost_usd"])


@pytest.mark.parametrize("budget", ["attempt_budget", "run_budget"])
def test_money_without_prices_is_refused_before_anything_is_spent(budget):
    account = Account(GatewaySettings.model_validate({budget: {"money_usd": 1.0}}))
    with pytest.raises(GatewayError, match=rf"gateway\.{budget}\.money_usd = 1.*the price of bag is unknown"):
        account.refuse_unpriced("bag")
    account.refuse_unpriced("gpt-5.2")
    bounded = {budget: {"money_usd": 1.0, "tokens": 1000}}
    Account(GatewaySettings.model_validate(bounded)).refuse_unpriced("bag")


ASKED = {
    "a model that searches": ["--memory", "rag-slice"],
    "one within a cascade": ["--memory", "cascade"],
    "an agent's": ["--agent", "react", "--model", "bag", "--model-url", "URL", "--sandbox", "bubblewrap"],
}


@pytest.mark.parametrize("how", [["--out", "run"], ["--dry-run"]], ids=["run", "dry run"])
@pytest.mark.parametrize("budget", ["attempt_budget", "run_budget"])
@pytest.mark.parametrize("asked", ASKED)
def test_a_budget_in_money_without_a_price_is_the_users_mistake_before_the_start(
    bench, run, tmp_path, monkeypatch, asked, budget, how
):
    monkeypatch.chdir(tmp_path)
    who = [one.replace("URL", bench.script.url) for one in ASKED[asked]]
    embedding = f'retrieval.embedding={{base_url="{bench.script.url}", model="bag"}}'
    money = f"gateway.{budget}={{money_usd=0.5}}"
    ended = run("eval", "run", "--data", bench.data.path, *who, "--set", embedding, "--set", money, *how)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1), ended.stderr
    assert f"gateway.{budget}.money_usd = 0.5 cannot be kept: the price of bag is unknown" in ended.stderr
    assert '[models."bag"]' in ended.stderr
    assert "gateway.prices" in ended.stderr
    assert not (tmp_path / "run").exists()
    assert bench.script.requests == []


def test_two_memories_that_want_the_same_written_have_it_written_once(bench):
    memories = [bench.memory("rag-slice-notes"), bench.memory("rag-slice-notes", slices=2)]
    threads = [threading.Thread(target=one.insert, args=(bench.haystack,)) for one in memories]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    costs = [one.query(replace(bench.task(), repeat=n)).insert_cost for n, one in enumerate(memories)]
    assert sum(cost.written_trajectories for cost in costs) == 6
    texts = bench.script.texts()
    assert sum("Instruct:" not in text for text in texts) == 6 * 7 + 6 + 6


def test_a_key_in_a_reply_gets_into_no_record(bench, monkeypatch):
    key = "sk-secret/of-mine"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    bench.script.echo = r"{\"raw_queries\": [\"sk-secret\\/of-mine\", \"" + key + r"\"]}"
    result = asked(bench.memory("agentrunbook-r", pools=["raw"]), bench.task(), bench.haystack)
    assert result.outcome is Outcome.OK
    written = b"".join(path.read_bytes() for path in bench.folder.rglob("*.json*"))
    assert b"secret" not in written


def test_a_key_that_no_header_can_carry_is_refused_by_name(bench, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "clé de moi")
    with pytest.raises(EndpointError, match=r"no HTTP header can carry.*OPENAI_API_KEY") as refusal:
        bench.memory("rag-slice")
    assert refusal.value.outcome is Outcome.AUTH_ERROR
