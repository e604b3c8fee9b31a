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


def options() -> Iterator[tuple[str, Any]]:
    for name, command in commands(typer.main.get_command(app)):
        yield from ((f"{name} {one.name}", one) for one in command.params)


def takes(option: Any, value: str) -> bool:
    try:
        option.process_value(typer.Context(typer.main.get_command(app)), value)
    except typer.BadParameter:
        return False
    return True


def test_no_option_takes_a_number_without_end() -> None:
    numbers = {name: one for name, one in options() if takes(one, "11") and not takes(one, "many")}
    assert len(numbers) > 20
    endless = ("nan", "inf", "-inf", "1" + "0" * 30, "-1" + "0" * 30)
    assert [name for name, one in numbers.items() if any(takes(one, value) for value in endless)] == []
