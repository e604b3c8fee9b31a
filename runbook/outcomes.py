"""How an attempt, a question or a stage ended: exactly one outcome each.

A method failure is the memory's own: the question is read with an empty context and counted.
An infrastructure failure is nobody's answer: the question has no score and lowers coverage.
"""

from enum import StrEnum


class Outcome(StrEnum):
    """Values are what records and tables show."""

    OK = "ok"
    EMPTY_VALID = "empty_valid"
    INVALID_OUTPUT = "invalid_output"
    TIMEOUT = "timeout"
    STALLED = "stalled"
    OOM = "oom"
    NO_TOOL_CALLS = "no_tool_calls"
    BUDGET_EXCEEDED = "budget_exceeded"
    OUTPUT_LIMIT = "output_limit"
    HAYSTACK_MODIFIED = "haystack_modified"
    RATE_LIMITED = "rate_limited"
    AUTH_ERROR = "auth_error"
    PROVIDER_ERROR = "provider_error"
    MODEL_MISMATCH = "model_mismatch"
    SANDBOX_ERROR = "sandbox_error"
    READER_ERROR = "reader_error"
    JUDGE_ERROR = "judge_error"
    CANCELLED = "cancelled"


METHOD_FAILURES = frozenset(
    {
        Outcome.EMPTY_VALID,
        Outcome.INVALID_OUTPUT,
        Outcome.TIMEOUT,
        Outcome.STALLED,
        Outcome.OOM,
        Outcome.NO_TOOL_CALLS,
        Outcome.BUDGET_EXCEEDED,
        Outcome.OUTPUT_LIMIT,
        Outcome.HAYSTACK_MODIFIED,
    }
)

INFRASTRUCTURE_FAILURES = frozenset(
    {
        Outcome.RATE_LIMITED,
        Outcome.AUTH_ERROR,
        Outcome.PROVIDER_ERROR,
        Outcome.MODEL_MISMATCH,
        Outcome.SANDBOX_ERROR,
        Outcome.READER_ERROR,
        Outcome.JUDGE_ERROR,
        Outcome.CANCELLED,
    }
)

RETRIED = frozenset(
    {
        Outcome.INVALID_OUTPUT,
        Outcome.STALLED,
        Outcome.PROVIDER_ERROR,
        Outcome.SANDBOX_ERROR,
        Outcome.OOM,
        Outcome.NO_TOOL_CALLS,
    }
)
