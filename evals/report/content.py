"""Everything that a report shows, put together from its runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evals.frontier.frontier import Frontier
from evals.report.chapter import Chapter, asked_text, chapter
from evals.report.loading import ReportedRun
from evals.report.overview import Overview, TypeRow, overview
from evals.report.pairing import Flip, Paired, flip_of, frontier_of, pair
from evals.report.pictures import Studio, Thumbnail, thumbnail
from evals.report.room import Room
from evals.report.texts import Excerpt, Texts
from evals.runs.folder import question_slug
from runbook.files import read_regular

_QUESTION_BYTES = 6000
_IMAGE_BYTES = 40_000_000
_IMAGE = (480, 60)
_SMALL_IMAGE = (320, 42)


@dataclass(frozen=True, slots=True)
class Page:
    """One question, in every run that has it."""

    anchor: str
    question_id: str
    question_type: str
    text: Excerpt
    known: bool
    """Whether the question's text was found."""
    image: Thumbnail | None
    answer: Excerpt | None
    evaluator: str
    chapters: list[Chapter]
    flip: Flip

    @property
    def marks(self) -> str:
        """right, wrong, mixed, open of each run, for the filters."""
        return " ".join(dict.fromkeys(one.mark for one in self.chapters))

    @property
    def outcomes(self) -> list[str]:
        return list(dict.fromkeys(one.outcome or "not asked yet" for one in self.chapters))

    @property
    def seconds(self) -> float:
        """Of the slowest run; 0 where none was asked."""
        return max((one.seconds or 0.0 for one in self.chapters), default=0.0)

    @property
    def cost(self) -> float:
        return max((one.cost or 0.0 for one in self.chapters), default=0.0)


@dataclass(frozen=True, slots=True)
class Content:
    """A whole report."""

    runs: list[ReportedRun]
    overviews: list[Overview]
    pages: list[Page]
    paired: Paired | None
    """None for one run."""
    frontier: Frontier | None
    no_frontier: str
    pictures: bool
    """Whether screenshots are shown."""

    @property
    def type_rows(self) -> list[tuple[str, list[tuple[str, TypeRow]]]]:
        """Each type with its rows by the letters of the runs that have it."""
        return [
            (kind, [(one.letter, row) for one in self.overviews for row in one.types if row.name == kind])
            for kind in self.types
        ]

    @property
    def types(self) -> list[str]:
        return sorted({page.question_type for page in self.pages})

    @property
    def mixed(self) -> bool:
        """Whether some question does not have the same score in all its repeats."""
        return any("mixed" in page.marks for page in self.pages)

    @property
    def outcomes(self) -> list[str]:
        return sorted({outcome for page in self.pages for outcome in page.outcomes})


def gather(runs: Sequence[ReportedRun], texts: Texts, room: Room, *, pictures: bool) -> Content:
    """Read everything that is shown of one run or two.

    Args:
        pictures: whether screenshots are drawn small into the pages; a whole report names them only.
    """
    studio = Studio() if pictures and not texts.whole else None
    pages = list(_pages(runs, texts, room, studio))
    found, why_not = frontier_of(runs)
    return Content(
        runs=list(runs),
        overviews=[
            overview(run, [one for page in pages for one in page.chapters if one.letter == run.letter])
            for run in runs
        ],
        pages=pages,
        paired=pair(runs[0], runs[1]) if len(runs) > 1 else None,
        frontier=found,
        no_frontier=why_not,
        pictures=pictures,
    )


def _pages(runs: Sequence[ReportedRun], texts: Texts, room: Room, studio: Studio | None) -> Iterator[Page]:
    for question_id in dict.fromkeys(one for run in runs for one in run.run.results):
        having = [run for run in runs if question_id in run.run.results]
        first = having[0]
        question = next((run.questions[question_id] for run in having if question_id in run.questions), None)
        text = question.question if question else asked_text(first, question_id)
        chapters = [chapter(run, run.run.results[question_id], texts, studio, room) for run in having]
        image = question.image if question else None
        yield Page(
            anchor=f"q-{question_slug(question_id)}",
            question_id=question_id,
            question_type=first.run.results[question_id].question_type,
            text=texts.excerpt(text or "The question's text was not kept.", _QUESTION_BYTES),
            known=bool(text),
            image=_image(image, room) if image and (studio or texts.whole) else None,
            answer=texts.excerpt(question.answer, _QUESTION_BYTES) if question else None,
            evaluator=question.eval_function if question else "",
            chapters=chapters,
            flip=flip_of(chapters) if len(chapters) > 1 else "",
        )


def _image(path: Path, room: Room) -> Thumbnail | None:
    """The question's picture; its digest was checked with the data root."""
    try:
        if path.stat().st_size > _IMAGE_BYTES:
            return None
        data = read_regular(path)
    except OSError:
        return None
    return thumbnail(data, *(_IMAGE if room.pictures == 0 or room.pictures > 60_000 else _SMALL_IMAGE))
