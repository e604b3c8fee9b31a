"""On recorded data with gold: planted facts are found by search, and scout finds most of the evidence."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import FOREVER

pytestmark = pytest.mark.timeout(2 * FOREVER)  # minutes on a busy machine

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


def run(name: str, *line: str) -> str:
    """What a benchmark prints."""
    argv = [sys.executable, str(BENCHMARKS / name), *line]
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=FOREVER).stdout


@pytest.mark.needs("shared")
def test_planted_facts_are_among_the_first_five_hits_and_the_index_is_small() -> None:
    said = run("search.py", "--preset", "tiny", "--rounds", "1")
    found, asked = map(int, re.findall(r"planted facts +(\d+) of (\d+)", said)[0])
    assert asked > 5
    assert found >= 0.98 * asked
    assert float(re.findall(r"([\d.]+) % of", said)[0]) <= 15


@pytest.mark.needs("shared")
def test_scout_finds_most_of_the_evidence_of_the_service_desk(shared: Path) -> None:
    said = run("scout_recall.py", str(shared / "data" / "realmem" / "service"), "--budget", "20", "5")
    least = {20: 0.92, 5: 0.70}
    for line in said.splitlines()[1:]:
        budget, _, hit, _, _, states, _ = map(float, line.split()[1:])
        assert hit >= least.pop(int(budget))
        assert states <= min(14, budget)
    assert least == {}
