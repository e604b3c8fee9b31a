"""Which paths pass, what they are, and where they lead at the provider."""

import re
from dataclasses import dataclass
from enum import Enum
from urllib.parse import quote, unquote, urlsplit

from runbook.gateway.records import Wire


class Kind(Enum):
    """What a request asks for."""

    GENERATE = "generate"
    COUNT = "count"
    MODELS = "models"
    PROBE = "probe"


@dataclass(frozen=True, slots=True)
class Route:
    """A listed path. `model` is set where the path names it (Gemini), else the body does."""

    kind: Kind
    wire: Wire | None
    model: str | None = None


_OPENAI = r"(?:/v1)?"
_NAME = r"[A-Za-z0-9][\w.@:-]*(?:/[A-Za-z0-9][\w.@:-]*)*"
_POSTS: dict[Wire, list[tuple[re.Pattern[str], Kind]]] = {
    Wire.OPENAI_RESPONSES: [(re.compile(_OPENAI + "/responses"), Kind.GENERATE)],
    Wire.OPENAI_CHAT: [(re.compile(_OPENAI + "/chat/completions"), Kind.GENERATE)],
    Wire.ANTHROPIC_MESSAGES: [
        (re.compile("/v1/messages"), Kind.GENERATE),
        (re.compile("/v1/messages/count_tokens"), Kind.COUNT),
    ],
    Wire.GEMINI: [
        (
            re.compile(r"/v1(?:beta|alpha)?/models/(?P<model>[^:]+):(?:streamG|g)enerateContent"),
            Kind.GENERATE,
        ),
        (re.compile(r"/v1(?:beta|alpha)?/models/(?P<model>[^:]+):countTokens"), Kind.COUNT),
    ],
}
_MODELS = re.compile(rf"(?:/v1(?:beta|alpha)?)?/models(?:/{_NAME})?/?")
_PROBE = re.compile(r"(?:/v1(?:beta|alpha)?)?/?")
_VERSION = re.compile(r"/v1(?:beta|alpha)?(?=/)")


def find_route(wires: tuple[Wire, ...], method: str, path: str) -> Route | None:
    """What `method path` is for an agent that speaks `wires`; None where it may not pass.

    `path` is below the route prefix, without the query, still percent-encoded.
    """
    plain = unquote(path)
    if method == "HEAD" and _PROBE.fullmatch(plain):
        return Route(Kind.PROBE, None)
    if method == "GET" and _MODELS.fullmatch(plain):
        return Route(Kind.MODELS, None)
    if method == "POST":
        for wire in wires:
            for pattern, kind in _POSTS[wire]:
                if found := pattern.fullmatch(plain):
                    return Route(kind, wire, found.groupdict().get("model"))
    return None


def plain_path(path: str) -> str:
    """A path with escapes only where they are needed, so that what was checked is what is sent."""
    return quote(unquote(path), safe="/:@!$&'()*+,;=-._~")


def upstream_url(base_url: str, wires: tuple[Wire, ...], path: str, query: str) -> str:
    """Where `path` lies at a provider.

    An OpenAI base URL names its version itself (not always `/v1`), so the agent's `/v1` is put in only where
    the base is a bare host; other base URLs get the agent's version unless they end in one.
    """
    base = base_url.rstrip("/")
    version = _VERSION.match(path)
    if version:
        openai = any(wire in {Wire.OPENAI_CHAT, Wire.OPENAI_RESPONSES} for wire in wires)
        names_version = urlsplit(base).path not in {"", "/"} if openai else bool(re.search(r"/v1\w*$", base))
        if names_version:
            path = path[version.end() :]
    return f"{base}{path}" + (f"?{query}" if query else "")
