"""The greppable tables of a view: one line per trajectory, one line per state."""

from functools import lru_cache

from .model import State, Trajectory

TRAJECTORIES_HEADER = "slug\tid\tstates\toutcome\taction_convention\tstart_url\tgoal\n"
STATES_HEADER = "slug\tstate\turl\taction\tthought\n"
FIELD = 300  # characters of a field


@lru_cache(2048)  # a trajectory's texts come again: in a table and in a summary, and addresses on each page
def one_line(text: str, limit: int = FIELD) -> str:
    """`text` on one line without tabs, cut to `limit` characters (an ellipsis marks the cut)."""
    if len(text) <= limit and text.isprintable() and "  " not in text:
        return text.strip(" ")  # most texts; nothing else in it is a blank
    line = " ".join(text[: 2 * limit].split())
    if len(line) > limit or (len(text) > 2 * limit and text[2 * limit :].strip()):
        return line[: limit - 1] + "…"
    return line


def trajectory_row(
    slug: str,
    trajectory_id: str,
    states: int,
    outcome: str | None,
    convention: str,
    start_url: str,
    goal: str,
) -> str:
    """A line of trajectories.tsv."""
    whole_id = " ".join(trajectory_id.split())
    outcome = one_line(outcome or "unknown", 40)
    return f"{slug}\t{whole_id}\t{states}\t{outcome}\t{convention}\t{one_line(start_url)}\t{one_line(goal)}\n"


def state_rows(slug: str, trajectory: Trajectory, actions: list[str]) -> bytes:
    """The lines of states.tsv of one trajectory; `actions` are the annotated ones."""
    return "".join(_state_row(slug, state, actions[state.index]) for state in trajectory.states).encode()


def _state_row(slug: str, state: State, action: str) -> str:
    return f"{slug}\t{state.index}\t{one_line(state.url)}\t{one_line(action)}\t{one_line(state.thought)}\n"
