"""How far what the question names stands in the haystack and in the states handed in.

Ranking words cannot tell whether a state answers a question. What it can tell is what is missing, and that is
all a status here says: `supported` means that nothing named is missing.
"""

from __future__ import annotations

import re

from ..memory.task import Task
from ..memory.words import spelling, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..memory.ranking import Ranking
    from .choice import Choice

KEY = 1.0  # weight from which a word of the question is a key word
MISSING = 0.7  # of the key words: with more of them in no state the haystack is about something else
NEAR = 0.5  # of the weight of the question's words: with less of it in the states it is a near match
# Capitalised words within a sentence, up to four in a row.
_NAME = re.compile(r"(?<=[a-z0-9,;)] )[A-Z][\w-]*[a-z0-9](?: [A-Z][\w-]*[a-z0-9]){0,3}")


class Verdict:
    """A status of the evidence contract, and why in one sentence."""

    def __init__(self, status: str, why: str) -> None:
        self.status = status
        self.why = why


def verdict(task: Task, ranking: Ranking, choice: Choice) -> Verdict:
    """supported, near_match_only (something named is missing) or insufficient (most of it is)."""
    if not choice.picked:
        if not task.question.weights:
            return Verdict("insufficient", "the question has no word to look for")
        return Verdict("insufficient", "no state has any word of the question")
    absent, keys = missing(task, ranking), _keys(task)
    if len(absent) > MISSING * len(keys):
        return Verdict("insufficient", f"{len(absent)} of {len(keys)} key words are in no state")
    nowhere = [name for name in _named(task) if not ranking.together(sorted(words(name)))]
    if nowhere:
        return Verdict("near_match_only", f"nowhere together or at all: {', '.join(nowhere[:8])}")
    shown = {term for one in choice.picked for term in ranking.matched(one.state)}
    trajectories = {one.trajectory for one in choice.picked}
    weights = task.question.weights
    shown |= {term for term in weights if any(ranking.in_goal(term, one) for one in trajectories)}
    elsewhere = [name for name in _named(task) if not shown.issuperset(words(name))]
    if elsewhere:
        return Verdict("near_match_only", f"not in the states handed in: {', '.join(elsewhere[:8])}")
    covered = sum(weight for term, weight in weights.items() if term in shown)
    if covered < NEAR * sum(weights.values()):
        return Verdict("near_match_only", "the states have less than half of the question's words")
    return Verdict(
        "supported", "what the question names stands in these states; nobody has judged the answer"
    )


def missing(task: Task, ranking: Ranking) -> list[str]:
    """The key words that no state and no goal has."""
    return [term for term in _keys(task) if not ranking.stands(term)]


def _keys(task: Task) -> list[str]:
    return [term for term, weight in task.question.weights.items() if weight >= KEY]


def _named(task: Task) -> list[str]:
    """What the question quotes, capitalises, or writes with digits; as written, each once."""
    question = task.question
    written = spelling(question.text)
    names = [
        match.group()
        for part in question.parts
        if part.kind == "clause"
        for match in _NAME.finditer(part.text)
    ]
    numbers = [written[term] for term in _keys(task) if term in written and any(map(str.isdigit, term))]
    found = [" ".join(name.split()) for name in [*question.quotes, *names, *numbers]]
    known = question.weights.keys()
    return [name for name in dict.fromkeys(found) if words(name) and known >= words(name).keys()]
