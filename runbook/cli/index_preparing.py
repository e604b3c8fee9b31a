"""The index parts of many trajectories, made by all processors at once before the first haystack is opened.

An index links to them in half a second; they themselves take a second of a processor for some thirty
trajectories, once for each store. Without this, the first questions of a run would each wait for all of them,
one process making them and nobody saying so.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence

from manifests.index_parts import has_part
from manifests.store import Store
from runbook.cli.builders import Builder
from runbook.cli.haystacks import TOKENISER

MANY = 16  # trajectories; fewer are done sooner than a process is started
PROCESSES = 2
_AT_ONCE = 8  # trajectories a job: the next answer, and Ctrl-C, is never far


def missing_parts(store: Store, slugs: Iterable[str]) -> list[str]:
    """Those trajectories that have no part yet."""
    return [slug for slug in slugs if not has_part(store.get(slug), TOKENISER)]


def prepare_parts(store: Store, slugs: Sequence[str], progress: Callable[[int, int], None]) -> None:
    """Make the parts of these trajectories; what fails is left to whoever makes an index of them.

    Args:
        progress: told how many are done, and how many there are.
    """
    jobs = iter([slugs[start : start + _AT_ONCE] for start in range(0, len(slugs), _AT_ONCE)])
    builders = [Builder(store.root) for _ in range(min(PROCESSES, len(slugs) // _AT_ONCE + 1))]
    lock, done = threading.Lock(), 0

    def work(builder: Builder) -> None:
        nonlocal done
        if not builder.is_ready():
            return
        while (job := _next(jobs, lock)) is not None and builder.do({"parts": list(job)}):
            with lock:
                done += len(job)
                progress(done, len(slugs))

    threads = [threading.Thread(target=work, args=(one,), daemon=True) for one in builders]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for builder in builders:
            builder.close()


def _next(jobs: Iterator[Sequence[str]], lock: threading.Lock) -> Sequence[str] | None:
    with lock:
        return next(jobs, None)
