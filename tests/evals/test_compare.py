"""Runs are compared question by question, over what both have, and only where they are comparable."""

import shutil
from pathlib import Path

import pytest

from evals.comparison.compare import compare
from evals.comparison.differences import Aspect
from evals.comparison.noise import independent, noise_of
from evals.recorded import gold_of_run, read_run
from evals.runs.summary import summarise
from runbook.cli.comparing import _remarks
from runbook.outcomes import Outcome
from tests.data_roots import write_data_root
from tests.recorded_runs import READER, Answer, write_run


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Forty questions over twenty trajectories: two of them share each piece of gold."""
    return write_data_root(tmp_path / "data", questions=40, trajectories=20)


def scores(right: set[int], *, seconds: float = 10.0, count: int = 40) -> dict[str, Answer]:
    return {f"q-{n}": Answer(score=int(n in right), seconds=seconds + n % 3) for n in range(count)}


def test_the_table_of_two_finished_runs(root: Path, tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", root, scores(set(range(10))))
    b = write_run(tmp_path / "b", root, scores(set(range(2, 20)), seconds=20))
    runs = [read_run(folder.path) for folder in (a, b)]
    [made] = compare(runs[0], runs[1:], gold_of_run(runs[0])[0])
    [row] = made.rows
    assert (row.both, row.only_a, row.only_b, row.neither) == (8, 2, 10, 20)
    assert (row.a, row.b, row.difference) == pytest.approx((0.25, 0.45, 0.2))
    assert row.interval is not None
    assert row.interval.low < 0.2 < row.interval.high
    assert row.p == row.p_holm == pytest.approx(2 * (1 + 12 + 66) / 2**12)
    assert row.clusters == 20
    assert made.clustered_by == "gold evidence"
    assert [flip.question_id for flip in made.flips if flip.right == "a"] == ["q-0", "q-1"]
    assert sum(flip.right == "b" for flip in made.flips) == 10
    assert made.latency is not None
    assert made.latency.difference == pytest.approx(10)
    assert 1.5 < made.latency.ratio < 2.1
    assert made.differences == []


def test_only_questions_that_both_have_a_score_for_are_compared(root: Path, tmp_path: Path) -> None:
    half = scores({0, 1}, count=20) | {"q-5": Answer(score=0, outcome=Outcome.SANDBOX_ERROR)}
    a = read_run(write_run(tmp_path / "a", root, scores(set(range(40)))).path)
    b = read_run(write_run(tmp_path / "b", root, half).path)
    [made] = compare(a, [b], {})
    assert made.coverage.common == 19
    assert (made.coverage.a, made.coverage.b, made.coverage.b_questions) == (40, 19, 40)
    assert made.rows[0].b == pytest.approx(2 / 19)
    assert made.clustered_by == "question"


def test_without_a_reader_the_evidence_is_compared(root: Path, tmp_path: Path) -> None:
    found = {f"q-{n}": Answer(spans=((f"tr-{n % 20}", 2, 2),), in_context=True) for n in range(40)}
    missed = {f"q-{n}": Answer(spans=((f"tr-{n % 20}", 0, 1),), in_context=n < 4) for n in range(40)}
    a = read_run(write_run(tmp_path / "a", root, missed).path)
    b = read_run(write_run(tmp_path / "b", root, found).path)
    [made] = compare(a, [b], {})
    assert made.measure == "all_pieces_hit"
    assert made.rows[0].difference == 1
    assert made.rows[0].interval is not None  # every question gained the same, which is no certainty
    assert made.rows[0].interval.low < 0.95
    beside = {row.measure: row for row in made.beside}
    assert beside["answer_in_context"].difference == pytest.approx(0.9)
    assert beside["evidence_hit"].difference == 1
    assert beside["evidence_hit"].p is None


def test_p_values_are_held_over_all_rows_of_all_arms(root: Path, tmp_path: Path) -> None:
    rows = (root / "questions.jsonl").read_text().splitlines()
    rows = [row.replace("static-environment", "procedure") if n % 2 else row for n, row in enumerate(rows)]
    (root / "questions.jsonl").write_text("\n".join(rows))
    base = read_run(write_run(tmp_path / "a", root, scores(set())).path)
    others = [
        read_run(write_run(tmp_path / name, root, scores(set(range(right)))).path)
        for name, right in (("b", 12), ("c", 3))
    ]
    made = compare(base, others, {})
    tested = [row for one in made for row in one.rows]
    assert [row.scope for row in made[0].rows] == ["all", "procedure", "static-environment"]
    smallest = min(tested, key=lambda row: row.p or 0)
    assert smallest.p_holm == pytest.approx(6 * (smallest.p or 0))


@pytest.mark.parametrize(
    ("changed", "aspect", "words"),
    [
        ({"reader": READER | {"model": "other"}}, Aspect.READER, "reader model: qwen3.5-9b against other"),
        ({"reader": READER | {"sampling": {"temperature": 0.1}}}, Aspect.READER, "temperature"),
        ({"judge": {"model": "lenient"}}, Aspect.JUDGE, "judge model"),
        ({"judge": None}, Aspect.JUDGE, "judge: gpt-5.2 against none"),
        ({"tier": "medium"}, Aspect.TIER, "tier: small against medium"),
    ],
)
def test_what_makes_runs_incomparable_is_named(
    root: Path, tmp_path: Path, changed: dict[str, object], aspect: Aspect, words: str
) -> None:
    (root / "haystacks" / "lme_v2_medium.json").write_bytes(
        (root / "haystacks" / "lme_v2_small.json").read_bytes()
    )
    a = read_run(write_run(tmp_path / "a", root, scores({0})).path)
    b = read_run(write_run(tmp_path / "b", root, scores({1}), **changed).path)
    refusing = [one for one in compare(a, [b], {})[0].differences if one.aspect]
    assert {one.aspect for one in refusing} == {aspect}
    assert any(words in str(one) for one in refusing)


def test_other_data_are_named_by_file(root: Path, tmp_path: Path) -> None:
    a = read_run(write_run(tmp_path / "a", root, scores({0})).path)
    with (root / "questions.jsonl").open("a") as file:
        file.write("\n")
    b = read_run(write_run(tmp_path / "b", root, scores({0})).path)
    [difference] = compare(a, [b], {})[0].differences
    assert (difference.aspect, difference.what) == (Aspect.DATA, "questions.jsonl")
    assert gold_of_run(a)[0] == {}
    assert "changed since" in gold_of_run(a)[1]


def test_a_patch_version_of_the_agent_is_said_but_forbids_nothing(root: Path, tmp_path: Path) -> None:
    a = read_run(write_run(tmp_path / "a", root, scores({0}), versions={"codex": "0.144.0"}).path)
    b = read_run(write_run(tmp_path / "b", root, scores({0}), versions={"codex": "0.144.1"}).path)
    [difference] = compare(a, [b], {})[0].differences
    assert difference.aspect is None
    assert str(difference) == "version of codex: 0.144.0 against 0.144.1"


def test_nested_settings_are_named_one_by_one(root: Path, tmp_path: Path) -> None:
    a = read_run(write_run(tmp_path / "a", root, scores({0})).path)
    b = read_run(write_run(tmp_path / "b", root, scores({0}), gateway={"silence_seconds": 5}, model="m").path)
    named = [str(one) for one in compare(a, [b], {})[0].differences]
    assert named == ["gateway.silence_seconds: 600.0 against 5.0", "model: none against m"]


def test_another_address_of_the_same_model_forbids_nothing(root: Path, tmp_path: Path) -> None:
    elsewhere = READER | {"base_url": "http://127.0.0.1:10/v1"}
    a = read_run(write_run(tmp_path / "a", root, scores({0})).path)
    b = read_run(write_run(tmp_path / "b", root, scores({0}), reader=elsewhere).path)
    [difference] = compare(a, [b], {})[0].differences
    assert (difference.aspect, difference.what) == (None, "reader address")


def test_few_clusters_are_said(tmp_path: Path) -> None:
    root = write_data_root(tmp_path / "data", questions=40, trajectories=3)
    a = read_run(write_run(tmp_path / "a", root, scores({0, 1, 2})).path)
    [made] = compare(a, [a], gold_of_run(a)[0])
    assert made.few_clusters
    assert made.rows[0].clusters == 3


def test_runs_without_a_common_question_cannot_be_compared(root: Path, tmp_path: Path) -> None:
    a = read_run(write_run(tmp_path / "a", root, {"q-0": Answer(score=1)}).path)
    b = read_run(write_run(tmp_path / "b", root, {"q-1": Answer(score=1)}).path)
    with pytest.raises(ValueError, match="no question in common"):
        compare(a, [b], {})


def test_runs_of_equal_settings_tell_how_much_chance_moves_them(root: Path, tmp_path: Path) -> None:
    runs = [
        read_run(write_run(tmp_path / name, root, scores(right), seed=seed).path)
        for seed, (name, right) in enumerate((("a", set(range(20))), ("b", set(range(4, 24)))))
    ]
    assert compare(runs[0], runs[1:], {})[0].differences == []
    noise = noise_of(runs)
    assert noise is not None
    assert (noise.runs, noise.questions, len(noise.unsteady)) == (2, 40, 8)
    # 8 of 40 questions flip, each with a sample variance of a half.
    assert noise.split.agent == pytest.approx(0.1)
    assert noise.split.includes("agent") == ("reader", "judge")
    assert noise.deviation == pytest.approx((0.1 / 40) ** 0.5)


def test_runs_with_repeats_vary_less_than_each_of_their_passes(root: Path, tmp_path: Path) -> None:
    def passes(right: set[int], again: set[int]) -> dict[str, tuple[Answer, ...]]:
        return {f"q-{n}": (Answer(score=int(n in right)), Answer(score=int(n in again))) for n in range(40)}

    first, other = set(range(20)), set(range(4, 24))
    runs = [
        read_run(write_run(tmp_path / name, root, passes(first, other), seed=seed).path)
        for seed, name in enumerate("ab")
    ]
    noise = noise_of(runs)
    assert noise is not None
    assert noise.split.agent == pytest.approx(8 * (1 / 3) / 40)
    assert noise.deviation == pytest.approx((8 / 3 / 40 / 40 / 2) ** 0.5)
    shown = summarise(runs[0].folder)["repeats"]
    assert shown["deviation"] == pytest.approx((8 / 2 / 40 / 40 / 2) ** 0.5)


def test_a_run_is_no_repeat_of_itself_nor_of_its_copy(root: Path, tmp_path: Path) -> None:
    path = write_run(tmp_path / "a", root, scores(set(range(20)))).path
    copy = shutil.copytree(path, tmp_path / "copy")
    again = write_run(tmp_path / "again", root, scores(set(range(20)))).path
    assert not independent([read_run(path), read_run(path)])
    assert not independent([read_run(again), read_run(path), read_run(copy)])
    assert independent([read_run(path), read_run(again)])


def test_the_power_is_told_as_an_approximation(root: Path, tmp_path: Path) -> None:
    a, b = (
        read_run(write_run(tmp_path / name, root, scores(set(right))).path)
        for name, right in (("a", range(20)), ("b", range(10, 30)))
    )
    (told,) = [line for line in _remarks(compare(a, [b], {})[0], "") if "power" in line]
    assert "a true difference of about " in told
    assert "approximation" in told


def test_runs_without_a_common_score_tell_no_noise(root: Path, tmp_path: Path) -> None:
    a = read_run(write_run(tmp_path / "a", root, {"q-0": Answer(score=1)}).path)
    b = read_run(write_run(tmp_path / "b", root, {"q-1": Answer(score=1)}).path)
    assert noise_of([a, b]) is None
