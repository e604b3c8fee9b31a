"""Candidates: the states that ranking alone would look at first, found before an agent starts.

Ranking exists once, in the helpers; it runs here as a process of its own, on a workspace of two names.
"""

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import orjson

from runbook.question import Question

MAX_BYTES = 8_000
SECONDS = 15.0  # the helper ends by itself after 10


@dataclass(frozen=True, slots=True)
class CandidateFinder:
    """Runs `memory candidates` with this host's Python."""

    python: str
    helpers: Path

    def find(self, question: Question, haystack: Path) -> str | None:
        """The text of CANDIDATES.md for a question; None where nothing was found or ranking failed.

        An agent can do without candidates, so a failure costs the question nothing but them.
        """
        with tempfile.TemporaryDirectory(prefix="") as folder:
            workspace = Path(folder)
            (workspace / "question.json").write_bytes(
                orjson.dumps(
                    {"question": question.text, "image": "question_image" if question.image else None}
                )
            )
            (workspace / "haystack").symlink_to(haystack.absolute(), target_is_directory=True)
            program = self.helpers / "memory" / "__main__.py"
            try:
                done = subprocess.run(
                    [self.python, "-I", "-S", "-B", program, "candidates"],
                    env={"MEMORY_WORKSPACE": folder, "PATH": os.defpath, "LANG": "C.UTF-8"},
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=SECONDS,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return None
        if done.returncode != 0:
            return None
        return done.stdout[:MAX_BYTES].decode("utf-8", "replace")
