"""The best states for the workspace's question and for its parts, before anybody has searched."""

from __future__ import annotations

from .arguments import COUNT, FLAG, Arguments, Verb
from .failure import FOUND, NOTHING_FOUND
from .haystack import Workspace
from .page import Page, clip
from .question import Question
from .ranking import Ranking
from .search import reasons
from .shortlist import Candidate, diverse
from .task import POOL, Task
from .tokens import JOINING
from .words import spelling, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .haystack import Row

LIMIT = 10
MOST = 40
TEXT_BYTES = 8_000
PARTS = 6  # parts of the question that get candidates of their own
PER_PART = 2
PART_POSTINGS = 12_000  # to look at per part
PART_POOL = 12  # states read per part
WHOLE = 0.3  # how much the question's other words count beside those of a part
_EXCERPT = 260


class Found:
    """A candidate with what is told about it."""

    def __init__(self, candidate: Candidate, ranking: Ranking, written: dict[str, str], row: Row) -> None:
        shown = candidate.shown()
        self.record: dict[str, object] = {
            "trajectory_id": row.id,
            "slug": candidate.slug,
            "state": candidate.index,
            "score": round(candidate.score, 3),
            "why": reasons(candidate.ranked, ranking, written),
            "line": shown.line,
            "excerpt": clip(shown.text, _EXCERPT),
            "command": f"memory state {candidate.slug} {candidate.index}",
        }

    def __str__(self) -> str:
        return f"{self.record['slug']}:{self.record['state']}"


def candidates(arguments: Arguments, workspace: Workspace, page: Page) -> int:
    """Print the best states for the question, and for its options, quotes, names and numbers."""
    rows = {row.slug: row for row in workspace.rows()}
    task = Task(workspace)
    limit = min(MOST, arguments.number("limit", LIMIT))
    ranking = task.ranking()
    best = _found(task, ranking, limit, rows)
    parts = []
    for part in _parts(task.question, ranking) if task.index.exact else []:
        own = Ranking(task.index, _weights(task.question, part), PART_POSTINGS)
        parts.append((part, _found(task, own, PER_PART, rows, PART_POOL)))
    absent = _absent(task.question, ranking)
    if arguments.has("json"):
        _write_json(task, best, parts, absent, page)
    else:
        _write_text(task, best, parts, absent, rows, page)
    return FOUND if best else NOTHING_FOUND


def _found(task: Task, ranking: Ranking, limit: int, rows: dict[str, Row], pool: int = POOL) -> list[Found]:
    written = spelling(task.question.text)
    chosen = diverse(task.best(ranking, pool), limit)
    return [Found(one, ranking, written, rows[one.slug]) for one in chosen]


def _parts(question: Question, ranking: Ranking) -> list[str]:
    """Options, else quotes, and what looks like a name: numbers and compounds that stand somewhere."""
    found = question.options or question.quotes
    written = spelling(question.text)
    named = [
        written[term]
        for term, weight in question.weights.items()
        if weight >= 1 and term in written and ranking.found.get(term) and _is_name(term)
    ]
    return list(dict.fromkeys(part for part in [*found, *named] if words(part)))[:PARTS]


def _is_name(term: str) -> bool:
    """Whether it has digits or several parts; plain words may have signs that are no letters."""
    return any(letter.isdigit() or letter in JOINING for letter in term)


def _weights(question: Question, part: str) -> dict[str, float]:
    own = words(part)
    return {**{term: weight * WHOLE for term, weight in question.weights.items()}, **own}


def _absent(question: Question, ranking: Ranking) -> list[str]:
    written = spelling(question.text)
    telling = [
        term for term, weight in question.weights.items() if weight >= 1 and not ranking.found.get(term)
    ]
    return [written.get(term, term) for term in telling]


def _write_json(
    task: Task, best: list[Found], parts: list[tuple[str, list[Found]]], absent: list[str], page: Page
) -> None:
    import json

    document = {
        "kind": task.question.kind(),
        "absent": absent,
        "problem": task.problem,
        "best": [one.record for one in best],
        "parts": [{"part": part, "best": [one.record for one in found]} for part, found in parts],
    }
    # One record less until the page holds it all: half a JSON text would be none.
    while len(json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")) + 1 > page.room:
        if document["parts"]:
            document["parts"].pop()  # type: ignore[attr-defined]
        elif document["best"]:
            document["best"].pop()  # type: ignore[attr-defined]
        else:
            break
    page.piece(json.dumps(document, ensure_ascii=False))


def _write_text(
    task: Task,
    best: list[Found],
    parts: list[tuple[str, list[Found]]],
    absent: list[str],
    rows: dict[str, Row],
    page: Page,
) -> None:
    lines = [f"# Candidates, ranked by words (question read as: {task.question.kind()})"]
    if task.problem:
        lines.append(f"({task.problem}: searched as written, which ranks worse)")
    if absent:
        lines.append(f"in no state: {clip(', '.join(absent), 200)}")
    for place, one in enumerate(best, 1):
        lines += _told(f"{place}.", one)
    above = {str(one.record["command"]) for one in best}
    for part, found in parts:
        lines.append(f"## for {clip(' '.join(part.split()), 80)}")
        for one in found:
            known = str(one.record["command"]) in above
            lines += [f"- {one} (above)"] if known else _told("-", one)
            above.add(str(one.record["command"]))
    lines.append("## recordings of these")
    for slug in dict.fromkeys(str(one.record["slug"]) for one in best):
        row = rows[slug]
        lines.append(f"{slug}: {row.states} states, {row.outcome}: {clip(row.goal, 110)}")
    if not best:
        why = "no state has any word of the question" if task.question.weights else "no word to look for"
        lines = [f"{why}; look at memory overview"]
    room = TEXT_BYTES
    for line in lines:
        room -= len(line.encode("utf-8", "replace")) + 1
        if room < 0 or not page.line(line):
            break


def _told(mark: str, one: Found) -> list[str]:
    record = one.record
    told = [f"{mark} {one}  {clip(str(record['why']), 180)}"]
    if record["excerpt"]:
        told.append(f"   line {record['line']}: {record['excerpt']}")
    told.append(f"   verify: {record['command']}")
    return told


VERBS = {
    "candidates": Verb(
        "candidates [--json] [--limit N]",
        "Rank states for the question in question.json and for its options, quotes, names and numbers.",
        candidates,
        instead="a few words of the question (memory search WORDS)",
        options={"json": FLAG, "limit": COUNT},
    )
}
