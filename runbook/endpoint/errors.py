"""What can go wrong with a model call, typed by whose fault it is.

Each error belongs to one question only; its outcome says which class of failure it is.
"""

from typing import ClassVar

from runbook.outcomes import Outcome


class EndpointError(Exception):
    """A call that gave no usable reply, after all retries.

    `outcome` is auth_error, rate_limited, provider_error or cancelled, or else the stage's own.
    `status` is the HTTP status where there was one. `replies` are replies that were read but not usable.
    `calls` is how many requests were sent, `rate_limit_seconds` how long a provider had us wait in between.
    """

    stage_outcome: ClassVar[Outcome] = Outcome.PROVIDER_ERROR

    def __init__(
        self,
        message: str,
        *,
        outcome: Outcome | None = None,
        status: int | None = None,
        replies: tuple[str, ...] = (),
        calls: int = 0,
        rate_limit_seconds: float = 0.0,
    ) -> None:
        super().__init__(message)
        self.outcome = outcome or self.stage_outcome
        self.status = status
        self.replies = replies
        self.calls = calls
        self.rate_limit_seconds = rate_limit_seconds
