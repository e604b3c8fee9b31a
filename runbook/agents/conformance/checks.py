"""What must hold of an attempt beside its outcome.

A check returns what is wrong, "" where nothing is, and NotKnown where nothing that is on record can tell.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from runbook.agents.conformance.observing import Observed


@dataclass(frozen=True, slots=True)
class NotKnown:
    """What cannot be told of an attempt, and why."""

    why: str


Check = Callable[[Observed], str | NotKnown]

LATE_SECONDS = 10.0  # after which a passed deadline was not held, on a machine however busy
USAGE = {"cache_read": 100, "output": 50}  # of each answer of the scripted model, on every wire


def called(seen: Observed) -> str:
    """The wire has a record of the model's calls."""
    return "" if seen.calls else "the record holds no model call"


def usage(seen: Observed) -> str:
    """Every whole answer has its usage in the record, in the right buckets."""
    for call in seen.calls:
        if call.outcome is not None or call.cut or call.status != 200:
            continue
        if call.usage is None and call is seen.calls[-1] and seen.record.exit_code is None:
            continue  # usage comes last: the agent was ended between the words and it
        if call.usage is None:
            return f"the usage of model call {call.number} is unknown"
        told = {bucket: getattr(call.usage, bucket) for bucket in USAGE}
        given = (call.usage.fresh_input or 0) + (call.usage.cache_write or 0)
        if told != USAGE or not 900 <= given < 1000:
            return f"model call {call.number} has the usage {call.usage}"
    return ""


def flagged(flag: str) -> Check:
    """The record has a flag."""
    return lambda seen: "" if flag in seen.record.flags else f"no flag {flag!r}, flags {seen.record.flags}"


def ended_itself(seen: Observed) -> str:
    """The program ended by itself once the model was done."""
    return "" if seen.record.exit_code is not None else f"did not exit, flags {seen.record.flags}"


def ran(command: str, exit_code: int | None = None) -> Check:
    """The trace tells of a command, with its exit code where one is given."""

    def check(seen: Observed) -> str | NotKnown:
        ends = seen.ends(command)
        if not ends:
            return f"the trace does not tell of {command!r}"
        codes = [end.exit_code for end in ends]
        if exit_code is not None and not seen.stream and set(codes) == {None}:
            return NotKnown("exit codes: the adapter names no `stream`, and the wire tells none")
        if exit_code is not None and exit_code not in codes:
            return f"the trace has exit code {codes[0]} for {command!r}, not {exit_code}"
        return ""

    return check


def asked(command: str) -> Check:
    """The model asked for a command; its end is not seen where it ends the attempt."""

    def check(seen: Observed) -> str:
        made = [tool.arguments for call in seen.calls for tool in call.tool_calls]
        return "" if any(command in one for one in made) else f"the record holds no call of {command!r}"

    return check


def result_has(pattern: str) -> Check:
    """Some tool result that the model was sent matches."""

    def check(seen: Observed) -> str:
        return "" if re.search(pattern, seen.results()) else f"no tool result matches {pattern!r}"

    return check


def not_root(seen: Observed) -> str:
    """Commands run as an ordinary user."""
    user = re.search(r"uid=(\d+)", seen.results())
    if user is None:
        return "no tool result tells who ran the command"
    return "commands run as root" if user[1] == "0" else ""


def haystack_whole(seen: Observed) -> str:
    """The haystack is as it was."""
    return "" if seen.haystack_whole else "the haystack was changed"


def left(name: str) -> Check:
    """The workspace holds a file that a command left."""
    return lambda seen: (
        "" if (seen.workspace / name).exists() else f"the command that leaves {name!r} never ran"
    )


def within(calls: int) -> Check:
    """The model was asked at most so often."""
    return lambda seen: "" if len(seen.calls) <= calls else f"{len(seen.calls)} model calls, at most {calls}"


def never_retried(seen: Observed) -> str:
    """The gateway did not ask again after an answer that says no."""
    return "the gateway retried" if any(call.retries for call in seen.calls) else ""


def waited(seen: Observed) -> str:
    """Waiting for a rate limit is told apart."""
    seconds = sum(call.rate_limit_seconds for call in seen.calls)
    return "" if seconds > 0 else "no wait for the rate limit is on record"


def cut(seen: Observed) -> str:
    """The record says that an answer was cut off."""
    return "" if any(call.cut for call in seen.calls) else "no model call is recorded as cut"


def in_time(seen: Observed) -> str:
    """Nothing ran beyond the deadline by more than `LATE_SECONDS`."""
    late = seen.record.timings.get("agent", 0.0) - seen.wall_seconds
    return "" if late <= LATE_SECONDS else f"{late:.1f} s beyond the deadline"


def alive(seen: Observed) -> str:
    """No process and no container is left."""
    return f"still alive: {'; '.join(seen.alive)[:200]}" if seen.alive else ""


ALWAYS: tuple[Check, ...] = (called, usage, in_time, alive)
