"""What an agent is to the controller: a command line made from where things lie inside the sandbox."""

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where things lie, as seen by the agent, and the complete prompt."""

    workspace: str
    python: str
    helpers: str
    prompt: str
    budget: int
    """States the evidence may hold."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One command to run in the workspace; stdin is given whole and closed."""

    argv: tuple[str, ...]
    stdin: bytes = b""
    env: dict[str, str] = field(default_factory=dict)


class Agent(Protocol):
    """A program that searches a workspace and hands in evidence."""

    @property
    def name(self) -> str: ...

    @property
    def trusted(self) -> bool:
        """True for our own model-free agent, which may run without isolation."""
        ...

    @property
    def reads_prompt(self) -> bool:
        """False where the prompt, and so the candidates in it, would be made for nobody."""
        ...

    def invocation(self, surroundings: Surroundings) -> Invocation:
        """The command that answers the question described by `surroundings`."""
        ...
