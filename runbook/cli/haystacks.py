"""Haystack views with their index, ready before the clock of a question starts."""

import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from helpers.memory import picture, tokens
from helpers.memory.failure import HelperError
from helpers.memory.keys import line_keys, term_keys
from manifests.contact_sheets import SheetDrawing
from manifests.errors import StoreError, StoreFullError
from manifests.index import Tokeniser, build_index
from manifests.store import Store
from manifests.views import CAP_BYTES, View, Views
from runbook.cli.build_ahead import BuildAhead, HaystackJob
from runbook.cli.home import home

# Ranking and its tokens exist once, in what goes into the sandbox; the index is made by the same rule.
TOKENISER = Tokeniser(tokens.VERSION, tokens.terms, term_keys, line_keys)
PROCESSES = 2  # for the first tokenising of a haystack; later views only read its results


def _draw(screenshots: list[tuple[int, str]]) -> bytes:
    try:
        return picture.draw_sheet(screenshots)
    except HelperError as error:
        raise ValueError(error.text) from None


DRAWING = SheetDrawing(_draw, picture.PER_SHEET)


def views_of(store: Store, cap_bytes: int = CAP_BYTES) -> Views:
    """The views of a store: in it, or in the user's own folder where the store cannot be written."""
    inside = store.root / "views"
    if _writable(inside if inside.exists() else store.root):
        return Views(store, cap_bytes=cap_bytes, drawing=DRAWING)
    name = hashlib.sha256(os.fsencode(store.root)).hexdigest()[:16]
    return Views(store, home() / "views" / name, cap_bytes, drawing=DRAWING)


def _writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK | os.X_OK)


class Haystacks:
    """Opens views of a store. Thread-safe; a view is built once, whoever asks first."""

    def __init__(
        self,
        store: Store,
        say: Callable[[str], None],
        *,
        cap_bytes: int = CAP_BYTES,
        processes: int = PROCESSES,
        ahead: BuildAhead | None = None,
    ) -> None:
        """Views of a store, together at most `cap_bytes` of disk, tokenised in so many `processes`.

        Args:
            say: told where the index cannot be made, so that agents have to search without it.
            ahead: asked to build what is opened, and then what comes next.
        """
        self._views = views_of(store, cap_bytes)
        self._say = say
        self._processes = processes
        self._ahead = ahead

    def open(
        self,
        slugs: Iterable[str],
        *,
        summaries: bool = False,
        manifests: bool = True,
        private: bool = False,
    ) -> View:
        """The view of these trajectories, pinned until closed; what an ablation leaves out is not in it.

        A `private` one shares no file with the store: for sandboxes that cannot enforce read-only mounts.

        Raises:
            StoreError: an unknown slug, or a view that cannot be written.
        """
        job = HaystackJob(tuple(slugs), summaries=summaries, manifests=manifests, private=private)
        if self._ahead is not None:
            self._ahead.opening(job)
        return self._opened(job)

    def build(self, job: HaystackJob) -> None:
        """Have a view and its index on disk, for whoever opens it later. Raises StoreError as `open` does."""
        self._opened(job).close()

    def _opened(self, job: HaystackJob) -> View:
        """The view with its index; where there is no room for it, that of views that nobody uses is taken."""
        try:
            return self._built(job)
        except StoreFullError:
            if not self._views.trim(0):
                raise
            return self._built(job)

    def _built(self, job: HaystackJob) -> View:
        view = self._views.acquire(
            job.slugs, summaries=job.summaries, manifests=job.manifests, private=job.private
        )
        try:
            build_index(view, TOKENISER, processes=self._processes)
        except StoreFullError:
            view.close()
            raise
        except StoreError as error:
            self._say(f"warning: agents search without an index: {error}")
        return view
