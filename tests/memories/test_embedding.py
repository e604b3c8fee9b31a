"""Vectors on disk, exact search, truncation: what the embedding side promises."""

import hashlib
import multiprocessing

import numpy as np
import pytest

from runbook.embedding.cache import CacheError, VectorCache
from runbook.embedding.search import RowSearch, packed
from runbook.embedding.truncation import cut_to_tokens
from runbook.endpoint.completion import MalformedReply
from runbook.endpoint.embeddings import read_embeddings


def key(number: int) -> bytes:
    return hashlib.sha256(str(number).encode()).digest()


def vectors(*numbers: int, width: int = 4):
    return np.array([[number] * width for number in numbers], dtype=np.float32)


def add_some(folder, start):
    cache = VectorCache(folder)
    for number in range(start, start + 20):
        cache.add([key(number)], vectors(number))


def test_a_vector_is_found_by_its_text_in_a_later_process(tmp_path):
    VectorCache(tmp_path).add([key(1), key(2)], vectors(1, 2))
    cache = VectorCache(tmp_path)
    assert cache.places([key(2), key(3)]) == [1, None]
    assert cache.matrix()[1].tolist() == [2, 2, 2, 2]
    assert isinstance(cache.matrix(), np.memmap)


def test_processes_that_add_at_once_lose_nothing(tmp_path):
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=add_some, args=(tmp_path, start)) for start in (0, 10)]
    for one in others:
        one.start()
    for one in others:
        one.join()
    cache = VectorCache(tmp_path)
    places = cache.places([key(number) for number in range(30)])
    assert sorted(places) == list(range(30))
    assert [cache.matrix()[place][0] for place in places] == list(range(30))


@pytest.mark.parametrize("torn", ["vectors.f32", "keys"])
def test_what_a_killed_process_left_half_written_is_written_over(tmp_path, torn):
    VectorCache(tmp_path).add([key(1), key(2)], vectors(1, 2))
    file = tmp_path / torn
    file.write_bytes(file.read_bytes()[:-5])
    cache = VectorCache(tmp_path)
    assert cache.places([key(1), key(2)]) == [0, None]
    cache.add([key(3)], vectors(3))
    again = VectorCache(tmp_path)
    assert again.places([key(1), key(2), key(3)]) == [0, None, 1]
    assert again.matrix()[:, 0].tolist() == [1, 3]


def test_vectors_of_another_length_are_refused_and_the_folder_is_named(tmp_path):
    VectorCache(tmp_path).add([key(1)], vectors(1))
    with pytest.raises(CacheError, match=f"{tmp_path}.*5 numbers, those there have 4"):
        VectorCache(tmp_path).add([key(2)], vectors(2, width=5))


@pytest.mark.parametrize("rows", [range(10, 60), [3, 4, 5, 40, 41, 42, 43, 7, 8, 9, 10], [9, 1, 30, 4]])
def test_search_finds_what_the_product_over_the_rows_finds(rows, tmp_path):
    chance = np.random.default_rng(1)
    matrix = chance.standard_normal((64, 16)).astype(np.float32)
    queries = chance.standard_normal((3, 16)).astype(np.float32)
    search = RowSearch(packed(matrix, list(rows), tmp_path))
    expected = matrix[list(rows)] @ queries.T
    for column, hits in zip(expected.T, search.best(queries, 4), strict=True):
        assert [hit.place for hit in hits] == np.argsort(-column, kind="stable")[:4].tolist()
        assert [hit.score for hit in hits] == pytest.approx(sorted(column, reverse=True)[:4], abs=1e-5)
    assert list(tmp_path.iterdir()) == []


def test_of_equal_scores_the_earlier_row_comes_first():
    search = RowSearch(np.ones((9, 2), dtype=np.float32))
    assert [hit.place for hit in search.best(np.ones((1, 2), dtype=np.float32), 3)[0]] == [0, 1, 2]


def test_a_text_is_cut_to_its_tokens_by_the_counter():
    def words(text: str) -> int:
        return len(text.split())

    text = "word " * 1000
    assert cut_to_tokens(text, 2000, words) == text
    cut = cut_to_tokens(text, 100, words)
    assert 80 <= words(cut) <= 100
    assert text.startswith(cut)


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"[]",
        b'{"data": []}',
        b'{"data": [{"index": 0, "embedding": [1, "x"]}]}',
        b'{"data": [{"index": 3, "embedding": [1, 2]}]}',
        b'{"data": [{"index": 0, "embedding": []}]}',
        b'{"data": [{"index": 0, "embedding": [1e999, 2]}]}',
    ],
)
def test_a_reply_that_holds_no_usable_vectors_is_malformed(body):
    with pytest.raises(MalformedReply):
        read_embeddings(body, 1)


def test_vectors_come_in_the_order_of_their_texts_and_of_length_one():
    rows = b'[{"index": 1, "embedding": [0, 2]}, {"index": 0, "embedding": [3, 4]}]'
    body = b'{"data": ' + rows + b', "usage": {"prompt_tokens": 7}, "model": "m"}'
    found, tokens, model = read_embeddings(body, 2)
    assert model == "m"
    assert np.allclose(found, [[0.6, 0.8], [0, 1]])
    assert tokens == 7
