"""Tables about agents for people."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from runbook.cli.tables import NONE, sized
from runbook.cli.terminal import inert

if TYPE_CHECKING:
    from runbook.agents.tool_chain import ToolChain


def print_agents(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """One line an agent; then where the user's own are, and what is wrong with those that cannot be read."""
    table = Table(box=None, pad_edge=False)
    for heading in ("agent", "version", "installed", "size", "speaks", "pictures"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        if not row["problem"]:
            table.add_row(*(Text(inert(cell)) for cell in _cells(row)))
    console.print(table)
    for row in rows:
        if row["kind"] == "own":
            file = f"adapter {row['origin']}, " if row["origin"] else ""
            folders = ", ".join(one["folder"] for one in row["tool_chains"])
            console.print(inert(f"{row['name']} is of your own: {file}tools in {folders}"))
        if row["problem"]:
            console.print(inert(row["problem"]))


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    size = sum(one["bytes"] for one in row["tool_chains"])
    if row["kind"] == "built-in":
        return row["name"], NONE, "built in", NONE, "no model" if row["name"] == "scout" else NONE, NONE
    pictures = {True: "yes", False: "no", None: NONE}[row.get("sees_images")]
    return (
        row["name"],
        row.get("version", NONE),
        ", ".join(row["installed"]) or NONE,
        sized(size) if size else NONE,
        row.get("wire", NONE),
        pictures,
    )


def print_installed(console: Console, chains: Sequence[tuple[Path, "ToolChain"]]) -> None:
    """Comment lines on where an agent is installed."""
    if not chains:
        console.print("# not installed")
    for folder, chain in chains:
        python = f", Python {chain.python}" if chain.python else ""
        when = f"installed {chain.installed_at:%Y-%m-%d} in {chain.seconds:.0f} s"
        console.print(
            f"# {chain.version} for {chain.machine}{python}: {folder}, {sized(chain.bytes)}, "
            f"{len(chain.packages)} packages, {when}"
        )
