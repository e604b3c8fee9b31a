"""A file that can have no more names is copied once, and the copy gets the further ones."""

import os
from pathlib import Path

import pytest

from manifests.linking import Linker
from tests.manifests.recordings import put


def test_a_file_on_another_disk_is_copied_once(tmp_path: Path) -> None:
    other = Path("/dev/shm")
    if not os.access(other, os.W_OK) or other.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no second file system to write to")
    source = put(other / f"source-{os.getpid()}", b"content")
    try:
        linker = Linker()
        for name in "abc":
            linker.link(os.fspath(source), os.fspath(tmp_path / name))
    finally:
        source.unlink()
    assert [(tmp_path / name).read_bytes() for name in "abc"] == [b"content"] * 3
    assert (tmp_path / "a").stat().st_nlink == 3
    assert linker.copied == len(b"content")


def test_other_errors_are_not_taken_for_that(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Linker().link(os.fspath(tmp_path / "gone"), os.fspath(tmp_path / "a"))
