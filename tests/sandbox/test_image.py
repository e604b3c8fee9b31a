"""The image is built once per content, and errors about its base name the way out."""

import secrets
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from docker import DockerClient

from sandbox.accounts import Account
from sandbox.image import base_image_name, ensure_image, find_image
from sandbox.image_leftovers import remove_image, stale_images
from sandbox.protocol import SandboxError

pytestmark = pytest.mark.needs("docker")


@pytest.fixture
def engine(docker_engine: DockerClient) -> DockerClient:
    return docker_engine


@pytest.fixture
def built(engine):
    """Tags to be removed at the end."""
    tags: set[str] = set()
    yield tags
    for tag in tags:
        engine.images.remove(tag, force=True)


def helper(folder: Path, text: str) -> dict[str, Path]:
    folder.mkdir(exist_ok=True)
    (folder / "__main__.py").write_text(text)
    return {"memory": folder}


def test_built_once_per_content(engine, built, tmp_path: Path) -> None:
    said: list[str] = []
    folders = helper(tmp_path / "memory", f"print('first {secrets.token_hex(8)}')")
    assert find_image(engine, folders, None) is None
    first = ensure_image(engine, folders, None, said.append)
    built.add(first)
    assert ensure_image(engine, folders, None, said.append) == first == find_image(engine, folders, None)
    assert len(said) == 1
    (tmp_path / "memory" / "__pycache__").mkdir()
    (tmp_path / "memory" / "__pycache__" / "x.pyc").write_bytes(b"junk")
    assert find_image(engine, folders, None) == first
    assert find_image(engine, helper(tmp_path / "memory", "print('second')"), None) is None


def test_two_builders_at_once_end_with_one_image_that_holds_everything(
    engine: DockerClient, built: set[str], tmp_path: Path
) -> None:
    folders = helper(tmp_path / "memory", f"print('helps')  # {secrets.token_hex(8)}")
    build = partial(ensure_image, engine, folders, None, account=Account(4321, 8765))
    with ThreadPoolExecutor(2) as pool:
        tags = [building.result() for building in [pool.submit(build), pool.submit(build)]]
    built.update(tags)
    assert tags[0] == tags[1]
    script = (
        "/opt/python3 -I -S /opt/helpers/memory; ls /opt/helpers/memory/__pycache__ | wc -l; id -un 4321;"
        " test $(readlink /opt/python3) = $(readlink -f /opt/python3) && echo direct; command -v rg"
    )
    said = engine.containers.run(tags[0], ["sh", "-c", script], network_mode="none", remove=True)
    assert said.decode().split() == ["helps", "1", "agent", "direct", "/usr/bin/rg"]


def test_missing_base_names_both_switches(engine) -> None:
    with pytest.raises(SandboxError) as caught:
        ensure_image(engine, {}, "localhost:1/no/such-base:tag")
    assert "no/such-base:tag" in str(caught.value)
    assert "--base-image" in caught.value.mend
    assert "RUNBOOK_BASE_IMAGE" in caught.value.mend


def test_base_comes_from_the_switch_then_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUNBOOK_BASE_IMAGE", raising=False)
    assert base_image_name(None) == "debian:bookworm-slim"
    monkeypatch.setenv("RUNBOOK_BASE_IMAGE", "mine:1")
    assert base_image_name(None) == "mine:1"
    assert base_image_name("chosen:2") == "chosen:2"


def test_base_that_declares_volumes_is_refused(engine, built, tmp_path: Path) -> None:
    import io

    tag = f"agent-runbook-test:volumes-{secrets.token_hex(8)}"
    dockerfile = io.BytesIO(f"FROM {base_image_name(None)}\nVOLUME /data\n".encode())
    engine.images.build(fileobj=dockerfile, tag=tag, rm=True, forcerm=True)
    built.add(tag)
    with pytest.raises(SandboxError, match="declares volumes"):
        ensure_image(engine, {}, tag)


def test_base_without_what_is_needed_says_what_the_build_said(engine, built) -> None:
    import io
    import tarfile

    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("empty"))
    repository, name = "agent-runbook-test", f"empty-{secrets.token_hex(8)}"
    tag = f"{repository}:{name}"
    engine.api.import_image_from_data(packed.getvalue(), repository=repository, tag=name)
    built.add(tag)
    with pytest.raises(SandboxError, match="cannot be built") as caught:
        ensure_image(engine, {}, tag)
    assert "--base-image" in caught.value.mend


def test_an_outdated_image_is_found_and_removed_once_no_container_uses_it(engine, built, tmp_path) -> None:
    tag = ensure_image(engine, helper(tmp_path / "memory", f"print('old {secrets.token_hex(8)}')"), None)
    built.add(tag)

    def stale() -> list[str]:
        return [one for image in stale_images(engine, [], fresh=timedelta(0)) for one in image.tags]

    assert tag in stale()
    assert tag not in [one for image in stale_images(engine, []) for one in image.tags], "it is young"
    assert tag not in [one for image in stale_images(engine, [tag], fresh=timedelta(0)) for one in image.tags]
    image = next(one for one in stale_images(engine, [], fresh=timedelta(0)) if tag in one.tags)
    container = engine.containers.create(tag, command=["true"])
    try:
        assert tag not in stale()
        assert not remove_image(engine, image)
    finally:
        container.remove(force=True)
    assert remove_image(engine, image)
    built.discard(tag)
    assert tag not in stale()
