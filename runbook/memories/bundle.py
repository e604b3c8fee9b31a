"""The controller's part: a model turns a question into queries for the pools."""

from pydantic import BaseModel, ConfigDict, Field

from instructions.retrieval import QUERIES_SHAPE, query_messages
from runbook.memories.answering import QueryLog
from runbook.memories.json_replies import JsonAsker
from runbook.memories.model_text import LINE_CHARACTERS, Line


class Bundle(BaseModel):
    """The queries of one question."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    raw_queries: list[Line] = Field(min_length=1)
    event_query: Line
    note_query: Line


def bundle_for(
    asker: JsonAsker, question: str, summary: str, *, most: int, seed: int | None, log: QueryLog
) -> Bundle:
    """The controller's queries; the question itself for all pools where no reply of it can be used.

    Raises EndpointError.
    """
    messages = query_messages(question, summary, most=most)
    reply = asker.ask(Bundle, QUERIES_SHAPE, messages, log.ledger, seed=seed)
    found = reply.value
    if found is None:
        plain = " ".join(question.split())[:LINE_CHARACTERS]
        found = Bundle(raw_queries=[plain], event_query=plain, note_query=plain)
    bundle = found.model_copy(update={"raw_queries": list(dict.fromkeys(found.raw_queries))[:most]})
    log.extra["bundle"] = bundle.model_dump()
    log.extra["bundle_repaired"] = reply.repaired
    log.extra["bundle_fallback"] = reply.value is None
    if reply.complaint:
        log.extra["bundle_complaint"] = reply.complaint
    return bundle
