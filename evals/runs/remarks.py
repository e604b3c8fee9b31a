"""What has to be said wherever a run's figures are shown, because they do not say it themselves."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from evals.recorded import RecordedRun
from evals.runs.idle_switches import told_idle
from evals.runs.latency import machine_load


class About(StrEnum):
    """What a remark is about."""

    SMOKE = "smoke"
    REPLAYED = "replayed"
    FORCED = "forced"
    REVISION = "revision"
    LOAD = "load"
    IDLE = "idle"


@dataclass(frozen=True, slots=True)
class Remark:
    """One sentence about a run, without its name."""

    about: About
    text: str


def remarks_of(run: RecordedRun) -> list[Remark]:
    """Everything that holds of a run, the gravest first."""
    return list(_remarks(run))


def told_of(runs: Iterable[RecordedRun]) -> list[str]:
    """The remarks of several runs, each after the name of its run."""
    return [f"{run.name}: {remark.text}" for run in runs for remark in remarks_of(run)]


def is_replayed(run: RecordedRun) -> bool:
    """Whether the agent's model was a recording, so that its latencies are nobody's."""
    return run.record.config.gateway.replay is not None


def _remarks(run: RecordedRun) -> Iterator[Remark]:
    record = run.record
    if record.smoke:
        yield Remark(
            About.SMOKE,
            f"{len(record.questions)} of the {record.tier_questions} questions of the tier: a smoke run, no "
            "benchmark result.",
        )
    if is_replayed(run):
        beside = "; reader and judge are on no tape and were asked as configured" if run.has_reader else ""
        yield Remark(
            About.REPLAYED,
            "Replayed from a recording of the agent's model traffic: the latencies are this replay's, so it "
            f"is no benchmark result{beside}.",
        )
    if forced := sum(any(query.forced for query in result.queries) for result in run.results.values()):
        yield Remark(About.FORCED, f"Method failures of {forced} questions were thrown away with --force.")
    if record.revision:
        reader, judge = record.config.reader, record.config.judge
        yield Remark(
            About.REVISION,
            f"Revision {record.revision}: read by {reader.model if reader else 'nobody'}, judged by "
            f"{judge.model if judge else 'nobody'}.",
        )
    if idle := told_idle(record.config):
        yield Remark(About.IDLE, idle)
    answers = [query for result in run.results.values() for query in result.answers]
    if busy := machine_load(answers)["note"]:
        yield Remark(About.LOAD, f"{busy}.")
