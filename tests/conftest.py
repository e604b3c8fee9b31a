"""Shared fixtures: what a test needs from its machine, and where the recorded data lies.

A test says `@pytest.mark.needs("docker")`. Where docker is missing the test is skipped with the reason;
where RUNBOOK_REQUIRE lists docker (as CI does) a missing docker is a failure, so nothing is silently skipped.
"""

import functools
import importlib.util
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, settings

from tests.data_roots import write_data_root

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = REPOSITORY.parent / "shared"

# A busy machine is no reason to fail. Where nothing may be skipped the examples are the same each time: there
# a change is judged, and by hand new ones are tried.
settings.register_profile(
    "patient",
    deadline=None,
    derandomize="RUNBOOK_REQUIRE" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("patient")


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
    if not shutil.which("chromium"):
        return "chromium is not installed"
    return None if importlib.util.find_spec("playwright") else "playwright is not installed (extra `record`)"


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
    if (reason := missing(name)) is not None:
        lacking(name, reason)


def lacking(name: str, reason: str) -> NoReturn:
    """Skip the running test for want of a part of `name`; fail it where RUNBOOK_REQUIRE names it."""
    if name in os.environ.get("RUNBOOK_REQUIRE", "").split(","):
        pytest.fail(f"RUNBOOK_REQUIRE names {name}, but {reason}")
    pytest.skip(reason)


def pytest_configure() -> None:
    # A shell starts background jobs deaf to Ctrl-C, and what they start inherits that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("needs"):
        for name in marker.args:
            require(name)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with recorded data and specifications; only beside a development checkout."""
    require("shared")
    return SHARED


@pytest.fixture
def removes_deep_trees(tmp_path: Path) -> Iterator[None]:
    """For tests that make trees deeper than pytest's own clean-up can recurse."""
    yield
    subprocess.run(["rm", "-rf", "--", *tmp_path.iterdir()], check=False)


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the caller's own store and cache."""
    monkeypatch.setenv("RUNBOOK_HOME", str(tmp_path_factory.mktemp("home")))


@pytest.fixture
def data_root(tmp_path: Path) -> Path:
    """A data root with 3 questions over 4 trajectories of 5 states; see `write_data_root`."""
    return write_data_root(tmp_path / "data")


@pytest.fixture(scope="session")
def make_data_root() -> Callable[..., Path]:
    """`write_data_root`, for tests that need other sizes."""
    return write_data_root
