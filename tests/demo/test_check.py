"""The checker finds nothing in the committed data, and finds what is planted."""

import copy
import shutil
from pathlib import Path
from typing import Any

import orjson
import pytest

from evals.dataset import load_data_root
from evals.demo.check import faults, judge_case_faults, read_lines, size_faults, too_few
from evals.demo.check_questions import question_faults
from evals.demo.check_recordings import recording_faults
from evals.question import EvalQuestion

SHORT, PICTURED, WORKED_OUT, UNSEEN, CHOSEN = "865e0135", "7ee27011", "ff884935", "c2b241af", "91fb2fc9"
"""Questions: phrases in the text; an image; numbers given as raw strings; pixels only; multiple choice."""
ELSEWHERE = "739f70a591"
"""A recording that has the evidence of none of them."""


@pytest.fixture(scope="module")
def questions(demo_root: Path) -> dict[str, EvalQuestion]:
    return {question.id: question for question in load_data_root(demo_root).questions}


def test_the_committed_data_has_no_fault(demo_root: Path) -> None:
    assert faults(demo_root) == []


def test_a_folder_that_is_no_data_root_is_one_fault(tmp_path: Path) -> None:
    (found,) = faults(tmp_path)
    assert str(tmp_path) in found


def span(trajectory: str, start: int, end: int) -> dict[str, Any]:
    return {"trajectory_id": trajectory, "start_state_index": start, "end_state_index": end}


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        (SHORT, {"id": "reply-to-sami"}, "the id says something"),
        (SHORT, {"answer": "Internal note, reply sent to Ida Tern"}, "do not have"),
        (SHORT, {"answer": "once it had really gone out"}, "the question itself says"),
        (SHORT, {"answer": "Dashboard"}, "of the haystack's states have"),
        (CHOSEN, {"answer": "C."}, "does not accept the answer itself"),
    ],
)
def test_a_planted_fault_of_a_question_is_found(
    demo_root: Path,
    recordings: dict[str, dict[str, Any]],
    questions: dict[str, EvalQuestion],
    name: str,
    changes: dict[str, Any],
    message: str,
) -> None:
    gold = orjson.loads((demo_root / "gold.json").read_bytes())[name]
    question = questions[name].model_copy(update=changes)
    found = list(question_faults(demo_root, question, gold, recordings))
    assert any(message in fault for fault in found), found


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        (SHORT, {"note": ""}, "no note"),
        (SHORT, {"evidence": []}, "no evidence"),
        (SHORT, {"evidence": [[span(ELSEWHERE, 0, 99)]]}, "not within the 15 states"),
        (SHORT, {"evidence": [[span("0000", 0, 0)]]}, "not in the haystack"),
        (SHORT, {"evidence": [[span(ELSEWHERE, 0, 0)]]}, "do not have"),
        (SHORT, {"visual": True}, "said to need pixels"),
        (WORKED_OUT, {"raw": ["9 rows written."]}, "do not have"),
        (WORKED_OUT, {"raw": []}, "nothing in the gold can be looked for"),
        (UNSEEN, {"visual": False}, "do not have"),
        (PICTURED, {"crop": None}, "does not say from which state"),
        (
            PICTURED,
            {"crop": {"trajectory_id": ELSEWHERE, "state_index": 0, "box": [245, 343, 345, 472]}},
            "is not the crop",
        ),
    ],
)
def test_a_planted_fault_of_gold_is_found(
    demo_root: Path,
    recordings: dict[str, dict[str, Any]],
    questions: dict[str, EvalQuestion],
    name: str,
    changes: dict[str, Any],
    message: str,
) -> None:
    gold = orjson.loads((demo_root / "gold.json").read_bytes())[name] | changes
    found = list(question_faults(demo_root, questions[name], gold, recordings))
    assert any(message in fault for fault in found), found


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"accessibility_tree": "no tree"}, "does not begin with RootWebArea"),
        ({"url": "http://127.0.0.1:4711/"}, "the url is not below"),
        ({"action": None}, "must come last"),
        ({"action": "click('4711')"}, "has no element [4711]"),
        ({"action": "dance()"}, "no action of the recorder"),
        ({"screenshot": "screenshots/none.png"}, "cannot be read"),
        ({"screenshot": "question_images/99a5511a.png"}, "the screenshot has"),
    ],
)
def test_a_planted_fault_of_a_state_is_found(
    demo_root: Path, recordings: dict[str, dict[str, Any]], changes: dict[str, Any], message: str
) -> None:
    rows = copy.deepcopy(list(recordings.values()))
    rows[0]["states"][2].update(changes)
    found = [fault for fault in recording_faults(demo_root, rows) if "state 2" in fault]
    assert any(message in fault for fault in found), found


def test_screenshots_that_no_state_names_are_found(
    demo_root: Path, recordings: dict[str, dict[str, Any]]
) -> None:
    rows = list(recordings.values())[1:]
    found = list(recording_faults(demo_root, rows))
    assert len(found) == len(next(iter(recordings.values()))["states"])
    assert all("no state names this screenshot" in fault for fault in found)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"expected": 0}, "cannot expect 0"),
        ({"reference": "Something else."}, "are not those of a question"),
        ({"kind": "rightish"}, "7 cases gotchas/right"),
    ],
)
def test_a_planted_fault_of_a_judge_case_is_found(
    demo_root: Path, questions: dict[str, EvalQuestion], changes: dict[str, Any], message: str
) -> None:
    cases = read_lines(demo_root / "judge_cases.jsonl")
    references = {question.question: question.answer for question in questions.values()}
    assert list(judge_case_faults(cases, references)) == []
    right = next(case for case in cases if (case["judge"], case["kind"]) == ("gotchas", "right"))
    right.update(changes)
    assert any(message in fault for fault in judge_case_faults(cases, references))


def test_too_little_of_anything_and_too_many_bytes_are_found(tmp_path: Path, demo_root: Path) -> None:
    counts = dict.fromkeys(
        (
            "trajectories",
            "states per trajectory",
            "trajectories that succeed",
            "trajectories that fail",
            "questions",
            "questions that need a picture",
            "questions with a wrong premise",
            "questions with an image of their own",
            "questions whose gold has two pieces or more",
        ),
        99.0,
    )
    assert list(too_few(counts)) == []
    assert list(too_few({**counts, "questions that need a picture": 7})) == [
        "7 questions that need a picture, at least 8 are wanted"
    ]
    shutil.copy(demo_root / "trajectories.jsonl", tmp_path / "a")
    assert list(size_faults(tmp_path)) == []
    (tmp_path / "b").write_bytes(bytes(6_000_000))
    assert "bytes in all" in next(size_faults(tmp_path))
