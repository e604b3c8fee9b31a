"""What can go wrong with the reader's and the judge's calls; see `runbook.endpoint.errors`."""

from typing import ClassVar

from runbook.endpoint.errors import EndpointError
from runbook.outcomes import Outcome


class ReaderError(EndpointError):
    """The reader gave no usable response to one question."""

    stage_outcome: ClassVar[Outcome] = Outcome.READER_ERROR


class JudgeError(EndpointError):
    """The judge gave no usable verdict on one response."""

    stage_outcome: ClassVar[Outcome] = Outcome.JUDGE_ERROR
