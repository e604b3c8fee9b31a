"""The frontier of a report marks runs as the picture of `runbook frontier` does, and hides nothing."""

import re
from itertools import combinations
from pathlib import Path

import pytest

from evals.report.frontier_drawing import Drawing, Mark, draw
from evals.report.label_places import LETTER, LINE
from evals.report.loading import load
from evals.report.pairing import frontier_of
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
    assert "dominated run</li>" in text
    write_report([pair[0].path], tmp_path / "alone.html")
    alone = (tmp_path / "alone.html").read_text()
    dominated = [("hollow" in one) for one in marks(alone)]
    assert all(dominated) == ("this run, dominated</li>" in alone)


def test_grey_is_what_does_not_count(pair: tuple[RunFolder, RunFolder], tmp_path: Path) -> None:
    drawing = drawn([pair[0]], 860)
    ticks = {name: x for x, name in drawing.x_ticks}
    assert drawing.uncounted == [(drawing.left, ticks["1 s"]), (ticks["200 s"], drawing.right)]
    write_report([pair[0].path], tmp_path / "report.html")
    assert "does not count for LAFS: below 1 s, above 200 s</li>" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("both", [True, False])
def test_labels_are_crossed_by_no_line_and_no_other_label(
    pair: tuple[RunFolder, RunFolder], both: bool
) -> None:
    drawing = drawn(list(pair) if both else [pair[0]], 860)
    for mark in drawing.marks:
        box = box_of(mark)
        for path in (drawing.before, drawing.after):
            assert not any(box[0] < x < box[2] and box[1] < y < box[3] for x, y in along(path)), mark.label
        assert drawing.top - 18 <= box[1]
        assert box[2] <= drawing.width
    for one, other in combinations(map(box_of, drawing.marks), 2):
        assert min(one[2], other[2]) <= max(one[0], other[0]) or min(one[3], other[3]) <= max(
            one[1], other[1]
        )


def drawn(runs: list[RunFolder], width: int) -> Drawing:
    """Their frontier as a report draws it."""
    found, problem = frontier_of([load(run.path, "AB"[number]) for number, run in enumerate(runs)])
    assert found, problem
    return draw(found, width, 380)


def box_of(mark: Mark) -> tuple[float, float, float, float]:
    """What a label covers: left, top, right, bottom."""
    wide = LETTER * max(len(mark.label), len(mark.value))
    left = mark.label_x - {"start": 0, "middle": wide / 2, "end": wide}[mark.anchor]
    return left, mark.label_y - 10, left + wide, mark.label_y - 10 + 2 * LINE - 2


def along(path: str) -> list[tuple[float, float]]:
    """Points on a path of level and upright lines, a unit apart."""
    (x, y), *_ = [tuple(map(float, start)) for start in re.findall(r"M([\d.]+) ([\d.]+)", path)]
    points = []
    for letter, number in re.findall(r"([HV])([\d.]+)", path):
        to_x, to_y = (float(number), y) if letter == "H" else (x, float(number))
        steps = int(abs(to_x - x) + abs(to_y - y)) + 1
        points += [(x + (to_x - x) * step / steps, y + (to_y - y) * step / steps) for step in range(steps)]
        x, y = to_x, to_y
    return points
