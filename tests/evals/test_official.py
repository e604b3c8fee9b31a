"""Inside the public harness: our class is registered, sees no gold, and passes no failure for an answer."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evals.dataset import load_data_root
from evals.official.backend import Backend, OfficialError, QueryFailure, public_items
from evals.official.launcher import HarnessRun, launch
from manifests.importing import import_lme_v2
from manifests.store import Store
from manifests.views import View, Views
from runbook.context import ImageItem, MemoryContext, TextItem
from runbook.memory import QueryResult, QueryTask
from runbook.outcomes import Outcome
from tests.public_harness import write_public_harness

ARGUMENTS = ("--model", "Qwen/Qwen3.5-9B", "--base-url", "http://127.0.0.1:9/v1")


class NotingMemory:
    """Answers with the question's text and what was inserted before it."""

    name = "noting"

    def __init__(self) -> None:
        self.asked: list[QueryTask] = []
        self.inserted: list[str] = []
        self.outcome = Outcome.OK

    def insert(self, haystack: View) -> None:
        self.inserted.append(haystack.digest)

    def query(self, task: QueryTask) -> QueryResult:
        self.asked.append(task)
        names = ", ".join(sorted(entry.id for entry in task.haystack.entries.values()))
        items = (TextItem(text=f"{task.question.text} | {names}"), TextItem(text=" \n"))
        return QueryResult(outcome=self.outcome, seconds=1.0, context=MemoryContext(items=items))


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Path]:
    """The stand-in; what it put among the modules is taken out again."""
    before = set(sys.modules)
    yield write_public_harness(tmp_path / "checkout")
    for name in set(sys.modules) - before:
        if name.split(".")[0] in ("memory_modules", "data", "evaluation"):
            del sys.modules[name]


@pytest.fixture
def memory() -> NotingMemory:
    return NotingMemory()


@pytest.fixture
def backend(memory: NotingMemory, data_root: Path, tmp_path: Path) -> Backend:
    store = Store.open(tmp_path / "store")
    slugs = import_lme_v2(data_root, store).slugs
    haystacks = load_data_root(data_root).haystacks.values()
    return Backend(memory, Views(store).acquire, slugs, frozenset(map(frozenset, haystacks)))


@pytest.fixture
def harness_run(data_root: Path, tmp_path: Path) -> Callable[..., HarnessRun]:
    def build(**changed: object) -> HarnessRun:
        values = {
            "data": data_root,
            "domain": "web",
            "tier": "small",
            "out": tmp_path / "ours_web_small",
            "arguments": ARGUMENTS,
        }
        return HarnessRun(**(values | changed))  # type: ignore[arg-type]

    return build


def test_the_harness_gets_its_answers_from_us(
    checkout: Path, backend: Backend, memory: NotingMemory, harness_run: Callable[..., HarnessRun]
) -> None:
    run = harness_run()
    launch(checkout, run, backend)
    rows = [json.loads(line) for line in (run.out / "per_question.jsonl").read_text().splitlines()]
    assert [row["question_id"] for row in rows] == ["q-0", "q-1", "q-2"]
    assert "warehouse 1" in rows[1]["memory_context"][0]["value"]
    assert "tr-0, tr-1, tr-2, tr-3" in rows[1]["memory_context"][0]["value"]
    assert len(rows[1]["memory_context"]) == 1  # white space is no item for the harness
    config = json.loads((run.out / "runtime_inputs" / "memory_config.json").read_text())
    assert config["memory_type"] == "runbook_controller"
    assert len(list((run.out / "traces").glob("*/query.json"))) == 3
    assert str(checkout.resolve()) not in sys.path


def test_the_gold_in_the_query_context_is_never_asked_for(
    checkout: Path, backend: Backend, memory: NotingMemory, harness_run: Callable[..., HarnessRun]
) -> None:
    launch(checkout, harness_run(), backend)
    assert not (checkout / "memory_modules" / "asked_for_the_context").exists()
    seen = " ".join(repr((task.question, task.labels, task.folder)) for task in memory.asked)
    assert "CODE-" not in seen
    assert "static-environment" not in seen
    assert "q-0" not in seen


def test_the_insert_side_is_done_once_a_haystack_is_whole_and_before_the_clock(
    checkout: Path, backend: Backend, memory: NotingMemory, harness_run: Callable[..., HarnessRun]
) -> None:
    launch(checkout, harness_run(limit=1), backend)
    assert memory.inserted == [memory.asked[0].haystack.digest]


