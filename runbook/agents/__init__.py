"""Agents: who searches the haystack. `make_agent` builds one by name."""

from pathlib import Path

from runbook.agents.adapter_agent import AdapterAgent, adapter_agent
from runbook.agents.catalogue import Catalogue
from runbook.agents.command import CommandAgent
from runbook.agents.errors import AdapterError, InstallError, UnknownAgentError
from runbook.agents.external import ExternalAgent
from runbook.agents.protocol import Agent, Invocation, Surroundings
from runbook.agents.scout import ScoutAgent

__all__ = [
    "AdapterAgent",
    "AdapterError",
    "Agent",
    "Catalogue",
    "CommandAgent",
    "ExternalAgent",
    "InstallError",
    "Invocation",
    "ScoutAgent",
    "Surroundings",
    "UnknownAgentError",
    "make_agent",
]


def make_agent(
    name: str,
    command: str | None,
    *,
    model: str = "",
    effort: str = "",
    version: str = "",
    tool_chains: Path | None = None,
) -> Agent:
    """The agent that a run's settings name.

    Args:
        name: scout, command, external, the name of an adapter, or the path of an adapter's TOML file.
        command: the command line of "command"; None for all others.
        model, effort: what an adapter's agent asks; no other agent takes them.
        version: of the adapter's program; "" for the one that the adapter pins.
        tool_chains: the folder in which tool chains are installed.

    Raises:
        UnknownAgentError: the name is unknown, a setting is missing or superfluous, or it is not installed.
    """
    if command is not None and name != "command":
        raise UnknownAgentError(f"--agent-command goes with --agent command, not with {name}")
    if name not in ("command", "scout", "external"):
        found = Catalogue().find(name)
        root = tool_chains or Path()
        return adapter_agent(found, model=model, effort=effort, version=version, root=root)
    if given := [option for option, value in (("model", model), ("effort", effort)) if value]:
        raise UnknownAgentError(f"--{given[0]} goes with an agent that asks a model, not with {name}")
    if name == "scout":
        return ScoutAgent()
    if name == "external":
        return ExternalAgent()
    if command is None:
        raise UnknownAgentError("--agent command needs --agent-command")
    try:
        return CommandAgent(command)
    except ValueError as error:
        raise UnknownAgentError(f"--agent-command: {error}") from None
