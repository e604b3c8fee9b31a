"""Search the states by words, and find states like a given one."""

from __future__ import annotations

from .arguments import NUMBER, TEXT, Arguments, Verb
from .excerpts import excerpt, has_phrase
from .failure import FOUND, NOTHING_FOUND, HelperError
from .haystack import Workspace, read_text
from .index import ACTION, FIELDS, GOAL, OBSERVATION, THOUGHT, TITLE, URL, open_index
from .page import Page, clip, quote
from .question import MOST_TERMS, Question, spelling, words
from .ranking import Ranked, Ranking
from .tokens import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array

    from .index import Layout, Searchable

LIMIT = 8
MOST = 100
POSTINGS = 25_000  # to look at: what keeps a search within some tens of milliseconds
SCANNED_TERMS = 8  # without an index each term costs a reading of the whole haystack
PHRASE_LOOKS = 60  # of the best states are read for a quoted phrase
SIMILAR_TERMS = 40
LISTED = 6  # words told per field


class Limited:
    """An index that shows only some of its postings: of one field, or of one trajectory."""

    def __init__(self, index: Searchable, field: int | None, span: range | None) -> None:
        self.layout: Layout = index.layout
        self._index = index
        self._field = field
        self._span = span

    def postings(self, term: str) -> list[int]:
        """As those of the index; a goal counts as shown by the first state."""
        rows = self._index.postings(term)
        if self._span is not None:
            rows = [row for row in rows if row >> 3 in self._span]
        if self._field is not None:
            rows = [row for row in rows if row & 7 == self._field]
        if self._field == GOAL:
            rows = [row - GOAL + OBSERVATION for row in rows]
        return rows

    def lengths(self, field: int) -> array[int]:
        """As those of the index."""
        return self._index.lengths(field)


def search(arguments: Arguments, workspace: Workspace, page: Page) -> int:
    """The states that fit the words best, each with where it has them and the place that shows the most."""
    text = " ".join(arguments.words)
    weights = wanted(text)
    field = _field(arguments.text("field")) if arguments.has("field") else None
    index, problem = open_index(workspace)
    if problem:
        page.line(f"({problem}: words are looked for as written, which is slower and ranks worse)")
        weights = dict(sorted(weights.items(), key=lambda item: -item[1])[:SCANNED_TERMS])
    span = None
    if arguments.has("in"):
        span = index.layout.span(index.layout.slugs.index(workspace.find(arguments.text("in"))))
    ranking = Ranking(Limited(index, field, span), weights, POSTINGS)
    limit = min(MOST, arguments.number("limit", LIMIT)) or LIMIT
    found = _chosen(ranking, text, workspace, limit, arguments)
    left_out = f"; too common to count: {', '.join(ranking.skipped[:10])}" if ranking.skipped else ""
    if not found:
        page.foot(f"no state has any of these words{left_out}; memory grep takes a regular expression")
        return NOTHING_FOUND
    page.line(f"# best {len(found)} of {len(ranking.scores)} states with any of these words{left_out}")
    written = spelling(text)
    for place, ranked in enumerate(found, 1):
        if not _write(place, ranked, ranking, written, workspace, page):
            break
    page.foot(
        "read: memory state ID N; more: --limit 20, --in ID, --field F; an exact text: memory where, grep -F"
    )
    return FOUND


def similar(arguments: Arguments, workspace: Workspace, page: Page) -> int:
    """States of the haystack that show what the given state shows, other trajectories first."""
    from .haystack import plain
    from .state import one_state

    workspace.rows()  # says what is wrong when there is no haystack
    slug, where = one_state(arguments, workspace)
    number = workspace.index(slug, where)
    text = read_text(workspace.state_path(slug, number))
    index, problem = open_index(workspace)
    if problem:
        raise HelperError(f"{problem}; similar needs the index. Use memory where with a line of the state")
    if slug not in index.layout.slugs:
        raise HelperError(f"the index does not know {slug}: it belongs to another haystack")
    state = index.layout.number(slug, number)
    weights = _telling(terms("\n".join(map(plain, text.split("\n")))), index)
    ranking = Ranking(index, weights, POSTINGS)
    limit = min(MOST, arguments.number("limit", LIMIT)) or LIMIT
    best = [ranked for ranked in ranking.best(limit + 1) if ranked.state != state][:limit]
    if not best:
        page.foot("no other state shows anything of this one")
        return NOTHING_FOUND
    page.line(f"# like {slug}:{number}, by {', '.join(list(weights)[:8])}")
    for place, ranked in enumerate(best, 1):
        if not _write(place, ranked, ranking, {}, workspace, page):
            break
    page.foot("compare within one trajectory: memory diff ID A B")
    return FOUND


def wanted(text: str) -> dict[str, float]:
    """The terms to look for, with weights.

    Raises:
        HelperError: the text holds neither letters nor digits.
    """
    weights = words(text) or dict.fromkeys(sorted(terms(text[:1000])), 1.0)
    if not weights:
        raise HelperError(f"{quote(text)} has no word to look for; memory grep -F takes any text")
    return dict(list(weights.items())[:MOST_TERMS])


