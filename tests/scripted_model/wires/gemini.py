"""Gemini generateContent and streamGenerateContent. Calls have no ids: results follow in the calls' order."""

import json
import re
from collections.abc import Iterator

from tests.scripted_model.conversation import (
    CACHE_READ,
    CACHE_WRITE,
    FRESH,
    OUTPUT,
    REASONING,
    Conversation,
    Event,
    Json,
    Numbered,
    Tool,
    Turn,
    event,
    parsed,
    text_of,
)

_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}


def read(body: Json, path: str) -> Conversation:
    model = re.search(r"/models/([^/:]+):", path)
    said = Conversation(
        model=model.group(1) if model else "",
        stream=":streamGenerateContent" in path,
        system=text_of((body.get("systemInstruction") or {}).get("parts")),
        tools=[
            Tool(
                str(declared.get("name")),
                declared.get("parametersJsonSchema") or declared.get("parameters") or {},
            )
            for tool in body.get("tools") or []
            for declared in tool.get("functionDeclarations") or []
        ],
    )
    for content in body.get("contents") or []:
        for part in content.get("parts") or []:
            _read_part(part, str(content.get("role", "user")), said)
    return said


def _read_part(part: Json, role: str, said: Conversation) -> None:
    if "functionCall" in part:
        call = part["functionCall"]
        said.turns.append(Turn(str(call.get("name")), str(call.get("name")), call.get("args")))
    elif "functionResponse" in part:
        back = part["functionResponse"]
        said.result(str(back.get("name")), json.dumps(back.get("response")))
    elif "inlineData" in part:
        said.images += 1
    elif role == "user":
        said.prompt += str(part.get("text", "")) + "\n"


def whole(one: Numbered) -> Json:
    return _part_answer(one, [] if one.answer.without_choices else _parts(one), last=True)


def events(one: Numbered, wants_usage: bool) -> Iterator[Event]:
    for part in [] if one.answer.without_choices else _parts(one):
        yield event(_part_answer(one, [part], last=False))
    yield event(_part_answer(one, [{"text": ""}], last=True))


def _part_answer(one: Numbered, parts: list[Json], *, last: bool) -> Json:
    candidate: Json = {"index": 0, "content": {"role": "model", "parts": parts}}
    answer: Json = {"modelVersion": one.answer.model, "responseId": f"r{one.number}"}
    if last:
        candidate["finishReason"] = "STOP"
        answer["usageMetadata"] = usage(one)
    answer["candidates"] = None if one.answer.without_choices else [candidate]
    return answer


def _parts(one: Numbered) -> list[Json]:
    answer = one.answer
    parts: list[Json] = [{"text": answer.reasoning, "thought": True}] if answer.reasoning else []
    for call in answer.calls:
        arguments = parsed(call.arguments)
        if arguments is None:
            arguments = {"broken": call.arguments}
        called = {"name": call.name, "args": arguments}
        parts.append({"functionCall": called, "thoughtSignature": "c2NyaXB0"})
    if not answer.calls:
        parts.append({"text": answer.text})
    return parts


def usage(one: Numbered) -> Json:
    given = FRESH + CACHE_WRITE + CACHE_READ + one.step
    return {
        "promptTokenCount": given,
        "cachedContentTokenCount": CACHE_READ,
        "candidatesTokenCount": OUTPUT - REASONING,
        "thoughtsTokenCount": REASONING,
        "totalTokenCount": given + OUTPUT,
    }


def error(status: int, message: str, kind: str) -> Json:
    named = "INVALID_ARGUMENT" if kind == "context" else _STATUSES.get(status, "INTERNAL")
    return {"error": {"code": status, "message": message, "status": named}}
