"""Where the seconds of a question went, in phases that do not overlap."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

NAMES: Mapping[str, str] = {
    "candidates": "finding candidates",
    "workspace": "making the workspace",
    "start": "starting the sandbox",
    "model": "waiting for the model",
    "rate_limit": "held back by rate limits",
    "tools": "tools and the agent itself",
    "search": "the memory's own search",
    "collect": "collecting files",
    "validate": "validating evidence",
    "render": "rendering the context",
    "other": "anything else",
}
"""In the order of a query."""


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of a query or an attempt."""

    key: str
    seconds: float
    share: float
    """Of the whole, 0..1."""

    @property
    def name(self) -> str:
        return NAMES.get(self.key, self.key)


def phases(timings: Mapping[str, float], seconds: float, *, by_agent: bool = True) -> list[Phase]:
    """The phases that took time. The model's waits are part of what a record calls `agent`.

    Args:
        by_agent: False where a memory searched by itself, which a record calls `agent` too.
    """
    known = {name: max(0.0, value) for name, value in timings.items()}
    agent = known.pop("agent", 0.0)
    inside = min(agent, known.get("model", 0.0) + known.get("rate_limit", 0.0))
    split = {name: known.get(name, 0.0) for name in NAMES}
    split["tools" if by_agent else "search"] = agent - inside
    split["other"] = max(0.0, seconds - sum(split.values()))
    whole = sum(split.values())
    return [Phase(name, value, value / whole) for name, value in split.items() if value > 0]


def mean_phases(many: Sequence[Sequence[Phase]]) -> list[Phase]:
    """The mean seconds of each phase over some questions, and its share of their sum."""
    if not many:
        return []
    means = {
        name: fmean(sum(one.seconds for one in found if one.key == name) for found in many) for name in NAMES
    }
    whole = sum(means.values())
    return [Phase(name, value, value / whole) for name, value in means.items() if value > 0 and whole > 0]
