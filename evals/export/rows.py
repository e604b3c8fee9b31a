"""One question in the public form: a line of per_question.jsonl, and what the aggregates take from it."""

from typing import Any

from evals.aggregate import ScoredQuestion
from evals.question import EvalQuestion
from evals.runs.results import QuestionResult
from evals.scoring.eval_function import ABSTENTION_CHECKER, parse_eval_function
from runbook.context import ContextItem, TextItem
from runbook.endpoint.usage import Usage

POST_QUERY_SECONDS = 0.0
"""A memory of ours does nothing once its query is answered."""


def scored_question(question: EvalQuestion, result: QuestionResult) -> ScoredQuestion:
    """What the aggregates need; a question without a score is left out of them."""
    reading = result.reading.reading if result.reading else None
    return ScoredQuestion(
        question_type=question.question_type,
        evaluator=parse_eval_function(question.eval_function).name,
        score=result.score,
        unknown=reading.unknown if reading else False,
        usage=reading.usage if reading else None,
        original_tokens=reading.cut.original_tokens if reading else None,
        final_tokens=reading.cut.final_tokens if reading else None,
        truncated=reading.cut.truncated if reading else False,
        query_seconds=result.query.result.seconds if result.query else None,
        post_query_seconds=POST_QUERY_SECONDS if result.query else None,
    )


def as_counted_publicly(scored: ScoredQuestion) -> ScoredQuestion:
    """With the harness's own way of counting tokens: what nobody told is 0, and a total is a sum."""
    told = scored.usage or Usage()
    prompt, completion = told.prompt_tokens or 0, told.completion_tokens or 0
    usage = Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion)
    return scored.model_copy(update={"usage": usage})


def public_row(
    question: EvalQuestion, result: QuestionResult, haystack: tuple[str, ...], index: int, stream_index: int
) -> dict[str, Any]:
    """A line of per_question.jsonl, under the public names; images are named by digest, not by path.

    Args:
        index: of the question among those of its file.
        stream_index: of the question in the order in which they were run.
    """
    reading = result.reading.reading if result.reading else None
    scored = scored_question(question, result)
    usage = (scored.usage or Usage()).model_dump(
        include={"prompt_tokens", "completion_tokens", "total_tokens"}
    )
    items = result.query.result.context.items if result.query else ()
    return {
        "index": index,
        "stream_index": stream_index,
        "question_id": question.id,
        "question_type": question.question_type,
        "category": scored.category,
        "is_abstention_problem": scored.evaluator == ABSTENTION_CHECKER,
        "eval_function": question.eval_function,
        "question_text": question.question,
        "question_image": question.image.name if question.image else None,
        "haystack_ids": list(haystack),
        "memory_context": [_item(item) for item in items[: reading.cut.final_items if reading else None]],
        "memory_query_duration_seconds": scored.query_seconds,
        "memory_post_query_duration_seconds": scored.post_query_seconds,
        "memory_post_query_metadata": None,
        "memory_context_original_token_count": scored.original_tokens,
        "memory_context_token_count": scored.final_tokens,
        "memory_context_was_truncated": scored.truncated,
        "answer_gold": question.answer,
        "response_raw": reading.response if reading else None,
        "response_parsed_boxed": reading.parsed_answer if reading else None,
        "is_unknown": scored.unknown,
        "score": None if result.score is None else float(result.score),
        "score_bool": None if result.score is None else bool(result.score),
        "usage": usage,
        "timestamp_utc": result.verdict.written_at if result.verdict else None,
    }


def runtime_question(question: EvalQuestion) -> dict[str, Any]:
    """A question as the public harness takes it; its image, by file name, stands beside its text."""
    text: Any = question.question
    if question.image is not None:
        text = {"text": question.question, "image": question.image.name}
    row = question.model_dump(mode="json", exclude={"question", "image"})
    return {**row, "question": text}


def _item(item: ContextItem) -> dict[str, str]:
    if isinstance(item, TextItem):
        return {"type": "text", "value": item.text}
    return {"type": "image", "value": f"sha256:{item.sha256}"}
