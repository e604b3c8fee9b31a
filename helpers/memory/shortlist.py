"""The states that fit a question, as few alike as possible."""

from __future__ import annotations

import os

from .failure import HelperError
from .haystack import Workspace, read_text
from .index import open_index
from .question import Question
from .ranking import Ranking

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .index import Searchable

POOL = 60  # of the best states are read and compared
_STATE_BYTES = 1 << 18  # of a state that are compared
_QUESTION_BYTES = 1 << 20
_SCANNED_TERMS = 12  # without an index every term costs a reading of the haystack

# Shares of the best score that a state loses when one like it was chosen before.
NEIGHBOUR = 0.03  # the state before or after it
DOUBLE = 0.1  # a state of another trajectory that shows the same
_SAME = 0.8  # of the words of both: what counts as showing the same


class Candidate:
    """A possible answer: `state` is its number in the whole haystack, `words` what it shows."""

    __slots__ = ("index", "score", "slug", "state", "text", "trajectory", "words")

    def __init__(self, state: int, score: float, ranking: Ranking, workspace: Workspace) -> None:
        self.state = state
        self.score = score
        self.trajectory = ranking.layout.owner[state]
        self.slug, self.index = ranking.layout.place(state)
        try:
            self.text = read_text(workspace.state_path(self.slug, self.index), _STATE_BYTES)
        except OSError:
            self.text = ""
        self.words = frozenset(self.text.partition("\n\n")[2].split())

    def __str__(self) -> str:
        return f"{self.slug}:{self.index}"


class Task:
    """The question of a workspace, taken apart, and what can be searched for it."""

    def __init__(self, workspace: Workspace) -> None:
        text, self.image = _read_question(workspace)
        self.workspace = workspace
        self.question = Question(text)
        self.index, self.problem = open_index(workspace)

    def ranking(self) -> Ranking:
        """All states ranked by the words of the question."""
        weights = self.question.weights
        if not self.index.exact:
            weights = dict(sorted(weights.items(), key=lambda item: -item[1])[:_SCANNED_TERMS])
        return Ranking(self.index, weights)

    def best(self, ranking: Ranking, most: int = POOL) -> list[Candidate]:
        """The best states; for a question with an image only states with a screenshot, if any has one."""
        ranked = ranking.best(most)
        if self.image:
            pictured = _pictured(self.workspace, self.index)
            if pictured:
                ranked = [one for one in ranking.best(len(ranking.scores)) if one.state in pictured][:most]
        return [Candidate(one.state, one.score, ranking, self.workspace) for one in ranked]


def diverse(candidates: list[Candidate], most: int) -> list[Candidate]:
    """At most `most` of the candidates, best first, each less likely the more it is like one before it."""
    if not candidates:
        return []
    scores = [one.score for one in candidates]
    best = max(abs(scores[0]), 1e-9)
    left = list(range(len(candidates)))
    chosen: list[Candidate] = []
    while left and len(chosen) < most:
        place = max(left, key=lambda one: (scores[one], -one))
        left.remove(place)
        chosen.append(candidates[place])
        for other in left:
            scores[other] -= best * _likeness(candidates[place], candidates[other])
    return chosen


def _likeness(chosen: Candidate, other: Candidate) -> float:
    if chosen.trajectory == other.trajectory:
        return NEIGHBOUR if abs(chosen.state - other.state) == 1 else 0.0
    shared = len(chosen.words & other.words)
    together = len(chosen.words) + len(other.words) - shared
    return DOUBLE if len(chosen.words) > 3 and shared > _SAME * together else 0.0


def _read_question(workspace: Workspace) -> tuple[str, bool]:
    """The text of question.json, and whether an image belongs to it."""
    import json

    path = os.path.join(workspace.root, "question.json")
    try:
        value = json.loads(read_text(path, _QUESTION_BYTES))
    except OSError as error:
        raise HelperError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise HelperError(f"{path} is no JSON: {error}") from None
    text = value.get("question") if isinstance(value, dict) else None
    if not isinstance(text, str) or not text.strip():
        raise HelperError(f'{path} holds no "question"')
    return text, bool(value.get("image"))


def _pictured(workspace: Workspace, index: Searchable) -> set[int]:
    """The states that have a screenshot."""
    found: set[int] = set()
    for slug, first in zip(index.layout.slugs, index.layout.firsts):
        try:
            names = os.listdir(os.path.join(workspace.trajectories, slug))
        except OSError:
            continue
        found.update(
            first + int(name[:4]) for name in names if name[:4].isdigit() and not name.endswith(".txt")
        )
    return found
