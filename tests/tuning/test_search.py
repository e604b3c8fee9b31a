"""The search over recorded answers: what each setting would answer is known, so the best point is, too."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from evals.evidence_recall import EvidenceRecall
from evals.recorded import read_run
from evals.runs.config import RunConfig, RunRecord
from evals.runs.folder import RUN_FILE, RunFailure, RunFolder
from evals.runs.records import QueryRecord
from evals.tuning.plan import Plan, plan_of
from evals.tuning.proposals import Proposals, State
from evals.tuning.report import Searched, StudyResult, result_of
from evals.tuning.search import Ask, Search, UnfitError, directions
from evals.tuning.study_file import StudyError, read_study
from runbook.context import MemoryContext
from runbook.gateway.records import WireFacts
from runbook.memory import AttemptRecord, QueryResult
from runbook.outcomes import Outcome
from tests.recorded_runs import Answer
from tests.recorded_runs import _reading as reading_of
from tests.recorded_runs import _verdict as verdict_of
from tests.tuning.conftest import MakeStudy

STARTED = "2026-01-02T03:04:05.000+00:00"


@dataclass
class Recordings:
    """A memory whose answers are a rule of its settings; remembers whom it was asked by."""

    quality: Callable[[RunConfig], float]
    seconds: Callable[[RunConfig], float] = lambda _: 0.5
    usd: float | None = 0.0
    outcome: Outcome = Outcome.OK
    unfit: Callable[[RunConfig], bool] = lambda _: False
    asked: list[tuple[str, str]] = field(default_factory=list)

    @contextmanager
    def open_run(self, config: RunConfig, path: Path) -> Iterator[Ask]:
        if self.unfit(config):
            raise UnfitError("these do not fit")
        folder = RunFolder(path) if (path / RUN_FILE).exists() else self._created(config, path)

        def ask(question_ids: Sequence[str]) -> None:
            for one in question_ids:
                self.asked.append((path.name, one))
                folder.append(self._answer(config, one))
                if config.reader is not None:
                    answer = Answer(score=int(int(one[2:]) < 12 * self.quality(config)))
                    folder.append(reading_of(one, 1, answer))
                    folder.append(verdict_of(one, 1, answer))

        yield ask

    def _created(self, config: RunConfig, path: Path) -> RunFolder:
        ids = config.question_ids or ()
        record = RunRecord(
            created_at=STARTED,
            config=config,
            smoke=True,
            questions=ids,
            question_types=dict.fromkeys(ids, "static-environment"),
            tier_questions=12,
            data_digests={},
            prompt_digests={},
            versions={},
            git_revision=None,
        )
        return RunFolder.create(path, record)

    def _answer(self, config: RunConfig, question_id: str) -> QueryRecord:
        hit = self.quality(config)
        attempt = AttemptRecord(
            number=1,
            outcome=self.outcome,
            agent="scout",
            sandbox="process",
            started_at=STARTED,
            seconds=1,
            wire=WireFacts(calls=1, cost_usd=self.usd),
        )
        return QueryRecord(
            question_id=question_id,
            haystack_digest="h",
            view_seconds=0,
            evidence_recall=EvidenceRecall(5, hit, hit == 1, hit, config.budget),
            result=QueryResult(
                outcome=self.outcome,
                seconds=self.seconds(config),
                timings={},
                attempts=[attempt],
                evidence=None,
                context=MemoryContext(items=()),
            ),
        )


def begin(study: Path, memory: Recordings) -> tuple[Plan, Search, Proposals]:
    plan = plan_of(read_study(study), study, study.parent / "store")
    folder = study.with_suffix("")
    folder.mkdir(exist_ok=True)
    proposals = Proposals(folder, plan.space, directions(plan), seed=0)
    return plan, Search(plan, folder, proposals, memory.open_run, lambda _: None), proposals


def finish(study: Path, memory: Recordings) -> StudyResult:
    plan, search, proposals = begin(study, memory)
    ended = search.run()
    known = proposals.all()
    answers = {one.number: search.answers(search.search_path(one.number)) for one in known}
    searched = Searched(ended, known, answers)
    confirmed = {
        number: search.confirm(known[number], searched.tried)
        for number in set(searched.chosen(plan).values())
    }
    return result_of(plan, searched, confirmed, usd=search.usd(), hours=0)


def by_budget(config: RunConfig) -> float:
    return {1: 0.0, 5: 0.6, 20: 0.8, 40: 0.8}[config.budget]


SPACE = "budget = [1, 5, 20, 40]\ncandidates = [true, false]"


def test_the_known_best_point_of_each_kind_is_found_and_confirmed(make_study: MakeStudy) -> None:
    memory = Recordings(by_budget, lambda config: config.budget + (0 if config.candidates else 5))
    result = finish(make_study(space=SPACE), memory)
    named = {name: result.settings[number].setting for name, number in result.chosen.items()}
    assert named["accurate"] == {"budget": 20, "candidates": True}
    assert named["fast"] == {"budget": 5, "candidates": True}
    assert result.chance.settings == 8
    assert {tuple(one.names): one.figures.quality for one in result.confirmed} == {
        ("accurate",): pytest.approx(0.8),
        ("fast", "balanced"): pytest.approx(0.6),
    }
    assert result.frontier is not None
    assert result.frontier.measure == "evidence_hit"


def test_a_hopeless_setting_is_stopped_and_its_run_can_still_be_opened(make_study: MakeStudy) -> None:
    study = make_study(space="budget = [1, 20]", more="[study]\nblock = 2\nconfidence = 0.6\nconfirm = 0.2\n")
    memory = Recordings(lambda config: 1.0 if config.budget == 20 else 0.0)
    result = finish(study, memory)
    bad = next(one for one in result.settings if one.setting["budget"] == 1)
    if bad.number == 1:  # the first one has nothing to lose against
        assert bad.state is State.STOPPED
        assert bad.questions < 9
    assert len(read_run(study.with_suffix("") / "search" / f"setting-{bad.number:03d}").results) >= 9


def test_no_question_is_asked_twice_when_a_study_is_started_again(make_study: MakeStudy) -> None:
    study = make_study(space=SPACE, more="[caps]\nsettings = 3\n")
    memory = Recordings(by_budget)
    finish(study, memory)
    once = list(memory.asked)
    finish(study, memory)
    assert memory.asked == once
    make_study(space=SPACE, more="[caps]\nsettings = 4\n")
    finish(study, memory)
    assert memory.asked[: len(once)] == once
    assert len(set(memory.asked)) == len(memory.asked)


def test_the_cap_of_settings_ends_the_search(make_study: MakeStudy) -> None:
    result = finish(make_study(space=SPACE, more="[caps]\nsettings = 2\n"), Recordings(by_budget))
    assert len(result.settings) == 2
    assert "cap of 2 settings" in result.ended


def test_the_cap_of_money_leaves_a_quarter_to_confirm_with(make_study: MakeStudy) -> None:
    study = make_study(space=SPACE, more="[caps]\nusd = 20\n[study]\nblock = 1\n")
    result = finish(study, Recordings(lambda _: 0.5, usd=1.0))
    assert "75 % of the cap of 20 USD" in result.ended
    assert result.confirmed
    assert result.usd == 20


def test_a_price_that_nobody_knows_is_said(make_study: MakeStudy) -> None:
    _, search, _ = begin(make_study(), Recordings(by_budget, usd=None))
    with pytest.raises(StudyError, match="price of the memory's model is unknown"):
        search.run()


def test_a_price_that_nobody_asks_for_need_not_be_known(make_study: MakeStudy) -> None:
    result = finish(make_study(more="[study]\nmoney = false\n"), Recordings(by_budget, usd=None))
    assert [one.figures.usd for one in result.settings if one.figures] == [None, None]


def test_failed_infrastructure_stops_the_study_and_costs_the_setting_nothing(make_study: MakeStudy) -> None:
    study = make_study()
    memory = Recordings(lambda _: 0.5, outcome=Outcome.SANDBOX_ERROR)
    _, search, proposals = begin(study, memory)
    with pytest.raises(RunFailure, match="mend that"):
        search.run()
    assert [one.state for one in proposals.all()] == [State.UNDER_WAY]
    memory.outcome = Outcome.OK
    assert [one.state for one in finish(study, memory).settings] == [State.COMPLETE] * 2


def test_values_that_do_not_fit_each_other_are_refused_and_the_rest_is_tried(make_study: MakeStudy) -> None:
    memory = Recordings(by_budget, unfit=lambda config: config.budget == 40)
    result = finish(make_study(space=SPACE), memory)
    refused = [one for one in result.settings if one.state is State.REFUSED]
    assert {one.setting["budget"] for one in refused} == {40}
    assert refused[0].reason == "these do not fit"
    assert result.chance.settings == 6


def test_with_a_reader_the_best_point_is_the_one_that_gains_most(make_study: MakeStudy) -> None:
    reader = '[base.reader]\nmodel = "qwen3.5-9b"\nbase_url = "http://127.0.0.1:9/v1"\n'
    memory = Recordings(
        lambda config: {1: 0.2, 5: 0.75, 20: 0.8}[config.budget], lambda config: 3.0 * config.budget
    )
    result = finish(make_study(space="budget = [1, 5, 20]", more=reader), memory)
    named = {name: result.settings[number].setting["budget"] for name, number in result.chosen.items()}
    assert (named["balanced"], named["accurate"]) == (5, 20)
    assert result.frontier is not None
    assert result.frontier.measure == "accuracy"
    assert result.frontier.gain is not None
    assert result.frontier.gain > 0
