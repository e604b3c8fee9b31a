"""Runs with everything a report shows: evidence with screenshots, traces, diffs, readings, verdicts."""

import io
import json
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from evals.dataset import DataRoot, load_data_root
from evals.evidence_recall import evidence_recall
from evals.question import EvalQuestion, Gold
from evals.reading import Cut, Reading
from evals.runs.config import RunConfig, RunRecord
from evals.runs.folder import RunFolder
from evals.runs.records import QueryRecord, ReadingRecord, VerdictRecord
from evals.verdict import Verdict
from manifests.entry import Entry
from manifests.importing import import_lme_v2
from manifests.store import Store
from runbook.context import ContextItem, ImageItem, MemoryContext, TextItem
from runbook.endpoint.usage import Usage as ReaderUsage
from runbook.evidence import Evidence, Span
from runbook.gateway.records import Usage, WireFacts
from runbook.memory import AttemptRecord, QueryResult
from runbook.outcomes import Outcome
from runbook.traces import Kind, Source, TraceEvent
from tests.data_roots import write_data_root
from tests.recorded_runs import JUDGE, READER, STARTED

DEMO = Path(__file__).resolve().parents[2] / "evals" / "demo" / "data"
_ON_THE_CLOCK = ("candidates", "render", "workspace", "start", "agent")
_AGENT_OUTCOMES = [Outcome.OK] * 22 + [Outcome.TIMEOUT, Outcome.INVALID_OUTPUT, Outcome.PROVIDER_ERROR]


@dataclass(frozen=True)
class Told:
    """What the data of one question says; anything may be hostile."""

    note: str = ""
    response: str = ""
    reason: str = ""
    item: str = ""
    diff: str = ""
    detail: str = ""
    command: str = ""
    output: str = ""
    score: int | None = None
    outcome: Outcome | None = None
    events: list[TraceEvent] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


def pictured_root(root: Path, **sizes: int) -> Path:
    """A data root as `write_data_root` makes it, with a screenshot for every state."""
    write_data_root(root, **sizes)
    rows = [json.loads(line) for line in (root / "trajectories.jsonl").read_text().splitlines()]
    (root / "screenshots").mkdir()
    for row in rows:
        for number, state in enumerate(row["states"]):
            name = f"screenshots/{row['id']}-{number}.png"
            (root / name).write_bytes(picture(f"{row['id']} state {number}"))
            state["screenshot"] = name
    (root / "trajectories.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return root


def picture(words: str, size: tuple[int, int] = (320, 200)) -> bytes:
    """A PNG with some words on it."""
    image = Image.new("RGB", size, "#eef2f5")
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, size[0], 24), fill="#0b6583")
    draw.text((12, 60), words, fill="#1c232d")
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def imported(data_root: Path, store: Path) -> Store:
    """A store with the trajectories of a data root."""
    made = Store.open(store)
    import_lme_v2(data_root, made, processes=1)
    return made


def multiplied_demo(root: Path, count: int) -> Path:
    """The demo's questions so often, under other ids, that there are `count`; its trajectories stay."""
    root.mkdir(parents=True)
    rows = [json.loads(line) for line in (DEMO / "questions.jsonl").read_text().splitlines()]
    haystacks = json.loads((DEMO / "haystacks" / "lme_v2_small.json").read_text())
    gold = json.loads((DEMO / "gold.json").read_text())
    made: list[dict[str, Any]] = []
    for number in range(count):
        row = rows[number % len(rows)]
        made.append({**row, "id": f"{row['id']}-{number // len(rows)}"})
    (root / "haystacks").mkdir()
    shutil.copytree(DEMO / "question_images", root / "question_images")
    (root / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made))
    of = {row["id"]: str(row["id"]).rpartition("-")[0] for row in made}
    (root / "haystacks" / "lme_v2_small.json").write_text(
        json.dumps({new: haystacks[old] for new, old in of.items()})
    )
    (root / "gold.json").write_text(json.dumps({new: gold[old] for new, old in of.items() if old in gold}))
    return root


