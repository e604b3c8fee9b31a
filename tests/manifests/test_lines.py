"""Lines are found without being held, and an endless one is refused without being read."""

import json
import resource
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests.errors import DataError
from manifests.lines import MAX_LINE, find_lines
from tests.manifests.recordings import put


def texts(path: Path) -> list[tuple[int, bytes]]:
    content = path.read_bytes()
    with path.open("rb") as file:
        return [(one.number, content[one.offset : one.offset + one.length]) for one in find_lines(path, file)]


@given(
    content=st.lists(st.binary(max_size=6).map(lambda b: b.replace(b"\n", b" ")), max_size=12).map(b"\n".join)
)
def test_every_line_that_is_not_blank_is_found_with_its_number(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = put(tmp_path_factory.mktemp("lines") / "f", content)
    assert texts(path) == [(n, line) for n, line in enumerate(content.split(b"\n"), 1) if line.strip()]


def test_lines_longer_than_a_block_are_found_whole(tmp_path: Path) -> None:
    long = json.dumps("x" * 3_000_000).encode()
    assert texts(put(tmp_path / "f", b"\n" + long + b"\n\n" + long)) == [(2, long), (4, long)]


def test_a_line_of_two_gigabytes_is_refused_without_being_read(tmp_path: Path) -> None:
    path = put(tmp_path / "trajectories.jsonl", b'{"id": "a"}\n')
    with path.open("ab") as file:
        file.truncate(2 * 2**30)
    before = resource.getrusage(resource.RUSAGE_SELF)
    with (
        path.open("rb") as file,
        pytest.raises(DataError, match=r"trajectories.jsonl:2: the line is longer than 64 MiB"),
    ):
        list(find_lines(path, file))
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert after.ru_maxrss - before.ru_maxrss < 32 * 1024
    with path.open("rb") as file:
        lines = find_lines(path, file)
        next(lines)
        with pytest.raises(DataError):
            next(lines)
        assert file.tell() <= MAX_LINE + 2**21
