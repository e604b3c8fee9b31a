"""What the help says at a glance."""

from collections.abc import Iterator
from typing import Any

import typer

from runbook.cli.app import app

ROOM = 78 - 6 - len("claude-code")  # for a sentence, in a terminal of 80 columns


def commands(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        yield f"{path} {name}".strip(), command
        if hasattr(command, "commands"):
            yield from commands(command, f"{path} {name}")


def test_no_list_of_commands_is_cut_at_80_columns() -> None:
    lines = {name: one.get_short_help_str(limit=ROOM) for name, one in commands(typer.main.get_command(app))}
    assert len(lines) > 25
    assert {name: line for name, line in lines.items() if line.endswith("...") or not line} == {}
