"""What a package's memory answers, as a run's records can hold it."""

from collections.abc import Mapping, Sequence

import orjson
from pydantic import TypeAdapter

from runbook.context import MemoryContext
from runbook.memory import AttemptRecord, QueryResult

_HAIR = 0.1
_RECORD = TypeAdapter(dict[str, QueryResult])


def as_written(result: object) -> QueryResult:
    """The answer as it is read from its record: what was changed or built by hand holds anything.

    Raises:
        TypeError, ValueError: it is none, does not fit, or cannot be written or read again.
    """
    if not isinstance(result, QueryResult):
        raise TypeError(f"query returned {type(result).__name__}, which is no QueryResult")
    plain = result.model_dump(mode="json", include=set(QueryResult.model_fields), warnings=False)
    # As deep as in its record, for writer and reader both stop at some depth.
    return _RECORD.validate_json(orjson.dumps({"result": plain}))["result"]


def numbered(attempts: Sequence[AttemptRecord], first: int, free: int) -> list[AttemptRecord]:
    """The attempts, with the numbers after those that were there before.

    `first` was the first free number before they were made, `free` is it now: numbers in between are those
    of folders in which they are kept.
    """
    numbers = {one.number for one in attempts}
    ours = range(first, max(free, first + len(attempts)))
    if len(numbers) == len(attempts) and all(number in ours for number in numbers):
        return list(attempts)
    return [one.model_copy(update={"number": first + place}) for place, one in enumerate(attempts)]


def within(attempt: AttemptRecord, seconds: float) -> AttemptRecord:
    """An attempt that took no longer than all of them, as far as it told its times itself."""
    told = {"seconds": min(attempt.seconds, seconds), "timings": capped(attempt.timings, seconds)}
    return attempt.model_copy(update=told)


def capped(timings: Mapping[str, float], seconds: float) -> dict[str, float]:
    """Timings that are no longer than the whole, and not negative."""
    return {name: min(max(0.0, value), seconds) for name, value in timings.items()}


def remade(given: MemoryContext, context: MemoryContext) -> list[str]:
    """A repair where a memory gave another context than the one that is scored."""
    if not given.items or given == context:
        return []
    return ["context: rendered from the evidence in place of the memory's own, so that one is scored"]


def told_otherwise(told: float, seconds: float) -> list[str]:
    """A note where a memory tells another time than was measured, and not only by a hair."""
    if not told or abs(told - seconds) <= max(0.01, _HAIR * seconds):
        return []
    return [f"it told {told:.2f} s for the query, but {seconds:.2f} s were measured"]
