"""What models are told that prepare a search: queries of a question, events and notes of a recording."""

from collections.abc import Sequence
from dataclasses import dataclass

from instructions.templating import marker_for, render

QUERIES_SHAPE = '{"raw_queries": [string, ...], "event_query": string, "note_query": string}'
EVENTS_SHAPE = '{"events": [{"step": number, "text": string}, ...]}'
NOTES_SHAPE = '{"procedure": string, "hint": string}'


@dataclass(frozen=True, slots=True)
class Step:
    """What happened between a state and the next one."""

    number: int
    """Of the state it led to."""
    text: str


def query_messages(question: str, summary: str, *, most: int) -> list[dict[str, str]]:
    """Chat messages that ask for a JSON object of QUERIES_SHAPE with at most `most` raw queries."""
    marker = marker_for(question, summary)
    return _user(
        render("retrieval_queries.md.j2", question=question, summary=summary, most=most, marker=marker)
    )


def event_messages(goal: str, steps: Sequence[Step]) -> list[dict[str, str]]:
    """Chat messages that ask for a JSON object of EVENTS_SHAPE."""
    marker = marker_for(goal, *(step.text for step in steps))
    return _user(render("write_events.md.j2", goal=goal, steps=steps, marker=marker))


def note_messages(recording: str) -> list[dict[str, str]]:
    """Chat messages that ask for a JSON object of NOTES_SHAPE about a recording, given as text."""
    return _user(render("write_notes.md.j2", recording=recording, marker=marker_for(recording)))


def repair_messages(shape: str, reply: str, complaint: str) -> list[dict[str, str]]:
    """Chat messages that ask for the JSON object that a reply should have been."""
    marker = marker_for(reply)
    return _user(render("repair_json.md.j2", shape=shape, reply=reply, complaint=complaint, marker=marker))


def _user(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]
