"""Haystacks that coming questions need, built by processes of their own while earlier questions run.

A builder is a program: it reads one JSON job a line and answers a line when the view and its index are
there. It steps back for everything else (nice), does not get Ctrl-C, and ends with its input, so a killed
run leaves none behind. What it could not build, whoever opens the haystack builds, and complains.
"""

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from runbook.cli.builders import Builder

NICE = 10
LEAST = 3  # distinct haystacks, for which it is worth starting a process


@dataclass(frozen=True, slots=True)
class HaystackJob:
    """One haystack, as `Haystacks.open` is asked for it."""

    slugs: tuple[str, ...]
    summaries: bool
    manifests: bool
    private: bool


class BuildAhead:
    """Builds haystacks in the order in which they will be opened, never more than some ahead.

    Args:
        store: the store's root.
        cap_bytes: what views may take on disk.
        jobs: haystacks in the order of their questions; the same one may come again.
        distance: how many distinct haystacks may be ready that nobody has opened yet.
        builders: processes.
    """

    def __init__(
        self, store: Path, cap_bytes: int, jobs: Sequence[HaystackJob], *, distance: int, builders: int = 1
    ) -> None:
        self._coming = list(dict.fromkeys(jobs))
        self._store = store
        self._cap = cap_bytes
        self._distance = distance
        self._next = 0
        self._opened: set[HaystackJob] = set()
        self._changed = threading.Condition()
        self._closed = False
        self._wanted = builders if len(self._coming) >= LEAST else 0
        self._builders: list[Builder] = []

    def opened(self, job: HaystackJob) -> None:
        """Note that somebody opens a haystack, which lets the builders go on.

        They start with the first: what is opened at once is built by who opens it, who does not step back.
        """
        with self._changed:
            self._opened.add(job)
            while len(self._builders) < self._wanted and not self._closed:
                self._start()
            self._changed.notify_all()

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
        threading.Thread(target=self._feed, args=(builder,), name="build-ahead", daemon=True).start()

    def _feed(self, builder: Builder) -> None:
        if not builder.is_ready():
            return
        while (job := self._take()) is not None and builder.do(asdict(job)):
            pass

    def _take(self) -> HaystackJob | None:
        """The next haystack to build, once it is near enough; None where there is none any more."""
        with self._changed:
            while not self._closed and self._next < len(self._coming):
                job = self._coming[self._next]
                if job in self._opened:
                    self._next += 1
                elif self._next < len(self._opened) + self._distance:
                    self._next += 1
                    return job
                else:
                    self._changed.wait()
            return None


def step_back() -> None:
    """Let the queries, which are on the clock, have the processor first."""
    with suppress(OSError):
        os.nice(NICE)
