"""A run as later work reads it: its settings and current records, and its data root if unchanged."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from evals.dataset import DataRoot, DatasetError, load_data_root
from evals.question import Gold
from evals.runs.config import RunRecord
from evals.runs.folder import RunFolder
from evals.runs.results import QuestionResult, load_figures, load_results


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run, finished or not. `results` is in the run's order, with those of which nothing is recorded."""

    folder: RunFolder
    record: RunRecord
    results: Mapping[str, QuestionResult]

    @property
    def name(self) -> str:
        """The folder's name, with the revision where one was chosen."""
        return self.folder.name

    @property
    def has_reader(self) -> bool:
        return self.record.config.reader is not None

    def answered(self) -> dict[str, QuestionResult]:
        """The questions to which the memory has answered in any repeat, well or not."""
        return {one: result for one, result in self.results.items() if result.answers}

    def scored(self) -> dict[str, QuestionResult]:
        """The questions that have a score in any repeat."""
        return {one: result for one, result in self.answered().items() if result.mean_score is not None}


def read_run(path: Path) -> RecordedRun:
    """Read a run folder, without the contexts, which no figure needs.

    Raises RunError where it is none, or damaged.
    """
    return _read(path, load_figures)


def read_whole_run(path: Path) -> RecordedRun:
    """The same with the contexts: half a megabyte a question. Raises RunError as read_run does."""
    return _read(path, load_results)


def _read(path: Path, load: Callable[[RunFolder, RunRecord], list[QuestionResult]]) -> RecordedRun:
    folder = RunFolder.open(path)
    record = folder.record()
    return RecordedRun(folder, record, {one.question_id: one for one in load(folder, record)})


def data_of(run: RecordedRun) -> DataRoot:
    """The run's data root. Raises DatasetError where it is gone, damaged or changed since."""
    config = run.record.config
    data = load_data_root(config.data, config.tier)
    if dict(data.digests) != run.record.data_digests:
        raise DatasetError(f"{config.data}: it changed since the run {run.name} began (restore it)")
    return data


def gold_of_run(run: RecordedRun) -> tuple[Mapping[str, Gold], str]:
    """The gold evidence of the run's questions, and why there is none where there is none."""
    try:
        gold = data_of(run).gold
    except DatasetError as error:
        return {}, str(error)
    return gold or {}, "" if gold else "the data root has no gold evidence"
