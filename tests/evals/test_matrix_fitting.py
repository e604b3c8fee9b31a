"""A table of arms is made of their own runs only, all measured alike."""

import re
from pathlib import Path
from typing import Any

import pytest

from evals.comparison.compare import compare
from evals.comparison.differences import Aspect
from evals.matrix.fitting import MisfitError, refuse_unfit
from evals.matrix.plan import MatrixPlan, read_plan
from evals.recorded import RecordedRun, read_run
from evals.runs.config_file import ConfigError
from evals.runs.revising import revised
from runbook.endpoint.config import EndpointConfig
from tests.recorded_runs import JUDGE, READER, Answer, write_run

OTHER = EndpointConfig(model="another judge", base_url="http://127.0.0.1:9/v1")


def arm(folder: Path, data_root: Path, **config: Any) -> RecordedRun:
    answers = {f"q-{n}": Answer(score=1) for n in range(config.get("limit", 3))}
    return read_run(write_run(folder, data_root, answers, **config).path)


@pytest.fixture
def arms(tmp_path: Path, data_root: Path) -> dict[str, RecordedRun]:
    return {name: arm(tmp_path / name, data_root, memory=name) for name in ("none", "random")}


def plan_of(arms: dict[str, RecordedRun]) -> MatrixPlan:
    return MatrixPlan("none", {name: run.record.config for name, run in arms.items()})


def misfit(plan: MatrixPlan, runs: dict[str, RecordedRun]) -> str:
    """Why the runs are refused; "" where they are not."""
    try:
        refuse_unfit(plan, runs)
    except MisfitError as error:
        return str(error)
    return ""


def test_the_plans_own_runs_fit(arms: dict[str, RecordedRun]) -> None:
    assert misfit(plan_of(arms), arms) == ""


def test_another_run_in_an_arms_place_is_refused(
    arms: dict[str, RecordedRun], tmp_path: Path, data_root: Path
) -> None:
    plan = plan_of(arms)
    short = arm(tmp_path / "short", data_root, memory="random", limit=2)
    told = misfit(plan, arms | {"random": short})
    assert "short was made with another limit than arms.random has" in told
    assert "another memory" in misfit(plan, arms | {"random": arms["none"]})


def test_arms_of_two_judges_are_refused_until_all_have_the_new_one(arms: dict[str, RecordedRun]) -> None:
    plan = plan_of(arms)

    def judged_anew(run: RecordedRun) -> RecordedRun:
        again = revised(run.record, 1, judge=OTHER)
        run.folder.begin_revision(again)
        run.folder.finish_revision(again.revision)
        return read_run(run.folder.path)

    mixed = arms | {"random": judged_anew(arms["random"])}
    assert re.search(r"differ in more than the memory: judge model.*rejudge", misfit(plan, mixed))
    assert misfit(plan, mixed | {"none": judged_anew(arms["none"])}) == ""


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("repeats", "{ agent = 2 }"),
        ("token_counter", '"endpoint"'),
        ("tokenizer", '"tokenizer.json"'),
        ("preprocessor", '"preprocessor_config.json"'),
        ("votes", "3"),
    ],
)
def test_a_file_whose_arms_are_measured_otherwise_is_refused(tmp_path: Path, key: str, value: str) -> None:
    file = tmp_path / "matrix.toml"
    file.write_text(f'[run]\ndata = "."\n[arms.a]\nmemory = "none"\n[arms.b]\n{key} = {value}\n')
    with pytest.raises(ConfigError, match=r"arms\.b: \w+ is not that of arms\.a"):
        read_plan(file, store=tmp_path)


@pytest.mark.parametrize("reference", ['["a"]', "{ a = 1 }", "1", "true", '"c"'])
def test_a_reference_that_is_no_arm_is_told(tmp_path: Path, reference: str) -> None:
    file = tmp_path / "matrix.toml"
    file.write_text(f'reference = {reference}\n[run]\ndata = "."\n[arms.a]\n[arms.b]\nmemory = "random"\n')
    with pytest.raises(ConfigError, match=r"reference: there is no arm .*; there are a, b"):
        read_plan(file, store=tmp_path)


def test_runs_that_count_tokens_otherwise_differ_in_their_reader(tmp_path: Path, data_root: Path) -> None:
    one = arm(tmp_path / "one", data_root, reader=READER, judge=JUDGE)
    other = arm(tmp_path / "other", data_root, reader=READER, judge=JUDGE, token_counter="endpoint")
    (found,) = compare(one, [other], {})[0].differences
    assert (found.aspect, found.what) == (Aspect.READER, "token_counter")


def test_all_faults_of_a_matrix_come_at_once_and_those_of_run_once(tmp_path: Path) -> None:
    file = tmp_path / "matrix.toml"
    file.write_text(
        'referenc = "a"\n[run]\ndata = "d"\ntimeout = "long"\n'
        '[arms.a]\nmemry = "none"\n[arms.b]\nbudget = 0\n[arms."c d"]\nmemory = "none"\n'
    )
    with pytest.raises(ConfigError) as refused:
        read_plan(file, store=tmp_path)
    told = str(refused.value).splitlines()
    assert told[0] == f"{file} has 5 faults:"
    for line, words in (
        (1, "referenc"),
        (4, "run: timeout"),
        (6, "arms.a: memry"),
        (8, "budget"),
        (9, "folder"),
    ):
        assert sum(f"  line {line}: " in one and words in one for one in told) == 1, (line, words, told)
