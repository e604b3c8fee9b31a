"""Exact dense search over a haystack's slices, as a ratio to its own matrix product.

    python -m tests.benchmarks.dense_search [--states 14900] [--dimensions 4096] [--trajectories 498]

The vectors lie in a file, as the cache keeps them, among those of other haystacks; the floor is one product
over the same rows in one piece. Prints seconds per query (best of several) and the ratio.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from runbook.embedding.search import RowSearch, packed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--states", type=int, default=14_900)
    parser.add_argument("--dimensions", type=int, default=4096)
    parser.add_argument("--trajectories", type=int, default=498)
    parser.add_argument("--of", type=int, default=1540, help="trajectories in the cache")
    parser.add_argument("--times", type=int, default=9)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder) / "vectors.f32", chosen)


def measure(file: Path, chosen: argparse.Namespace) -> None:
    length = chosen.states // chosen.trajectories
    count = chosen.of * length
    chance = np.random.default_rng(1)
    with file.open("wb") as out:
        for _ in range(chosen.of):
            out.write(chance.standard_normal((length, chosen.dimensions), dtype=np.float32).tobytes())
    matrix = np.memmap(file, dtype="<f4", mode="r", shape=(count, chosen.dimensions))
    picked = np.sort(chance.choice(chosen.of, chosen.trajectories, replace=False))
    rows = (picked[:, None] * length + np.arange(length)).ravel()
    whole = np.ascontiguousarray(matrix[rows])
    begun = time.perf_counter()
    search = RowSearch(packed(matrix, rows, file.parent))
    print(f"packed in {time.perf_counter() - begun:.2f} s, off the clock")
    for queries in (1, 5):
        asked = chance.standard_normal((queries, chosen.dimensions), dtype=np.float32)
        transposed = np.ascontiguousarray(asked.T)
        # In turns, so that a busy machine slows both.
        floor, ours = best_of(
            chosen.times,
            lambda transposed=transposed: whole @ transposed,
            lambda asked=asked: search.best(asked, 6),
        )
        expected = np.argsort(-(whole @ transposed)[:, 0], kind="stable")[:6].tolist()
        agree = [hit.place for hit in search.best(asked, 6)[0]] == expected
        print(
            f"{len(rows)} rows x {chosen.dimensions}, {queries} queries: product {1000 * floor:.1f} ms, "
            f"search {1000 * ours:.1f} ms, ratio {ours / floor:.2f}, same best six: {agree}"
        )


def best_of(times: int, *measured: Callable[[], object]) -> list[float]:
    """The shortest time of each, in seconds."""
    found = [float("inf")] * len(measured)
    for _ in range(times):
        for place, call in enumerate(measured):
            begun = time.perf_counter()
            call()
            found[place] = min(found[place], time.perf_counter() - begun)
    return found


if __name__ == "__main__":
    main()
