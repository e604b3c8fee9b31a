"""A study is checked before anything runs; every complaint says what and where."""

import json
from pathlib import Path

import pytest

from evals.tuning.plan import Plan, plan_of
from evals.tuning.record import recorded
from evals.tuning.space import Range, Space
from evals.tuning.study_file import StudyError, read_study
from tests.data_roots import write_data_root
from tests.tuning.conftest import MakeStudy

READER = '[base.reader]\nmodel = "qwen3.5-9b"\nbase_url = "http://127.0.0.1:9/v1"\n'


def plan(file: Path) -> Plan:
    return plan_of(read_study(file), file, file.parent / "store")


def test_the_parts_share_no_cluster_and_hold_all_questions(make_study: MakeStudy) -> None:
    found = plan(make_study())
    assert len(found.split.search) == 7
    assert {*found.split.search, *found.split.confirm} == {f"q-{index}" for index in range(12)}
    assert found.split == plan(make_study()).split


def test_without_a_reader_the_measure_is_said_to_be_no_accuracy(make_study: MakeStudy) -> None:
    found = plan(make_study())
    assert (found.measure.name, found.objective) == ("evidence_hit", "pareto")
    assert "no accuracy" in found.remarks[0]


def test_with_a_reader_it_is_the_gain_in_lafs(make_study: MakeStudy) -> None:
    found = plan(make_study(more=READER))
    assert (found.measure.name, found.objective) == ("accuracy", "lafs")


def test_a_setting_changes_what_it_names_and_nothing_else(make_study: MakeStudy) -> None:
    variants = "[variants.helped.bare]\nhelper = false\nmanifests = false\n[variants.helped.full]\n"
    space = "timeout = {low = 30, high = 300, log = true}\nretrieval.cascade.threshold = [0.2, 0.8]"
    found = plan(make_study(space=space, more=variants))
    assert found.space.size == 271 * 2 * 2
    setting = {"timeout": 60, "retrieval.cascade.threshold": 0.8, "helped": "bare"}
    config = found.search_config(setting)
    assert (config.timeout, config.retrieval.cascade.threshold) == (60, 0.8)
    assert (config.helper, config.manifests, config.candidates) == (False, False, True)
    assert config.question_ids == found.split.search
    assert config.tuned_on is None
    other = found.search_config({**setting, "helped": "full"})
    assert other.model_copy(update={"helper": False, "manifests": False}) == config


def test_a_wide_range_is_counted_without_being_listed() -> None:
    wide, stepped = Range(low=1, high=10**15), Range(low=0.0, high=1.0, step=0.1)
    assert Space({"wide": wide, "stepped": stepped, "listed": (1, 2)}, {}).size == 10**15 * 11 * 2
    assert Range(low=1, high=8, step=3).count == len([*Range(low=1, high=8, step=3).values()]) == 3
    assert Space({"wide": wide, "any": Range(low=0.0, high=1.0)}, {}).size is None


@pytest.mark.parametrize(
    ("study", "words"),
    [
        ({"space": "budgett = [1, 2]"}, "did you mean budget?"),
        ({"space": "budget = [1, 0]"}, "space.budget = 0"),
        ({"space": ""}, "the space is empty"),
        ({"space": "budget = []"}, "nothing to choose from"),
        ({"space": "budget = [3]"}, "one setting only"),
        ({"space": "budget = {low = 9, high = 2}"}, "low has to be below high"),
        ({"space": "budget = 5"}, "write a list of values"),
        (
            {"space": f"budget = {{low = 1{400 * '0'}, high = 2{400 * '0'}}}"},
            "space.budget: numbers have to be",
        ),
        ({"space": "timeout = {low = 1.0, high = inf}"}, "space.timeout: numbers have to be finite"),
        ({"space": "timeout = {low = 1.0, high = 9.0, step = 1e-300}"}, "step is too small"),
        ({"space": "timeout = [30.0, inf]"}, "space.timeout: numbers have to be finite"),
        ({"space": "timeout = [30.0, nan]"}, "space.timeout: numbers have to be finite"),
        ({"space": f"budget = [1, 1{30 * '0'}]"}, "space.budget: numbers have to be finite, and whole ones"),
        ({"space": 'tier = ["small", "medium"]'}, "says what is measured"),
        ({"more": "[variants.states.few]\nbudget = 2\n"}, "tried twice"),
        ({"base": "budgett = 3"}, "base: budgett"),
        ({"base": 'repeats = "agent=2"'}, "asks each question once"),
        ({"more": '[study]\nobjective = "lafs"'}, "study.objective"),
        ({"more": "[caps]\nmoney = 3"}, "caps.money"),
        ({"base": "limit = 9"}, "fall into 9 clusters"),
        ({"base": "= 3"}, "no TOML"),
    ],
)
def test_a_mistake_is_named(make_study: MakeStudy, study: dict[str, str], words: str) -> None:
    with pytest.raises(StudyError, match=words.replace("?", r"\?")):
        plan(make_study(**study))


