"""The file of one state and the file about one trajectory, as an agent reads them; and back."""

from dataclasses import dataclass

from .annotation import annotation
from .model import Convention, State, Trajectory

LOOK_BACK = 64  # states in which a vanished element is looked for


@dataclass(frozen=True, slots=True)
class StateFile:
    """What a state file says. `action` carries its annotation, as shown to agents and readers."""

    url: str
    action: str
    thought: str
    observation: str


def annotated_actions(trajectory: Trajectory, convention: Convention) -> list[str]:
    """Each state's action with the element it names: "click('a324')  # [a324] button 'Export', clickable"."""
    trees = [state.text for state in trajectory.states]
    actions = []
    for state in trajectory.states:
        note = ""
        if state.action:
            note = annotation(state.action, _likely_trees(trees, state.index, convention))
        actions.append(f"{state.action}  # {note}" if note else state.action)
    return actions


def _likely_trees(trees: list[str], index: int, convention: Convention) -> list[str]:
    earlier = trees[max(0, index - LOOK_BACK) : index]
    if convention is Convention.DESTINATION and earlier:
        # The action was taken on the page before; an id may mean something else on the page it led to.
        return [*earlier[:-1], trees[index], earlier[-1]]
    return [*earlier, trees[index]]


def state_file(state: State, action: str) -> bytes:
    """The text of states/<index>.txt: header, one empty line, the observation."""
    header = f"{_field('url', state.url)}{_field('action', action)}{_field('thought', state.thought)}\n"
    end = "" if state.text.endswith("\n") or not state.text else "\n"
    return f"{header}{state.text}{end}".encode()


def parse_state_file(text: str) -> StateFile:
    """Read back what state_file wrote."""
    header, _, observation = text.partition("\n\n") if not text.startswith("\n") else ("", "", text[1:])
    values = {"url": "", "action": "", "thought": ""}
    name = ""
    for line in header.split("\n"):
        if line.startswith("  "):
            values[name] += "\n" + line[2:]
        elif line:
            name, _, values[name] = line.partition(": ")
    return StateFile(observation=observation, **values)


def about_file(trajectory: Trajectory, convention: Convention) -> bytes:
    """The text of about.txt: what the recording is, with the goal whole."""
    fields = (
        _always("id", trajectory.id),
        _always("goal", trajectory.goal),
        _always("start_url", trajectory.start_url),
        _always("outcome", trajectory.outcome or "unknown"),
        _always("states", str(len(trajectory.states))),
        _always("action_convention", convention),
    )
    return "".join(fields).encode()


def _field(name: str, value: str) -> str:
    return _always(name, value) if value else ""


def _always(name: str, value: str) -> str:
    indented = value.replace("\n", "\n  ")
    return f"{name}: {indented}\n"
