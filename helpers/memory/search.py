"""Search the states by words, and find states like a given one."""

from __future__ import annotations

from .arguments import COUNT, TEXT, Arguments, Verb
from .excerpts import as_written, has_phrase
from .failure import FOUND, NOTHING_FOUND, HelperError, NoIndexError
from .haystack import Workspace, read_text
from .index import (
    ACTION,
    GOAL,
    OBSERVATION,
    THOUGHT,
    TITLE,
    URL,
    affordable,
    open_index,
    usable_index,
)
from .index_files import FIELDS
from .page import Page, quote
from .ranking import Ranked, Ranking
from .shortlist import Candidate, gather
from .tokens import telling, telling_first, terms
from .words import MOST_TERMS, spelling, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .excerpts import Excerpt
    from .index import Index, Layout, Scan

LIMIT = 8
MOST = 100
POSTINGS = 12_000  # to look at: what keeps a search within some tens of milliseconds
LOOKS = 30  # of the best states are read, to see which show the words in one place
NEARNESS = 0.6  # how much that counts: more than for a question, whose words describe more than one place
PHRASE_LOOKS = 60  # and of these for a quoted phrase
LOOKED_AT = 1 << 18  # bytes of a state that is to be found again
SIMILAR_CHUNKS = 100  # of the given state
SIMILAR_LOOKS = 20  # terms whose rarity is looked up
SIMILAR_TERMS = 8
SIMILAR_POSTINGS = 3_000
LISTED = 6  # words told per field


class Limited:
    """An index that shows only some of its postings: of one field, or of one trajectory."""

    def __init__(self, index: Index | Scan, field: int | None, trajectory: int | None) -> None:
        self.layout: Layout = index.layout
        self._index = index
        self._field = field
        self._trajectory = trajectory

    def look_up(self, terms: Iterable[str], most: int | None = None) -> None:
        """As the index does."""
        if self._trajectory is None:
            self._index.look_up(terms, most)

    def postings(self, term: str) -> list[int]:
        """As those of the index; a goal counts as shown by the first state."""
        one = self._trajectory
        rows = self._index.postings(term) if one is None else self._index.within(term, one)
        if self._field is not None:
            rows = [row for row in rows if row & 7 == self._field]
        if self._field == GOAL:
            rows = [row - GOAL + OBSERVATION for row in rows]
        return rows

    def frequency(self, term: str) -> int:
        """How many of them there are."""
        everything = self._trajectory is None and self._field is None
        return self._index.frequency(term) if everything else len(self.postings(term))

    def lengths(self, field: int) -> bytes:
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
    trajectory = None
    if arguments.has("in"):
        trajectory = index.layout.slugs.index(workspace.find(arguments.text("in")))
    ranking = Ranking(Limited(index, field, trajectory), affordable(index, weights), POSTINGS)
    found = _chosen(ranking, text, workspace, arguments)
    left_out = f"; too common to count: {', '.join(ranking.skipped[:10])}" if ranking.skipped else ""
    if not found:
        page.foot(f"no state has any of these words{left_out}; memory grep takes a regular expression")
        return NOTHING_FOUND
    page.line(f"# best {len(found)} of {len(ranking.scores)} states with any of these words{left_out}")
    _write(found, [one.shown() for one in found], ranking, spelling(text), page)
    page.foot(
        "read: memory state ID N; more: --limit 20, --in ID, --field F; exact text: memory where, grep -F"
    )
    return FOUND


def similar(arguments: Arguments, workspace: Workspace, page: Page) -> int:
    """States of the haystack that show the same rare words as the given one."""
    from .haystack import plain
    from .state import one_state

    if not workspace.exists():
        workspace.rows()  # says what is wrong
    slug, where = one_state(arguments, workspace)
    number = workspace.index(slug, where)
    text = read_text(workspace.state_path(slug, number), LOOKED_AT)
    try:
        index = usable_index(workspace)
    except NoIndexError as error:
        raise HelperError(
            f"{error.text}; similar needs the index. Use memory where with a line of the state"
        ) from None
    state = index.layout.number(slug, number)
    weights = _rare(telling("\n".join(map(plain, text.split("\n"))), SIMILAR_CHUNKS), index)
    ranking = Ranking(index, weights, SIMILAR_POSTINGS)
    limit, written = _limit(arguments), as_written(text, weights)
    best = [ranked for ranked in ranking.best(limit + 1) if ranked.state != state][:limit]
    if not best:
        page.foot("no other state shows anything of this one")
        return NOTHING_FOUND
    page.line(f"# like {slug}:{number}, by {_listed(list(weights), written)}")
    alike = gather(best, ranking, workspace)
    _write(alike, [one.excerpt for one in alike], ranking, written, page)
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
    found: list[Candidate], excerpts: list[Excerpt], ranking: Ranking, written: dict[str, str], page: Page
) -> None:
    for place, (one, shown) in enumerate(zip(found, excerpts), 1):
        if not page.line(f"{place} {one}  {reasons(one.ranked, ranking, written)}", 300):
            break
        page.line(f"   line {shown.line}: {shown.text}", 450)


