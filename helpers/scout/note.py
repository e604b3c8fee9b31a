"""What scout says about its evidence: what it looked for, why it took each state, and how sure it is."""

from __future__ import annotations

from ..memory.page import clean, clip
from ..memory.search import reasons
from ..memory.task import Task
from ..memory.words import spelling
from .verdict import missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..memory.haystack import Row
    from ..memory.ranking import Ranking
    from .choice import Choice
    from .verdict import Verdict

NOTE_CHARACTERS = 8_000
QUOTED = 8  # states with an excerpt
TELLING = 0.35  # weight from which a word of the question is named


def note(task: Task, ranking: Ranking, choice: Choice, verdict: Verdict, rows: dict[str, Row]) -> str:
    """The note that goes with the spans, at most NOTE_CHARACTERS long."""
    written = spelling(task.question.text)
    lines = ["Found by ranking words, without a model; read the states before trusting them.", ""]
    lines += ["## Support Analysis", f"- The question was read as: {task.question.kind()}."]
    sought = [term for term in ranking.found if task.question.weights[term] >= TELLING]
    lines.append(
        f"- Looked for, rarest first: {_listed(sorted(sought, key=ranking.found.__getitem__), written)}."
    )
    absent = missing(task, ranking)
    if absent:
        lines.append(f"- In no state: {_listed(absent, written)}. Check whether the premise holds.")
    if task.problem:
        lines.append(f"- Searched without an index ({task.problem}).")
    lines.append(f"- Verdict by words alone: {verdict.status}: {verdict.why}.")
    for place, candidate in enumerate(choice.picked, 1):
        why = reasons(candidate.ranked, ranking, written)
        lines.append(f"{place}. {candidate} (score {candidate.score:.2f}): {clip(why, 200)}")
        if place <= QUOTED:
            shown = candidate.shown()
            lines.append(f"   line {shown.line}: {clip(shown.text, 300)}")
    for end in choice.ends:
        slug, index = ranking.layout.place(end)
        lines.append(f"- {slug}:{index}: the last state, for how it came out")
    lines += ["", "## Relevant Procedure and Hint Notes"]
    for slug in dict.fromkeys(span.slug for span in choice.spans):
        row = rows[slug]
        lines.append(f"- {slug}: {row.states} states, outcome {row.outcome}; goal: {clip(row.goal, 160)}")
    return clip("\n".join(clean(line) for line in lines), NOTE_CHARACTERS)


def _listed(terms: list[str], written: dict[str, str]) -> str:
    return ", ".join(written.get(term, term) for term in terms[:16]) or "nothing"
