"""Agents: who searches the haystack. `AGENTS` maps each name to what builds it."""

from runbook.agents.command import CommandAgent
from runbook.agents.external import ExternalAgent
from runbook.agents.protocol import Agent, Invocation, Surroundings
from runbook.agents.scout import ScoutAgent

__all__ = [
    "NAMES",
    "Agent",
    "CommandAgent",
    "ExternalAgent",
    "Invocation",
    "ScoutAgent",
    "Surroundings",
    "UnknownAgentError",
    "make_agent",
]

NAMES = ("scout", "command", "external")


class UnknownAgentError(ValueError):
    """No agent of that name, or its settings do not fit; the message says what does."""


def make_agent(name: str, command: str | None) -> Agent:
    """The agent that a run's settings name.

    Raises:
        UnknownAgentError: the name is unknown, or a command is missing, superfluous or empty.
    """
    if name == "command":
        if command is None:
            raise UnknownAgentError("--agent command needs --agent-command")
        try:
            return CommandAgent(command)
        except ValueError as error:
            raise UnknownAgentError(f"--agent-command: {error}") from None
    if command is not None:
        raise UnknownAgentError(f"--agent-command goes with --agent command, not with {name}")
    if name == "scout":
        return ScoutAgent()
    if name == "external":
        return ExternalAgent()
    raise UnknownAgentError(f"no agent is called {name!r}; there are {', '.join(NAMES)}")
