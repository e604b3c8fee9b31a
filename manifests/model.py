"""Trajectory and State: one recording of an agent, in the public LongMemEval-V2 terms.

Plain slotted dataclasses: importing a haystack makes tens of thousands of states.
"""

from dataclasses import dataclass, field
from enum import StrEnum


class Convention(StrEnum):
    """What a state's action means. Recordings differ, and nothing in them is ever re-shifted."""

    SOURCE = "source"  # the action the agent took after observing the state
    DESTINATION = "destination"  # the action that led to the state
    UNKNOWN = "unknown"  # both ends, or neither, carry an action


@dataclass(slots=True)
class State:
    """One step of a trajectory. `index` counts from 0; `step` is the recording's own number."""

    index: int
    step: int | str | None
    url: str
    action: str
    thought: str
    text: str  # accessibility tree, terminal output or dialogue; one node per line
    screenshot: str | None  # path relative to the data root as recorded


@dataclass(slots=True)
class Trajectory:
    """A recording: what was wanted, how it ended, and its states in order (at least one)."""

    id: str
    domain: str
    goal: str
    start_url: str
    outcome: str | None
    states: list[State] = field(default_factory=list)
