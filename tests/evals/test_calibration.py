"""Authored cases through a judge: the confusion table is right, and a judge that says nothing is counted."""

import json
from importlib.resources import files
from pathlib import Path

import pytest

from evals.calibration import CasesError, agreement_of, calibrated, labels_of, read_cases
from evals.judge import Judge

DEMO = Path(str(files("evals.demo") / "data" / "judge_cases.jsonl"))


def case(number: int, kind: str, expected: int) -> dict[str, object]:
    return {
        "id": f"c{number}",
        "judge": "abstention",
        "kind": kind,
        "question": "Which page?",
        "reference": "there is none",
        "response": f"answer {number} \\boxed{{UNKNOWN}}",
        "expected": expected,
    }


@pytest.fixture
def cases(tmp_path):
    file = tmp_path / "cases.jsonl"
    kinds = [("right", 1), ("right", 1), ("unknown", 0), ("contradictory", 0)]
    file.write_text("".join(f"{json.dumps(case(n, *one))}\n" for n, one in enumerate(kinds)))
    return read_cases(file)


def reply(label: int) -> str:
    return json.dumps({"label": label, "reason": f"says {label}"})


def test_the_demos_cases_can_be_read_and_cover_all_kinds():
    cases = read_cases(DEMO)
    assert len(cases) == 76
    assert {one.kind for one in cases} >= {"right", "premise_following", "unknown", "contradictory"}


def test_every_case_is_asked_also_where_the_answer_is_unknown(model, config, cases):
    model.says(reply(1))
    result = calibrated(cases, labels_of(Judge(config()), cases, concurrency=1))
    assert len(model.requests) == 4
    assert result.confusion == {0: {"0": 0, "1": 2, "none": 0}, 1: {"0": 0, "1": 2, "none": 0}}
    assert (result.overall.right, result.overall.cases) == (2, 4)
    assert result.by_kind["abstention/right"].right == 2
    assert [one.kind for one, _ in result.wrong] == ["unknown", "contradictory"]


def test_a_judge_that_says_nothing_usable_is_wrong_and_counted_apart(model, config, cases):
    model.says("**Label:** 1")
    result = calibrated(cases, labels_of(Judge(config()), cases, concurrency=1))
    assert result.confusion[1] == {"0": 0, "1": 0, "none": 2}
    assert (result.judged, result.overall, result.by_kind) == (0, None, {})


def test_agreement_of_two_judges(model, config, cases):
    model.says(reply(1), reply(1), reply(0), reply(0), reply(1), reply(0), reply(0), reply(0))
    one, other = (labels_of(Judge(config()), cases, concurrency=1) for _ in range(2))
    agreement = agreement_of(one, other)
    assert (agreement.count, agreement.agreed, agreement.kappa) == (4, 3, 0.5)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", r"cases\.jsonl:2: no JSON"),
        (json.dumps(case(0, "right", 1)), r":2: the id 'c0' occurs twice"),
        (json.dumps(case(1, "right", 2)), r":2: expected"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, complaint):
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps(case(0, "right", 1)) + "\n" + line)
    with pytest.raises(CasesError, match=complaint):
        read_cases(file)


def test_all_lines_that_are_no_cases_are_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text('{"id": "a"}\n\nnot json\n')
    with pytest.raises(CasesError) as refused:
        read_cases(file)
    first, second = str(refused.value).splitlines()
    assert first.startswith(f"{file}:1: ")
    assert second.startswith(f"{file}:3: no JSON")
