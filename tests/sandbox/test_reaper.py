"""Owners are alive as long as their process is, and only their own dead are reaped."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from docker import DockerClient

from sandbox.reaper import (
    BOOT_LABEL,
    FOLDER_LABEL,
    HOST_LABEL,
    Owner,
    find_leftovers,
    owners_folder,
    reap,
    remove_stale_owner_files,
)

pytestmark = pytest.mark.needs("docker")
REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def engine(docker_engine: DockerClient) -> DockerClient:
    return docker_engine


@pytest.fixture
def container(engine, docker_image: str) -> Iterator:
    """container(labels) makes one that has not been started, and returns its id."""
    made: list[str] = []

    def make(labels: dict[str, str]) -> str:
        made.append(engine.api.create_container(docker_image, ["true"], labels=labels)["Id"])
        return made[-1]

    yield make
    for one in made:
        if one in existing(engine):
            engine.api.remove_container(one, force=True)


def existing(engine) -> set[str]:
    return {one["Id"] for one in engine.api.containers(all=True)}


def test_container_of_a_live_owner_stays_and_of_a_closed_one_goes(engine, container, tmp_path: Path) -> None:
    owner = Owner.open(tmp_path)
    made = container(owner.labels)
    assert reap(engine, tmp_path) == []
    owner.close()
    assert [leftover.container for leftover in reap(engine, tmp_path)] == [made]
    assert made not in existing(engine)


def test_owner_that_was_killed_is_dead(engine, container, tmp_path: Path) -> None:
    script = (
        "import json, sys, pathlib; from sandbox.reaper import Owner\n"
        "o = Owner.open(pathlib.Path(sys.argv[1])); print(json.dumps(o.labels), flush=True); input()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, tmp_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    assert process.stdout is not None
    import json

    made = container(json.loads(process.stdout.readline()))
    assert find_leftovers(engine, tmp_path) == []
    process.kill()
    process.communicate()
    assert len(list(tmp_path.iterdir())) == 1
    assert [leftover.container for leftover in reap(engine, tmp_path)] == [made]
    assert list(tmp_path.iterdir()) == []


def test_container_from_before_the_boot_goes(engine, container, tmp_path: Path) -> None:
    with Owner.open(tmp_path) as owner:
        made = container({**owner.labels, BOOT_LABEL: "another-boot", FOLDER_LABEL: "1:1"})
        assert [leftover.container for leftover in reap(engine, tmp_path)] == [made]


@pytest.mark.parametrize("label", [HOST_LABEL, FOLDER_LABEL])
def test_container_of_another_host_or_folder_is_never_touched(
    engine, container, tmp_path: Path, label: str
) -> None:
    owner = Owner.open(tmp_path)
    made = container({**owner.labels, label: "somebody-else"})
    owner.close()
    assert reap(engine, tmp_path) == []
    assert made in existing(engine)


def test_container_without_our_labels_is_never_touched(engine, container, tmp_path: Path) -> None:
    made = container({"agent-runbook.run": "x"})
    reap(engine, tmp_path)
    assert made in existing(engine)


def test_label_cannot_name_a_file_elsewhere(engine, container, tmp_path: Path) -> None:
    from sandbox.reaper import OWNER_LABEL

    (tmp_path / "owners").mkdir()
    (tmp_path / "other").touch()
    with Owner.open(tmp_path / "owners") as owner:
        container({**owner.labels, OWNER_LABEL: "../other"})
        assert reap(engine, tmp_path / "owners") == []


def test_stale_files_go_and_held_ones_stay(tmp_path: Path) -> None:
    with Owner.open(tmp_path) as owner:
        (tmp_path / "stale").touch()
        remove_stale_owner_files(tmp_path)
        assert list(tmp_path.iterdir()) == [owner.path]


def test_owners_lie_where_runbook_home_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RUNBOOK_HOME", str(tmp_path))
    with Owner.open() as owner:
        assert owner.path.parent == tmp_path / "owners" == owners_folder()
    assert not owner.path.exists()