@dataclass
class RunBuilder:
    """Writes runs over a data root whose trajectories lie in a store."""

    data_root: Path
    store: Path
    seed: int = 0
    commands: int = 24
    load: float | None = None
    """Programs per processor while each question was asked."""
    searching: str = ""
    """Name of a memory without an agent that makes the runs; "" is an agent."""

    def write(
        self, path: Path, *, skill: float = 0.6, told: Mapping[str, Told] | None = None, **config: Any
    ) -> RunFolder:
        """A run in which a question is right with probability `skill`; `told` replaces what data says."""
        data = load_data_root(self.data_root, "small")
        entries = Store.open(self.store).entries()
        folder = RunFolder.create(path, self._record(data, config))
        chance = random.Random(f"{self.seed} {path.name}")
        for question in data.questions[: config.get("limit")]:
            one = (told or {}).get(question.id, Told())
            _Question(
                self, folder, question, (data.gold or {}).get(question.id), entries, chance, skill, one
            ).write()
        return folder

    def _record(self, data: DataRoot, config: Mapping[str, Any]) -> RunRecord:
        ids = tuple(question.id for question in data.questions)
        settings: dict[str, Any] = {
            "data": self.data_root, "store": self.store, "agent": "codex", "model": "gpt-5.2-codex",
            "effort": "medium", "sandbox": "bubblewrap", "reader": READER, "judge": JUDGE,
        }  # fmt: skip
        if self.searching:
            settings |= {
                "memory": self.searching,
                "agent": "scout",
                "model": "",
                "effort": "",
                "sandbox": "auto",
            }
        return RunRecord(
            created_at=STARTED,
            config=RunConfig(**(settings | dict(config))),
            smoke=bool(config.get("limit")),
            questions=ids[: config.get("limit")],
            question_types={question.id: question.question_type for question in data.questions},
            tier_questions=len(ids),
            data_digests=dict(data.digests),
            prompt_digests={"reader_system.md.j2": "aa"},
            versions={"python": "3.11", "agent-runbook": "0.1.0"},
            git_revision="b6b6f9d",
        )


