"""What a run may take is told before it is run, and an unknown price stays unknown."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evals.dataset import load_data_root
from evals.runs.config import RunConfig
from evals.runs.estimates import Estimate, Kind, estimate, haystacks_of, tokens_of_a_state
from runbook.gateway.prices import Prices


@pytest.fixture
def estimated(data_root: Path) -> Callable[..., Estimate]:
    def build(*, agent: Kind = "model-free", prices: Prices | None = None, **config: Any) -> Estimate:
        settings = RunConfig(data=data_root, store=data_root, **config)
        data = load_data_root(data_root)
        haystacks = haystacks_of(data, data.questions, (), data_root / "cache")
        table = prices or Prices.read()
        return estimate(settings, data.questions, agent=agent, prices=table, haystacks=haystacks)

    return build


READER = {"model": "some-local-model", "base_url": "http://127.0.0.1:9/v1"}
JUDGE = {"model": "gpt-5.2", "base_url": "http://127.0.0.1:9/v1"}


def test_a_run_without_models_costs_nothing(estimated: Callable[..., Estimate]) -> None:
    found = estimated()
    assert (found.stages, found.cost_usd, found.queries) == ((), 0, 3)
    assert found.hours > 0


def test_repeats_multiply(estimated: Callable[..., Estimate]) -> None:
    once = estimated(reader=READER)
    often = estimated(reader=READER, repeats={"agent": 2, "reader": 3})
    assert (once.stages[0].calls, often.stages[0].calls) == (3, 18)
    assert often.stages[0].input_tokens == 6 * once.stages[0].input_tokens
    assert often.hours > 2 * once.hours


def test_one_unknown_price_leaves_the_sum_unknown(estimated: Callable[..., Estimate]) -> None:
    assert estimated(reader=READER).cost_usd is None
    known = estimated(reader=JUDGE, agent="model", model="gpt-5.2")
    assert [stage.stage for stage in known.stages] == ["agent", "reader"]
    assert known.cost_usd is not None
    assert known.cost_usd > 0


def test_only_what_no_matcher_scores_is_judged(estimated: Callable[..., Estimate]) -> None:
    (_, judge) = estimated(reader=READER, judge=JUDGE, votes=3).stages
    assert judge.calls == 0


def test_states_are_measured_in_the_recordings_and_damage_is_no_matter(data_root: Path) -> None:
    measured = tokens_of_a_state(data_root)
    assert 10 < measured < 2_000
    with (data_root / "trajectories.jsonl").open("ab") as file:
        file.write(b'{"broken\n[]\n{"states": 3}\n')
    assert tokens_of_a_state(data_root) == measured
