"""What a run tells the gateway: providers, keys, budgets; and what an attempt orders."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from runbook.addresses import HttpAddress
from runbook.gateway.records import Wire

_KEY_HEADERS = frozenset(
    {"authorization", "proxy-authorization", "cookie", "api-key", "x-api-key", "x-goog-api-key"}
)


class GatewayError(Exception):
    """The gateway cannot do what was asked; the message says what to mend."""


def _no_key(headers: Mapping[str, str]) -> Mapping[str, str]:
    keys = sorted(name for name in headers if name.lower() in _KEY_HEADERS)
    if keys:
        raise ValueError(f"{keys[0]} holds a key, and settings are recorded: name it by key_env or key_file")
    return headers


class ProviderSettings(BaseModel):
    """One endpoint that models are reached at."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    base_url: HttpAddress
    """As an SDK of this provider takes it: with `/v1` for OpenAI wires (a bare host means the same), without
    for Anthropic and Gemini."""
    wires: tuple[Wire, ...]
    key_env: str = ""
    """Name of the environment variable that holds the key."""
    key_file: Path | None = None
    """A file that holds the key; wins over `key_env`. Neither: the endpoint wants no key."""
    headers: Annotated[Mapping[str, str], AfterValidator(_no_key)] = {}
    """Sent with every request, for example an organisation; not for keys, because settings are recorded."""
    concurrency: int = Field(default=16, ge=1, le=10_000)
    """Requests open at one time with this key."""


class Budget(BaseModel):
    """Limits; None means no limit."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    calls: int | None = Field(default=None, ge=0, le=10**9)
    tokens: int | None = Field(default=None, ge=0, le=10**15)
    """Input (cached or not) and output of all calls whose usage is known."""
    money_usd: float | None = Field(default=None, ge=0, le=1e9)
    seconds: float | None = Field(default=None, ge=0, le=1e9)
    """Wall time since the line, or the gateway, was opened."""


def builtin_providers() -> dict[str, ProviderSettings]:
    """The providers of `providers.toml`; keys come from the usual environment variables."""
    table = tomllib.loads(files(__package__).joinpath("providers.toml").read_text(encoding="utf-8"))
    return {name: ProviderSettings.model_validate(entry) for name, entry in table.items()}


DEFAULT_ATTEMPT_BUDGET = Budget(calls=400, tokens=20_000_000, money_usd=10.0)
"""What an attempt may spend unless a run says otherwise. Where a price is unknown the tokens bound it."""


class GatewaySettings(BaseModel):
    """Everything that holds for a whole run."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    providers: Mapping[str, ProviderSettings] = Field(default_factory=builtin_providers)
    attempt_budget: Budget = DEFAULT_ATTEMPT_BUDGET
    run_budget: Budget = Budget()
    allowed_models: tuple[str, ...] = ()
    """Models that any line may ask for beside its own."""
    mismatch: Literal["fail", "flag", "allow"] = "fail"
    """What to do when the provider says that another model answered."""
    hosted_tools: Literal["refuse", "allow"] = "refuse"
    """Whether an agent may have the provider search, run code, call remote tools or fetch addresses."""
    retry_seconds: float = Field(default=120, ge=0, le=1e6)
    """Wall time for retries since a line's last success; 0 means one try."""
    connect_seconds: float = Field(default=15, gt=0, le=1e6)
    silence_seconds: float = Field(default=600, gt=0, le=1e6)
    """A provider that sends nothing for so long has failed."""
    record: Path | None = None
    """Cassette to append all exchanges to; a reader's and a judge's calls do not pass the gateway."""
    replay: Path | None = None
    """Cassette to answer from; no provider is asked and no key is needed."""
    prices: Path | None = None
    """A price table to use in place of the built-in one."""
    sockets: Path | None = None
    """Where the lines' directories are made; a short path. Default: the temporary folder."""

    @property
    def budgets(self) -> Mapping[str, Budget]:
        """By their key in a run's settings."""
        return {"gateway.attempt_budget": self.attempt_budget, "gateway.run_budget": self.run_budget}


@dataclass(frozen=True, slots=True)
class LineOrder:
    """What one attempt wants to be connected to."""

    folder: Path
    """Attempt folder: receives `model_calls.jsonl` and `model_bodies.jsonl`, appended to where they exist."""
    wire: Wire
    model: str
    labels: Mapping[str, str] = field(default_factory=dict)
    """Name the attempt in the gateway's log; never sent anywhere."""
    provider: str = ""
    """Name in the settings; "" means the first one that speaks the wire."""
    models: tuple[str, ...] = ()
    """Further models that this attempt may ask for."""
    budget: Budget | None = None
    """In place of the run's budget per attempt."""
    volatile: tuple[str, ...] = ()
    """Strings that differ between two runs of the same attempt, such as the workspace's path: a recording
    holds placeholders in their place."""
    directory: Path | None = None
    """Re-create the socket in this directory, as after a restart of the gateway."""
    prefix: str = ""
    """Route prefix to use again, with `directory`."""
