"""What a reader and a judge took is told beside what the memory took."""

from pathlib import Path

import pytest

from evals.runs.folder import RunFolder
from evals.runs.records import VerdictRecord
from evals.runs.summary import summarise
from evals.verdict import Vote
from runbook.cli.tables import _rows
from runbook.endpoint.usage import Usage
from runbook.gateway.prices import Prices
from tests.recorded_runs import JUDGE, Answer, write_run


def vote(**changed: object) -> Vote:
    usage = Usage(prompt_tokens=1_000, completion_tokens=100, cached_tokens=400)
    return Vote(label=1, reason="", model="gpt-5.2", calls=2, seconds=1.0, usage=usage).model_copy(
        update=changed
    )


def judged_run(path: Path, data_root: Path, *votes: Vote) -> Path:
    """Two questions read; the first judged by a model."""
    folder = write_run(
        path, data_root, {"q-0": Answer(score=1), "q-1": Answer(score=0)}, judge=JUDGE | {"model": "gpt-5.2"}
    )
    place = next(folder.path.glob("questions/*/verdict.1.json"))
    verdict = VerdictRecord.model_validate_json(place.read_text())
    assert verdict.verdict is not None
    verdict.verdict = verdict.verdict.model_copy(update={"votes": votes})
    place.write_text(verdict.model_dump_json())
    return folder.path


@pytest.fixture
def two_votes(data_root: Path, tmp_path: Path) -> dict[str, object]:
    return summarise(RunFolder.open(judged_run(tmp_path / "run", data_root, vote(), vote(cached=True))))


def test_the_readers_answers_are_added_up(two_votes: dict[str, object]) -> None:
    use = two_votes["reader_use"]
    assert isinstance(use, dict)
    assert (use["model"], use["answers"], use["calls"], use["failed"]) == ("qwen3.5-9b", 2, 2, 0)
    assert (use["tokens"]["fresh_input"], use["tokens"]["output"]) == (200, 20)


def test_a_vote_that_was_paid_for_before_costs_nothing_here(two_votes: dict[str, object]) -> None:
    use = two_votes["judge_use"]
    assert isinstance(use, dict)
    assert (use["calls"], use["reused_votes"]) == (2, 1)
    assert (use["tokens"]["fresh_input"], use["tokens"]["cache_read"], use["tokens"]["output"]) == (
        600,
        400,
        100,
    )
    price = Prices.read().of("gpt-5.2")
    assert price is not None
    rate = price.input if price.cache_read is None else price.cache_read
    assert use["cost_usd"] == pytest.approx((600 * price.input + 400 * rate + 100 * price.output) / 1e6)


def test_the_table_names_both_models_and_what_they_took(two_votes: dict[str, object]) -> None:
    rows = dict(_rows(two_votes))
    assert rows["reader"] == "qwen3.5-9b: 2 calls"
    assert rows["judge"] == "gpt-5.2: 2 calls, 1 vote paid for before"


def test_what_a_provider_does_not_tell_is_unknown_and_not_free(data_root: Path, tmp_path: Path) -> None:
    summary = summarise(RunFolder.open(judged_run(tmp_path / "run", data_root, vote(), vote(usage=None))))
    assert (summary["judge_use"]["usage_unknown_calls"], summary["judge_use"]["cost_usd"]) == (1, None)


def test_without_a_reader_there_is_neither(data_root: Path, tmp_path: Path) -> None:
    summary = summarise(write_run(tmp_path / "run", data_root, {"q-0": Answer()}))
    assert (summary["reader_use"], summary["judge_use"]) == (None, None)
