"""The interval of a run's accuracy: Wilson's of zeros and ones, a bootstrap where scores are means."""

from collections.abc import Mapping
from dataclasses import dataclass

from evals.recorded import RecordedRun, gold_of_run
from evals.statistics.intervals import Interval, wilson_interval


@dataclass(frozen=True, slots=True)
class ScoreInterval:
    """Of the mean score of the scored questions, 0..1, at 95 %."""

    ends: Interval | None
    """None where there is nothing to tell it from."""
    method: str


def score_interval(run: RecordedRun) -> ScoreInterval:
    """With repeats a question's score is a mean, so questions are drawn, in clusters, with their means."""
    means = {one: result.mean_score for one, result in run.results.items()}
    scores = {one: score for one, score in means.items() if score is not None}
    if run.record.config.repeats.several:
        return _bootstrapped(run, scores)
    return ScoreInterval(wilson_interval(int(sum(scores.values())), len(scores)), "Wilson's")


def _bootstrapped(run: RecordedRun, scores: Mapping[str, float]) -> ScoreInterval:
    import numpy as np  # a run without repeats does not wait for it

    from evals.statistics.bootstrap import mean_interval
    from evals.statistics.clusters import clusters_of

    gold, why_not = gold_of_run(run)
    clusters = clusters_of(list(scores), gold)
    ends = mean_interval(np.array(list(scores.values())), clusters) if scores else None
    by = "gold evidence" if clusters.by_gold else f"question ({why_not or 'none of these has gold evidence'})"
    method = f"bootstrap of the questions' means over {clusters.count} clusters of questions, by {by}"
    if ends is None:
        method += ", which show no spread to draw from"
    elif clusters.few:
        method += ": too few to trust it"
    return ScoreInterval(ends, method)
