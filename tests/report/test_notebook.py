"""A run as tables."""

import dataclasses
import sys
from types import ModuleType
from typing import Any

import pytest

from evals.runs.folder import RunError, RunFolder
from runbook import load_run


def test_there_is_a_row_for_each_question_attempt_event_and_call(pair: tuple[RunFolder, RunFolder]) -> None:
    tables = load_run(pair[0].path)
    assert [row.question_id for row in tables.questions] == [f"q-{number}" for number in range(8)]
    assert sum(row.attempts for row in tables.questions) == len(tables.attempts)
    assert {row.question_id for row in tables.events} == {row.question_id for row in tables.questions}
    commands = [row for row in tables.events if row.kind == "tool_end"]
    assert len(commands) == 6 * len({(row.question_id, row.attempt) for row in tables.attempts})
    assert list(tables.calls) == []
    assert tables.problems == []
    attempts = {(row.question_id, row.attempt) for row in tables.attempts}
    assert {(row.question_id, row.attempt) for row in tables.events} == attempts


def test_rows_are_dataclasses_with_what_was_recorded(pair: tuple[RunFolder, RunFolder]) -> None:
    row = next(one for one in load_run(str(pair[0].path)).questions if one.score == 1)
    assert dataclasses.is_dataclass(row)
    assert row.outcome == "ok"
    assert row.evidence_hit == 1.0
    assert row.reader_tokens == 24_300
    assert row.cost_usd is not None


def test_a_damaged_trace_is_a_problem_not_an_end(pair: tuple[RunFolder, RunFolder]) -> None:
    folder = pair[1]
    trace = folder.attempts_folder("q-0") / "1" / "trace.jsonl"
    whole = trace.read_bytes()
    try:
        trace.write_bytes(b"nothing\n")
        tables = load_run(folder.path)
        assert len(tables.events) > 0
        assert "is no event of a trace" in tables.problems[0]
    finally:
        trace.write_bytes(whole)


def test_a_table_becomes_a_data_frame_with_a_column_a_field(
    pair: tuple[RunFolder, RunFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: dict[str, Any] = {}
    stand_in = ModuleType("pandas")
    stand_in.DataFrame = lambda rows, columns: made.update(rows=rows, columns=columns)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", sys.modules.get("pandas", stand_in))
    load_run(pair[0].path).calls.to_pandas()
    if made:
        assert made["rows"] == []
        assert made["columns"][:3] == ["question_id", "attempt", "number"]


def test_what_is_no_run_is_refused(tmp_path: Any) -> None:
    with pytest.raises(RunError, match="is no run"):
        load_run(tmp_path)