def _chosen(ranking: Ranking, text: str, workspace: Workspace, arguments: Arguments) -> list[Candidate]:
    """The best states that pass the filters, those with a quoted phrase first."""
    limit, phrases = _limit(arguments), _phrases(text)
    read = max(LOOKS, limit, PHRASE_LOOKS if phrases else 0)
    best = ranking.best(len(ranking.scores) if arguments.has("url") else read)
    if arguments.has("field"):
        best = [ranked for ranked in best if ranked.matched]
    if arguments.has("url"):
        allowed = _with_url(arguments.text("url"), workspace, ranking.layout)
        best = [ranked for ranked in best if ranked.state in allowed]
    found = gather(best[:read], ranking, workspace, NEARNESS)
    if phrases:
        found.sort(key=lambda one: -sum(has_phrase(one.text, phrase) for phrase in phrases))
    return found[:limit]


def _limit(arguments: Arguments) -> int:
    return min(MOST, arguments.number("limit", LIMIT))


def _phrases(text: str) -> list[str]:
    """What stands in quotes, of more than one word."""
    if not any(mark in text for mark in "\"'`“‘"):
        return []
    from .question import quotes

    return [phrase for phrase in quotes(text) if len(phrase.split()) > 1]


def _with_url(part: str, workspace: Workspace, layout: Layout) -> set[int]:
    """The states whose address has the part, case aside."""
    import os

    numbers = {slug: layout.firsts[number] for number, slug in enumerate(layout.slugs)}
    found, part = set(), part.lower()
    try:
        table = read_text(os.path.join(workspace.haystack, "states.tsv"))
    except OSError:  # an ablation leaves it out
        return _with_url_header(part, workspace, numbers)
    for line in table.split("\n")[1:]:
        cells = line.split("\t", 3)
        if len(cells) == 4 and part in cells[2].lower() and cells[0] in numbers and cells[1].isdigit():
            found.add(numbers[cells[0]] + int(cells[1]))
    return found


def _with_url_header(part: str, workspace: Workspace, numbers: dict[str, int]) -> set[int]:
    """The same from the first line of each state's file."""
    from .scanning import Pattern, escaped, hits, states

    pattern = Pattern(f"^url: .*{escaped(part)}", fixed=False, any_case=True)
    found = states(workspace, pattern)
    places = [(slug, index) for slug, indices in found.items() for index in indices if slug in numbers]
    first_lines = [hit for hit in hits(workspace, pattern, places, 1) if hit.line == 1]
    return {numbers[hit.slug] + hit.index for hit in first_lines}


def _field(name: str) -> int:
    if name not in FIELDS:
        raise HelperError(f"--field must be one of {', '.join(FIELDS)}, not {quote(name)}")
    return FIELDS.index(name)


def _rare(found: set[str], index: Index) -> dict[str, float]:
    """Of the most telling terms those that stand in few states, but not in one alone."""
    uncommon = [term for term in found if not index.is_common(term)]
    looked_at = sorted(uncommon, key=telling_first)[:SIMILAR_LOOKS]
    index.look_up(looked_at)
    counts = {term: index.frequency(term) for term in looked_at}
    rare = [term for term, count in counts.items() if 1 < count <= max(20, index.layout.count // 10)]
    return dict.fromkeys(sorted(rare, key=lambda term: (counts[term], term))[:SIMILAR_TERMS], 1.0)


VERBS = {
    "search": Verb(
        "search WORDS [--in ID] [--url PART] [--field F] [--limit N]",
        "Rank the states by words: rare ones and those beyond the goal count most, endings do not matter, a\n"
        '"quoted phrase" comes first. Each hit tells which field has which words, and shows where most are.\n'
        f"Indexed is what is new in a state. F is one of {', '.join(FIELDS)}.",
        search,
        instead="fewer words, or one trajectory (--in ID)",
        words=(1, 8),
        options={"in": TEXT, "url": TEXT, "field": TEXT, "limit": COUNT},
    ),
    "similar": Verb(
        "similar ID N [--limit N]",
        "Find states that show the same rare words as this one.",
        similar,
        instead="a few of its words (memory search WORDS)",
        words=(1, 2),
        options={"limit": COUNT},
    ),
}
