"""What a run would have had at an earlier deadline, from the drafts its agents saved."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from evals.dataset import load_data_root
from evals.frontier.what_if import WhatIf, what_if
from evals.recorded import read_run
from evals.runs.folder import RunFolder
from manifests.importing import import_lme_v2
from manifests.store import Store
from runbook.outcomes import Outcome
from tests.recorded_runs import STARTED, Answer, write_run

RIGHT = (("tr-0", 2, 2),)


@pytest.fixture
def store(data_root: Path, tmp_path: Path) -> Store:
    opened = Store.open(tmp_path / "store")
    import_lme_v2(data_root, opened)
    return opened


def save(run: RunFolder, question: str, after: float, state: int, *, note: str = "draft") -> Path:
    """A draft as the helper writes it, so many seconds after the attempt began."""
    folder = run.attempts_folder(question) / "1" / "workspace" / "notes" / "drafts"
    folder.mkdir(parents=True, exist_ok=True)
    at = datetime.fromisoformat(STARTED) + timedelta(seconds=after)
    path = folder / f"{at:%Y%m%dT%H%M%S}.{at.microsecond // 1000:03d}Z.json"
    span = {"trajectory_id": "tr-0", "start_state_index": state, "end_state_index": state}
    path.write_text(json.dumps({"memory_markdown": note, "trajectory_spans": [span]}))
    return path


def at(run: RunFolder, data_root: Path, store: Store, *deadlines: float) -> list[WhatIf]:
    return what_if(read_run(run.path), load_data_root(data_root), store, deadlines)


def test_the_latest_draft_at_the_deadline_is_scored(data_root: Path, store: Store, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", data_root, {"q-0": Answer(seconds=30, spans=RIGHT)})
    save(run, "q-0", 4, 0)
    save(run, "q-0", 9, 2)
    save(run, "q-0", 15, 1)
    rows = at(run, data_root, store, 40, 2, 5, 10, 20)
    assert [row.deadline for row in rows] == [2, 5, 10, 20, 40]
    assert [row.with_evidence for row in rows] == [0, 1, 1, 1, 1]
    assert [row.evidence_hit for row in rows] == [0, 0, 1, 0, 1]
    assert [row.with_final for row in rows] == [0, 0, 0, 0, 1]
    assert [row.seconds for row in rows] == [2, 5, 10, 20, 30]


def test_the_time_before_the_first_attempt_is_on_the_clock(
    data_root: Path, store: Store, tmp_path: Path
) -> None:
    run = write_run(tmp_path / "run", data_root, {"q-0": Answer(seconds=30, spans=RIGHT)})
    save(run, "q-0", 4.8, 2)  # the candidates took half a second
    assert [row.with_evidence for row in at(run, data_root, store, 5, 5.4)] == [0, 1]


def test_scores_are_known_only_for_the_evidence_that_was_read(
    data_root: Path, store: Store, tmp_path: Path
) -> None:
    answers = {
        "q-0": Answer(score=1, seconds=30, spans=RIGHT, context="the final note"),
        "q-1": Answer(score=0, seconds=8, spans=RIGHT),
        "q-2": Answer(score=0, seconds=50, outcome=Outcome.TIMEOUT),
    }
    run = write_run(tmp_path / "run", data_root, answers)
    save(run, "q-0", 6, 2, note="another note")
    save(run, "q-0", 12, 2, note="the final note")
    early, later, last = at(run, data_root, store, 10, 20, 60)
    # q-1 was done; q-2 never had evidence, so that nothing changes for it.
    assert (early.scored, early.known, early.accuracy_low) == (3, 2, 0)
    assert early.accuracy_high == pytest.approx(1 / 3)
    # The draft at 12 s is word for word what was handed in.
    assert (later.known, later.accuracy_low, later.accuracy_high) == (3, 1 / 3, 1 / 3)
    assert (last.known, last.with_final) == (3, 2)


def test_what_an_agent_leaves_among_the_drafts_is_passed_over(
    data_root: Path, store: Store, tmp_path: Path
) -> None:
    run = write_run(tmp_path / "run", data_root, {"q-0": Answer(seconds=30, spans=RIGHT)})
    good = save(run, "q-0", 5, 2)
    secret = tmp_path / "secret.json"
    secret.write_text(good.read_text())
    good.unlink()
    good.symlink_to(secret)
    (good.parent / "notes.json").write_text("{}")
    save(run, "q-0", 6, 2).write_bytes(b"\xff\xfe not json")
    (good.parent / "20260102T030412.000Z.json").mkdir()
    [row] = at(run, data_root, store, 20)
    assert row.with_evidence == 0


def test_a_linked_folder_of_drafts_is_not_followed(data_root: Path, store: Store, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", data_root, {"q-0": Answer(seconds=30, spans=RIGHT)})
    drafts = save(run, "q-0", 5, 2).parent
    drafts.rename(tmp_path / "elsewhere")
    drafts.symlink_to(tmp_path / "elsewhere")
    assert at(run, data_root, store, 20)[0].with_evidence == 0


def test_without_gold_hits_are_not_told(data_root: Path, store: Store, tmp_path: Path) -> None:
    (data_root / "gold.json").unlink()
    run = write_run(tmp_path / "run", data_root, {"q-0": Answer(seconds=30, spans=RIGHT)})
    [row] = at(run, data_root, store, 40)
    assert (row.evidence_hit, row.gold_questions, row.with_final) == (None, 0, 1)
