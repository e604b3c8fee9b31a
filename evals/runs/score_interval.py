"""The interval of a share of questions: Wilson's of zeros and ones, a bootstrap where some are means."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from evals.question import Gold
from evals.recorded import RecordedRun, gold_of_run
from evals.statistics.intervals import Interval, wilson_interval


@dataclass(frozen=True, slots=True)
class ScoreInterval:
    """Of the mean over the questions that have the figure, 0..1, at 95 %."""

    ends: Interval | None
    """None where there is nothing to tell it from."""
    method: str


def score_interval(run: RecordedRun) -> ScoreInterval:
    """Of the mean score of the scored questions."""
    means = {one: result.mean_score for one, result in run.results.items()}
    return share_interval({one: score for one, score in means.items() if score is not None}, _gold(run))


def share_interval(
    values: Mapping[str, float], gold: Callable[[], tuple[Mapping[str, Gold], str]]
) -> ScoreInterval:
    """With repeats a question's figure can be a mean; then questions are drawn with their means, in clusters.

    Args:
        values: 0..1 by question.
        gold: reads the gold evidence, and says why there is none; asked where clusters are needed.
    """
    if all(value in (0, 1) for value in values.values()):
        return ScoreInterval(wilson_interval(int(sum(values.values())), len(values)), "Wilson's")
    return _bootstrapped(values, *gold())


def interval_of(run: RecordedRun, values: Mapping[str, float]) -> Interval | None:
    """`share_interval` with the gold evidence of the run's own data root."""
    return share_interval(values, _gold(run)).ends


def _gold(run: RecordedRun) -> Callable[[], tuple[Mapping[str, Gold], str]]:
    return lambda: gold_of_run(run)


def _bootstrapped(values: Mapping[str, float], gold: Mapping[str, Gold], why_not: str) -> ScoreInterval:
    import numpy as np  # a run without repeats does not wait for it

    from evals.statistics.clusters import clusters_of
    from evals.statistics.shares import mean_share_interval, near_an_end

    clusters = clusters_of(list(values), gold)
    means = np.array(list(values.values()))
    by = "gold evidence" if clusters.by_gold else f"question ({why_not or 'none of these has gold evidence'})"
    method = f"bootstrap of the questions' means over {clusters.count} clusters of questions, by {by}"
    ends = mean_share_interval(means, clusters)
    if ends is None:
        method += ", which show no spread to draw from"
    elif clusters.few:
        method += ": too few to trust it"
    if near_an_end(means):
        method += "; joined with Wilson's, for few are right or wrong"
    return ScoreInterval(ends, method)
