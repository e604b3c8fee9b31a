"""Votes that were paid for: one file each, named by a digest of everything that the judge was asked."""

from pathlib import Path

from pydantic import ValidationError

from evals.verdict import Vote
from runbook.files import read_regular, write_json


class VoteCache:
    """A folder of votes; safe to use from several threads and processes at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, key: str) -> Vote | None:
        """The vote under that key, marked as cached; None where there is none, or a damaged one."""
        try:
            vote = Vote.model_validate_json(read_regular(self._folder / f"{key}.json"))
        except (OSError, ValidationError):
            return None
        return vote.model_copy(update={"cached": True})

    def put(self, key: str, vote: Vote) -> None:
        """Keep a vote. Raises OSError where it cannot be written."""
        self._folder.mkdir(parents=True, exist_ok=True)
        write_json(self._folder / f"{key}.json", vote)
