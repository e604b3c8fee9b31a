"""The scripted model server, started once, and its log."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runbook.agents.conformance.model_server import scripted_model


@pytest.fixture(scope="session")
def model_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("model")


@pytest.fixture(scope="session")
def model_url(model_log: Path) -> Iterator[str]:
    with scripted_model(log=model_log, delay=0.0) as url:
        yield url


@pytest.fixture
def requests(model_log: Path) -> Callable[[str], list[dict[str, Any]]]:
    """The logged requests whose path contains a text."""

    def matching(part: str) -> list[dict[str, Any]]:
        lines = (model_log / "requests.jsonl").read_text(encoding="utf-8").splitlines()
        return [line for line in map(json.loads, lines) if part in line["path"]]

    return matching
