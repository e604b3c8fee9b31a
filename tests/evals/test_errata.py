"""Errata stand beside the official score: excluded questions, further right answers, and suspects."""

import hashlib
import json
from pathlib import Path

import pytest

from evals.dataset import load_data_root
from evals.errata.doubts import doubts_of
from evals.errata.overlay import ErrataError, load_errata
from evals.errata.rescoring import Rescored, check_made_for, rescore
from evals.recorded import read_run
from tests.recorded_runs import Answer, write_run

HEAD = 'format = 1\nname = "ours"\nversion = "2"\n'


def write(tmp_path: Path, text: str, name: str = "errata.toml") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def entry(question: str, rest: str) -> str:
    return f'[[question]]\nid = "{question}"\nreason = "looked at"\n{rest}\n'


def applied(tmp_path: Path, root: Path, answers: dict[str, Answer], text: str) -> Rescored:
    run = read_run(write_run(tmp_path / "run", root, answers).path)
    questions = {one.id: one for one in load_data_root(root).questions}
    return rescore(run.results.values(), questions, load_errata(write(tmp_path, HEAD + text)))


ANSWERS = {
    "q-0": Answer(score=1, response=r"\boxed{CODE-0-2}"),
    "q-1": Answer(score=0, response=r"\boxed{Save as draft}"),
    "q-2": Answer(score=0, response=r"\boxed{elsewhere}"),
}


def test_scores_with_and_without(data_root: Path, tmp_path: Path) -> None:
    text = entry("q-2", "exclude = true") + entry("q-1", 'also = ["nothing", "save as draft"]')
    found = applied(tmp_path, data_root, ANSWERS, text)
    assert (found.without.questions, found.without.correct, found.without.strict) == (3, 1, 1 / 3)
    assert (found.with_errata.questions, found.with_errata.correct, found.with_errata.strict) == (2, 2, 1)
    assert found.excluded == ["q-2"]
    assert found.became_right == ["q-1"]
    assert found.errata == "ours 2"
    assert len(found.sha256) == 64


def test_further_answers_never_make_a_right_answer_wrong(data_root: Path, tmp_path: Path) -> None:
    found = applied(tmp_path, data_root, ANSWERS, entry("q-0", 'also = ["another"]'))
    assert found.with_errata.correct == 1
    assert found.became_right == []


def test_questions_that_only_a_judge_can_score_again_stay_and_are_listed(
    data_root: Path, tmp_path: Path
) -> None:
    file = data_root / "questions.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    rows[1]["eval_function"] = "llm_gotchas_checker"
    file.write_text("\n".join(map(json.dumps, rows)))
    found = applied(tmp_path, data_root, ANSWERS, entry("q-1", 'also = ["Save as draft"]'))
    assert found.needs_judge == ["q-1"]
    assert found.with_errata.correct == 1


def test_an_unscored_question_is_not_scored_by_errata(data_root: Path, tmp_path: Path) -> None:
    answers = ANSWERS | {"q-1": Answer()}
    found = applied(tmp_path, data_root, answers, entry("q-1", 'also = ["x"]') + entry("q-9", 'also = ["x"]'))
    assert (found.with_errata.scored, found.with_errata.conditional) == (2, 0.5)
    assert found.unknown == ["q-9"]


def test_json_says_the_same(tmp_path: Path) -> None:
    whole = {"format": 1, "name": "ours", "version": "2", "question": []}
    whole["question"] = [{"id": "q-1", "also": ["x"], "reason": "looked at"}]
    by_json = load_errata(write(tmp_path, json.dumps(whole), "errata.json"))
    by_toml = load_errata(write(tmp_path, HEAD + entry("q-1", 'also = ["x"]')))
    assert by_json.question == by_toml.question
    assert by_json.of("q-1") is not None
    assert by_json.of("q-2") is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("format = ", "no valid TOML"),
        (HEAD.replace("1", "7"), "format"),
        (HEAD + entry("q", ""), "either exclude = true or also"),
        (HEAD + entry("q", 'exclude = true\nalso = ["x"]'), "either exclude = true or also"),
        (HEAD + entry("q", 'also = [" "]'), "an answer in also is empty"),
        (HEAD + entry("q", 'alos = ["x"]'), "question.0.alos"),
        (HEAD + '[[question]]\nid = "q"\nexclude = true\n', "question.0.reason"),
        (HEAD + 2 * entry("q", "exclude = true"), "stands there twice"),
    ],
)
def test_a_file_that_cannot_be_used_names_the_place(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ErrataError, match=r"errata\.toml") as error:
        load_errata(write(tmp_path, text))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_errata_for_other_data_are_refused(data_root: Path, tmp_path: Path) -> None:
    digest = hashlib.sha256((data_root / "questions.jsonl").read_bytes()).hexdigest()
    errata = load_errata(write(tmp_path, f'{HEAD}questions_sha256 = "{digest}"\n'))
    check_made_for(errata, digest)
    with pytest.raises(ErrataError, match=digest[:12]):
        check_made_for(errata, "0" * 64)


def test_suspect_scores_of_a_run_are_listed_and_stay(data_root: Path, tmp_path: Path) -> None:
    answers = ANSWERS | {
        "q-1": Answer(score=0, response=r"\boxed{unknown.}"),
        "q-2": Answer(score=1, response=r"\boxed{it is not CODE-2-2}"),
    }
    run = read_run(write_run(tmp_path / "run", data_root, answers).path)
    found = doubts_of(run.results.values(), {one.id: one for one in load_data_root(data_root).questions})
    assert {doubt.question_id: [one.kind.value for one in doubt.suspects] for doubt in found} == {
        "q-1": ["unknown_form"],
        "q-2": ["negated"],
    }
    assert {doubt.question_id: doubt.score for doubt in found} == {"q-1": 0, "q-2": 1}


def test_everything_that_is_wrong_with_a_file_is_told_at_once_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "errata.toml"
    file.write_text(
        'format = 2\nname = "x"\nversion = "1"\n'
        '[[question]]\nid = "q-1"\nexclude = true\nreason = ""\n'
        '[[question]]\nid = "q-1"\nreason = "twice, and says nothing"\n'
        '[[question]]\nid = "q-2"\nexclued = true\nreason = "a slip"\n'
    )
    with pytest.raises(ErrataError) as refused:
        load_errata(file)
    told = str(refused.value).splitlines()
    assert told[0] == f"{file} has 5 faults:"
    for line, words in (
        (1, "format"),
        (7, "reason"),
        (8, "say either"),
        (9, "stands there twice"),
        (13, "exclued"),
    ):
        assert any(f"  line {line}: " in one and words in one for one in told), (line, words, told)
