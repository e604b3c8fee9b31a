"""Which questions a run asks, and in which order."""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from evals.question import EvalQuestion

_MOST_NAMED = 20


class ChoiceError(ValueError):
    """The settings choose no question, or one that does not exist; the message says which."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What narrows the questions of a tier; the narrowings apply in the order of the fields."""

    ids: tuple[str, ...] | None = None
    limit: int | None = None
    """The first so many."""
    sample: int | None = None
    """So many, each question type in proportion to its share."""
    seed: int = 0
    """Draws the sample and shuffles the order."""


def choose(questions: Sequence[EvalQuestion], choice: Choice) -> list[EvalQuestion]:
    """The chosen questions in the order in which they are started; the same for the same seed.

    Raises:
        ChoiceError: an id is unknown.
    """
    by_id = {question.id: question for question in questions}
    chosen = list(questions)
    if choice.ids is not None:
        if unknown := [one for one in choice.ids if one not in by_id]:
            raise ChoiceError(_no_such(unknown))
        chosen = [by_id[one] for one in dict.fromkeys(choice.ids)]
    if choice.limit is not None:
        chosen = chosen[: choice.limit]
    draw = random.Random(choice.seed)
    if choice.sample is not None:
        chosen = stratified_sample(chosen, choice.sample, draw)
    draw.shuffle(chosen)
    return chosen


def _no_such(unknown: Sequence[str]) -> str:
    named = ", ".join(map(repr, unknown[:_MOST_NAMED]))
    more = f" and {len(unknown) - _MOST_NAMED} more" if len(unknown) > _MOST_NAMED else ""
    return f"there is no question {named}{more}"


def stratified_sample(
    questions: Sequence[EvalQuestion], size: int, draw: random.Random
) -> list[EvalQuestion]:
    """`size` questions, each type with its share, rounded by the largest remainder (Hamilton's method)."""
    if size >= len(questions):
        return list(questions)
    by_type: dict[str, list[EvalQuestion]] = defaultdict(list)
    for question in questions:
        by_type[question.question_type].append(question)
    shares = {name: len(members) * size / len(questions) for name, members in by_type.items()}
    seats = {name: int(share) for name, share in shares.items()}
    by_remainder = sorted(shares, key=lambda name: (seats[name] - shares[name], name))
    for name in by_remainder[: size - sum(seats.values())]:
        seats[name] += 1
    return [question for name in sorted(by_type) for question in draw.sample(by_type[name], seats[name])]