def test_parallel_workers_only_where_the_user_wants_them(
    checkout: Path, backend: Backend, harness_run: Callable[..., HarnessRun]
) -> None:
    launch(checkout, harness_run(workers=3), backend)
    source = (checkout / "evaluation" / "harness.py").read_text()
    assert "runbook_controller" not in source
    (checkout / "evaluation" / "harness.py").write_text(source.replace("NONSHARED", "OTHER"))
    for name in list(sys.modules):
        if name.startswith("evaluation"):
            del sys.modules[name]
    with pytest.raises(OfficialError, match="use 1 worker"):
        launch(checkout, harness_run(workers=3, out=checkout.parent / "second"), backend)


@pytest.mark.parametrize("outcome", [Outcome.RATE_LIMITED, Outcome.SANDBOX_ERROR, Outcome.PROVIDER_ERROR])
def test_nobodys_failure_stops_the_run_and_is_no_empty_answer(
    checkout: Path,
    backend: Backend,
    memory: NotingMemory,
    harness_run: Callable[..., HarnessRun],
    outcome: Outcome,
) -> None:
    memory.outcome = outcome
    run = harness_run()
    with pytest.raises(QueryFailure, match=outcome.value):
        launch(checkout, run, backend)
    assert not (run.out / "per_question.jsonl").exists()
    assert len(list((run.out / "traces").glob("*/query.json"))) >= 1


def test_a_failure_is_told_though_the_harness_wraps_it(
    checkout: Path, backend: Backend, memory: NotingMemory, harness_run: Callable[..., HarnessRun]
) -> None:
    file = checkout / "evaluation" / "harness.py"
    wrapped = "    try:\n        records = [answer(row) for row in rows]\n    except Exception as error:\n"
    wrapped += "        raise RuntimeError('Prompt building failed') from error\n"
    start, end = file.read_text().split("    with ThreadPoolExecutor")
    file.write_text(start + wrapped + "    lines = []\n" + end.split("lines = ")[1].partition("\n")[2])
    memory.outcome = Outcome.AUTH_ERROR
    with pytest.raises(QueryFailure, match="auth_error"):
        launch(checkout, harness_run(), backend)


def test_a_method_failure_is_answered_as_it_is(
    checkout: Path, backend: Backend, memory: NotingMemory, harness_run: Callable[..., HarnessRun]
) -> None:
    memory.outcome = Outcome.TIMEOUT
    run = harness_run()
    launch(checkout, run, backend)
    rows = [json.loads(line) for line in (run.out / "per_question.jsonl").read_text().splitlines()]
    assert [row["question_id"] for row in rows] == ["q-0", "q-1", "q-2"]
    told = [json.loads(file.read_text())["outcome"] for file in (run.out / "traces").glob("*/query.json")]
    assert told == ["timeout"] * 3


def test_what_is_no_checkout_and_a_folder_that_is_taken(
    tmp_path: Path, checkout: Path, backend: Backend, harness_run: Callable[..., HarnessRun]
) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(OfficialError, match=r"memory_modules\.memory cannot be imported"):
        launch(tmp_path / "empty", harness_run(), backend)
    (tmp_path / "ours_web_small").mkdir(exist_ok=True)
    with pytest.raises(OfficialError, match="there already"):
        launch(checkout, harness_run(), backend)


def test_a_trajectory_that_was_not_imported(backend: Backend) -> None:
    with pytest.raises(OfficialError, match="'tr-9'"):
        backend.slug("tr-9")


def test_images_are_named_by_path() -> None:
    context = MemoryContext(items=(TextItem(text="a"), ImageItem(path="/x/0.png", sha256="0")))
    assert public_items(context) == [{"type": "text", "value": "a"}, {"type": "image", "value": "/x/0.png"}]


def test_the_real_harness_has_what_we_call(backend: Backend) -> None:
    named = os.environ.get("RUNBOOK_UPSTREAM")
    if not named:
        pytest.skip("RUNBOOK_UPSTREAM names no checkout of the public harness")
    memory = (Path(named) / "memory_modules" / "memory.py").read_text()
    harness = (Path(named) / "evaluation" / "harness.py").read_text()
    data = (Path(named) / "data" / "public_data.py").read_text()
    assert "def register_memory(" in memory
    assert "class Memory(" in memory
    assert "NONSHARED_PARALLEL_MEMORY_TYPES" in harness
    assert "runbook_controller" not in memory
    for name in ("materialize_runtime_questions", "materialize_runtime_haystack"):
        assert f"def {name}(" in data


def test_what_the_harness_would_miss_hours_later_is_told_at_once(
    checkout: Path, backend: Backend, harness_run: Callable[..., HarnessRun]
) -> None:
    file = checkout / "evaluation" / "harness.py"
    optional = "    try:\n        import no_such_extra\n    except ImportError:\n        pass\n"
    file.write_text(file.read_text() + f"\n\ndef later():\n    import no_such_package.part\n{optional}")
    run = harness_run()
    with pytest.raises(OfficialError, match=r"harness needs no_such_package: install its requirements"):
        launch(checkout, run, backend)
    assert not run.out.exists()
