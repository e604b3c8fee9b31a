"""Recorded streams of real CLIs, healthy and failing, counted by hand."""

import shutil
from pathlib import Path

import pytest

from runbook.gateway.records import Usage
from runbook.traces import Kind, read_trace, to_atif, write_trace

pytestmark = pytest.mark.needs("shared")

STARTED_AT = "2026-11-29T18:20:00+00:00"

# sample: lines, quiet lines, tool calls, failed commands, errors, retries, reasonings, assistant messages
COUNTS = {
    "codex": (18, 0, 4, 1, 0, 0, 5, 1),
    "codex.ctx": (5, 0, 0, 0, 1, 0, 0, 0),
    "codex.err401": (10, 0, 0, 0, 1, 5, 0, 0),
    "codex.err500": (10, 0, 0, 0, 1, 5, 0, 0),
    "codex.late500": (14, 0, 2, 0, 1, 5, 0, 0),
    "claude": (21, 5, 4, 1, 0, 0, 5, 1),
    "claude.ctx": (3, 0, 0, 0, 1, 0, 0, 0),
    "claude.err401": (3, 0, 0, 0, 0, 2, 0, 0),
    "claude.err500": (5, 0, 0, 0, 1, 2, 0, 0),
    "claude.late500": (9, 0, 2, 0, 1, 2, 0, 0),
    "opencode": (20, 5, 4, 1, 0, 0, 5, 1),
    "opencode.ctx": (2, 0, 0, 0, 1, 0, 0, 0),
    "opencode.err401": (1, 0, 0, 0, 1, 0, 0, 0),
    "opencode.late500": (6, 2, 2, 0, 0, 0, 0, 0),
    "gemini": (12, 1, 4, 0, 0, 0, 0, 1),
    "gemini.ctx": (3, 0, 0, 0, 1, 0, 0, 0),
    "gemini.err401": (3, 0, 0, 0, 1, 0, 0, 0),
    "gemini.err500": (2, 0, 0, 0, 0, 0, 0, 0),
    "gemini.late500": (6, 0, 2, 0, 0, 0, 0, 0),
    "qwen": (16, 0, 4, 0, 0, 0, 5, 1),
    "qwen.ctx": (3, 0, 0, 0, 1, 0, 0, 0),
    "qwen.err401": (3, 0, 0, 0, 1, 0, 0, 0),
    "qwen.err500": (1, 0, 0, 0, 0, 0, 0, 0),
    "qwen.late500": (5, 0, 2, 0, 0, 0, 0, 0),
    "pi": (95, 78, 4, 1, 0, 0, 5, 1),
    "pi.ctx": (10, 4, 0, 0, 1, 0, 0, 0),
    "pi.err401": (9, 4, 0, 0, 1, 0, 0, 0),
    "pi.err500": (31, 13, 0, 0, 4, 3, 0, 0),
    "pi.late500": (61, 37, 2, 0, 4, 3, 0, 0),
}
HEALTHY = ["codex", "claude", "opencode", "gemini", "qwen", "pi"]
HEREDOC = "cat > memory_module_output.json <<'JSON'\n"


@pytest.mark.parametrize("sample", COUNTS)
def test_every_line_of_a_sample_is_understood_and_counted(sample: str, shared: Path, tmp_path: Path) -> None:
    summary = _trace(shared, sample, tmp_path)
    events = list(read_trace(tmp_path / "trace.jsonl"))
    kinds = summary.kinds
    said = sum(event.kind is Kind.MESSAGE and event.role == "assistant" for event in events)
    assert (
        summary.stream_lines,
        summary.quiet_lines,
        summary.tool_calls,
        summary.failed_commands,
        kinds.get("error", 0),
        kinds.get("retry", 0),
        kinds.get("reasoning", 0),
        said,
    ) == COUNTS[sample]
    assert summary.unknown_lines == {}


def test_every_stream_sample_has_its_counts(shared: Path) -> None:
    files = {file.name.removesuffix(".jsonl") for file in (shared / "specs/agent_traces").glob("*.jsonl")}
    assert {name for name in files if not name.endswith(".session")} == set(COUNTS)


@pytest.mark.parametrize("agent", HEALTHY)
def test_the_same_run_amounts_to_the_same_tokens_and_commands_with_every_agent(
    agent: str, shared: Path, tmp_path: Path
) -> None:
    summary = _trace(shared, agent, tmp_path)
    assert summary.tokens is not None
    tokens = summary.tokens
    assert (tokens.fresh_input, tokens.cache_read, tokens.output) == (4510, 500, 250)
    commands = [
        event.command for event in read_trace(tmp_path / "trace.jsonl") if event.kind is Kind.TOOL_END
    ]
    assert commands[:3] == [
        "pwd; cat question.json",
        "python3 scripts/inspect.py --help",
        "echo to-stderr >&2; sleep 1; exit 3",
    ]
    assert commands[3].startswith(HEREDOC)


@pytest.mark.parametrize(
    ("agent", "codes"),
    [
        ("codex", [0, 0, 3, 0]),
        ("claude", [0, 0, 3, 0]),
        ("opencode", [0, 0, 3, 0]),
        ("pi", [0, 0, 3, 0]),
        ("gemini", [None] * 4),
        ("qwen", [None] * 4),
    ],
)
def test_exit_codes_are_told_or_unknown_never_guessed(
    agent: str, codes: list[int | None], shared: Path, tmp_path: Path
) -> None:
    _trace(shared, agent, tmp_path)
    ends = [event for event in read_trace(tmp_path / "trace.jsonl") if event.kind is Kind.TOOL_END]
    assert [event.exit_code for event in ends] == codes


def test_mini_swe_agent_is_read_from_its_trajectory_file(shared: Path, tmp_path: Path) -> None:
    shutil.copy(shared / "specs/agent_traces/mini.traj.json", tmp_path / "traj.json")
    summary = write_trace(tmp_path, stream="mini-swe-agent", agent="mini", started_at=STARTED_AT)
    ends = [event for event in read_trace(tmp_path / "trace.jsonl") if event.kind is Kind.TOOL_END]
    # The last action ends the run and is not executed.
    assert [event.exit_code for event in ends] == [0, 0, 3, 0, None]
    assert summary.tokens == Usage(fresh_input=4510, cache_read=500, output=250, reasoning=100)
    assert (summary.tool_calls, summary.kinds["reasoning"], summary.kinds["message"]) == (5, 5, 2)


@pytest.mark.parametrize("sample", [*COUNTS, "mini"])
def test_every_sample_exports_to_atif(sample: str, shared: Path, tmp_path: Path) -> None:
    if sample == "mini":
        test_mini_swe_agent_is_read_from_its_trajectory_file(shared, tmp_path)
    else:
        _trace(shared, sample, tmp_path)
    document = to_atif(tmp_path)
    calls = [len(step.get("tool_calls", ())) for step in document["steps"] if step["source"] == "agent"]
    if sample in HEALTHY:
        assert calls == [1, 1, 1, 1, 0]
    assert [step["step_id"] for step in document["steps"]] == list(range(1, len(document["steps"]) + 1))


def _trace(shared: Path, sample: str, folder: Path):
    shutil.copy(shared / f"specs/agent_traces/{sample}.jsonl", folder / "stdout")
    agent = sample.split(".", 1)[0]
    return write_trace(folder, stream=agent, agent=agent, started_at=STARTED_AT)
