"""The agents of some runs under names that tell them apart."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evals.report.texts import shown
from evals.traces.aggregate import GroupFigures, group_figures
from evals.traces.run import QuestionTrace, RunTraces

_LONGEST_NAME = 24


@dataclass(frozen=True, slots=True)
class Shown:
    """One agent of one run."""

    name: str
    """Clean, short, and different from the others' names; a second line is the run's."""
    figures: GroupFigures
    questions: list[QuestionTrace]


def agents_of(read: Sequence[RunTraces]) -> list[Shown]:
    """Every agent of every run; where two are called the same the run's folder tells them apart."""
    groups = [(one, group) for one in read for group in group_figures(one) if group.by == "agent"]
    often = Counter(group.group for _, group in groups)
    taken = Counter[str]()
    agents = []
    for one, group in groups:
        name = _short(group.group)
        if often[group.group] > 1:
            name = f"{name}\n{_short(Path(one.run).resolve().name)}"
        taken[name] += 1
        agents.append(
            Shown(
                name if taken[name] == 1 else f"{name} ({taken[name]})",
                group,
                [question for question in one.questions if question.agent == group.group],
            )
        )
    return agents


def _short(name: str) -> str:
    name = " ".join(shown(name).split()) or "?"
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
