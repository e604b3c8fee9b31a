"""Turning a finished exchange into its record: what was said, what it used, and whose failure it was."""

from dataclasses import dataclass
from typing import Any, Literal

import orjson

from runbook.gateway.estimating import untold_usage
from runbook.gateway.exchange import Exchange
from runbook.gateway.keys import KeyMask
from runbook.gateway.models import same_model
from runbook.gateway.prices import Prices
from runbook.gateway.records import ModelCall, Wire
from runbook.gateway.wires import anthropic, gemini, openai_chat, openai_responses
from runbook.gateway.wires.reading import Reading, as_dict, error_text
from runbook.outcomes import Outcome

_WIRES = {
    Wire.OPENAI_RESPONSES: openai_responses,
    Wire.OPENAI_CHAT: openai_chat,
    Wire.ANTHROPIC_MESSAGES: anthropic,
    Wire.GEMINI: gemini,
}
_LONGEST_DETAIL = 300
_SILENCE_THAT_IS_A_FAILURE = 10.0
_TOO_LONG = (
    "context_length_exceeded",
    "context length",
    "context window",
    "prompt is too long",
    "maximum number of tokens",
)


@dataclass(frozen=True, slots=True)
class Rules:
    """What a description needs to know of the run."""

    prices: Prices
    mismatch: Literal["fail", "flag", "allow"]


def describe(exchange: Exchange, provider: str, rules: Rules, mask: KeyMask) -> ModelCall:
    """The record of an exchange; digests are added by whoever stores the bodies.

    `mask` is for what only decoding brought to light: the bytes of the answer went through one already.
    """
    call = _outline(exchange, provider)
    body = b"".join(exchange.chunks)
    if call.wire is not None:
        _read(call, exchange, body, rules)
    if call.outcome is None and (exchange.asked or exchange.gone):
        call.outcome, call.detail = _judge_status(call, exchange, body)
    call.detail = _one_line(call.detail)
    call.abandoned = bool(exchange.gone) and (call.cut or call.status is None)
    if exchange.asked:
        call.estimated_usage = untold_usage(call, exchange.request)
        price = rules.prices.of(call.actual_model) or rules.prices.of(call.requested_model)
        call.estimated_cost_usd = price.cost(call.estimated_usage) if price and call.estimated_usage else None
    said = call.model_dump_json().encode()
    masked = mask.whole(said)
    return call if masked == said else ModelCall.model_validate_json(masked)


def describe_unread(exchange: Exchange, provider: str, error: Exception) -> ModelCall:
    """The record of an exchange that `describe` failed on."""
    call = _outline(exchange, provider)
    call.outcome = call.outcome or Outcome.PROVIDER_ERROR
    call.detail = f"the answer could not be read ({type(error).__name__})"
    return call


def _outline(exchange: Exchange, provider: str) -> ModelCall:
    """What is known of an exchange without reading what was said."""
    return ModelCall(
        number=exchange.number,
        wire=exchange.route.wire if exchange.route and exchange.generates and exchange.asked else None,
        provider=provider,
        method=exchange.method,
        path=exchange.path_and_query,
        requested_at=exchange.requested_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        first_byte_seconds=exchange.stamps[0] if exchange.stamps else None,
        last_byte_seconds=exchange.stamps[-1] if exchange.stamps else None,
        status=exchange.status,
        outcome=exchange.outcome,
        detail=exchange.detail,
        requested_model=exchange.requested_model,
        retries=exchange.retries,
        rate_limit_seconds=exchange.rate_limit_seconds,
        replayed=exchange.replayed,
    )


def _read(call: ModelCall, exchange: Exchange, body: bytes, rules: Rules) -> None:
    """Fill in what a generation said."""
    assert call.wire is not None
    module = _WIRES[call.wire]
    request = as_dict(exchange.request)
    call.tool_results = module.tool_results(request)
    if call.status is None or call.status >= 400:
        return
    reading = module.read_response(body, exchange.answer_header(b"content-type"), request)
    call.actual_model = reading.model
    call.usage = reading.usage
    call.text, call.reasoning, call.tool_calls = reading.text, reading.reasoning, reading.tool_calls
    price = rules.prices.of(reading.model) or rules.prices.of(call.requested_model)
    call.cost_usd = price.cost(reading.usage) if price and reading.usage else None
    call.cut = exchange.broken or not reading.ended
    if call.outcome is None:
        _judge_reading(call, exchange, reading, rules)


