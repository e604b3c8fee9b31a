"""Events and notes of trajectories, written by a model: once each, kept by content, resumable.

A trajectory's are one file, named by its slug, in a folder named by whoever wrote them: model, sampling and
prompts. Single replies are kept as well, so that an interrupted trajectory goes on where it stopped.
"""

import hashlib
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from instructions import prompt_digests
from instructions.retrieval import EVENTS_SHAPE, NOTES_SHAPE, event_messages, note_messages
from manifests.store import Entry
from runbook.embedding.alone import alone
from runbook.embedding.recorded import RecordedCalls
from runbook.endpoint.chat import Endpoint
from runbook.endpoint.config import EndpointConfig
from runbook.endpoint.ledger import Ledger
from runbook.files import write_json
from runbook.memories.json_replies import JsonAsker
from runbook.memories.model_text import Line, Text
from runbook.memories.recordings import plain_event, recording_text, steps_of

STEPS_PER_CALL = 10
CONCURRENCY = 4  # trajectories at a time
_PROMPTS = ("write_events.md.j2", "write_notes.md.j2", "repair_json.md.j2")


class _Event(BaseModel):
    model_config = ConfigDict(extra="ignore")

    step: int
    text: Line


class _Events(BaseModel):
    model_config = ConfigDict(extra="ignore")

    events: list[_Event]


class _Notes(BaseModel):
    model_config = ConfigDict(extra="ignore")

    procedure: Text
    hint: Text


class Written(BaseModel):
    """What was written about one trajectory."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    events: tuple[str, ...]
    """One for each pair of neighbouring states, in order."""
    procedure: str
    hint: str
    repaired: int = 0
    fallbacks: int = 0
    """Events or notes that the model did not give, so that plain text stands in their place."""


class _Tally:
    """Counts over the replies about one trajectory."""

    def __init__(self) -> None:
        self.repaired = 0
        self.fallbacks = 0


def writer_name(config: EndpointConfig) -> str:
    """Tells apart what different writers wrote: model, sampling and prompts."""
    digests = prompt_digests()
    writer = {
        "model": config.model,
        "base_url": config.base_url,
        "body": config.body(None),
        "prompts": [digests[name] for name in _PROMPTS],
        "steps": STEPS_PER_CALL,
    }
    return hashlib.sha256(orjson.dumps(writer)).hexdigest()[:16]


def written_file(folder: Path, slug: str) -> Path:
    """What one writer, whose folder it is, wrote about a trajectory."""
    return folder / f"{slug}.json"


class NoteWriter:
    """Writes about trajectories. Safe to use from several threads at once."""

    def __init__(self, endpoint: Endpoint, folder: Path, cancel: threading.Event) -> None:
        """`folder` holds what all writers wrote, each in a folder of its own."""
        self._name = writer_name(endpoint.config)
        self._folder = folder / self._name
        self._asker = JsonAsker(endpoint, RecordedCalls(self._folder / "replies"))
        self._cancel = cancel

    @property
    def name(self) -> str:
        """Tells apart what different writers wrote."""
        return self._name

    def write(self, entries: Iterable[Entry], ledger: Ledger) -> list[Written]:
        """Write about those trajectories that nothing is written about yet; returns what is new.

        Of several that want the same written, in this process or another, one writes and the others wait.
        Raises EndpointError and OSError; what was finished before stays.
        """
        wanted = list(entries)
        if all(self._read(entry) is not None for entry in wanted):
            return []
        with alone(self._folder, self._cancel):
            missing = [entry for entry in wanted if self._read(entry) is None]
            pool = ThreadPoolExecutor(CONCURRENCY, thread_name_prefix="writing")
            try:
                return list(pool.map(partial(self._write, ledger=ledger), missing))
            finally:
                pool.shutdown(wait=not self._cancel.is_set(), cancel_futures=True)

    def about(self, entry: Entry) -> Written:
        """What was written about a trajectory. Raises FileNotFoundError where nothing was."""
        found = self._read(entry)
        if found is None:
            raise FileNotFoundError(f"{self._file(entry)}: nothing is written about {entry.id}")
        return found

    def _file(self, entry: Entry) -> Path:
        return written_file(self._folder, entry.slug)

    def _read(self, entry: Entry) -> Written | None:
        try:
            return Written.model_validate_json(self._file(entry).read_bytes())
        except (FileNotFoundError, ValidationError):
            return None

    def _write(self, entry: Entry, ledger: Ledger) -> Written:
        tally = _Tally()
        events = self._events(entry, tally, ledger)
        procedure, hint = self._notes(entry, events, tally, ledger)
        written = Written(
            events=tuple(events),
            procedure=procedure,
            hint=hint,
            repaired=tally.repaired,
            fallbacks=tally.fallbacks,
        )
        write_json(self._file(entry), written)
        return written

    def _events(self, entry: Entry, tally: _Tally, ledger: Ledger) -> list[str]:
        steps = steps_of(entry)
        texts: dict[int, str] = {}
        for start in range(0, len(steps), STEPS_PER_CALL):
            part = steps[start : start + STEPS_PER_CALL]
            reply = self._asker.ask(_Events, EVENTS_SHAPE, event_messages(entry.goal, part), ledger)
            tally.repaired += reply.repaired
            if reply.value is not None:
                texts |= {one.step: one.text for one in reply.value.events}
        tally.fallbacks += sum(step.number not in texts for step in steps)
        return [texts.get(step.number) or plain_event(step) for step in steps]

    def _notes(self, entry: Entry, events: list[str], tally: _Tally, ledger: Ledger) -> tuple[str, str]:
        reply = self._asker.ask(_Notes, NOTES_SHAPE, note_messages(recording_text(entry, events)), ledger)
        tally.repaired += reply.repaired
        if reply.value is not None:
            return reply.value.procedure, reply.value.hint
        tally.fallbacks += 1
        return f"Goal: {entry.goal}", f"Outcome: {entry.outcome or 'unknown'}"
