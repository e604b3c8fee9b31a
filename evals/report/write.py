"""`runbook report`: write a report of one run or two, as one file or as a folder with everything."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from evals.report.content import Content, gather
from evals.report.loading import ReportedRun, load
from evals.report.pictures import picture_bytes
from evals.report.redaction import Redactor
from evals.report.rendering import Renderer
from evals.report.room import WHOLE, room_for
from evals.report.texts import Texts
from runbook.files import write_atomically


@dataclass(frozen=True, slots=True)
class Written:
    """What was written, and what could not be read on the way."""

    path: Path
    bytes: int
    questions: int
    notes: list[str]


def write_report(paths: Sequence[Path], out: Path, *, redact: bool = False, pictures: bool = True) -> Written:
    """Write one self-contained HTML file of at most about 25 MB, whatever the size of the runs.

    Args:
        redact: leave out paths, hosts, addresses, names and keys; pictures are not looked into.
        pictures: whether screenshots are drawn into it.

    Raises:
        RunError: a path is no run, or of another version.
        OSError: the file could not be written.
    """
    runs = _loaded(paths)
    texts = Texts(_redactor(runs, redact))
    chapters = sum(len(run.run.results) for run in runs)
    content = gather(runs, texts, room_for(chapters), pictures=pictures)
    data = _renderer(texts, out.resolve().parent).report(content).encode()
    write_atomically(out, data)
    return Written(out, len(data), len(content.pages), _notes(content))


def write_folder(paths: Sequence[Path], out: Path, *, redact: bool = False, pictures: bool = True) -> Written:
    """Write a folder with everything: index.html, a page a question with whole texts, whole screenshots.

    Raises as `write_report`; FileExistsError where the folder holds something.
    """
    runs = _loaded(paths)
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        raise FileExistsError(17, "it is not empty", str(out))
    texts = Texts(_redactor(runs, redact), whole=True)
    content = gather(runs, texts, WHOLE, pictures=pictures)
    (out / "questions").mkdir()
    (out / "screenshots").mkdir()
    renderer = _renderer(texts, out.resolve() / "questions")
    total = 0
    for page in content.pages:
        data = renderer.question(content, page).encode()
        write_atomically(out / "questions" / f"{page.anchor}.html", data)
        total += len(data)
    if pictures:
        total += _copy_screenshots(content, out / "screenshots")
    data = _renderer(texts, out.resolve()).index(content).encode()
    write_atomically(out / "index.html", data)
    return Written(out, total + len(data), len(content.pages), _notes(content))


def _loaded(paths: Sequence[Path]) -> list[ReportedRun]:
    return [load(path, letter) for path, letter in zip(paths, "AB", strict=False)]


def _redactor(runs: Sequence[ReportedRun], wanted: bool) -> Redactor | None:
    if not wanted:
        return None
    return Redactor([run.run.record for run in runs], [run.folder.path for run in runs])


def _renderer(texts: Texts, beside: Path) -> Renderer:
    try:
        own = version("agent-runbook")
    except PackageNotFoundError:
        own = ""
    return Renderer(texts, beside=beside, version=own)


def _notes(content: Content) -> list[str]:
    many = len(content.overviews) > 1
    notes = [f"{one.letter}: {note}" if many else note for one in content.overviews for note in one.notes]
    if content.paired and content.paired.problem:
        notes.append(content.paired.problem)
    return notes


def _copy_screenshots(content: Content, folder: Path) -> int:
    """Copy every screenshot of the evidence once; returns their bytes."""
    total = 0
    for page in content.pages:
        for chapter in page.chapters:
            for span in chapter.spans:
                for state in span.states:
                    if state.screenshot is None:
                        continue
                    target = folder / f"{state.screenshot.sha256}{state.screenshot.path.suffix}"
                    if not target.exists() and (data := picture_bytes(state.screenshot)):
                        write_atomically(target, data)
                        total += len(data)
    return total
