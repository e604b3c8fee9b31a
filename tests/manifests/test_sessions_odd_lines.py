"""Whatever stands in a session's lines, reading them never fails."""

from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest

from manifests.sessions.formats import FORMATS
from manifests.sessions.pictures import Pictures
from manifests.sessions.session_file import read_session
from tests.manifests.session_files import ClaudeSession, claude_session, codex_session, write_lines

ODD: list[Any] = [
    None,
    True,
    -1,
    1.5,
    "",
    "text",
    "\udc00",
    "0001-01-01T00:00:00+14:00",
    "<command-name>/x</command-name>",
    "<cwd>/a</cwd>",
    "data:image/png;base64,AAAA",
    [],
    {},
    [None, [[]], "a"],
    {"type": ["x"]},
    [{"type": "text", "text": 3}, {"type": "image", "source": {"data": "!!"}}],
    {"output": {"content": [1]}, "metadata": {"exit_code": []}},
]


def _lines() -> list[dict[str, Any]]:
    session = claude_session()
    session.calls("Edit", file_path="/a", old_string="x", new_string="y", edits=[{"new_string": "z"}])
    session.gets([{"type": "image", "source": {"type": "base64", "data": "AAAA"}}])
    session.line(
        "attachment", attachment={"type": "queued_command", "prompt": [{"type": "text", "text": "q"}]}
    )
    session.line("system", subtype="compact_boundary")
    session.remark("summary", summary="s", leafUuid="l")
    aside = ClaudeSession()
    aside.common |= {"isSidechain": True}
    aside.says("aside")
    codex = codex_session()
    codex.line("compacted", {"message": "m"})
    codex.event("error", message="e")
    codex.item("web_search_call", action={"type": "search", "query": "q"})
    return [*session.lines, *aside.lines, *codex.lines]


LINES = _lines()


def _disturbed(value: Any, chance: Random) -> Any:
    """The value with parts of it replaced or left out."""
    if chance.random() < 0.05:
        return deepcopy(chance.choice(ODD))
    if isinstance(value, dict):
        return {k: _disturbed(v, chance) for k, v in value.items() if chance.random() > 0.03}
    if isinstance(value, list):
        return [_disturbed(one, chance) for one in value]
    return value


@pytest.mark.parametrize("form", sorted(FORMATS))
@pytest.mark.parametrize("seed", range(50))
def test_reading_disturbed_lines_never_fails(tmp_path: Path, seed: int, form: str) -> None:
    chance = Random(seed)
    file = write_lines(tmp_path / "session.jsonl", [_disturbed(line, chance) for line in LINES])
    session = read_session(file, FORMATS[form], Pictures(tmp_path))
    assert session
    for recording in session.recordings:
        assert recording.last in session.marks
        assert [state.index for state in recording.trajectory.states] == list(
            range(len(recording.trajectory.states))
        )
