"""Shared fixtures: what a test needs from its machine, and where the recorded data lies.

A test says `@pytest.mark.needs("docker")`. Where docker is missing the test is skipped with the reason;
where RUNBOOK_REQUIRE lists docker (as CI does) a missing docker is a failure, so nothing is silently skipped.
"""

import functools
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = REPOSITORY.parent / "shared"


def _docker() -> str | None:
    import docker
    from docker.errors import DockerException

    try:
        docker.from_env(timeout=10).ping()
    except DockerException as error:
        return f"no Docker engine answers: {error}"
    return None


def _bubblewrap() -> str | None:
    if not shutil.which("bwrap"):
        return "bwrap is not installed"
    probe = ["bwrap", "--ro-bind", "/", "/", "--unshare-all", "true"]
    done = subprocess.run(probe, capture_output=True, text=True, timeout=20, check=False)
    return None if done.returncode == 0 else f"bwrap cannot make a namespace: {done.stderr.strip()}"


def _agents() -> str | None:
    return None if shutil.which("npm") else "npm is not installed, so no agent CLI can be installed"


def _chromium() -> str | None:
    return None if shutil.which("chromium") else "chromium is not installed"


def _shared() -> str | None:
    return None if (SHARED / "DESIGN.md").is_file() else f"no recorded data at {SHARED}"


_PROBES = {
    "docker": _docker,
    "bubblewrap": _bubblewrap,
    "agents": _agents,
    "chromium": _chromium,
    "shared": _shared,
}


@functools.cache
def missing(name: str) -> str | None:
    """Why this machine lacks `name`, or None where it is there."""
    return _PROBES[name]()


def require(name: str) -> None:
    """Skip the running test where `name` is missing; fail it where RUNBOOK_REQUIRE names it."""
    reason = missing(name)
    if reason is None:
        return
    if name in os.environ.get("RUNBOOK_REQUIRE", "").split(","):
        pytest.fail(f"RUNBOOK_REQUIRE names {name}, but {reason}")
    pytest.skip(reason)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("needs"):
        for name in marker.args:
            require(name)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with recorded data and specifications; only beside a development checkout."""
    require("shared")
    return SHARED


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the caller's own store and cache."""
    monkeypatch.setenv("RUNBOOK_HOME", str(tmp_path_factory.mktemp("home")))


def write_data_root(root: Path, *, questions: int = 3, trajectories: int = 4, states: int = 5) -> Path:
    """A small data root in LongMemEval-V2 form: trajectory `tr-i` shows code `CODE-i-k` in its state k.

    Question `q-i` asks for the code in state 2 of trajectory i (modulo their number); gold.json names it.
    """
    root.mkdir(parents=True, exist_ok=True)
    rows = [_trajectory(index, states) for index in range(trajectories)]
    asked = [(f"q-{index}", index % trajectories) for index in range(questions)]
    _write_lines(root / "trajectories.jsonl", rows)
    _write_lines(
        root / "questions.jsonl",
        [
            {
                "id": question_id,
                "domain": "web",
                "question_type": "static-environment",
                "question": f"Which access code does the page of warehouse {index} show after step two?",
                "image": None,
                "answer": f"CODE-{index}-2",
                "eval_function": "norm_phrase_set_match",
            }
            for question_id, index in asked
        ],
    )
    ids = [row["id"] for row in rows]
    (root / "haystacks").mkdir(exist_ok=True)
    (root / "haystacks" / "lme_v2_small.json").write_text(json.dumps({one: ids for one, _ in asked}))
    gold = {
        one: {
            "evidence": [
                [{"trajectory_id": f"tr-{index}", "start_state_index": 2, "end_state_index": 2}],
            ]
        }
        for one, index in asked
    }
    (root / "gold.json").write_text(json.dumps(gold))
    return root


def _trajectory(index: int, states: int) -> dict[str, object]:
    return {
        "id": f"tr-{index}",
        "domain": "web",
        "goal": f"Open the page of warehouse {index} and read its access code",
        "start_url": f"http://warehouse-{index}.example/",
        "outcome": "success",
        "states": [
            {
                "url": f"http://warehouse-{index}.example/step/{step}",
                "action": f"click('{step + 2}')" if step < states - 1 else None,
                "thought": f"Step {step} of warehouse {index}",
                "accessibility_tree": (
                    f"RootWebArea 'Warehouse {index}', focused\n\t[1] navigation '', visible\n"
                    f"\t[{step + 2}] button 'Next step {step}', clickable\n"
                    f"\tStaticText 'Access code CODE-{index}-{step} of warehouse {index}'"
                ),
                "screenshot": None,
            }
            for step in range(states)
        ],
    }


def _write_lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def data_root(tmp_path: Path) -> Path:
    """A data root with 3 questions over 4 trajectories of 5 states; see `write_data_root`."""
    return write_data_root(tmp_path / "data")


@pytest.fixture(scope="session")
def make_data_root() -> Callable[..., Path]:
    """`write_data_root`, for tests that need other sizes."""
    return write_data_root
