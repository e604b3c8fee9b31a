"""How an attempt ended: the one outcome, by a fixed precedence, and what also happened."""

from runbook.evidence import InvalidEvidence, ReadEvidence, Refusal
from runbook.gateway.records import WireFacts
from runbook.outcomes import Outcome
from runbook.venue import Facts
from runbook.watching import StopReason
from sandbox.protocol import Ending

MODEL_FAILURES = (
    Outcome.AUTH_ERROR,
    Outcome.RATE_LIMITED,
    Outcome.MODEL_MISMATCH,
    Outcome.PROVIDER_ERROR,
)
NEVER_STARTED = (125, 126, 127)
"""Exit codes of `helpers/launch` itself."""
LAUNCH_SAYS = "launch: "


def decide(
    facts: Facts, read: ReadEvidence | InvalidEvidence, wire: WireFacts | None, last_words: str = ""
) -> tuple[Outcome, str]:
    """The outcome and why, by the precedence of the README ("Outcomes"); exit codes of agents decide nothing.

    `wire` is None where the agent spoke to no model through the gateway; `last_words` are the last line of
    standard error.
    """
    if facts.stopped_for is StopReason.CANCELLED:
        return Outcome.CANCELLED, "cancelled before the attempt ended"
    changed = facts.collected.read_only_violations
    if changed:
        return Outcome.HAYSTACK_MODIFIED, f"{len(changed)} haystack files changed, first {changed[0]}"
    if facts.ending is Ending.LOST:
        return Outcome.SANDBOX_ERROR, "the sandbox went away while the agent ran"
    if isinstance(read, ReadEvidence):
        return (Outcome.EMPTY_VALID if read.evidence.is_empty else Outcome.OK), ""
    return (
        _hit_a_limit(facts, wire)
        or _model_failed(wire)
        or _never_started(facts, wire, last_words)
        or _wrote_nothing_valid(facts, read, wire)
    )


def _hit_a_limit(facts: Facts, wire: WireFacts | None) -> tuple[Outcome, str] | None:
    if wire is not None and wire.failure is Outcome.BUDGET_EXCEEDED:
        return Outcome.BUDGET_EXCEEDED, wire.detail
    if facts.ending is Ending.DISK_LIMIT:
        return Outcome.OUTPUT_LIMIT, facts.collected.disk_limit
    if facts.collected.main_oom:
        return Outcome.OOM, f"killed for memory, peak {facts.collected.memory_peak_bytes} bytes"
    if facts.ending is Ending.DEADLINE:
        return Outcome.TIMEOUT, "the deadline passed before evidence was there"
    if facts.stopped_for is StopReason.STALLED:
        return Outcome.STALLED, "neither output nor model traffic within the idle limit"
    return None


def _model_failed(wire: WireFacts | None) -> tuple[Outcome, str] | None:
    if wire is not None and wire.failure in MODEL_FAILURES:
        return wire.failure, wire.detail
    return None


def _never_started(facts: Facts, wire: WireFacts | None, last_words: str) -> tuple[Outcome, str] | None:
    """Nobody's answer: there was no agent that could have failed."""
    ran = wire is None or wire.calls > 0 or facts.exit_code not in NEVER_STARTED
    if ran or not last_words.startswith(LAUNCH_SAYS):
        return None
    return Outcome.SANDBOX_ERROR, f"the agent was not started: {last_words.removeprefix(LAUNCH_SAYS)}"


def _wrote_nothing_valid(facts: Facts, read: InvalidEvidence, wire: WireFacts | None) -> tuple[Outcome, str]:
    if wire is not None and wire.failure is Outcome.INVALID_OUTPUT:
        return Outcome.INVALID_OUTPUT, wire.detail
    if read.refusal is Refusal.NOT_REGULAR:
        return Outcome.INVALID_OUTPUT, read.reason  # no calls of a model explain a link or a pipe
    if wire is not None and not wire.tool_calls:
        said = (
            f"the model answered {wire.calls} {'call' if wire.calls == 1 else 'calls'} and asked for no tool"
            if wire.calls
            else (f"the agent never called its model (exit code {facts.exit_code})")
        )
        return Outcome.NO_TOOL_CALLS, said
    if read.refusal is Refusal.MISSING:
        return Outcome.INVALID_OUTPUT, f"no evidence was written (exit code {facts.exit_code})"
    return Outcome.INVALID_OUTPUT, read.reason


def flags(facts: Facts, wire: WireFacts | None) -> list[str]:
    """What also happened, whatever the outcome."""
    found = [facts.stopped_for.value] if facts.stopped_for else []
    if facts.ending is Ending.DEADLINE:
        found.append("deadline")
    if facts.ending is Ending.DISK_LIMIT:
        found.append("disk_limit")
    if facts.collected.main_oom:
        found.append("oom")
    elif facts.collected.oom_kills:
        found.append("oom_child")
    if wire is not None and wire.failure is not None:
        found.append(wire.failure.value)
    return found
