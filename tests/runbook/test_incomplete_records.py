"""A record of model calls that could not be written whole costs no evidence."""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import helpers
from instructions import InstructionOptions
from manifests.importing import import_lme_v2
from manifests.store import Store
from manifests.views import Views
from runbook.agents import CommandAgent
from runbook.attempt import Arm, Attempt, AttemptSettings
from runbook.evidence import KnownTrajectories
from runbook.gateway import Gateway, GatewaySettings, Line, LineOrder, ProviderSettings, Wire
from runbook.memory import AttemptRecord, QueryTask
from runbook.outcomes import Outcome
from runbook.question import Question
from runbook.venue import SandboxVenue
from sandbox.process import ProcessSandbox
from sandbox.protocol import Limits, Mount
from tests.waiting import FOREVER

EVIDENCE = {
    "memory_markdown": "the page shows CODE-1-2",
    "trajectory_spans": [{"trajectory_id": "tr-1", "start_state_index": 2, "end_state_index": 2}],
}
WRITE = f"printf '%s' '{json.dumps(EVIDENCE)}' > memory_module_output.json"


class ModelUser(CommandAgent):
    """A shell script with a line to a model."""

    wire = Wire.OPENAI_CHAT
    model = "m"


class FullDisk(Gateway):
    """The record of each line lies on a full disk."""

    def open_line(self, order: LineOrder) -> Line:
        line = super().open_line(order)
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, line._recorder._calls)
        os.close(full)
        return line


@pytest.fixture
def run(make_data_root: Callable[..., Path], tmp_path: Path) -> Callable[[str], AttemptRecord]:
    store = Store.open(tmp_path / "store")
    import_lme_v2(make_data_root(tmp_path / "data"), store)

    def attempt(script: str) -> AttemptRecord:
        (tmp_path / "agent.sh").write_text(script)
        (tmp_path / "workspaces").mkdir()
        settings = AttemptSettings(
            limits=Limits(wall_seconds=FOREVER),
            instruction=InstructionOptions(),
            helper_usage="",
            workspaces=tmp_path / "workspaces",
            grace_seconds=FOREVER,
        )
        venue = SandboxVenue(ProcessSandbox(), Mount(Path(helpers.__file__).parent, "/opt/helpers"))
        agent = ModelUser(f"/bin/sh {tmp_path / 'agent.sh'}")
        provider = ProviderSettings(base_url="http://127.0.0.1:9", wires=(Wire.OPENAI_CHAT,))
        with (
            Views(store).acquire(entry.slug for entry in store.entries()) as view,
            FullDisk(GatewaySettings(providers={"none": provider})) as gateway,
        ):
            known = KnownTrajectories((entry.id, slug, entry.states) for slug, entry in view.entries.items())
            task = QueryTask(
                question=Question(text="Which code?"),
                haystack=view,
                folder=tmp_path / "attempts",
                cancel=threading.Event(),
                labels={},
            )
            record, _ = Attempt(1, task, Arm(agent, venue, settings, gateway=gateway), known, None).run()
        return record

    return attempt


def test_evidence_stands_and_the_fault_is_a_note(run: Callable[[str], AttemptRecord]) -> None:
    record = run(WRITE)
    assert record.outcome is Outcome.OK, record.detail
    assert any("is incomplete" in note for note in record.notes)


def test_an_agent_without_evidence_is_not_blamed(run: Callable[[str], AttemptRecord]) -> None:
    record = run("true")
    assert record.outcome is Outcome.SANDBOX_ERROR
    assert "is incomplete" in record.detail
