"""Tables about agents for people."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from runbook.agents.tool_chain import ToolChain
from runbook.cli.tables import NONE, megabytes
from runbook.cli.terminal import inert


def print_agents(console: Console, rows: Sequence[Mapping[str, object]]) -> None:
    """One line an agent; then what is wrong with those that cannot be read."""
    table = Table(box=None, pad_edge=False)
    for heading in ("agent", "version", "installed", "speaks", "pictures"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        if row["problem"]:
            continue
        installed = row["installed"]
        versions = ", ".join(map(str, installed)) if isinstance(installed, list) else ""
        pictures = "yes" if row["sees_images"] else "no"
        cells = (row["name"], row["version"], versions or NONE, row["wire"], pictures)
        table.add_row(*(Text(inert(str(cell))) for cell in cells))
    console.print(table)
    for row in rows:
        if row["problem"]:
            console.print(inert(str(row["problem"])))


def print_installed(console: Console, chains: Sequence[tuple[Path, ToolChain]]) -> None:
    """Comment lines on where an agent is installed."""
    if not chains:
        console.print("# not installed")
    for folder, chain in chains:
        python = f", Python {chain.python}" if chain.python else ""
        when = f"installed {chain.installed_at:%Y-%m-%d} in {chain.seconds:.0f} s"
        console.print(
            f"# {chain.version} for {chain.machine}{python}: {folder}, {megabytes(chain.bytes)}, "
            f"{len(chain.packages)} packages, {when}"
        )
