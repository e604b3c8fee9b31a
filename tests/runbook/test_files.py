"""What is written takes the place of files only, and a complaint names what was asked for."""

import os
import stat
from pathlib import Path

import pytest

from runbook.complaints import of_system
from runbook.files import open_regular, read_regular, write_atomically


def device(path: Path) -> Path:
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")
    return path


def pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path


def link_to_pipe(path: Path) -> Path:
    path.symlink_to(pipe(path.with_name("the pipe")))
    return path


@pytest.mark.parametrize("made", [device, pipe, link_to_pipe])
def test_what_is_no_file_is_neither_replaced_nor_read(tmp_path: Path, made) -> None:
    place = made(tmp_path / "out.html")
    before = os.lstat(place)
    for use in (lambda: write_atomically(place, b"x"), lambda: open_regular(place)):
        with pytest.raises(OSError, match="not a file") as caught:
            use()
        assert str(place) in of_system(caught.value)
    assert os.path.samestat(before, os.lstat(place))
    assert not [one for one in tmp_path.iterdir() if one.name.startswith(".")]


def test_a_folder_is_told_as_one(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    for use in (lambda: write_atomically(tmp_path / "out", b"x"), lambda: read_regular(tmp_path / "out")):
        with pytest.raises(IsADirectoryError) as caught:
            use()
        assert of_system(caught.value) == f"{tmp_path / 'out'}: it is a folder, not a file (name a file)"


def test_a_missing_folder_is_named_with_its_mend(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        write_atomically(tmp_path / "no" / "x.html", b"x")
    assert of_system(caught.value) == (
        f"{tmp_path / 'no'}: there is no such folder (make it, or choose another place)"
    )


def test_no_complaint_has_the_temporary_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for place in (tmp_path / "file" / "x.html", tmp_path / ("long" * 80)):
        with pytest.raises(OSError) as caught:
            write_atomically(place, b"x")
        assert of_system(caught.value).startswith(f"{place}: ")


def test_a_file_and_a_link_to_one_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"before")
    (tmp_path / "link").symlink_to("there")
    write_atomically(tmp_path / "link", b"after")
    assert read_regular(tmp_path / "link") == b"after"
    assert (tmp_path / "there").read_bytes() == b"before"
    write_atomically(tmp_path / "there", b"after, too")
    assert (tmp_path / "there").read_bytes() == b"after, too"
