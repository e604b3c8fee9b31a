"""What has to be said of a run is said wherever its figures are shown."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from evals.comparison.compare import compare
from evals.frontier.frontier import frontier
from evals.matrix.table import matrix_table
from evals.recorded import RecordedRun, read_run
from evals.runs.records import QueryRecord
from evals.runs.remarks import About, remarks_of
from evals.runs.summary import summarise
from runbook.cli import comparing
from runbook.cli.frontier import _print as print_frontier
from runbook.cli.matrix_tables import print_matrix
from runbook.cli.tables import print_summary
from runbook.cli.traces import traces
from tests.recorded_runs import Answer, write_run


@pytest.fixture
def plain(data_root: Path, tmp_path: Path) -> RecordedRun:
    return read_run(write_run(tmp_path / "plain", data_root, {"q-0": Answer(score=1)}).path)


@pytest.fixture
def odd(data_root: Path, tmp_path: Path) -> RecordedRun:
    """A replayed smoke run on a busy machine, of which a failure was thrown away."""
    folder = write_run(
        tmp_path / "odd",
        data_root,
        {"q-0": Answer(score=1, forced=True)},
        limit=1,
        gateway={"replay": tmp_path / "tape"},
    )
    [query] = folder.records("q-0", QueryRecord)
    busy = query.model_copy(update={"load_per_cpu": 9.0})
    place = next((folder.path / "questions").glob("*/query.1.json"))
    place.write_text(busy.model_dump_json())
    return read_run(folder.path)


MARKS = ("a smoke run", "Replayed from a recording", "thrown away with --force", "programs per processor")


def shown(console: Console) -> str:
    return " ".join(console.export_text().split())


def test_a_usual_run_needs_no_remark(plain: RecordedRun) -> None:
    assert remarks_of(plain) == []


def test_each_oddity_of_a_run_is_told_once(odd: RecordedRun) -> None:
    found = [one.about for one in remarks_of(odd)]
    assert found == [About.SMOKE, About.REPLAYED, About.FORCED, About.LOAD]
    assert "reader and judge are on no tape" in remarks_of(odd)[1].text


@pytest.mark.parametrize("shows", ["show", "compare", "matrix", "frontier"])
def test_nothing_that_shows_figures_forgets_one(plain: RecordedRun, odd: RecordedRun, shows: str) -> None:
    console = Console(record=True, width=160, file=StringIO())
    match shows:
        case "show":
            print_summary(console, summarise(odd.folder), odd.folder.path)
        case "compare":
            comparing._print(console, compare(plain, [odd], {})[0], "")
        case "matrix":
            print_matrix(console, matrix_table({"plain": plain, "odd": odd}, "plain", {}))
        case "frontier":
            print_frontier(console, frontier([plain, odd], "small", {}))
    told = shown(console)
    assert [mark for mark in MARKS if mark not in told] == []


def test_the_latency_of_a_replay_is_compared_with_nothing(plain: RecordedRun, odd: RecordedRun) -> None:
    assert compare(plain, [odd], {})[0].latency is None
    assert compare(plain, [plain], {})[0].latency is not None
    table = matrix_table({"plain": plain, "odd": odd}, "plain", {})
    assert {one.latency_ratio for one in table.differences} == {None}
    console = Console(record=True, width=160, file=StringIO())
    print_frontier(console, frontier([odd], "small", {}))
    assert "odd (replayed)" in shown(console)


def test_traces_have_them_too(odd: RecordedRun, capsys: pytest.CaptureFixture[str]) -> None:
    traces([odd.folder.path])
    told = " ".join(capsys.readouterr().out.split())
    assert [mark for mark in MARKS if mark not in told] == []
