"""Lines are found piece by piece, and an endless one is refused without being read."""

import itertools
import json
import os
import resource
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests.errors import DataError
from manifests.importing import import_lme_v2
from manifests.lines import BOM, MAX_LINE, PIECE, Piece, pieces
from manifests.store import Store
from tests.manifests.recordings import put


def texts(path: Path, cuts: list[int] | None = None) -> list[tuple[int, bytes]]:
    """The numbers and contents of the lines of a file, looked for in pieces that end at `cuts`."""
    size = path.stat().st_size
    ends = sorted({0, size, *(cut % (size + 1) for cut in cuts)}) if cuts is not None else None
    ranges = itertools.pairwise(ends) if ends else pieces(size)
    fd, found, before = os.open(path, os.O_RDONLY), [], 1
    whole = path.read_bytes()
    for start, end in ranges:
        piece = Piece(fd, start, end)
        for line, content in piece:
            assert whole[line.offset : line.offset + line.length] == content
            found.append((before + line.number, content))
        before += piece.feeds
    os.close(fd)
    return found


@given(
    content=st.lists(st.binary(max_size=6).map(lambda b: b.replace(b"\n", b" ")), max_size=12).map(
        b"\n".join
    ),
    cuts=st.lists(st.integers(0, 80), max_size=5),
)
def test_every_line_that_is_not_blank_is_found_with_its_number(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, cuts: list[int]
) -> None:
    path = put(tmp_path_factory.mktemp("lines") / "f", content)
    assert texts(path, cuts) == [(n, line) for n, line in enumerate(content.split(b"\n"), 1) if line.strip()]


def test_lines_longer_than_a_piece_are_found_whole(tmp_path: Path) -> None:
    long = json.dumps("x" * (PIECE + PIECE // 3)).encode()
    assert texts(put(tmp_path / "f", b"\n" + long + b"\n\n" + long)) == [(2, long), (4, long)]


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b" \r\n"])
def test_a_byte_order_mark_alone_is_a_blank_line_only_where_the_file_begins(
    tmp_path: Path, end: bytes
) -> None:
    assert texts(put(tmp_path / "f", BOM + end)) == []
    assert texts(put(tmp_path / "f", b"\n" + BOM + end)) == [(2, BOM + end.removesuffix(b"\n"))]


def test_a_line_of_two_gigabytes_is_refused_without_being_read(tmp_path: Path) -> None:
    path = put(tmp_path / "trajectories.jsonl", b'{"id": "a"}\n')
    with path.open("ab") as file:
        file.truncate(2 * 2**30)
    store = Store.open(tmp_path / "store")
    before = resource.getrusage(resource.RUSAGE_SELF)
    with pytest.raises(DataError, match=r"trajectories.jsonl:2: the line is longer than 64 MiB"):
        import_lme_v2(tmp_path, store)
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert after.ru_maxrss - before.ru_maxrss < 32 * 1024
    fd = os.open(path, os.O_RDONLY)
    ((line, _),) = Piece(fd, 1, PIECE)
    os.close(fd)
    assert MAX_LINE < line.length < MAX_LINE + 2**21
