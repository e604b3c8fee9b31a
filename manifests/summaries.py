"""The two summaries of a haystack, piece by piece: what was wanted; and all that was thought and done."""

from .model import Trajectory
from .tables import FIELD, one_line

CONCISE_TITLE = b"# Summary: goal, start, outcome and length of each trajectory\n\n"
FULL_TITLE = b"# Summary: every thought and action of each trajectory\n\n"


def concise_piece(slug: str, trajectory: Trajectory) -> bytes:
    """A trajectory's entry in SUMMARY_CONCISE.md."""
    return "".join(_head(slug, trajectory)).encode()


def full_piece(slug: str, trajectory: Trajectory, actions: list[str]) -> bytes:
    """A trajectory's entry in SUMMARY_FULL.md; `actions` are the annotated ones."""
    lines = _head(slug, trajectory)
    lines.pop()
    for state in trajectory.states:
        lines.append(f"- state {state.index}\n")
        if state.thought:
            lines.append(f"  - thought: {_whole(state.thought)}\n")
        if actions[state.index]:
            lines.append(f"  - action: {_whole(actions[state.index])}\n")
    lines.append("\n")
    return "".join(lines).encode()


def _head(slug: str, trajectory: Trajectory) -> list[str]:
    return [
        f"## {slug}\n",
        f"- goal: {_whole(trajectory.goal)}\n",
        f"- start url: {one_line(trajectory.start_url)}\n",
        f"- outcome: {one_line(trajectory.outcome or 'unknown', 40)}\n",
        f"- states: {len(trajectory.states)}\n",
        "\n",
    ]


def _whole(text: str) -> str:
    return one_line(text, len(text)) if len(text) > FIELD else one_line(text)
