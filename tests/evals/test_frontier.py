"""Runs on the frontier: exact LAFS, what each is worth, who is dominated, and a readable picture."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text
from PIL import Image

from evals.frontier.frontier import Frontier, frontier
from evals.frontier.labels import Label, place_labels
from evals.frontier.plot import axis_range, axis_ticks, picture, write_picture
from evals.frontier.points import NoPointError
from evals.recorded import read_run
from evals.report.loading import load
from evals.report.pairing import frontier_of
from evals.scoring.lafs import OperatingPoint, lafs_gain
from tests.data_roots import write_data_root
from tests.recorded_runs import Answer, write_run


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_data_root(tmp_path / "data", questions=20, trajectories=20)


def run(tmp_path: Path, root: Path, name: str, right: int, seconds: float, count: int = 20) -> Path:
    answers = {
        f"q-{n}": Answer(score=int(n < right), seconds=seconds * (1.5 if n % 2 else 0.5))
        for n in range(count)
    }
    return write_run(tmp_path / name, root, answers).path


def built(paths: Sequence[Path], tier: str = "small") -> Frontier:
    return frontier([read_run(path) for path in paths], tier, {})


def test_the_reference_alone_and_the_gain_of_runs(root: Path, tmp_path: Path) -> None:
    found = built([run(tmp_path, root, "a", 15, 40), run(tmp_path, root, "b", 14, 20)])
    assert found.reference_lafs == pytest.approx(55.76, abs=0.005)
    points = [OperatingPoint(0.75, 40), OperatingPoint(0.70, 20)]
    assert found.gain == pytest.approx(lafs_gain(points, "small"), abs=1e-9)
    assert found.lafs == pytest.approx(found.reference_lafs + found.gain)
    assert found.gain_interval is not None
    assert found.gain_interval.low < found.gain < found.gain_interval.high


def test_what_a_run_is_worth_alone_and_beside_the_others(root: Path, tmp_path: Path) -> None:
    found = built([run(tmp_path, root, "a", 15, 40), run(tmp_path, root, "b", 14, 20)])
    a, b = found.runs
    assert a.alone == pytest.approx(lafs_gain([OperatingPoint(0.75, 40)], "small"))
    assert b.alone == pytest.approx(4.06, abs=0.005)  # 70 % at 20 s
    assert a.marginal == pytest.approx(found.gain - b.alone)
    assert b.marginal == pytest.approx(found.gain - a.alone)


def test_dominated_runs_and_points_are_not_on_the_front(root: Path, tmp_path: Path) -> None:
    found = built([run(tmp_path, root, "a", 16, 90), run(tmp_path, root, "worse", 15, 100)])
    assert [worth.undominated for worth in found.runs] == [True, False]
    assert found.pareto == ["RAG slice + notes", "AgentRunbook-R", "a"]
    assert found.runs[1].marginal == 0


def test_runs_of_one_name_are_both_there(root: Path, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "y").mkdir()
    found = built([run(tmp_path / "x", root, "same", 15, 30), run(tmp_path / "y", root, "same", 18, 60)])
    assert found.pareto.count("same") == 2


def test_a_half_finished_run_says_so(root: Path, tmp_path: Path) -> None:
    found = built([run(tmp_path, root, "half", 8, 40, count=10)])
    assert (found.runs[0].point.value, found.runs[0].point.coverage) == (0.8, 0.5)
    assert not found.runs[0].point.complete
    assert any("half (10)" in remark for remark in found.remarks)


def test_without_a_reader_evidence_is_shown_and_no_published_point(root: Path, tmp_path: Path) -> None:
    hit = {f"q-{n}": Answer(spans=((f"tr-{n}", 2 if n < 5 else 0, 2 if n < 5 else 0),)) for n in range(20)}
    found = built([write_run(tmp_path / "scout", root, hit).path])
    assert (found.measure, found.reference, found.lafs) == ("evidence_hit", {}, None)
    assert found.runs[0].point.value == 0.25
    assert "no accuracy" in found.remarks[0]


def test_a_run_without_a_score_and_a_tier_without_points(root: Path, tmp_path: Path) -> None:
    path = write_run(tmp_path / "empty", root, {}, reader={"model": "m"}).path
    with pytest.raises(NoPointError, match="empty has no question with accuracy"):
        built([path])
    with pytest.raises(KeyError):
        built([run(tmp_path, root, "a", 15, 40)], tier="huge")


def test_the_picture_is_written_twice_and_always_the_same(root: Path, tmp_path: Path) -> None:
    found = built([run(tmp_path, root, "a $x^2$ <b>", 15, 40)])
    png, svg = write_picture(found, tmp_path / "out.png")
    with Image.open(png) as image:
        assert image.format == "PNG"
        assert image.width > 1500
    drawn = svg.read_text()
    assert drawn.rstrip().endswith("</svg>")
    assert write_picture(found, tmp_path / "again.svg")[1].read_text() == drawn


def test_labels_of_a_crowd_cover_neither_each_other_nor_a_point() -> None:
    figure = Figure(figsize=(9, 5.5), dpi=100)
    axes = figure.add_subplot()
    axes.set_xscale("log")
    axes.set_xlim(1, 300)
    axes.set_ylim(0, 1)
    places = [(8, 0.60), (9, 0.62), (11, 0.63), (105, 0.75), (108, 0.749), (110, 0.70), (120, 0.74)]
    labels = [Label(x, y, f"run {x}\n{100 * y:.1f} % at {x} s", "black") for x, y in places]
    place_labels(figure, axes, labels)
    renderer = FigureCanvasAgg(figure).get_renderer()
    texts = [child for child in axes.get_children() if isinstance(child, Annotation)]
    boxes = [Text.get_window_extent(text, renderer) for text in texts]
    assert len(boxes) == len(places)
    assert not [pair for pair in combinations(boxes, 2) if pair[0].overlaps(pair[1])]
    points = [axes.transData.transform(place) for place in places]
    assert not [(box, point) for box in boxes for point in points if box.contains(*point)]
    assert all(axes.bbox.contains(box.x0, box.y0) and axes.bbox.contains(box.x1, box.y1) for box in boxes)


def test_the_axis_ends_near_the_points_and_every_tick_lies_inside() -> None:
    for seconds in ([0.6, 1.8], [0.6], [20.0, 90.0], [0.01, 4000.0]):
        left, right = axis_range(seconds, budgets=False)
        assert left < min(seconds)
        assert right > max(seconds)
        assert right / left <= 4 * (max(seconds) / min(seconds)) ** 1.6
        ticks = axis_ticks(left, right)
        assert 3 <= len(ticks) <= 20
        assert all(left < tick < right for tick in ticks)
    assert axis_range([0.6], budgets=True)[1] > 200, "all of what counts for LAFS"


def test_a_dominated_run_is_hollow_and_the_legend_tells_what_marks_mean(root: Path, tmp_path: Path) -> None:
    found = built([run(tmp_path, root, "a", 16, 90), run(tmp_path, root, "worse", 15, 100)])
    figure = picture(found)
    (axes,) = figure.axes
    faces = [line.get_markerfacecolor() for line in axes.lines if line.get_marker() == "D"]
    assert len(faces) == 2
    assert "white" in faces
    (legend,) = figure.legends
    named = [text.get_text() for text in legend.get_texts()]
    assert named[:3] == ["run on the frontier", "dominated run", "published point"]
    assert named[-1] == "does not count for LAFS"
    grey = legend.get_patches()[-1].get_facecolor()
    shaded = [patch.get_x() for patch in axes.patches if patch.get_facecolor() == grey]
    assert len(shaded) == 2, "before 1 s and after 200 s"


def test_no_line_runs_through_a_label(root: Path, tmp_path: Path) -> None:
    crowd = (
        ("scout", 15, 1.2),
        ("codex", 17, 35),
        ("bare", 16, 40),
        ("cascade", 16, 20),
        ("claude", 18, 150),
    )
    found = built([run(tmp_path, root, name, right, seconds) for name, right, seconds in crowd])
    figure = picture(found)
    (axes,) = figure.axes
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [
        Text.get_window_extent(child, renderer)
        for child in axes.get_children()
        if isinstance(child, Annotation)
    ]
    assert len(boxes) == 9
    for line in axes.lines:
        x, y = axes.transData.transform(line.get_xydata()).T
        for box in boxes:
            for x0, x1, y0, y1 in zip(x, x[1:], y, y[1:], strict=False):
                steps = [(x0 + (x1 - x0) * part / 200, y0 + (y1 - y0) * part / 200) for part in range(201)]
                assert not any(box.contains(*step) for step in steps)


def test_runs_that_differ_in_more_than_the_memory_are_said_to(root: Path, tmp_path: Path) -> None:
    answers = {f"q-{n}": Answer(score=n % 2) for n in range(20)}
    other = write_data_root(tmp_path / "other", questions=20, trajectories=7)
    plain = write_run(tmp_path / "plain", root, answers).path
    again = write_run(tmp_path / "again", root, answers, memory="random").path
    elsewhere = write_run(tmp_path / "elsewhere", other, answers).path
    judged = write_run(tmp_path / "judged", root, answers, votes=3).path
    assert not [one for one in built([plain, again]).remarks if "differ" in one]
    (data, judge) = [one for one in built([plain, again, elsewhere, judged]).remarks if "differ" in one]
    assert data.startswith("plain and elsewhere differ in more than the memory: ")
    assert "gold.json" in data
    assert "questions.jsonl" in data
    assert judge == "plain and judged differ in more than the memory: votes: 1 against 3."


def test_clusters_come_from_the_gold_of_all_runs(tmp_path: Path) -> None:
    answers = {f"q-{n}": Answer(score=n % 2) for n in range(20)}
    shared = write_data_root(tmp_path / "shared", questions=20, trajectories=7)
    bare = write_data_root(tmp_path / "bare", questions=20, trajectories=7)
    (bare / "gold.json").unlink()
    without, having = (
        load(write_run(tmp_path / name, data, answers, memory=name).path, letter)
        for letter, name, data in (("A", "none", bare), ("B", "random", shared))
    )
    found, _ = frontier_of([without, having])
    alone = frontier([one.run for one in (without, having)], "small", having.gold)
    assert found is not None
    assert found.gain_interval == alone.gain_interval
