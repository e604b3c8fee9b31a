"""The figures of a run, finished or not, from its current records."""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from evals.position_leak import leak_within
from evals.recorded import RecordedRun
from evals.runs.answering_use import answering_use
from evals.runs.cascading import cascade_use
from evals.runs.config import RunConfig
from evals.runs.evidence_figures import answers_found, evidence_figures
from evals.runs.fallbacks import touched_by_fallbacks
from evals.runs.folder import RunFolder
from evals.runs.inserting import insert_costs
from evals.runs.latency import latency_breakdown, official_latency
from evals.runs.noise import repeat_figures
from evals.runs.records import QueryRecord, is_scoreless
from evals.runs.remarks import is_replayed, remarks_of
from evals.runs.results import Chain, QuestionResult, load_figures
from evals.runs.score_interval import interval_of, score_interval
from evals.runs.spending import spending
from runbook.outcomes import Outcome


def is_pending(result: QuestionResult, *, with_reader: bool, retry: frozenset[Outcome]) -> bool:
    """Whether a resume has something to do for a question: a stage is missing, or to be done again."""
    return any(_is_pending(chain, with_reader=with_reader, retry=retry) for chain in result.chains)


def _is_pending(chain: Chain, *, with_reader: bool, retry: frozenset[Outcome]) -> bool:
    if chain.query is None or chain.query.outcome in retry:
        return True
    if not with_reader or is_scoreless(chain.query.outcome):
        return False
    if chain.reading is None or chain.reading.outcome in retry:
        return True
    if is_scoreless(chain.reading.outcome):
        return False
    return chain.verdict is None or chain.verdict.outcome in retry


def summarise(folder: RunFolder) -> dict[str, Any]:
    """All figures that `runbook eval show --json` prints; shares are 0..1, seconds are wall time.

    A question's figure is the mean over its repeats, without those that ended in an infrastructure failure:
    nobody's answer. What was spent counts all.
    """
    record = folder.record()
    config = record.config
    results = load_figures(folder, record)
    run = RecordedRun(folder, record, {one.question_id: one for one in results})
    queries = [query for result in results for query in result.queries]
    answered = [query for result in results for query in result.answers]
    with_reader = config.reader is not None
    outcomes = Counter(result.outcome.value for result in results if result.outcome is not None)
    correct = sum(result.score or 0 for result in results) if with_reader else None
    return {
        "questions": len(results),
        "tier_questions": record.tier_questions,
        "smoke": record.smoke,
        "replayed": is_replayed(run),
        "remarks": [{"about": one.about.value, "text": one.text} for one in remarks_of(run)],
        "finished": sum(_is_covered(result, with_reader) for result in results),
        "coverage": _share(_is_covered(result, with_reader) for result in results),
        "outcomes": dict(sorted(outcomes.items())),
        "accuracy": _accuracy(run) if with_reader else None,
        "repeats": repeat_figures(results, config.repeats) if with_reader else None,
        **_in_context(run),
        "evidence": _evidence(results),
        "latency": official_latency(answered),
        "latency_breakdown": latency_breakdown(answered),
        "model_use": spending(queries, correct if not config.repeats.several else None),
        **answering_use(config, results),
        "insert_cost": insert_costs(queries),
        "cascade": cascade_use(config, answered),
        "attempts_per_question": _mean([len(query.result.attempts) for query in queries]),
        "sandbox": _sandbox(queries) or config.sandbox,
        "memory": config.memory,
        "position_leak": _position_leak(config, results),
        "agent": _agent(queries) or config.agent,
        "reader": config.reader.model if config.reader else None,
        "judge": config.judge.model if config.judge else None,
        "votes": config.votes,
        "profile": config.profile,
        "revision": record.revision,
        "fallbacks": touched_by_fallbacks(results),
        "tokens_counted": _counters(results),
        "tier": config.tier,
    }


def _position_leak(config: RunConfig, results: Sequence[QuestionResult]) -> dict[str, Any] | None:
    """Of the memory `first`: whether it finds more answers than random states do."""
    found = leak_within(results) if config.memory == "first" else None
    return None if found is None else {"leaks": found.leaks, "told": str(found)}


def _is_covered(result: QuestionResult, with_reader: bool) -> bool:
    """With a reader a question counts once it has its scores, without one once the memory has answered."""
    if with_reader:
        return result.complete
    return all(chain.query is not None and not is_scoreless(chain.query.outcome) for chain in result.chains)


def _accuracy(run: RecordedRun) -> dict[str, Any]:
    by_type: dict[str, list[float]] = {}
    for result in run.results.values():
        scores = by_type.setdefault(result.question_type, [])
        if (score := result.mean_score) is not None:
            scores.append(score)
    scored = [score for scores in by_type.values() for score in scores]
    interval = score_interval(run)
    return {
        "strict": sum(scored) / len(run.results) if run.results else None,
        "conditional": _mean(scored),
        "interval": [interval.ends.low, interval.ends.high] if interval.ends else None,
        "interval_method": interval.method,
        "scored": len(scored),
        "by_type": {kind: _mean(scores) for kind, scores in sorted(by_type.items())},
    }


def _in_context(run: RecordedRun) -> dict[str, Any]:
    results = list(run.results.values())
    own = answers_found(results, lambda one: one.context)
    interval = interval_of(run, own)
    return {
        "answer_in_context": _mean([*own.values()]),
        "answer_in_context_n": len(own),
        "answer_in_context_interval": [interval.low, interval.high] if interval else None,
        "answer_in_context_gold": _mean([*answers_found(results, lambda one: one.gold_spans).values()]),
        "answer_in_context_random": _mean([*answers_found(results, lambda one: one.random_states).values()]),
    }


def _evidence(results: Sequence[QuestionResult]) -> dict[str, Any]:
    figures = evidence_figures(results)
    return {
        "hit": figures.hit,
        "all_pieces_hit": figures.all_pieces_hit,
        "strict": figures.strict,
        "states_per_question": figures.states_per_question,
        "n": figures.questions,
    }


def _sandbox(queries: Sequence[QueryRecord]) -> str:
    """The back ends that attempts really ran in."""
    names = {attempt.sandbox for query in queries for attempt in query.result.attempts}
    return "+".join(sorted(names))


def _agent(queries: Sequence[QueryRecord]) -> str:
    """What the agents of the attempts call themselves; the settings may name an adapter's file instead."""
    names = {attempt.agent for query in queries for attempt in query.result.attempts}
    return "+".join(sorted(names))


def _counters(results: Sequence[QuestionResult]) -> list[str]:
    """How the tokens of contexts were counted."""
    readings = (chain.reading.reading for result in results for chain in result.chains if chain.reading)
    return sorted({reading.cut.counter for reading in readings if reading})


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _share(flags: Iterable[bool]) -> float | None:
    return _mean([float(flag) for flag in flags])
