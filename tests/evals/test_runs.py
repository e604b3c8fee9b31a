"""Runs: stages are written once and in order, a resume does only what is missing, nothing is lost."""

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from evals.dataset import DataRoot, load_data_root
from evals.judge import Judge
from evals.reader import Reader
from evals.runs.at_work import AtWork
from evals.runs.config import RunConfig, RunRecord
from evals.runs.execute import execute
from evals.runs.folder import RunError, RunFolder, question_slug
from evals.runs.records import QueryRecord, now
from evals.runs.room import Room
from evals.runs.seeds import derived_seed
from evals.runs.stages import Stages
from evals.runs.summary import summarise
from manifests.importing import import_lme_v2
from manifests.store import Store
from manifests.views import View, Views
from runbook.evidence import Evidence, Span
from runbook.memory import QueryResult, QueryTask
from runbook.outcomes import INFRASTRUCTURE_FAILURES, Outcome
from runbook.rendering import render_context


class KnowingMemory:
    """A memory that returns the state a question of `write_data_root` is about, or fails as told."""

    name = "knowing"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.seeds: set[int | None] = set()
        self.outcomes: dict[str, Outcome] = {}

    def insert(self, haystack: View) -> None:
        """Nothing to do."""

    def query(self, task: QueryTask) -> QueryResult:
        question_id = task.labels["question"]
        self.asked.append(question_id)
        self.seeds.add(task.seed)
        outcome = self.outcomes.get(question_id, Outcome.OK)
        if outcome is not Outcome.OK:
            return QueryResult(outcome=outcome, seconds=1.0)
        number = task.question.text.split("warehouse ")[1].split()[0]
        span = Span(trajectory_id=f"tr-{number}", start_state_index=2, end_state_index=2)
        evidence = Evidence(memory_markdown="found", trajectory_spans=(span,))
        entries = {entry.id: entry for entry in task.haystack.entries.values()}
        return QueryResult(
            outcome=outcome, seconds=1.0, evidence=evidence, context=render_context(evidence, entries)
        )


class Noting(AtWork):
    """Notes which stages were gone through."""

    def __init__(self) -> None:
        super().__init__()
        self.stages: list[str] = []

    def on(self, stage: str) -> AbstractContextManager[None]:
        self.stages.append(stage)
        return super().on(stage)


class Run:
    """A run over a small data root with a memory that knows the answers."""

    def __init__(self, data: DataRoot, store: Store, tmp_path: Path) -> None:
        self.data = data
        self._slugs = {entry.id: entry.slug for entry in store.entries()}
        self._views = Views(store)
        self.memory = KnowingMemory()
        self.reader: Reader | None = None
        self.judge: Judge | None = None
        self.at_work = AtWork()
        self.path = tmp_path / "run"

    def create(self, **config: Any) -> RunFolder:
        ids = tuple(question.id for question in self.data.questions)
        return RunFolder.create(
            self.path,
            RunRecord(
                created_at=now(),
                config=RunConfig(data=self.data.path, store=Path("store"), **config),
                smoke=False,
                questions=ids,
                question_types={question.id: question.question_type for question in self.data.questions},
                tier_questions=len(ids),
                data_digests={},
                prompt_digests={},
                versions={},
                git_revision=None,
            ),
        )

    def __call__(
        self,
        folder: RunFolder,
        retry: frozenset[Outcome] = INFRASTRUCTURE_FAILURES,
        *,
        concurrency: int = 2,
    ) -> None:
        cancel = threading.Event()
        stages = Stages(
            folder=folder,
            run_record=folder.record(),
            data=self.data,
            memory=self.memory,
            open_view=lambda one: self._views.acquire(self._slugs[t] for t in self.data.haystacks[one]),
            reader=self.reader,
            judge=self.judge,
            retry=retry,
            cancel=cancel,
            room=Room(cancel, print),
            at_work=self.at_work,
        )
        execute(stages, self.data.questions, concurrency=concurrency, on_progress=lambda _: None)


