"""The question of a workspace, and the states that may answer it."""

from __future__ import annotations

import os

from .failure import HelperError
from .haystack import Workspace, read_text
from .index import affordable, open_index
from .question import Question
from .ranking import Ranking
from .shortlist import Candidate, gather

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .index import Searchable

POSTINGS = 30_000  # to look at
POOL = 60  # of the best states are read and compared
_QUESTION_BYTES = 1 << 20


class Task:
    """The question of a workspace, taken apart, and what can be searched for it."""

    def __init__(self, workspace: Workspace) -> None:
        text, self.image = _read_question(workspace)
        self.workspace = workspace
        self.question = Question(text)
        self.index, self.problem = open_index(workspace)

    def ranking(self) -> Ranking:
        """All states ranked by the words of the question."""
        return Ranking(self.index, affordable(self.index, self.question.weights), POSTINGS)

    def best(self, ranking: Ranking, most: int = POOL) -> list[Candidate]:
        """The best states; for a question with an image only states with a screenshot, if any has one."""
        ranked = ranking.best(most)
        if self.image:
            pictured = _pictured(self.workspace, self.index)
            if pictured:
                ranked = [one for one in ranking.best(len(ranking.scores)) if one.state in pictured][:most]
        return gather(ranked, ranking, self.workspace)


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
