"""The cases: what the scripted model does to an agent, how the attempt must end, and what must hold."""

from dataclasses import dataclass
from enum import StrEnum

from runbook.agents.conformance import checks
from runbook.agents.conformance.checks import Check
from runbook.outcomes import Outcome

KIB = 1024

GIVES_UP = frozenset({Outcome.OK, Outcome.INVALID_OUTPUT, Outcome.NO_TOOL_CALLS, Outcome.BUDGET_EXCEEDED})
"""An agent may mend what its model got wrong, or give up; it may not hang or fail in our name."""


class Whose(StrEnum):
    """Whose a failure of a case most likely is."""

    ADAPTER = "the adapter's: see its argv, env and home, and `stderr` in the attempt's folder"
    AGENT = "the agent's own: an adapter mends it only where the agent has an option for it"
    RUNBOOK = "Runbook's or the sandbox's: nothing in an adapter mends it"


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table."""

    name: str
    about: str
    mode: str
    """Of the scripted model."""
    expected: frozenset[Outcome]
    whose: Whose
    checks: tuple[Check, ...] = ()
    question_bytes: int = 0
    """So long is the question at least."""
    short_deadline: bool = False
    """The deadline is part of the case."""
    short_idle: bool = False
    """So is the idle limit."""
    calls: int = 40
    """Budget of model calls."""
    retry_seconds: float = 3.0
    """How long the gateway tries again."""
    hint: str = ""
    """What a failure most likely is."""


CASES: tuple[Case, ...] = (
    Case(
        "healthy",
        "searches with the helper, reads, submits evidence",
        "memory",
        frozenset({Outcome.OK}),
        Whose.ADAPTER,
        (checks.flagged("submitted"), checks.ran("./memory search", 0), checks.asked("./memory submit")),
        hint="it did not reach its model, or runs no commands without asking: what stderr says tells which",
    ),
    Case(
        "exit",
        "writes evidence itself and ends; a failing command is on record",
        "ok",
        frozenset({Outcome.OK}),
        Whose.ADAPTER,
        (checks.ended_itself, checks.ran("to-stderr", 3)),
    ),
    Case(
        "parallel",
        "two commands in one turn",
        "parallel",
        frozenset({Outcome.OK}),
        Whose.AGENT,
        (checks.ran("echo A"), checks.ran("echo B")),
    ),
    Case(
        "401",
        "the key is refused",
        "err401",
        frozenset({Outcome.AUTH_ERROR}),
        Whose.AGENT,
        (checks.never_retried,),
    ),
    Case(
        "429",
        "rate limited without end",
        "err429",
        frozenset({Outcome.RATE_LIMITED}),
        Whose.AGENT,
        (checks.waited,),
    ),
    Case(
        "storm",
        "rate limited, then well again",
        "storm",
        frozenset({Outcome.OK}),
        Whose.AGENT,
        (checks.waited,),
        retry_seconds=30.0,
    ),
    Case("500", "the provider fails without end", "err500", frozenset({Outcome.PROVIDER_ERROR}), Whose.AGENT),
    Case(
        "late-500",
        "the provider fails after two commands",
        "late500",
        frozenset({Outcome.PROVIDER_ERROR}),
        Whose.AGENT,
        (checks.ran("question.json"),),
    ),
    Case(
        "context",
        "the context is too long for the model, which is the agent's own failure",
        "ctx",
        frozenset({Outcome.INVALID_OUTPUT, Outcome.NO_TOOL_CALLS}),
        Whose.AGENT,
        (checks.never_retried,),
    ),
    Case(
        "cut-stream",
        "every answer is cut off midway",
        "cut",
        frozenset({Outcome.PROVIDER_ERROR, Outcome.BUDGET_EXCEEDED}),
        Whose.AGENT,
        (checks.cut,),
        calls=20,
    ),
    Case(
        "truncated",
        "every answer ends politely, but midway: some agents take it for whole",
        "trunc",
        frozenset({Outcome.OK, Outcome.PROVIDER_ERROR, Outcome.BUDGET_EXCEEDED}),
        Whose.AGENT,
        (checks.cut,),
        calls=20,
    ),
    Case(
        "hang",
        "the provider never answers",
        "hang",
        frozenset({Outcome.STALLED}),
        Whose.AGENT,
        short_idle=True,
    ),
    Case(
        "mismatch",
        "another model answers; evidence that is there all the same counts, and is flagged",
        "mismatch",
        frozenset({Outcome.OK, Outcome.MODEL_MISMATCH}),
        Whose.AGENT,
        (checks.flagged("model_mismatch"),),
    ),
    Case(
        "output",
        "a command prints 3 MB",
        "big",
        frozenset({Outcome.OK}),
        Whose.AGENT,
        (checks.ran("range(33000)"),),
        hint="it does not shorten what a command prints before its model is sent it",
    ),
    Case("unknown-tool", "the model calls a tool that does not exist", "badtool", GIVES_UP, Whose.AGENT),
    Case("arguments", "the model's arguments are no JSON", "badjson", GIVES_UP, Whose.AGENT),
    Case(
        "loop",
        "the model never ends; some agents notice",
        "loop",
        frozenset({Outcome.BUDGET_EXCEEDED, Outcome.INVALID_OUTPUT}),
        Whose.AGENT,
        (checks.ran("echo loop"), checks.within(8)),
        calls=8,
    ),
    Case(
        "silent",
        "the model says a word and does nothing",
        "silent",
        frozenset({Outcome.NO_TOOL_CALLS}),
        Whose.AGENT,
    ),
    Case(
        "stdin",
        "a command reads its standard input",
        "stdin",
        frozenset({Outcome.OK}),
        Whose.AGENT,
        (checks.ran("cat"),),
        hint="its shell tool leaves standard input open, so a command that reads it waits",
    ),
    Case(
        "deadline",
        "a command and its child outlast the deadline",
        "slow",
        frozenset({Outcome.TIMEOUT}),
        Whose.RUNBOOK,
        (checks.left("started"),),
        short_deadline=True,
    ),
    Case(
        "orphan",
        "a process that left its session holds stdout",
        "orphan",
        frozenset({Outcome.OK, Outcome.TIMEOUT}),
        Whose.RUNBOOK,
        (checks.asked("echo left"),),
        short_deadline=True,
    ),
    Case(
        "prompt-200k",
        "a prompt beyond the size of one argument",
        "huge",
        frozenset({Outcome.OK}),
        Whose.AGENT,
        question_bytes=200 * KIB,
        hint="it takes no prompt of this size; a question of a benchmark has a few thousand characters",
    ),
    Case(
        "prompt-1m",
        "a prompt of a megabyte",
        "huge",
        frozenset({Outcome.OK}),
        Whose.AGENT,
        question_bytes=1000 * KIB,  # some agents take at most 1,048,576 characters in all
        hint="it takes no prompt of this size; a question of a benchmark has a few thousand characters",
    ),
    Case(
        "haystack",
        "commands try to change, remove and replace the haystack",
        "haystack",
        frozenset({Outcome.OK}),
        Whose.RUNBOOK,
        (checks.result_has(r"MANIFEST\.md"), checks.haystack_whole),
    ),
    Case("files", "a command makes 100,000 files", "files", frozenset({Outcome.OUTPUT_LIMIT}), Whose.RUNBOOK),
    Case("fill", "a command writes 1.2 GB", "fill", frozenset({Outcome.OUTPUT_LIMIT}), Whose.RUNBOOK),
    Case(
        "fifo",
        "a pipe lies where the evidence should",
        "fifo",
        frozenset({Outcome.INVALID_OUTPUT}),
        Whose.RUNBOOK,
    ),
    Case(
        "user",
        "commands do not run as root",
        "user",
        frozenset({Outcome.OK}),
        Whose.RUNBOOK,
        (checks.not_root,),
    ),
)

BY_NAME = {case.name: case for case in CASES}