@pytest.fixture(scope="module")
def imported(
    make_data_root: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[DataRoot, Store]:
    folder = tmp_path_factory.mktemp("haystack")
    root = make_data_root(folder / "data")
    store = Store.open(folder / "store")
    import_lme_v2(root, store)
    return load_data_root(root), store


@pytest.fixture
def run(imported: tuple[DataRoot, Store], tmp_path: Path) -> Run:
    return Run(*imported, tmp_path)


@pytest.fixture
def reading_run(run: Run, config: Callable[..., Any], tmp_path: Path) -> Iterator[Run]:
    """The same with a reader; its endpoint is the scripted model."""
    run.reader = Reader(config())
    yield run
    run.reader.close()


def files(folder: RunFolder, question_id: str) -> list[str]:
    return sorted(path.name for path in folder.question_folder(question_id).glob("*.json"))


def test_without_a_reader_the_evidence_figures_are_what_there_is(run: Run) -> None:
    folder = run.create()
    run(folder)
    summary = summarise(folder)
    assert summary["coverage"] == 1.0
    assert summary["accuracy"] is None
    assert summary["evidence"] == {
        "hit": 1.0,
        "all_pieces_hit": 1.0,
        "strict": 1.0,
        "states_per_question": 1.0,
        "n": 3,
    }
    assert summary["answer_in_context"] == 1.0
    assert summary["answer_in_context_gold"] == 1.0
    assert summary["latency"]["avg"] == 1.0
    assert summary["outcomes"] == {"ok": 3}


def test_a_resume_does_nothing_again(run: Run) -> None:
    folder = run.create()
    run(folder)
    run(folder)
    assert sorted(run.memory.asked) == ["q-0", "q-1", "q-2"]
    assert files(folder, "q-0") == ["query.1.json"]


def test_infrastructure_failures_have_no_score_and_are_done_again(run: Run) -> None:
    folder = run.create()
    run.memory.outcomes["q-1"] = Outcome.SANDBOX_ERROR
    run(folder)
    assert summarise(folder)["coverage"] == pytest.approx(2 / 3)
    first = (folder.question_folder("q-1") / "query.1.json").read_bytes()
    run.memory.outcomes.clear()
    run(folder)
    assert summarise(folder)["coverage"] == 1.0
    assert files(folder, "q-1") == ["query.1.json", "query.2.json"]
    assert (folder.question_folder("q-1") / "query.1.json").read_bytes() == first
    assert run.memory.asked.count("q-0") == 1


def test_method_failures_are_kept_unless_asked_for(run: Run) -> None:
    folder = run.create()
    run.memory.outcomes["q-1"] = Outcome.TIMEOUT
    run(folder)
    run(folder)
    assert run.memory.asked.count("q-1") == 1
    run(folder, retry=frozenset({Outcome.TIMEOUT}))
    assert run.memory.asked.count("q-1") == 2
    assert json.loads((folder.question_folder("q-1") / "query.2.json").read_bytes())["forced"] is True


def test_a_try_after_a_method_failure_stays_forced_whatever_comes_between(run: Run) -> None:
    folder = run.create()
    run.memory.outcomes["q-1"] = Outcome.TIMEOUT
    run(folder)
    run.memory.outcomes["q-1"] = Outcome.CANCELLED
    run(folder, retry=frozenset({Outcome.TIMEOUT}))
    del run.memory.outcomes["q-1"]
    run(folder)
    tries = folder.records("q-1", QueryRecord)
    assert [(one.outcome, one.forced) for one in tries] == [
        (Outcome.TIMEOUT, False),
        (Outcome.CANCELLED, True),
        (Outcome.OK, True),
    ]


def test_a_reader_answers_and_the_matcher_scores(reading_run: Run, model: Any) -> None:
    model.says(r"I see all: \boxed{CODE-0-2, CODE-1-2, CODE-2-2}")
    folder = reading_run.create(reader={"model": "m", "base_url": model.url})
    reading_run(folder)
    summary = summarise(folder)
    assert summary["coverage"] == 1.0
    assert summary["accuracy"]["scored"] == 3
    assert summary["accuracy"]["interval"] == pytest.approx([0.4385, 1.0], abs=5e-4)  # Wilson's for 3 of 3
    assert files(folder, "q-0") == ["query.1.json", "reading.1.json", "verdict.1.json"]


def test_whoever_waits_is_told_the_stage_that_is_waited_for(reading_run: Run, model: Any) -> None:
    model.says(r"\boxed{CODE-0-2}")
    reading_run.at_work = at_work = Noting()
    reading_run(reading_run.create(reader={"model": "m", "base_url": model.url}), concurrency=1)
    assert at_work.stages == ["haystack", "query", "reading"] * 3
    assert at_work.told() == ""


def test_a_reader_that_fails_costs_its_question_only_and_no_new_query(
    reading_run: Run, model: Any, answer: Callable[..., Any], saying: Callable[..., Any]
) -> None:
    good = saying(r"\boxed{CODE-0-2}")
    model.answers = [answer(good), answer({"error": {"message": "no"}}, status=400), answer(good)]
    folder = reading_run.create(reader={"model": "m", "base_url": model.url})
    reading_run(folder)
    summary = summarise(folder)
    assert summary["outcomes"]["reader_error"] == 1
    assert summary["coverage"] == pytest.approx(2 / 3)
    model.answers = [answer(good)]
    reading_run(folder)
    assert summarise(folder)["coverage"] == 1.0
    assert len(reading_run.memory.asked) == 3


def test_a_method_failure_is_read_with_the_empty_context_and_counted(reading_run: Run, model: Any) -> None:
    reading_run.memory.outcomes = dict.fromkeys(("q-0", "q-1", "q-2"), Outcome.TIMEOUT)
    model.says(*[r"\boxed{UNKNOWN}"] * 3)
    folder = reading_run.create(reader={"model": "m", "base_url": model.url})
    reading_run(folder)
    summary = summarise(folder)
    assert summary["coverage"] == 1.0
    assert summary["accuracy"]["strict"] == 0.0
    assert summary["outcomes"] == {"timeout": 3}


def test_a_damaged_record_names_its_file_and_the_mend(run: Run) -> None:
    folder = run.create()
    run(folder)
    damaged = folder.question_folder("q-1") / "query.1.json"
    damaged.write_bytes(damaged.read_bytes()[:100])
    with pytest.raises(RunError, match=r"query\.1\.json.*move it away"):
        run(folder)
    damaged.rename(damaged.with_suffix(".bad"))
    run(folder)
    assert summarise(folder)["coverage"] == 1.0


def test_a_record_copied_from_another_question_is_refused(run: Run) -> None:
    folder = run.create()
    run(folder)
    shutil.copy(folder.question_folder("q-0") / "query.1.json", folder.question_folder("q-1"))
    with pytest.raises(RunError, match=r"query\.1\.json is record 1 of question 'q-0', not 1 of 'q-1': move"):
        run(folder)


def test_a_record_under_another_number_is_refused(run: Run) -> None:
    folder = run.create()
    run(folder)
    of_one = folder.question_folder("q-1")
    (of_one / "query.1.json").rename(of_one / "query.2.json")
    with pytest.raises(RunError, match="move it away"):
        run(folder)


def test_a_run_that_lacks_a_questions_type_is_a_clear_error(run: Run) -> None:
    folder = run.create()
    settings = json.loads((folder.path / "run.json").read_bytes())
    del settings["question_types"]["q-1"]
    (folder.path / "run.json").write_text(json.dumps(settings))
    with pytest.raises(RunError, match=r"run\.json: question_types lacks question 'q-1'"):
        summarise(folder)


def test_what_does_not_fit_a_run_is_named_without_a_librarys_address(run: Run) -> None:
    folder = run.create()
    settings = json.loads((folder.path / "run.json").read_bytes())
    settings["config"]["concurrency"] = 0
    (folder.path / "run.json").write_text(json.dumps(settings))
    with pytest.raises(RunError, match=r"config\.concurrency: ") as caught:
        folder.record()
    assert "http" not in str(caught.value)


def test_a_run_is_never_started_over_another_one(run: Run) -> None:
    run.create()
    with pytest.raises(RunError, match="eval resume"):
        run.create()


def test_a_run_is_never_started_in_a_folder_with_other_things(run: Run) -> None:
    run.path.mkdir()
    (run.path / "thesis.txt").write_text("precious")
    with pytest.raises(RunError, match="not empty"):
        run.create()


def test_one_process_at_a_time_works_on_a_run(run: Run) -> None:
    folder = run.create()
    with folder.locked(), pytest.raises(RunError, match="another process"), RunFolder(run.path).locked():
        pass


def test_a_newer_run_is_refused(run: Run) -> None:
    folder = run.create()
    file = run.path / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": 99}))
    with pytest.raises(RunError, match="format 99"):
        folder.record()


@pytest.mark.parametrize("question_id", ["../../etc/passwd", "CON", "a/b", "x" * 300, "A", "a", "", "ü\n"])
def test_question_folders_stay_inside_the_run(question_id: str, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path).question_folder(question_id)
    assert folder.parent == tmp_path / "questions"
    assert len(folder.name) < 80


def test_ids_that_differ_by_case_have_different_folders() -> None:
    assert question_slug("Q1").lower() != question_slug("q1").lower()


def test_every_context_is_read_and_every_response_judged_as_often_as_asked(
    reading_run: Run, model: Any
) -> None:
    model.says(r"\boxed{CODE-0-2, CODE-1-2, CODE-2-2}")
    folder = reading_run.create(
        reader={"model": "m", "base_url": model.url}, repeats={"agent": 2, "reader": 2, "judge": 2}
    )
    reading_run(folder)
    assert sorted(reading_run.memory.asked) == [one for one in ("q-0", "q-1", "q-2") for _ in range(2)]
    assert len(reading_run.memory.seeds) == 6, "every asking of every question has a seed of its own"
    assert len(files(folder, "q-0")) == 2 + 4 + 8
    assert len({request["seed"] for request in model.requests}) == 12
    assert summarise(folder)["coverage"] == 1.0
    assert len(model.requests) == 12
    reading_run(folder)
    assert len(model.requests) == 12, "a resume pays for nothing again"


def test_a_score_is_the_mean_over_repeats_and_its_variance_is_split(
    reading_run: Run, model: Any, answer: Callable[..., Any], saying: Callable[..., Any]
) -> None:
    right, wrong = answer(saying(r"\boxed{CODE-0-2, CODE-1-2, CODE-2-2}")), answer(saying(r"\boxed{no}"))
    model.answers = [right, wrong] * 3
    folder = reading_run.create(
        reader={"model": "m", "base_url": model.url}, repeats="reader=2", concurrency=1
    )
    reading_run(folder, concurrency=1)
    summary = summarise(folder)
    assert summary["accuracy"]["strict"] == 0.5
    # Every question's mean is one half, so there is no spread; three questions are still only three.
    assert summary["accuracy"]["interval"] == pytest.approx([0.1253, 0.8747], abs=1e-4)
    assert "joined with Wilson" in summary["accuracy"]["interval_method"]
    assert summary["repeats"]["variance"] == {
        "agent": "not estimated",
        "reader": pytest.approx(0.5),
        "judge": "not estimated",
    }
    assert summary["repeats"]["unsteady"] == ["q-0", "q-1", "q-2"]


def test_a_repeat_that_failed_is_done_again_alone(
    reading_run: Run, model: Any, answer: Callable[..., Any], saying: Callable[..., Any]
) -> None:
    good = answer(saying(r"\boxed{CODE-0-2, CODE-1-2, CODE-2-2}"))
    model.answers = [good, answer({"error": {"message": "no"}}, status=400), good]
    folder = reading_run.create(reader={"model": "m", "base_url": model.url}, repeats="reader=2")
    reading_run(folder, concurrency=1)
    assert summarise(folder)["coverage"] == pytest.approx(2 / 3)
    reading_run(folder)
    assert summarise(folder)["coverage"] == 1.0
    assert len(model.requests) == 7
    assert "reading.3.json" in [name for one in ("q-0", "q-1", "q-2") for name in files(folder, one)]


def test_records_of_before_there_were_repeats_count_as_the_first(reading_run: Run, model: Any) -> None:
    model.says(r"\boxed{CODE-0-2, CODE-1-2, CODE-2-2}")
    folder = reading_run.create(reader={"model": "m", "base_url": model.url})
    reading_run(folder)
    for file in folder.path.glob("questions/*/*.json"):
        record = json.loads(file.read_bytes())
        for name in ("repeat", "revision", "load_per_cpu"):
            record.pop(name, None)
        file.write_text(json.dumps(record))
    assert summarise(folder)["coverage"] == 1.0
    reading_run(folder)
    assert len(model.requests) == 3


def test_seeds_differ_by_run_question_stage_and_repeat_and_are_the_same_again() -> None:
    named = [(0, "q", "reading", 0), (1, "q", "reading", 0), (0, "r", "reading", 0), (0, "q", "verdict", 0)]
    seeds = [derived_seed(*one) for one in [*named, (0, "q", "reading", 1), (0, "q", "reading", 0, 1)]]
    assert len(set(seeds)) == len(seeds)
    assert derived_seed(*named[0]) == seeds[0]
    assert all(0 <= seed < 2**31 for seed in seeds)
