"""Clusters by gold evidence, and bootstrap intervals over them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.question import Gold, GoldSpan
from evals.scoring.lafs import OperatingPoint, lafs_gain
from evals.statistics.bootstrap import mean_interval
from evals.statistics.clusters import Clusters, clusters_of
from evals.statistics.frontier_gain import Scored, gain_interval


def gold(*trajectories: str) -> Gold:
    spans = [GoldSpan(trajectory_id=one, start_state_index=0, end_state_index=0) for one in trajectories]
    return Gold(pieces=tuple((span,) for span in spans))


def singles(count: int) -> Clusters:
    return clusters_of([str(one) for one in range(count)], None)


def test_questions_that_share_gold_trajectories_are_one_cluster_also_at_a_remove():
    evidence = {"a": gold("t1"), "b": gold("t1", "t2"), "c": gold("t2"), "d": gold("t3")}
    clusters = clusters_of(["a", "d", "c", "b", "e"], evidence)
    assert clusters.labels.tolist() == [0, 1, 0, 0, 2]
    assert (clusters.count, clusters.by_gold, clusters.few) == (3, True, True)


def test_without_gold_each_question_is_a_cluster():
    clusters = singles(12)
    assert (clusters.count, clusters.by_gold, clusters.few) == (12, False, False)
    assert clusters_of([], None).count == 0


@given(st.lists(st.sets(st.integers(0, 6), max_size=3), max_size=12))
def test_clusters_are_the_connected_components(trajectories):
    ids = [str(index) for index in range(len(trajectories))]
    evidence = {one: gold(*map(str, sorted(ts))) for one, ts in zip(ids, trajectories, strict=True)}
    labels = clusters_of(ids, evidence).labels
    groups = [{index} for index in range(len(ids))]
    for _ in ids:  # joined until nothing changes, the slow way
        for one in range(len(ids)):
            for other in range(len(ids)):
                if trajectories[one] & trajectories[other]:
                    merged = groups[one] | groups[other]
                    for index in merged:
                        groups[index] = merged
    for one in range(len(ids)):
        assert {index for index in range(len(ids)) if labels[index] == labels[one]} == groups[one]


@settings(max_examples=25)
@given(st.lists(st.floats(-1, 1), min_size=2, max_size=40))
def test_an_interval_surrounds_the_mean_and_repeats_itself(values):
    data, clusters = np.array(values), singles(len(values))
    interval = mean_interval(data, clusters, resamples=400)
    assert interval == mean_interval(data, clusters, resamples=400)
    if interval is not None:
        assert min(values) - 1e-9 <= interval.low <= np.mean(values) + 1e-9
        assert np.mean(values) - 1e-9 <= interval.high <= max(values) + 1e-9


def test_data_without_spread_have_no_interval():
    assert mean_interval(np.ones(30), singles(30)) is None
    assert (
        mean_interval(np.array([0.0, 1.0]), clusters_of(["a", "b"], {"a": gold("t"), "b": gold("t")})) is None
    )


def test_it_comes_near_the_normal_interval_where_that_holds():
    values = np.random.default_rng(3).normal(0.4, 1, size=2000)
    interval = mean_interval(values, singles(2000))
    assert interval is not None
    half = 1.96 * values.std(ddof=1) / 2000**0.5
    assert interval.low == pytest.approx(values.mean() - half, abs=0.004)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.004)


def coverage(clusters_count: int, size: int, *, clustered: bool) -> float:
    """How often the interval holds the true mean, 0; questions of a cluster share half their noise."""
    random = np.random.default_rng(4)
    ids = [str(one) for one in range(clusters_count * size)]
    evidence = {one: gold(str(int(one) // size)) for one in ids} if clustered else None
    clusters = clusters_of(ids, evidence)
    held = []
    for trial in range(300):
        shared = np.repeat(random.normal(size=clusters_count), size)
        values = shared + random.normal(size=len(ids))
        interval = mean_interval(values, clusters, resamples=500, seed=trial)
        assert interval is not None
        held.append(interval.low <= 0 <= interval.high)
    return float(np.mean(held))


def test_the_interval_covers_what_it_claims_also_with_few_clusters():
    assert coverage(12, 5, clustered=True) == pytest.approx(0.95, abs=0.035)


def test_single_questions_would_claim_too_much_where_clusters_matter():
    assert coverage(12, 5, clustered=False) < 0.8


def scored(random: np.random.Generator, accuracy: float, seconds: float, count: int = 200) -> Scored:
    return Scored((random.random(count) < accuracy).astype(float), random.gamma(4, seconds / 4, count))


def test_the_gain_of_a_point_lies_in_its_interval():
    point = scored(np.random.default_rng(5), 0.8, 30)
    gain = lafs_gain([OperatingPoint(float(point.scores.mean()), float(point.seconds.mean()))], "small")
    interval = gain_interval([point], singles(200), "small", resamples=600)
    assert interval is not None
    assert interval.low < gain < interval.high
    assert interval.high - interval.low > 2


def test_latency_counts_into_the_interval_and_not_only_accuracy():
    right = (np.arange(200) % 5 > 0).astype(float)
    steady, wild = np.full(200, 30.0), np.where(np.arange(200) % 10 == 0, 282.0, 2.0)
    same, wide = (
        gain_interval([Scored(right, seconds)], singles(200), "small", resamples=600)
        for seconds in (steady, wild)
    )
    assert same is not None
    assert wide is not None
    assert wide.high - wide.low > 1.5 * (same.high - same.low)


def test_questions_without_a_score_are_left_out():
    point = scored(np.random.default_rng(6), 0.8, 30, count=120)
    padded = Scored(*(np.concatenate([part, np.full(40, np.nan)]) for part in (point.scores, point.seconds)))
    full = gain_interval([point], singles(120), "small")
    part = gain_interval([padded], singles(160), "small")
    assert full is not None
    assert part is not None
    assert part.low == pytest.approx(full.low, abs=0.6)
    assert part.high == pytest.approx(full.high, abs=0.6)


def test_a_tier_without_a_reference_has_no_gain():
    with pytest.raises(KeyError):
        gain_interval([scored(np.random.default_rng(7), 0.5, 9)], singles(200), "huge")
