"""Builders shared by the tests of the controller's parts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runbook.evidence import KnownTrajectories

Write = Callable[[Any], Path]


@pytest.fixture
def known() -> KnownTrajectories:
    """Three trajectories of 30, 5 and 5 states; the last two share the prefix "shared-"."""
    return KnownTrajectories(
        [
            ("Trip 1/2", "trip-1-2-aaaaaaaaaa", 30),
            ("shared-one", "shared-one-bbbbbbbbbb", 5),
            ("shared-two", "shared-two-cccccccccc", 5),
        ]
    )


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write an evidence file: bytes and text as they are, everything else as JSON."""

    def write_file(content: Any) -> Path:
        path = tmp_path / "memory_module_output.json"
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return write_file
