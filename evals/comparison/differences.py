"""How two runs differ beside their memory: what makes them incomparable, and what a report has to say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from evals.recorded import RecordedRun
from evals.sampling import JUDGE_SAMPLING, READER_SAMPLING
from runbook.endpoint.config import EndpointConfig, Sampling


class Aspect(StrEnum):
    """What has to be equal for a difference in score to be one of the memory."""

    DATA = "data"
    READER = "reader"
    JUDGE = "judge"
    PROFILE = "profile"
    TIER = "tier"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not the same in the two runs. `aspect` is None where it forbids nothing."""

    aspect: Aspect | None
    what: str
    a: str
    b: str

    def __str__(self) -> str:
        return f"{self.what}: {self.a} against {self.b}"


_PREFIXES = {
    "reader": Aspect.READER,
    **dict.fromkeys(("token_counter", "tokenizer", "preprocessor"), Aspect.READER),
    "judge": Aspect.JUDGE,
    "votes": Aspect.JUDGE,
    "profile": Aspect.PROFILE,
    "upstream": Aspect.PROFILE,
    "errata": Aspect.DATA,
    "tier": Aspect.TIER,
}
"""By which aspect a setting counts, from how its name begins."""

_NO_MATTER: Any = {
    **dict.fromkeys(
        ("data", "store", "limit", "sample", "gates", "question_ids", "reader", "judge", "seed"), True
    ),
    "gateway": {"providers", "record", "sockets", "prices"},
}
"""Settings that are compared otherwise, or that change no result of a common question."""

_ENDPOINT_ONLY = frozenset(
    {"base_url", "api_key_variable", "timeout_seconds", "connect_seconds", "retry_seconds", "backoff_seconds"}
)
"""How a model is reached, not which one it is."""


def differences(a: RecordedRun, b: RecordedRun, common: Sequence[str]) -> list[Difference]:
    """Everything that differs, the incomparable first. `common` are the questions that are compared."""
    one, other = a.record, b.record
    first, second = (
        _flat(record.config.model_dump(mode="json", exclude=_NO_MATTER)) for record in (one, other)
    )
    found = [
        *_data(a, b, common),
        *_endpoint(Aspect.READER, one.config.reader, other.config.reader, READER_SAMPLING),
        *_endpoint(Aspect.JUDGE, one.config.judge, other.config.judge, JUDGE_SAMPLING),
        *_models_seen(a, b, common),
    ]
    for name, left, right in _unequal(first, second):
        found.append(Difference(_aspect(name), name, left, right))
    for name, left, right in _unequal(one.prompt_digests, other.prompt_digests):
        found.append(Difference(_aspect(name), f"prompt {name}", left[:12], right[:12]))
    for name, left, right in _unequal(one.versions, other.versions):
        found.append(Difference(None, f"version of {name}", left, right))
    for name, left, right in _unequal(_agent_versions(a), _agent_versions(b)):
        found.append(Difference(None, f"version of {name}", left, right))
    if one.git_revision != other.git_revision:
        found.append(Difference(None, "git revision", _shown(one.git_revision), _shown(other.git_revision)))
    return sorted(found, key=lambda one: one.aspect is None)


def _aspect(name: str) -> Aspect | None:
    return next((aspect for prefix, aspect in _PREFIXES.items() if name.startswith(prefix)), None)


def _data(a: RecordedRun, b: RecordedRun, common: Sequence[str]) -> list[Difference]:
    one, other = a.record, b.record
    found = [
        Difference(Aspect.DATA, name, left[:12], right[:12])
        for name, left, right in _unequal(one.data_digests, other.data_digests)
        if one.config.tier == other.config.tier or not name.startswith("haystacks/")
    ]
    changed = [
        question
        for question in common
        if one.haystack_digests.get(question) != other.haystack_digests.get(question)
    ]
    # Another tier has other haystacks by its nature.
    if changed and one.config.tier == other.config.tier:
        what = f"trajectories of {len(changed)} questions"
        digests = (record.haystack_digests.get(changed[0], "")[:12] or "unknown" for record in (one, other))
        found.append(Difference(Aspect.DATA, what, *digests))
    return found


def _endpoint(
    role: Aspect, a: EndpointConfig | None, b: EndpointConfig | None, usual: Sampling
) -> list[Difference]:
    if a is None or b is None:
        return [] if a is b else [Difference(role, role, a.model if a else "none", b.model if b else "none")]
    first, second = (one.sampled(usual).model_dump(mode="json") for one in (a, b))
    found = [
        Difference(role, f"{role} {name}", left, right)
        for name, left, right in _unequal(first, second, skip=_ENDPOINT_ONLY | {"sampling"})
    ]
    found += [
        Difference(role, f"{role} {name}", left, right)
        for name, left, right in _unequal(first["sampling"], second["sampling"])
    ]
    if a.base_url != b.base_url:
        found.append(Difference(None, f"{role} address", _shown(a.base_url), _shown(b.base_url)))
    return found


def _models_seen(a: RecordedRun, b: RecordedRun, common: Sequence[str]) -> list[Difference]:
    """The models that replies really named."""
    found = []
    for role, seen in (("reader", _reader_models), ("judge", _judge_models)):
        one, other = seen(a, common), seen(b, common)
        if one and other and one != other:
            found.append(Difference(None, f"{role} as its replies name it", one, other))
    if (one := _agent_models(a)) != (other := _agent_models(b)):
        found.append(Difference(None, "models that answered the agent", one or "none", other or "none"))
    return found


def _reader_models(run: RecordedRun, common: Sequence[str]) -> str:
    readings = [result.reading for result in (run.results[one] for one in common) if result.reading]
    return _listed(record.reading.model for record in readings if record.reading)


def _judge_models(run: RecordedRun, common: Sequence[str]) -> str:
    verdicts = [result.verdict for result in (run.results[one] for one in common) if result.verdict]
    return _listed(record.verdict.judge_model for record in verdicts if record.verdict)


def _agent_versions(run: RecordedRun) -> dict[str, str]:
    """What each attempt's record says of its agent's version, where it does."""
    attempts = [
        attempt.model_dump()
        for result in run.results.values()
        if result.query is not None
        for attempt in result.query.result.attempts
    ]
    names = sorted({attempt["agent"] for attempt in attempts})
    listed = {
        name: _listed(one.get("agent_version") for one in attempts if one["agent"] == name) for name in names
    }
    return {name: versions for name, versions in listed.items() if versions}


def _agent_models(run: RecordedRun) -> str:
    """The models that answered the agent, as the gateway saw it."""
    answered = [result.query.result for result in run.results.values() if result.query is not None]
    wires = [attempt.wire for result in answered for attempt in result.attempts if attempt.wire]
    return _listed(model for wire in wires for model in wire.actual_models)


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings under dotted names."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return flat


def _listed(names: Any) -> str:
    return ", ".join(sorted({name for name in names if name}))


def _unequal(
    a: Mapping[str, Any], b: Mapping[str, Any], *, skip: frozenset[str] | set[str] = frozenset()
) -> list[tuple[str, str, str]]:
    """Name and both values of each key that is not the same in both, in order."""
    names = sorted((a.keys() | b.keys()) - skip)
    return [(name, _shown(a.get(name)), _shown(b.get(name))) for name in names if a.get(name) != b.get(name)]


def _shown(value: object) -> str:
    return "none" if value is None or value == "" else str(value)
