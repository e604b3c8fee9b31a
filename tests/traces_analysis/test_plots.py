"""Pictures of traces: what is known is drawn, what is not is said, and names are shown as they are."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from evals.traces.agents import agents_of
from evals.traces.attempt import AttemptFigures
from evals.traces.funnel import Funnel
from evals.traces.plots import write_plots
from evals.traces.run import AttemptTrace, QuestionTrace, RunTraces
from tests.recorded_runs import Answer, write_run

EVERY = ["classes", "first-rounds", "funnel", "time", "first-gold"]


def traces(agent: str, *, run: str = "/runs/one", traced: bool = True) -> RunTraces:
    """A run of two questions."""
    figures = AttemptFigures(
        calls=3, classes={"guided": 2, "output": 1}, rounds=2, first_rounds=[{"guided": 2}, {"output": 1}],
        model_seconds=4.0, tool_seconds=2.0,
    )  # fmt: skip
    attempt = AttemptTrace(number=1, outcome="ok", seconds=8.0, figures=figures if traced else None)
    questions = [
        QuestionTrace(
            question_id=name,
            question_type="t",
            agent=agent,
            outcome="ok",
            score=1,
            attempts=[attempt],
            funnel=Funnel(opened=opened if traced else None, cited=1.0),
            first_gold_seconds=3.0 if traced and opened else None,
        )
        for name, opened in (("q-0", 1.0), ("q-1", 0.0))
    ]
    return RunTraces(run=run, agent=agent, questions=questions)


def texts(svg: Path) -> str:
    """What a picture says: matplotlib notes each text beside its outlines."""
    return svg.read_text(encoding="utf-8")


def test_every_picture_is_there_as_png_and_as_svg(tmp_path: Path) -> None:
    drawn = write_plots([traces("codex")], tmp_path / "plots")
    assert drawn.left_out == []
    assert [path.name for path in drawn.paths] == [
        f"{name}{end}" for name in EVERY for end in (".png", ".svg")
    ]
    for path in drawn.paths:
        if path.suffix == ".png":
            with Image.open(path) as picture:
                assert picture.width > 1500
        else:
            ElementTree.fromstring(path.read_bytes())


def test_the_same_traces_make_the_same_pictures(tmp_path: Path) -> None:
    first, second = (write_plots([traces("codex")], tmp_path / name).paths for name in ("one", "two"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_what_nobody_knows_is_left_out_and_said(tmp_path: Path) -> None:
    drawn = write_plots([traces("scout", traced=False)], tmp_path)
    assert [path.name for path in drawn.paths] == ["funnel.png", "funnel.svg"]
    assert "no picture classes: no tool call is on record" in drawn.left_out
    assert "<!-- not known -->" in texts(tmp_path / "funnel.svg")


def test_agents_of_the_same_name_are_told_apart() -> None:
    names = [one.name for one in agents_of([traces("codex"), traces("codex", run="/x/two"), traces("pi")])]
    assert names == ["codex\none", "codex\ntwo", "pi"]
    names = [one.name for one in agents_of([traces("codex"), traces("codex")])]
    assert len(set(names)) == 2


@pytest.mark.filterwarnings("error")
def test_a_name_is_neither_mathematics_nor_a_control(tmp_path: Path) -> None:
    write_plots([traces("$x^{$ \x1b[31m\u202e<b>中")], tmp_path)
    said = texts(tmp_path / "classes.svg")
    assert "$x^{$" in said
    assert "\u202e" not in said
    assert "\x1b" not in said


def test_the_command_says_what_it_drew(data_root: Path, tmp_path: Path) -> None:
    write_run(tmp_path / "run", data_root, {"q-0": Answer(score=1, spans=(("tr-0", 2, 2),))})
    program = [sys.executable, "-c", "from runbook.cli import main; main()", "traces", str(tmp_path / "run")]
    done = subprocess.run(
        [*program, "--json", "--plots", str(tmp_path / "plots")],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[")
    assert "funnel.png" in done.stderr
    assert "no picture time" in done.stderr
    (tmp_path / "file").write_text("")
    refused = subprocess.run(
        [*program, "--plots", str(tmp_path / "file")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "is a file: --plots names a folder" in refused.stderr
    assert refused.returncode != 0
