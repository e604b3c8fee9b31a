"""What `runbook agents list` says: every name that --agent takes, and what of it is installed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runbook.agents import Catalogue
    from runbook.agents.tool_chain import ToolChain

    Chains = Sequence[tuple[Path, ToolChain]]

ABOUT: Mapping[str, str] = {
    "scout": "our own searcher, which asks no model",
    "command": "any command line, given with --agent-command",
    "external": "a person, or a program started by hand in the workspace",
}
"""The agents that are no adapter."""


def agent_rows(catalogue: "Catalogue", chains: "Chains") -> list[dict[str, object]]:
    """A row an agent: those that need no installation, then adapters by name, then the user's own.

    `kind` is built-in, adapter or own; `problem` says why an adapter cannot be read.
    """
    own = sorted({chain.name for _, chain in chains} - {*catalogue.names})
    return [
        *(
            {"name": name, "kind": "built-in", "summary": about, **_chains(())}
            for name, about in ABOUT.items()
        ),
        *(_adapter(catalogue, name, _of(chains, name)) for name in catalogue.names),
        *(_own(name, _of(chains, name)) for name in own),
    ]


def _of(chains: "Chains", name: str) -> "Chains":
    return [one for one in chains if one[1].name == name]


def _adapter(catalogue: "Catalogue", name: str, chains: "Chains") -> dict[str, object]:
    from runbook.agents import AdapterError

    row = {"name": name, "kind": "adapter", **_chains(chains)}
    try:
        found = catalogue.find(name)
    except AdapterError as error:
        return row | {"problem": str(error)}
    adapter = found.adapter
    return row | {
        "version": adapter.install.version,
        "wire": adapter.wire.value,
        "sees_images": bool(adapter.images),
        "efforts": list(adapter.efforts),
        "summary": adapter.summary,
        "origin": found.origin,
    }


def _own(name: str, chains: "Chains") -> dict[str, object]:
    """Of an adapter that is a file, only what was installed is known."""
    return {"name": name, "kind": "own", **_chains(chains), "origin": chains[-1][1].adapter_file}


def _chains(chains: "Chains") -> dict[str, object]:
    told = [
        {
            "version": chain.version,
            "machine": chain.machine,
            "python": chain.python,
            "bytes": chain.bytes,
            "folder": str(folder),
        }
        for folder, chain in chains
    ]
    return {"installed": sorted({chain.version for _, chain in chains}), "tool_chains": told, "problem": ""}
