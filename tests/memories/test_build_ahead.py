"""Haystacks of coming questions are built by a process beside the run, and not too many of them."""

import json
import os
import time

import pytest

from evals.dataset import load_data_root
from manifests.importing import import_lme_v2
from manifests.store import Store
from manifests.views import CAP_BYTES
from runbook.cli.build_ahead import BuildAhead, HaystackJob
from runbook.cli.haystacks import Haystacks, views_of
from tests.waiting import wait_for


@pytest.fixture
def many(tmp_path, make_data_root):
    """A store, and one job for each of eight distinct haystacks of its trajectories."""
    data = make_data_root(tmp_path / "data", questions=1, trajectories=8, states=3)
    store = Store.open(tmp_path / "store")
    import_lme_v2(data, store)
    slugs = store.slugs()
    jobs = [
        HaystackJob(tuple(slugs[: place + 1]), summaries=False, manifests=True, private=False)
        for place in range(8)
    ]
    return store, jobs


def indexed(store):
    views = views_of(store)
    return {name for name in views.names() if (views.root / name / ".index").is_dir()}


def test_as_many_as_wanted_are_ready_and_one_more_for_each_that_is_opened(many):
    store, jobs = many
    ahead = BuildAhead(store.root, CAP_BYTES, [*jobs, *jobs], distance=2, builders=1)
    haystacks = Haystacks(store, print, ahead=ahead)
    try:
        haystacks.open(jobs[0].slugs).close()
        wait_for(lambda: len(indexed(store)) == 3)
        time.sleep(0.5)
        assert len(indexed(store)) == 3
        with haystacks.open(jobs[1].slugs) as view:
            assert view.path.name in indexed(store)
            wait_for(lambda: len(indexed(store)) == 4)
    finally:
        ahead.close()


def test_a_closed_builder_leaves_no_process_and_the_rest_is_built_by_who_needs_it(many):
    store, jobs = many
    ahead = BuildAhead(store.root, CAP_BYTES, jobs, distance=1, builders=1)
    ahead.opening(jobs[0])
    (builder,) = ahead._builders
    ahead.close()
    with pytest.raises(ProcessLookupError):
        os.kill(builder.process.pid, 0)
    with Haystacks(store, print, ahead=ahead).open(jobs[5].slugs) as view:
        assert view.path.name in indexed(store)


def test_what_somebody_waits_for_comes_before_what_will_be_asked_for(many):
    store, jobs = many
    ahead = BuildAhead(store.root, CAP_BYTES, jobs, distance=1, builders=1)
    try:
        ahead.opening(jobs[7])
        built = indexed(store)
        with Haystacks(store, print).open(jobs[7].slugs) as view:
            assert view.path.name in built
    finally:
        ahead.close()


def test_builders_that_are_killed_are_not_waited_for(many):
    store, jobs = many
    ahead = BuildAhead(store.root, CAP_BYTES, jobs, distance=1, builders=2)
    try:
        ahead.opening(jobs[0])
        for builder in ahead._builders:
            builder.process.kill()
        with Haystacks(store, print, ahead=ahead).open(jobs[5].slugs) as view:
            assert view.path.name in indexed(store)
    finally:
        ahead.close()


def test_one_haystack_for_all_questions_starts_no_process(many):
    store, jobs = many
    ahead = BuildAhead(store.root, CAP_BYTES, [jobs[0]] * 20, distance=4, builders=1)
    ahead.opening(jobs[0])
    assert ahead._builders == []


def test_the_search_terms_of_a_new_store_are_made_before_the_first_question_and_said(
    tmp_path, make_data_root, run
):
    data = make_data_root(tmp_path / "data", questions=1, trajectories=20, states=3)
    command = (
        "eval",
        "run",
        "--data",
        data,
        "--memory",
        "rag-slice-bm25",
        "--store",
        tmp_path / "store",
        "--out",
    )
    first = run(*command, tmp_path / "one")
    assert first.returncode == 0, first.stderr
    assert "making the search terms of 20 trajectories, once for this store" in first.stdout
    assert len(list((tmp_path / "store" / "index").iterdir())) == 20
    assert "making the search terms" not in run(*command, tmp_path / "two").stdout


@pytest.fixture
def unlike(tmp_path, make_data_root):
    """Six questions over six haystacks, each without another one of six trajectories."""
    data = make_data_root(tmp_path / "data", questions=6, trajectories=6, states=3)
    ids = list(load_data_root(data).haystacks["q-0"])
    haystacks = {f"q-{n}": [one for one in ids if one != f"tr-{(n + 1) % 6}"] for n in range(6)}
    (data / "haystacks" / "lme_v2_small.json").write_text(json.dumps(haystacks))
    return data


def test_views_of_a_run_stay_within_the_disk_they_may_take(tmp_path, unlike, run):
    store = tmp_path / "store"
    done = run(
        *("eval", "run", "--data", unlike, "--memory", "rag-slice-bm25", "--out", tmp_path / "run"),
        *("--store", store, "--set", "views_gb=0.000001", "--concurrency", "1"),
    )
    assert done.returncode == 0, done.stderr
    assert "coverage             100.0 %" in done.stdout
    assert len(views_of(Store.open(store)).names()) <= 3  # one in use, one ahead, one just made


def test_a_run_of_some_questions_needs_their_trajectories_alone(tmp_path, unlike, run):
    store = tmp_path / "store"
    done = run(
        *("eval", "run", "--data", unlike, "--memory", "first", "--out", tmp_path / "run"),
        *("--store", store, "--limit", "1"),
    )
    assert done.returncode == 0, done.stderr
    assert len(Store.open(store).slugs()) == 5