class _Question:
    def __init__(
        self,
        builder: RunBuilder,
        folder: RunFolder,
        question: EvalQuestion,
        gold: Gold | None,
        entries: Sequence[Entry],
        chance: random.Random,
        skill: float,
        told: Told,
    ) -> None:
        self._builder = builder
        self._folder = folder
        self._question = question
        self._gold = gold
        self._entries = entries
        self._chance = chance
        self._skill = skill
        self._told = told

    def write(self) -> None:
        chance, told = self._chance, self._told
        outcome = told.outcome or chance.choice(_AGENT_OUTCOMES)
        right = chance.random() < self._skill
        if told.score is not None:
            right = bool(told.score)
        seconds = chance.lognormvariate(3.4, 0.6)
        spans = self._spans(right)
        attempts = [self._attempt(1, outcome, seconds)]
        if self._builder.searching:
            attempts = [_by_search(attempts[0], self._builder.searching)]
        if chance.random() < 0.1 and not self._builder.searching:
            failed = self._attempt(1, Outcome.INVALID_OUTPUT, seconds / 3)
            attempts = [failed, replace_number(attempts[0], 2)]
        evidence = Evidence(
            memory_markdown=told.note or _note(spans), trajectory_spans=spans, evidence_status="supported"
        )
        good = outcome is Outcome.OK
        timings: dict[str, float] = {"render": 0.02} | (
            {} if self._builder.searching else {"candidates": 0.9}
        )
        for attempt in attempts:
            for name, value in attempt.timings.items():
                timings[name] = timings.get(name, 0.0) + value
        self._folder.append(
            QueryRecord(
                question_id=self._question.id,
                haystack_digest="h",
                view_seconds=0.0,
                load_per_cpu=self._builder.load,
                evidence_recall=evidence_recall(spans, self._gold) if self._gold and good else None,
                result=QueryResult(
                    outcome=outcome,
                    seconds=sum(
                        timings.get(name, 0.0)
                        for name in ("candidates", "render", "workspace", "start", "agent")
                    ),
                    timings=timings,
                    attempts=attempts,
                    evidence=evidence if good else None,
                    context=MemoryContext(items=tuple(self._items(evidence))) if good else MemoryContext(),
                ),
            )
        )
        for attempt in attempts:
            self._keep(attempt)
        if outcome is not Outcome.PROVIDER_ERROR:
            self._read(right and good)

    def _spans(self, right: bool) -> tuple[Span, ...]:
        chance = self._chance
        spans = []
        if self._gold and self._gold.pieces and (right or chance.random() < 0.5):
            for piece in self._gold.pieces[: None if right else 1]:
                one = piece[0]
                spans.append(Span(**one.model_dump()))
        for _ in range(chance.randint(2, 5)):
            entry = chance.choice(self._entries)
            start = chance.randrange(entry.states)
            end = min(entry.states - 1, start + chance.randint(0, 2))
            spans.append(Span(trajectory_id=entry.id, start_state_index=start, end_state_index=end))
        return tuple(spans)

    def _items(self, evidence: Evidence) -> list[ContextItem]:
        by_id = {entry.id: entry for entry in self._entries}
        items: list[ContextItem] = [TextItem(text=self._told.item or evidence.memory_markdown)]
        for number, span in enumerate(evidence.trajectory_spans, start=1):
            entry = by_id[span.trajectory_id]
            items.append(TextItem(text=f"## Span {number}: trajectory {entry.id}\ngoal: {entry.goal}"))
            for index in span.states:
                items.append(TextItem(text=entry.state_path(index).read_text()))
                if shot := entry.screenshot(index):
                    items.append(ImageItem(path=str(shot.path), sha256=shot.sha256))
        return items

    def _attempt(self, number: int, outcome: Outcome, seconds: float) -> AttemptRecord:
        chance = self._chance
        model = seconds * chance.uniform(0.5, 0.8)
        calls = self._builder.commands // 2
        return AttemptRecord(
            number=number,
            outcome=outcome,
            detail=self._told.detail
            or ("" if outcome is Outcome.OK else f"the agent ended with {outcome.value}"),
            flags=["submitted"] if outcome is Outcome.OK else [],
            agent="codex",
            agent_version="0.171.0",
            sandbox="bubblewrap",
            started_at=STARTED,
            seconds=seconds,
            timings={"workspace": 0.05, "start": 0.4, "agent": seconds, "model": model, "rate_limit": 0.0},
            repairs=["trajectory_spans[1].start_state_index: text made a number"]
            if chance.random() < 0.15
            else [],
            evidence_sha256="e" * 64,
            wire=WireFacts(
                calls=calls,
                tool_calls=self._builder.commands,
                usage=Usage(fresh_input=9000, cache_read=81_000, output=2100, reasoning=800),
                cost_usd=round(chance.uniform(0.02, 0.2), 4),
                requested_models=["gpt-5.2-codex"],
                actual_models=["gpt-5.2-codex-2026-10-01"],
                model_seconds=model,
            ),
        )

    def _keep(self, attempt: AttemptRecord) -> None:
        place = self._folder.attempts_folder(self._question.id) / str(attempt.number)
        (place / "workspace").mkdir(parents=True)
        if self._builder.searching:
            return
        events = self._told.events or self._events(attempt)
        lines = [event.model_dump_json(exclude_defaults=True) for event in events]
        (place / "trace.jsonl").write_bytes(
            b"".join(line.encode("utf-8", "replace") + b"\n" for line in lines)
        )
        diff = (
            self._told.diff
            or "diff --git a/notes.md b/notes.md\n--- /dev/null\n+++ b/notes.md\n+checked it\n"
        )
        (place / "workspace.diff").write_bytes(diff.encode("utf-8", "surrogatepass"))
        (place / "attempt.json").write_text(attempt.model_dump_json())
        (place / "workspace" / "question.json").write_text(json.dumps({"question": self._question.question}))

    def _events(self, attempt: AttemptRecord) -> list[TraceEvent]:
        chance, told = self._chance, self._told
        events = []
        at = 0.5
        share = attempt.seconds / max(1, self._builder.commands)
        for number in range(self._builder.commands):
            thinking, running = share * 0.65, share * 0.2
            at += thinking
            response = f"call {number + 1}"
            events.append(
                TraceEvent(kind=Kind.USAGE, source=Source.WIRE, at=at, duration=thinking, response=response,
                           scope="call", tokens=Usage(fresh_input=300, output=80), cost_usd=0.002)
            )  # fmt: skip
            if number % 7 == 3:
                said = "The third state shows the filter, but not what it did. I look at the next."
                told_by = {"source": Source.BOTH, "role": "assistant", "response": response}
                events.append(TraceEvent(kind=Kind.MESSAGE, at=at, text=said, **told_by))
            entry = chance.choice(self._entries)
            command = told.command or chance.choice(_COMMANDS).format(
                slug=entry.slug, state=f"{chance.randrange(entry.states):04d}", word="first response"
            )
            failed = chance.random() < 0.06
            call = {
                "source": Source.BOTH,
                "response": response,
                "call_id": f"c{number}",
                "tool": "shell",
                "command": command,
            }
            events.append(TraceEvent(kind=Kind.TOOL_START, at=at, **call))
            at += running
            output = told.output or entry.state_path(0).read_text()[: chance.randint(80, 1600)]
            events.append(
                TraceEvent(kind=Kind.TOOL_END, at=at, duration=running, exit_code=int(failed), failed=failed,
                           output=output, output_bytes=len(output.encode("utf-8", "replace")), **call)
            )  # fmt: skip
        return events

    def _read(self, right: bool) -> None:
        question, told = self._question, self._told
        answer = question.answer if right else "It is not shown in what I was given."
        self._folder.append(
            ReadingRecord(
                question_id=question.id,
                query_k=1,
                outcome=Outcome.OK,
                reading=Reading(
                    response=told.response or f"The recorded states settle it.\n\n\\boxed{{{answer}}}",
                    parsed_answer=answer,
                    unknown=not right,
                    finish_reason="stop",
                    requested_model="qwen3.5-9b",
                    model="qwen3.5-9b",
                    usage=ReaderUsage(prompt_tokens=24_000, completion_tokens=300, total_tokens=24_300),
                    seconds=4.2,
                    calls=1,
                    waited_seconds=0.0,
                    cut=Cut(counter="estimate", budget_tokens=120_000, original_tokens=24_000,
                            final_tokens=24_000, original_items=9, final_items=9),
                    system_prompt_sha256="s",
                    user_prompt_sha256="u",
                ),
            )
        )  # fmt: skip
        self._folder.append(
            VerdictRecord(
                question_id=question.id,
                reading_k=1,
                outcome=Outcome.OK,
                verdict=Verdict(
                    score=1 if right else 0,
                    label=1 if right else 0,
                    unknown=not right,
                    parsed_answer=answer,
                    evaluator=question.eval_function.partition("(")[0],
                    reason=told.reason
                    or ("The answer says what the gold says." if right else "It gives no answer."),
                    judge_model="gpt-5.2",
                ),
            )
        )


def _by_search(attempt: AttemptRecord, memory: str) -> AttemptRecord:
    """The attempt as a memory without an agent records it."""
    own = {"agent": memory, "agent_version": "", "sandbox": "none", "wire": None, "flags": []}
    return attempt.model_copy(update={**own, "timings": {"agent": attempt.seconds}})


def replace_number(attempt: AttemptRecord, number: int) -> AttemptRecord:
    """The same attempt as a later one."""
    return attempt.model_copy(update={"number": number})


def _note(spans: Sequence[Span]) -> str:
    lines = [f"- `{span.trajectory_id}` state {span.start_state_index} shows it." for span in spans]
    return "# What the recordings say\n" + "\n".join(lines)


_COMMANDS = [
    "./memory search '{word}' --limit 12",
    "./memory state {slug} {state} --max-bytes 6000",
    "rg -n '{word}' haystack/trajectories/{slug} | head -40",
    "cat haystack/trajectories/{slug}/{state}.txt",
    "./memory image {slug} {state}",
    "ls haystack && cat INSTRUCTION.md",
    "./memory check",
]