def reasons(ranked: Ranked, ranking: Ranking, written: dict[str, str]) -> str:
    """Where a state has which words, for example "observation: wrapt; action: setup.cfg".

    Args:
        written: how to show a term (see question.spelling).
    """
    told = []
    for field in (OBSERVATION, ACTION, THOUGHT, TITLE, URL):
        own = [term for term in ranked.matched if ranking.fields(term, ranked.state) >> field & 1]
        if own:
            told.append(f"{FIELDS[field]}: {_listed(own, written)}")
    trajectory = ranking.layout.owner[ranked.state]
    goal = [term for term in ranking.found if ranking.in_goal(term, trajectory)]
    if goal:
        told.append(f"goal: {_listed(goal, written)}")
    return "; ".join(told) or "the step before leads here"


def _listed(terms_: list[str], written: dict[str, str]) -> str:
    return ", ".join(written.get(term, term) for term in terms_[:LISTED]) + (
        " …" if len(terms_) > LISTED else ""
    )


def _write(
    place: int, ranked: Ranked, ranking: Ranking, written: dict[str, str], workspace: Workspace, page: Page
) -> bool:
    slug, index = ranking.layout.place(ranked.state)
    if not page.line(f"{place} {slug}:{index}  {reasons(ranked, ranking, written)}", 300):
        return False
    try:
        found = excerpt(read_text(workspace.state_path(slug, index)), ranking.telling())
    except OSError:
        return page.line("   (its file cannot be read)")
    return found is None or page.line(f"   line {found.line}: {clip(found.text, 400)}", 450)


def _chosen(
    ranking: Ranking, text: str, workspace: Workspace, limit: int, arguments: Arguments
) -> list[Ranked]:
    """The best states that pass the filters, those with a quoted phrase first."""
    best = ranking.best(len(ranking.scores) if arguments.has("url") else max(limit, PHRASE_LOOKS))
    if arguments.has("field"):
        best = [ranked for ranked in best if ranked.matched]
    if arguments.has("url"):
        allowed = _with_url(arguments.text("url"), workspace, ranking.layout)
        best = [ranked for ranked in best if ranked.state in allowed]
    phrases = [phrase for phrase in Question(text).quotes if len(phrase.split()) > 1]
    if phrases:
        best[:PHRASE_LOOKS] = sorted(
            best[:PHRASE_LOOKS], key=lambda ranked: -_phrases(ranked, phrases, ranking, workspace)
        )
    return best[:limit]


def _phrases(ranked: Ranked, phrases: list[str], ranking: Ranking, workspace: Workspace) -> int:
    try:
        text = read_text(workspace.state_path(*ranking.layout.place(ranked.state)))
    except OSError:
        return 0
    return sum(has_phrase(text, phrase) for phrase in phrases)


def _with_url(part: str, workspace: Workspace, layout: Layout) -> set[int]:
    """The states whose address has the part, case aside."""
    import os

    numbers = {slug: layout.firsts[number] for number, slug in enumerate(layout.slugs)}
    found, part = set(), part.lower()
    for line in read_text(os.path.join(workspace.haystack, "states.tsv")).split("\n")[1:]:
        cells = line.split("\t", 3)
        if len(cells) == 4 and part in cells[2].lower() and cells[0] in numbers and cells[1].isdigit():
            found.add(numbers[cells[0]] + int(cells[1]))
    return found


def _field(name: str) -> int:
    if name not in FIELDS:
        raise HelperError(f"--field must be one of {', '.join(FIELDS)}, not {quote(name)}")
    return FIELDS.index(name)


def _telling(found: set[str], index: Searchable) -> dict[str, float]:
    """The terms that tell this state from most others: in its own fields, in some but not many states."""
    own = {}
    for term in sorted(found, key=lambda term: (-len(term), term))[: 8 * SIMILAR_TERMS]:
        rows = index.postings(term)
        if 1 < len(rows) <= max(20, index.layout.count // 4):
            own[term] = len(rows)
    order = sorted(own, key=lambda term: (own[term], term))
    return dict.fromkeys(order[:SIMILAR_TERMS], 1.0)


VERBS = {
    "search": Verb(
        "search WORDS [--in ID] [--url PART] [--field F] [--limit N]",
        "Rank the states by words: rare ones and those beyond the goal count most, endings do not matter, a\n"
        '"quoted phrase" comes first. Each hit tells which field has which words, and shows where most are.\n'
        f"Indexed is what is new in a state. F is one of {', '.join(FIELDS)}.",
        search,
        words=(1, 8),
        options={"in": TEXT, "url": TEXT, "field": TEXT, "limit": NUMBER},
    ),
    "similar": Verb(
        "similar ID N [--limit N]",
        "Find states that show the same rare words as this one.",
        similar,
        words=(1, 2),
        options={"limit": NUMBER},
    ),
}
