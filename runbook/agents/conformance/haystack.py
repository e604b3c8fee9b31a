"""The small haystack that agents search in the kit, and the question they are asked."""

from collections.abc import Iterator

from manifests.model import State, Trajectory

QUESTION = "Which access code does the page of the Harbour warehouse show after the second step?"
_PLACES = ("Harbour", "Station", "Airport")
_STEPS = 4


def trajectories() -> Iterator[Trajectory]:
    """Three recordings; each shows another access code in every state."""
    for number, place in enumerate(_PLACES):
        states = [_state(number, place, step) for step in range(_STEPS)]
        goal = f"Open the page of the {place} warehouse and read its access code"
        yield Trajectory(f"run-{number}", "web", goal, f"http://{place}.example/", "success", states)


def _state(number: int, place: str, step: int) -> State:
    text = (
        f"RootWebArea '{place} warehouse', focused\n"
        f"\t[{step + 2}] button 'Next step {step}', clickable\n"
        f"\tStaticText 'Access code CODE-{number}-{step} of the {place} warehouse'"
    )
    return State(
        index=step,
        step=step,
        url=f"http://{place}.example/step/{step}",
        action=f"click('{step + 2}')" if step < _STEPS - 1 else "",
        thought=f"Step {step} at the {place} warehouse",
        text=text,
        screenshot=None,
    )


def question(least_bytes: int) -> str:
    """The question; in front of it, words without meaning up to `least_bytes`."""
    filler = "This line is here to be long. "
    lines = filler * (least_bytes // len(filler) + 1) if least_bytes else ""
    return f"{lines}{QUESTION}"
