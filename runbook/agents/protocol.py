"""What an agent is to the controller: a command line made from where things lie inside the sandbox."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from runbook.gateway.records import Wire
from sandbox.accounts import HOME
from sandbox.protocol import Mount


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where things lie, as seen by the agent, and the complete prompt."""

    workspace: str
    python: str
    helpers: str
    prompt: str
    budget: int
    """States the evidence may hold."""
    base_url: str = ""
    """Where the agent reaches its model: scheme, host, port and route prefix, without /v1; "" for none."""
    image: str = ""
    """The question's image, absolute; "" where the question has none."""
    home: str = HOME
    tools: str = "/opt/agent"
    """Where the invocation's tool chain is seen."""
    seed: int | None = None
    """For an agent that can hand one to its model; it also has it as RUNBOOK_SEED, never in its prompt."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One command to run in the workspace; stdin is given whole and closed."""

    argv: tuple[str, ...]
    stdin: bytes = b""
    env: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    """The agent's tool chain."""
    home_files: Mapping[str, str] = field(default_factory=dict)
    """What lies in HOME when the command starts, by path relative to it."""
    notes: tuple[str, ...] = ()
    """What the agent could not be given, for the attempt's record."""


class Agent(Protocol):
    """A program that searches a workspace and hands in evidence."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str:
        """Of the program, for the record; "" where there is none to tell."""
        ...

    @property
    def trusted(self) -> bool:
        """True for our own model-free agent, which may run without isolation."""
        ...

    @property
    def reads_prompt(self) -> bool:
        """False where the prompt, and so the candidates in it, would be made for nobody."""
        ...

    @property
    def wire(self) -> Wire | None:
        """The protocol in which it speaks to its model; None where it uses none through the gateway."""
        ...

    @property
    def model(self) -> str:
        """The model it asks for; "" without a wire."""
        ...

    @property
    def stream(self) -> str:
        """Name of the parser of its stdout in `runbook.traces`; "" where stdout holds no events."""
        ...

    def invocation(self, surroundings: Surroundings) -> Invocation:
        """The command that answers the question described by `surroundings`."""
        ...
