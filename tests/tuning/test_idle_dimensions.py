"""A study tries nothing that nobody reads."""

from pathlib import Path

import pytest

from evals.tuning.idle_dimensions import refuse_idle
from evals.tuning.plan import plan_of
from evals.tuning.study_file import StudyError, read_study
from tests.tuning.conftest import MakeStudy


def complaint_of(file: Path) -> str:
    """Why the study is refused; "" where it is not."""
    try:
        refuse_idle(plan_of(read_study(file), file, file.parent / "store"))
    except StudyError as error:
        return str(error)
    return ""


VARIANTS = "[variants.helped.bare]\nhelper = false\n[variants.helped.full]\n"


@pytest.mark.parametrize(
    ("space", "more", "key"),
    [
        ("budget = [1, 20]\ncandidates = [true, false]", "", "space.candidates"),
        ('budget = [1, 20]\nmemory = ["agent", "vanilla"]', "", "space.memory"),
        ("budget = [1, 20]", VARIANTS, "variants.helped"),
    ],
)
def test_what_scout_does_not_read_is_refused(make_study: MakeStudy, space: str, more: str, key: str) -> None:
    told = complaint_of(make_study(space=space, more=more))
    assert f"{key}: agent scout, memory agent do not read it" in told


@pytest.mark.parametrize(
    ("space", "more"),
    [
        ("budget = [1, 20]\ntimeout = { low = 5, high = 50 }", ""),
        ('candidates = [true, false]\nagent = ["scout", "codex"]', ""),
        ('candidates = [true, false]\nmemory = ["random", "agent"]\nagent = ["scout", "codex"]', ""),
        ("candidates = [true, false]", '[variants.who.a]\n[variants.who.b]\nagent = "codex"\n'),
    ],
)
def test_what_one_of_those_asked_reads_is_tried(make_study: MakeStudy, space: str, more: str) -> None:
    assert complaint_of(make_study(space=space, more=more)) == ""
