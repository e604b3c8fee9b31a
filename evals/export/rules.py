"""What keeps a run from being a benchmark result."""

from collections.abc import Iterator, Mapping
from typing import Any

from evals.dataset import DataRoot
from evals.recorded import RecordedRun
from runbook.outcomes import INFRASTRUCTURE_FAILURES

DOMAINS = ("web", "enterprise")
TIERS = ("small", "medium")
READER = "qwen3.5-9b"
JUDGE = "gpt-5.2"
"""What the public packaging looks for in the names of the models, in lower case."""


def obstacles(run: RecordedRun, data: DataRoot) -> list[str]:
    """Why the run is no benchmark result, in plain words; empty where it is one.

    Args:
        data: the run's own data root, unchanged since (see `evals.recorded.data_of`).
    """
    return [*_coverage(run, data), *_procedure(run), *_names(run, data)]


def _coverage(run: RecordedRun, data: DataRoot) -> Iterator[str]:
    asked = {question.id for question in data.questions}
    if run.record.smoke or set(run.results) != asked:
        yield f"only {len(run.results)} of the {len(asked)} questions of tier {data.tier} were run"
    unscored = [one for one in run.results.values() if one.score is None]
    failed = sorted({one.outcome.value for one in unscored if one.outcome in INFRASTRUCTURE_FAILURES})
    if unscored:
        why = f" ({', '.join(failed)})" if failed else ""
        yield f"{len(unscored)} of {len(run.results)} questions have no score{why}: `runbook eval resume`"


def _procedure(run: RecordedRun) -> Iterator[str]:
    settings = run.record.config.model_dump(mode="json")
    profile = settings.get("profile", "fixed")
    if profile != "official":
        yield f"its profile is {profile}, not official"
    if run.record.config.gateway.replay is not None:
        yield "it is a replay of another run"
    for name in ("votes", "repeats"):
        if _most(settings.get(name)) > 1:
            yield f"it has more than one of its {name}"
    forced = [one for one in run.results.values() if any(query.forced for query in one.queries)]
    if forced:
        yield f"method failures of {len(forced)} questions were thrown away with --force"
    counters = {
        one.reading.reading.cut.counter for one in run.results.values() if one.reading and one.reading.reading
    }
    if any("estimate" in counter for counter in counters):
        yield "the tokens of the memory context were estimated, not counted"


def _names(run: RecordedRun, data: DataRoot) -> Iterator[str]:
    config = run.record.config
    if config.tier not in TIERS:
        yield f"tier {config.tier} is none of {', '.join(TIERS)}"
    others = sorted({question.domain for question in data.questions} - set(DOMAINS))
    if others:
        yield f"its questions are of domain {', '.join(others)}, not {' or '.join(DOMAINS)}"
    for role, endpoint, wanted in (("reader", config.reader, READER), ("judge", config.judge, JUDGE)):
        if endpoint is None:
            yield f"it has no {role}"
        elif wanted not in endpoint.model.lower():
            yield f"its {role} is {endpoint.model}, not {wanted}"


def _most(value: Any) -> int:
    """The largest number in a setting that is a number or names several."""
    if isinstance(value, Mapping):
        return max((_most(one) for one in value.values()), default=1)
    return value if isinstance(value, int) else 1