def is_whole(exchange: Exchange) -> bool:
    """True where the answer reached the protocol's own end, whatever became of the connection."""
    if exchange.complete:
        return True
    if exchange.route is None or exchange.route.wire is None or not exchange.generates:
        return False
    content_type = exchange.answer_header(b"content-type")
    module = _WIRES[exchange.route.wire]
    body = b"".join(exchange.chunks)
    reading: Reading = module.read_response(body, content_type, as_dict(exchange.request))
    return reading.ended


def _judge_reading(call: ModelCall, exchange: Exchange, reading: Reading, rules: Rules) -> None:
    if reading.error:
        call.outcome, call.detail = _judge_words(reading.error), reading.error
    elif call.cut and not exchange.gone:
        call.outcome = Outcome.PROVIDER_ERROR
        call.detail = exchange.detail or "the answer ended before the protocol's own end"
    elif call.requested_model and reading.model and not same_model(call.requested_model, reading.model):
        said = f"{reading.model} answered in place of {call.requested_model}"
        if rules.mismatch == "fail":
            call.outcome = Outcome.MODEL_MISMATCH
        if rules.mismatch != "allow":
            call.detail = said


def _judge_status(call: ModelCall, exchange: Exchange, body: bytes) -> tuple[Outcome | None, str]:
    status = call.status
    if exchange.gone:
        return _judge_wait(call, exchange)
    if status is None or status < 400:
        return None, call.detail
    words = _error_words(body) or f"status {status}"
    detail = f"the provider answered {status}: {words}"
    if status in {401, 403} or "insufficient_quota" in words:
        return Outcome.AUTH_ERROR, detail
    if status == 429:
        return Outcome.RATE_LIMITED, detail
    if status in {400, 413}:
        return _judge_words(words), detail
    return Outcome.PROVIDER_ERROR, detail


def _judge_wait(call: ModelCall, exchange: Exchange) -> tuple[Outcome | None, str]:
    """Whose failure it is that the agent left: nobody's, unless it had waited for long and in vain."""
    waited = exchange.ended_at or 0.0
    if call.wire is not None and exchange.stamps and not call.cut:
        return None, ""  # many clients leave at the protocol's own end
    if exchange.stamps or call.wire is None or waited < _SILENCE_THAT_IS_A_FAILURE:
        return None, exchange.gone
    limited = exchange.rate_limit_seconds > waited / 2
    outcome = Outcome.RATE_LIMITED if limited else Outcome.PROVIDER_ERROR
    return outcome, f"no answer within {waited:.0f} s; {exchange.gone}"


def _judge_words(words: str) -> Outcome:
    """Whose failure an error text describes. A conversation that outgrew its model is the agent's own."""
    lower = words.lower()
    if any(mark in lower for mark in _TOO_LONG):
        return Outcome.INVALID_OUTPUT
    if "rate_limit" in lower or "resource_exhausted" in lower:
        return Outcome.RATE_LIMITED
    if "authentication" in lower or "api key not valid" in lower:
        return Outcome.AUTH_ERROR
    return Outcome.PROVIDER_ERROR


def _error_words(body: bytes) -> str:
    try:
        value: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return body[:_LONGEST_DETAIL].decode("utf-8", "replace").strip()
    if isinstance(value, list) and value:
        value = value[0]
    fields = as_dict(value)
    error = fields.get("error", fields)
    kinds = as_dict(error)
    code = kinds.get("code")
    words = error_text(error)
    return f"{words} ({code})" if isinstance(code, str) and code not in words else words


def _one_line(text: str) -> str:
    plain = "".join(character if character.isprintable() else " " for character in text)
    return plain if len(plain) <= _LONGEST_DETAIL else plain[: _LONGEST_DETAIL - 1] + "…"