def test_neither_gold_nor_reader_is_nothing_to_go_by(make_study: MakeStudy, deep_root: Path) -> None:
    (deep_root / "gold.json").unlink()
    with pytest.raises(StudyError, match="no gold evidence"):
        plan(make_study())
    assert "stand for itself" in plan(make_study(more=READER)).remarks[-1]


def test_questions_without_a_figure_are_left_out_and_said_to_be(
    make_study: MakeStudy, deep_root: Path
) -> None:
    gold = json.loads((deep_root / "gold.json").read_text())
    gold["q-3"]["evidence"] = []
    (deep_root / "gold.json").write_text(json.dumps(gold))
    found = plan(make_study())
    assert "q-3" not in {*found.split.search, *found.split.confirm}
    assert found.remarks[1].startswith("1 of 12 questions are left out")


def test_a_study_goes_on_with_what_it_began_with(
    make_study: MakeStudy, tmp_path: Path, deep_root: Path
) -> None:
    folder = tmp_path / "study"
    with recorded(plan(make_study()), folder):
        pass
    with recorded(plan(make_study(more="[caps]\nsettings = 99")), folder):
        pass
    with (
        pytest.raises(StudyError, match=r"changed since .* began: space.budget"),
        recorded(plan(make_study(space="budget = [1, 6]")), folder),
    ):
        pass
    questions = deep_root / "questions.jsonl"
    questions.write_text(questions.read_text().replace("Which access", "What access"))
    with pytest.raises(StudyError, match="data root"), recorded(plan(make_study()), folder):
        pass


def test_two_processes_do_not_share_a_study(make_study: MakeStudy, tmp_path: Path) -> None:
    found = plan(make_study())
    with (
        recorded(found, tmp_path / "study"),
        pytest.raises(StudyError, match="another process"),
        recorded(found, tmp_path / "study"),
    ):
        pass


def test_a_folder_with_something_else_is_left_alone(make_study: MakeStudy, deep_root: Path) -> None:
    with pytest.raises(StudyError, match="not a study"), recorded(plan(make_study()), deep_root):
        pass


def test_all_faults_of_a_space_come_at_once_with_their_lines(tmp_path: Path) -> None:
    root = write_data_root(tmp_path / "data", questions=4, trajectories=4)
    file = tmp_path / "study.toml"
    file.write_text(
        f'[base]\ndata = "{root}"\nagent = "scout"\n'
        "[space]\ntimeuot = [30, 60]\nbudget = [0, 5]\neffort = 7\n[variants.agent.x]\nmodel = 'm'\n"
    )
    with pytest.raises(StudyError) as refused:
        plan_of(read_study(file), file, tmp_path / "store")
    told = str(refused.value).splitlines()
    assert told[0] == f"{file} has 4 faults:"
    for line, words in ((5, "timeuot"), (6, "budget"), (7, "effort"), (8, "variants.agent")):
        assert any(f"  line {line}: " in one and words in one for one in told), (line, words, told)
