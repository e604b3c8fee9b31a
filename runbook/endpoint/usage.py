"""Token counts of a model call, as its provider gave them."""

from pydantic import BaseModel, ConfigDict


class Usage(BaseModel):
    """Tokens of one or more calls. None means that the provider did not say, never zero."""

    model_config = ConfigDict(frozen=True)

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    cached_tokens: int | None = None
    """Part of prompt_tokens."""
    reasoning_tokens: int | None = None
    """Part of completion_tokens."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(**{name: _sum(getattr(self, name), getattr(other, name)) for name in Usage.model_fields})


def _sum(one: int | None, other: int | None) -> int | None:
    """One unknown part leaves the sum unknown, rather than too low."""
    return None if one is None or other is None else one + other
