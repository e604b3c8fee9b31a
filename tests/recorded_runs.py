"""Finished and half-finished runs on disk, for tests of what reads them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.dataset import load_data_root
from evals.evidence_recall import evidence_recall
from evals.reading import Cut, Reading
from evals.runs.config import RunConfig, RunRecord
from evals.runs.folder import RunFolder
from evals.runs.records import InContext, QueryRecord, ReadingRecord, VerdictRecord
from evals.verdict import Verdict
from runbook.context import MemoryContext, TextItem
from runbook.endpoint.usage import Usage
from runbook.evidence import Evidence, Span
from runbook.memory import AttemptRecord, QueryResult
from runbook.outcomes import Outcome

READER = {"model": "qwen3.5-9b", "base_url": "http://127.0.0.1:9/v1"}
JUDGE = {"model": "gpt-5.2", "base_url": "http://127.0.0.1:9/v1"}
STARTED = "2026-01-02T03:04:05.000+00:00"


@dataclass(frozen=True)
class Answer:
    """What is recorded of one question; without a score only the memory has answered."""

    score: int | None = None
    seconds: float = 10.0
    spans: tuple[tuple[str, int, int], ...] = ()
    outcome: Outcome = Outcome.OK
    response: str = r"\boxed{something}"
    in_context: bool | None = None
    forced: bool = False
    evaluator: str = "norm_phrase_set_match"
    context: str = "a note"


def write_run(
    path: Path,
    data_root: Path,
    answers: Mapping[str, Answer | tuple[Answer, ...]],
    *,
    versions: Any = None,
    **config: Any,
) -> RunFolder:
    """A run over the questions of a data root, of which those in `answers` have records.

    `config` holds settings of RunConfig; reader and judge are there where some answer has a score. A tuple
    holds the agent's repeats.
    """
    repeats = {one: given if isinstance(given, tuple) else (given,) for one, given in answers.items()}
    data = load_data_root(data_root, config.get("tier", "small"))
    settings: dict[str, Any] = {"data": data_root, "store": path.parent / "store", "sandbox": "process"}
    if any(answer.score is not None for given in repeats.values() for answer in given):
        settings |= {"reader": READER, "judge": JUDGE}
    if (most := max(map(len, repeats.values()), default=1)) > 1:
        settings["repeats"] = {"agent": most}
    ids = tuple(question.id for question in data.questions)
    record = RunRecord(
        created_at=STARTED,
        config=RunConfig(**(settings | config)),
        smoke=bool(config.get("limit")),
        questions=ids[: config.get("limit")],
        question_types={question.id: question.question_type for question in data.questions},
        tier_questions=len(ids),
        data_digests=dict(data.digests),
        prompt_digests={"reader_system.md.j2": "aa", "agent_prompt.md.j2": "bb"},
        versions={"python": "3.11", **(versions or {})},
        git_revision="abc",
    )
    folder = RunFolder.create(path, record)
    for question_id, given in repeats.items():
        gold = (data.gold or {}).get(question_id)
        for repeat, answer in enumerate(given):
            spans = tuple(
                Span(trajectory_id=one, start_state_index=start, end_state_index=end)
                for one, start, end in answer.spans
            )
            recall = evidence_recall(spans, gold) if gold else None
            query = folder.append(_query(question_id, repeat, answer, spans, recall))
            if answer.score is not None:
                reading = folder.append(_reading(question_id, query.k, answer))
                folder.append(_verdict(question_id, reading.k, answer))
    return folder


def _query(
    question_id: str, repeat: int, answer: Answer, spans: tuple[Span, ...], recall: Any
) -> QueryRecord:
    attempt = AttemptRecord(
        number=repeat + 1,
        outcome=answer.outcome,
        agent="scout",
        sandbox="process",
        started_at=STARTED,
        seconds=answer.seconds,
    )
    evidence = Evidence(memory_markdown=answer.context, trajectory_spans=spans)
    in_context = InContext(context=answer.in_context, gold_spans=None, random_states=None)
    return QueryRecord(
        question_id=question_id,
        repeat=repeat,
        haystack_digest="h",
        view_seconds=0.0,
        forced=answer.forced,
        evidence_recall=recall,
        answer_in_context=None if answer.in_context is None else in_context,
        result=QueryResult(
            outcome=answer.outcome,
            seconds=answer.seconds,
            timings={"candidates": 0.5},
            attempts=[attempt],
            evidence=evidence if answer.outcome is Outcome.OK else None,
            context=MemoryContext(items=(TextItem(text=answer.context),)),
        ),
    )


def _reading(question_id: str, query_k: int, answer: Answer) -> ReadingRecord:
    return ReadingRecord(
        question_id=question_id,
        query_k=query_k,
        outcome=Outcome.OK,
        reading=Reading(
            response=answer.response,
            parsed_answer="something",
            unknown=False,
            finish_reason="stop",
            requested_model="qwen3.5-9b",
            model="qwen3.5-9b",
            usage=Usage(prompt_tokens=100, completion_tokens=10, total_tokens=110),
            seconds=1.0,
            calls=1,
            waited_seconds=0.0,
            cut=Cut(
                counter="estimate",
                budget_tokens=1000,
                original_tokens=90,
                final_tokens=80,
                original_items=1,
                final_items=1,
            ),
            system_prompt_sha256="s",
            user_prompt_sha256="u",
        ),
    )


def _verdict(question_id: str, reading_k: int, answer: Answer) -> VerdictRecord:
    return VerdictRecord(
        question_id=question_id,
        reading_k=reading_k,
        outcome=Outcome.OK,
        verdict=Verdict(
            score=1 if answer.score else 0,
            label=1 if answer.score else 0,
            unknown=False,
            parsed_answer="something",
            evaluator=answer.evaluator,
            reason="",
            judge_prompt_sha256="p" if answer.evaluator.startswith("llm_") else None,
        ),
    )
