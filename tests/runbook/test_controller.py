"""The controller with real processes: what an agent does decides the outcome, and everything is kept."""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import helpers
from helpers.memory import tokens
from helpers.memory.keys import line_keys, term_keys
from instructions import InstructionOptions
from manifests.importing import import_lme_v2
from manifests.index import Tokeniser, build_index
from manifests.store import Store
from manifests.views import View, Views
from runbook.agents import CommandAgent
from runbook.attempt import Arm, AttemptSettings
from runbook.candidates import CandidateFinder
from runbook.controller import AgentMemory
from runbook.memory import QueryResult, QueryTask
from runbook.outcomes import Outcome
from runbook.question import Question
from runbook.venue import SandboxVenue
from sandbox.process import ProcessSandbox
from sandbox.protocol import MIB, Limits, Mount
from tests.waiting import AT_ONCE, FOREVER, wait_for

EVIDENCE = {
    "memory_markdown": "## Support Analysis\nthe page shows CODE-1-2",
    "trajectory_spans": [{"trajectory_id": "tr-1", "start_state_index": 2, "end_state_index": 2}],
}
WRITE = f"printf '%s' '{json.dumps(EVIDENCE)}' > memory_module_output.json"


@pytest.fixture(scope="module")
def store(make_data_root: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("haystack")
    store = Store.open(folder / "store")
    import_lme_v2(make_data_root(folder / "data"), store)
    return store


@pytest.fixture
def view(store: Store) -> Iterator[View]:
    with Views(store).acquire(entry.slug for entry in store.entries()) as view:
        build_index(view, Tokeniser(tokens.VERSION, tokens.terms, term_keys, line_keys))
        yield view


class Asking:
    """Asks one question of an agent that is a shell script."""

    def __init__(self, view: View, folder: Path) -> None:
        self.view = view
        self.folder = folder
        self.cancel = threading.Event()
        self._workspaces = folder.parent / "workspaces"
        self._workspaces.mkdir()

    def __call__(
        self,
        script: str,
        *,
        attempts: int = 1,
        seconds: float = FOREVER,
        grace: float = FOREVER,
        seed: int | None = None,
        **limits: int,
    ) -> QueryResult:
        usage = (Path(helpers.__file__).parent / "memory" / "usage.txt").read_text()
        settings = AttemptSettings(
            limits=Limits(wall_seconds=seconds, **limits),
            instruction=InstructionOptions(),
            helper_usage=usage,
            workspaces=self._workspaces,
            grace_seconds=grace,
        )
        venue = SandboxVenue(ProcessSandbox(), Mount(Path(helpers.__file__).parent, "/opt/helpers"))
        agent = CommandAgent(f"/bin/sh {self._script(script)}")
        finder = CandidateFinder(sys.executable, Path(helpers.__file__).parent)
        memory = AgentMemory(Arm(agent, venue, settings, finder), attempts=attempts)
        return memory.query(
            QueryTask(
                question=Question(text="Which access code does warehouse 1 show after step two?"),
                haystack=self.view,
                folder=self.folder,
                cancel=self.cancel,
                labels={"run": "test"},
                seed=seed,
            )
        )

    def _script(self, text: str) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        script = self.folder / "agent.sh"
        script.write_text(text)
        return script


@pytest.fixture
def ask(view: View, tmp_path: Path) -> Asking:
    return Asking(view, tmp_path / "attempts")


def test_evidence_becomes_a_context_with_the_state_it_names(ask: Asking) -> None:
    result = ask(WRITE)
    assert result.outcome is Outcome.OK
    assert "CODE-1-2" in result.context.text
    assert "Access code CODE-1-3" not in result.context.text
    assert 0 < result.seconds < AT_ONCE


def test_the_workspace_its_history_and_the_record_are_kept(ask: Asking) -> None:
    ask(WRITE + "; echo seen > notes/seen.txt; echo hello; echo oops >&2")
    attempt = ask.folder / "1"
    assert (attempt / "stdout").read_bytes() == b"hello\n"
    assert (attempt / "stderr").read_bytes() == b"oops\n"
    assert (attempt / "workspace" / "notes" / "seen.txt").read_text() == "seen\n"
    assert "+seen" in (attempt / "workspace.diff").read_text()
    assert json.loads((attempt / "attempt.json").read_bytes())["outcome"] == "ok"


def test_the_prompt_reaches_the_agent_whole(ask: Asking) -> None:
    ask(f"cat > notes/prompt.txt; {WRITE}")
    prompt = (ask.folder / "1" / "workspace" / "notes" / "prompt.txt").read_text()
    assert "Which access code does warehouse 1 show after step two?" in prompt
    assert "memory" in prompt


def test_candidates_are_found_before_the_agent_starts_and_stand_in_its_prompt(ask: Asking) -> None:
    result = ask(f"cat > notes/prompt.txt; {WRITE}")
    workspace = ask.folder / "1" / "workspace"
    candidates = (workspace / "CANDIDATES.md").read_text()
    assert "tr-1" in candidates
    assert len(candidates.encode()) <= 8_000
    assert candidates.strip() in (workspace / "notes" / "prompt.txt").read_text()
    assert 0 < result.timings["candidates"] < result.seconds


def test_submit_ends_the_attempt_at_once(ask: Asking) -> None:
    begun = time.monotonic()
    result = ask(f"./memory submit --span tr-1:2-2 --note 'CODE-1-2 is shown' && sleep {FOREVER}")
    assert result.outcome is Outcome.OK
    assert "submitted" in result.attempts[0].flags
    assert time.monotonic() - begun < AT_ONCE


def test_evidence_and_a_process_that_stays_end_after_the_grace_period(ask: Asking) -> None:
    begun = time.monotonic()
    result = ask(f"{WRITE}; sleep {FOREVER}", grace=0.3)
    assert result.outcome is Outcome.OK
    assert result.attempts[0].flags == ["grace"]
    assert time.monotonic() - begun < AT_ONCE


def test_an_invalid_file_does_not_end_the_attempt(ask: Asking) -> None:
    result = ask(f"echo '[' > memory_module_output.json; sleep 0.8; {WRITE}; sleep {FOREVER}", grace=0.2)
    assert result.outcome is Outcome.OK


def test_no_evidence_is_invalid_output_and_is_tried_again(ask: Asking) -> None:
    result = ask("exit 3", attempts=3)
    assert result.outcome is Outcome.INVALID_OUTPUT
    assert [attempt.exit_code for attempt in result.attempts] == [3, 3, 3]
    assert sorted(entry.name for entry in ask.folder.iterdir() if entry.is_dir()) == ["1", "2", "3"]
    assert result.context.items == ()


def test_each_attempt_has_a_seed_of_its_own_beside_the_prompt(ask: Asking) -> None:
    result = ask(
        'cat > notes/prompt.txt; printf %s "$RUNBOOK_SEED" > notes/seed.txt', attempts=2, seed=2**31 - 1
    )
    assert [attempt.seed for attempt in result.attempts] == [2**31 - 1, 0]
    notes = [ask.folder / number / "workspace" / "notes" for number in ("1", "2")]
    assert [(one / "seed.txt").read_text() for one in notes] == ["2147483647", "0"]
    assert all("2147483647" not in (one / "prompt.txt").read_text() for one in notes)
    unseeded = ask('printf %s "${RUNBOOK_SEED-none}" > notes/seed.txt')
    assert unseeded.attempts[0].seed is None
    assert (ask.folder / "3" / "workspace" / "notes" / "seed.txt").read_text() == "none"


def test_a_second_query_never_rewrites_the_attempts_of_the_first(ask: Asking) -> None:
    ask("exit 3")
    ask(WRITE)
    assert json.loads((ask.folder / "1" / "attempt.json").read_bytes())["outcome"] == "invalid_output"
    assert json.loads((ask.folder / "2" / "attempt.json").read_bytes())["outcome"] == "ok"


def test_the_deadline_is_a_timeout_that_is_not_tried_again(ask: Asking) -> None:
    begun = time.monotonic()
    result = ask(f"setsid sleep {FOREVER} & sleep {FOREVER}", seconds=1.0, attempts=3)
    assert result.outcome is Outcome.TIMEOUT
    assert len(result.attempts) == 1
    assert time.monotonic() - begun < AT_ONCE


def test_evidence_before_the_deadline_counts_and_is_flagged(ask: Asking) -> None:
    for number, seconds in enumerate((1.0, 5.0, 25.0), 1):  # on some machines an agent is late in starting
        result = ask(f"{WRITE}; sleep {FOREVER}", seconds=seconds)
        if (ask.folder / str(number) / "workspace" / "memory_module_output.json").exists():
            break
    assert result.outcome is Outcome.OK
    assert "deadline" in result.attempts[0].flags


def test_a_disk_flood_is_output_limit(ask: Asking) -> None:
    result = ask(
        "while :; do head -c 3000000 /dev/zero >> notes/flood; done",
        workspace_bytes=20 * MIB,
        seconds=AT_ONCE,
        attempts=2,
    )
    assert result.outcome is Outcome.OUTPUT_LIMIT
    assert len(result.attempts) == 1


def test_a_changed_haystack_is_no_answer_however_valid_the_evidence(store: Store, tmp_path: Path) -> None:
    with Views(store, tmp_path / "views").acquire(entry.slug for entry in store.entries()) as view:
        victim = next((view.path / "trajectories").iterdir()) / "0000.txt"
        result = Asking(view, tmp_path / "attempts")(f"rm {victim}; echo x > {victim}; {WRITE}")
    assert result.outcome is Outcome.HAYSTACK_MODIFIED
    assert result.evidence is None


@pytest.mark.parametrize(
    "write",
    [
        "ln -s /etc/passwd memory_module_output.json",
        "mkdir memory_module_output.json",
        "mkfifo memory_module_output.json",
        r"printf '\351' > memory_module_output.json",
        "head -c 2000000 /dev/zero > memory_module_output.json",
    ],
)
def test_a_hostile_evidence_file_is_invalid_output(ask: Asking, write: str) -> None:
    assert ask(write).outcome is Outcome.INVALID_OUTPUT


def test_bytes_that_are_no_text_change_nothing(ask: Asking) -> None:
    result = ask(rf"printf '\377\376'; {WRITE}")
    assert result.outcome is Outcome.OK
    assert (ask.folder / "1" / "stdout").read_bytes() == b"\xff\xfe"


def test_a_cancel_ends_the_attempt_at_once(ask: Asking, tmp_path: Path) -> None:
    def cancel() -> None:
        wait_for((tmp_path / "works").exists)
        ask.cancel.set()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    begun = time.monotonic()
    result = ask(f"touch {tmp_path}/works; sleep {FOREVER}", attempts=3)
    canceller.join()
    assert result.outcome is Outcome.CANCELLED
    assert len(result.attempts) == 1
    assert time.monotonic() - begun < AT_ONCE


def test_a_missing_program_is_not_the_agents_answer(ask: Asking) -> None:
    result = ask(f"exec {sys.executable}-that-is-not-there")
    assert result.outcome is Outcome.INVALID_OUTPUT
    assert result.attempts[0].exit_code == 127
