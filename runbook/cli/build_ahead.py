"""Haystacks that questions need, built by processes of their own: what is asked for first, then what comes.

A builder is a program: it reads one JSON job a line and answers a line when the view and its index are
there. It steps back for everything else (nice), does not get Ctrl-C, and ends with its input, so a killed
run leaves none behind. What it could not build, whoever opens the haystack builds, and complains.

The run's own process builds nothing else: a build takes 130 MB, which an allocator that serves many threads
keeps, and it would slow down the queries that are on the clock.
"""

import os
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from runbook.cli.builders import Builder

NICE = 10
LEAST = 3  # distinct haystacks, for which it is worth starting a process
BUILDERS = 2  # in a run


@dataclass(frozen=True, slots=True)
class HaystackJob:
    """One haystack, as `Haystacks.open` is asked for it."""

    slugs: tuple[str, ...]
    summaries: bool
    manifests: bool
    private: bool


class BuildAhead:
    """Builds haystacks: those that somebody opens, then in the order of coming questions, some ahead.

    Args:
        store: the store's root.
        cap_bytes: what views may take on disk.
        jobs: haystacks in the order of their questions; the same one may come again.
        distance: how many distinct haystacks may be ready that nobody has opened yet.
        builders: processes; none is started for fewer than LEAST haystacks.
    """

    def __init__(
        self, store: Path, cap_bytes: int, jobs: Sequence[HaystackJob], *, distance: int, builders: int
    ) -> None:
        self._coming = list(dict.fromkeys(jobs))
        self._store = store
        self._cap = cap_bytes
        self._distance = distance
        self._next = 0
        self._asked: deque[HaystackJob] = deque()
        self._opened: set[HaystackJob] = set()
        self._taken: set[HaystackJob] = set()
        self._done: set[HaystackJob] = set()
        self._changed = threading.Condition()
        self._closed = False
        self._wanted = builders if len(self._coming) >= LEAST else 0
        self._builders: list[Builder] = []
        self._working = 0

    def opening(self, job: HaystackJob) -> None:
        """Wait until a builder has built a haystack, or failed to; lets the builders go on with what comes.

        They start with the first. Returns at once where there are none.
        """
        with self._changed:
            self._opened.add(job)
            while len(self._builders) < self._wanted and not self._closed:
                self._start()
            if job not in self._taken:
                self._asked.append(job)
            self._changed.notify_all()
            while job not in self._done and self._working and not self._closed:
                self._changed.wait()

    def close(self) -> None:
        """Stop building; what is half built is removed by whoever builds next."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for builder in self._builders:
            builder.close()

    def _start(self) -> None:
        builder = Builder(self._store, self._cap)
        self._builders.append(builder)
        self._working += 1
        threading.Thread(target=self._feed, args=(builder,), name="build-ahead", daemon=True).start()

    def _feed(self, builder: Builder) -> None:
        going = builder.is_ready()
        while going and (job := self._take()) is not None:
            going = builder.do(asdict(job))
            with self._changed:
                self._done.add(job)
                self._changed.notify_all()
        with self._changed:
            self._working -= 1
            self._changed.notify_all()

    def _take(self) -> HaystackJob | None:
        """The next haystack to build, once it is near enough; None where there is none any more."""
        with self._changed:
            while not self._closed:
                if (job := self._due()) is not None:
                    self._taken.add(job)
                    return job
                self._changed.wait()
            return None

    def _due(self) -> HaystackJob | None:
        """What somebody waits for, else the next of those to come that nobody has taken, unless it is far."""
        while self._asked:
            job = self._asked.popleft()
            if job not in self._taken:
                return job
        while self._next < len(self._coming):
            job = self._coming[self._next]
            if job in self._taken:
                self._next += 1
            elif self._next < len(self._opened) + self._distance:
                self._next += 1
                return job
            else:
                return None
        return None


def step_back() -> None:
    """Let the queries, which are on the clock, have the processor first."""
    with suppress(OSError):
        os.nice(NICE)
