"""Does a state's action lead to the state, or follow it? Recordings differ; their ends tell."""

from collections.abc import Iterable

from .model import Convention, Trajectory


def own_convention(trajectory: Trajectory) -> Convention:
    """What the trajectory's own ends say."""
    if len(trajectory.states) < 2:
        return Convention.UNKNOWN
    return told_by_ends(bool(trajectory.states[0].action), bool(trajectory.states[-1].action))


def told_by_ends(first: bool, last: bool) -> Convention:
    """What it says that the first, and the last, of several states has an action.

    Nothing led to the first state, so a recording whose first state alone has no action is in destination
    form; nothing was done after the last, so one whose last state alone has none is in source form.
    """
    if first == last:
        return Convention.UNKNOWN
    return Convention.SOURCE if first else Convention.DESTINATION


def shared_convention(found: Iterable[Convention]) -> Convention:
    """What holds for the trajectories of a data root that do not tell by themselves.

    A recording that was cut off, or whose agent ended with a message, carries an action at both ends. Its
    siblings came from the same recorder, so what they say holds for it too, unless they disagree.
    """
    told = set(found) - {Convention.UNKNOWN}
    return told.pop() if len(told) == 1 else Convention.UNKNOWN
