"""Answers of our own, in the shape that each provider gives its errors."""

from dataclasses import dataclass

import orjson

from runbook.gateway.records import Wire

_ANTHROPIC_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
}
_GEMINI_STATUSES = {
    400: "FAILED_PRECONDITION",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that the gateway gives itself. `code` is a fixed word that a program can test for."""

    status: int
    code: str
    message: str

    def body(self, wire: Wire) -> bytes:
        """JSON in the provider's own error shape."""
        if wire is Wire.ANTHROPIC_MESSAGES:
            kind = _ANTHROPIC_TYPES.get(self.status) or (
                "api_error" if self.status >= 500 else "invalid_request_error"
            )
            return orjson.dumps({"type": "error", "error": {"type": kind, "message": self._text()}})
        if wire is Wire.GEMINI:
            status = _GEMINI_STATUSES.get(self.status) or (
                "INTERNAL" if self.status >= 500 else "INVALID_ARGUMENT"
            )
            return orjson.dumps({"error": {"code": self.status, "message": self._text(), "status": status}})
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        return orjson.dumps(
            {"error": {"message": self._text(), "type": kind, "param": None, "code": self.code}}
        )

    def headers(self) -> list[tuple[bytes, bytes]]:
        """The SDKs of OpenAI and Anthropic obey x-should-retry; repeating what was refused is useless."""
        return [(b"content-type", b"application/json"), (b"x-should-retry", b"false")]

    def _text(self) -> str:
        return f"{self.message} [gateway: {self.code}]"
