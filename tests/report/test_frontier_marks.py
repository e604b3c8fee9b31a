"""The frontier of a report marks runs as the picture of `runbook frontier` does."""

import re
from pathlib import Path

from evals.report.write import write_report
from evals.runs.folder import RunFolder


def marks(text: str) -> list[str]:
    """The classes of the runs' diamonds."""
    return re.findall(r'<path class="mark own([^"]*)"', text)


def test_a_hollow_diamond_is_a_dominated_run_complete_or_not(
    pair: tuple[RunFolder, RunFolder], tmp_path: Path
) -> None:
    write_report([one.path for one in pair], tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert {"hollow" in one for one in marks(text) if "second" in one} == {True}
    assert "a hollow one is dominated" in text
    write_report([pair[0].path], tmp_path / "alone.html")
    alone = (tmp_path / "alone.html").read_text()
    dominated = [("hollow" in one) for one in marks(alone)]
    assert all(dominated) == ("a hollow one is dominated" in alone)
