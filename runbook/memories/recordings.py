"""A trajectory as text to embed or to write about: slices of states, steps between them, the whole."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from instructions.retrieval import Step
from manifests.model import Convention
from manifests.new_lines import distinct_lines, new_lines
from manifests.state_files import StateFile, parse_state_file
from manifests.store import Entry
from runbook.evidence import Span

_NEW_CHARACTERS = 2_000  # of what is new on screen after a step
_STEP_CHARACTERS = 1_000  # of an action, of a thought
_RECORDING_CHARACTERS = 40_000
_EVENT_CHARACTERS = 300  # where no model wrote one
_GOAL_CHARACTERS = 2_000


def slice_texts(entry: Entry, spans: Sequence[Span]) -> Iterator[str]:
    """The text of each span: the goal, then the states as their files show them."""
    texts: dict[int, str] = {}
    for span in spans:
        for index in span.states:
            if index not in texts:
                texts[index] = entry.state_path(index).read_text(encoding="utf-8")
        for passed in [index for index in texts if index < span.start_state_index]:
            del texts[passed]
        shown = "\n".join(texts[index] for index in span.states)
        yield f"goal: {entry.goal[:_GOAL_CHARACTERS]}\n{shown}"


def steps_of(entry: Entry) -> list[Step]:
    """What happened between neighbouring states: the action, the thought, and what is new on screen."""
    states = [
        parse_state_file(entry.state_path(index).read_text(encoding="utf-8")) for index in range(entry.states)
    ]
    fresh = new_lines(distinct_lines(state.observation) for state in states)
    steps = []
    for number, (before, after) in enumerate(pairwise(states), 1):
        acted = after if entry.convention is Convention.DESTINATION else before
        steps.append(Step(number, _step_text(acted, before, after, fresh[number])))
    return steps


def _step_text(acted: StateFile, before: StateFile, after: StateFile, fresh: str) -> str:
    lines = [f"action: {acted.action[:_STEP_CHARACTERS] or '(none recorded)'}"]
    if acted.thought:
        lines.append(f"thought: {acted.thought[:_STEP_CHARACTERS]}")
    if after.url != before.url:
        lines.append(f"address afterwards: {after.url[:_STEP_CHARACTERS]}")
    lines += ["new on screen:", fresh[:_NEW_CHARACTERS] or "(nothing)"]
    return "\n".join(lines)


def plain_event(step: Step) -> str:
    """A step in a line, for want of a better text."""
    return " ".join(step.text.split())[:_EVENT_CHARACTERS]


def recording_text(entry: Entry, events: Sequence[str]) -> str:
    """A whole recording in short: goal, outcome, and what happened step by step."""
    head = [
        f"goal: {entry.goal[:_GOAL_CHARACTERS]}",
        f"start: {entry.start_url}",
        f"outcome: {entry.outcome or 'unknown'}",
    ]
    body = [f"{number}. {event}" for number, event in enumerate(events, 1)]
    return "\n".join([*head, *body])[:_RECORDING_CHARACTERS]
