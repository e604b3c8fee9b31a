"""What a run was asked to do: the content of `run.json`, enough to resume it or do it again."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from runbook.addresses import HttpAddress
from runbook.endpoint.config import EndpointConfig
from runbook.gateway.settings import GatewaySettings
from runbook.memories.settings import RetrievalSettings

AIDS = ("workflow", "manifests", "summaries", "helper", "candidates")
"""Switches for what an agent is given beside the haystack."""


class RepeatCounts(BaseModel):
    """How often each stage is done: every context is read, and every response judged, so many times."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    agent: int = Field(default=1, ge=1, le=100)
    reader: int = Field(default=1, ge=1, le=100)
    judge: int = Field(default=1, ge=1, le=100)

    @property
    def several(self) -> bool:
        return max(self.agent, self.reader, self.judge) > 1


class TunedOn(BaseModel):
    """The questions on which a study chose these settings: on them a result is too good."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    digest: str
    """SHA-256 of their sorted ids, one a line."""
    questions: int = Field(ge=1, le=10**9)
    settings: int = Field(ge=1, le=10**9)
    """How many settings were tried."""


class RunConfig(BaseModel):
    """Resolved settings of a run."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    data: Path
    tier: str = "small"
    store: Path
    memory: str = "agent"
    """Who answers: `agent`, its bare form `vanilla`, or one of `runbook.memories`."""
    retrieval: RetrievalSettings = Field(default_factory=RetrievalSettings)
    """Models and sizes of the memories that search without an agent."""
    agent: str = "scout"
    agent_command: str | None = None
    agent_version: str = ""
    """Of an installed tool chain; "" is the adapter's own choice."""
    model: str = ""
    """What an agent with a model asks its provider for."""
    effort: str = ""
    """Reasoning effort in the agent's own words; "" is left to the agent."""
    model_url: HttpAddress | None = None
    """Where the model answers, in place of the gateway's provider for the agent's protocol."""
    model_key: str | None = None
    """Name of the environment variable with the key for `model_url`; None: it wants no key."""
    gateway: GatewaySettings = Field(default_factory=GatewaySettings)
    sandbox: str = "auto"
    base_image: str | None = None
    allow_no_isolation: bool = False
    reader: EndpointConfig | None = None
    judge: EndpointConfig | None = None
    repeats: RepeatCounts = RepeatCounts()
    votes: int = Field(default=1, ge=1, le=99)
    """The judge is asked so often for one verdict; the majority counts."""
    profile: Literal["fixed", "official"] = "fixed"
    """Whose prompts, and what happens at the edges; `official` is the public harness's way."""
    upstream: Path | None = None
    """A checkout of the public harness, for its prompts; kept for the official profile only."""
    token_counter: Literal["estimate", "endpoint", "file"] = "estimate"
    """Who counts the reader's tokens: nobody, its own server, or `tokenizer`."""
    tokenizer: Path | None = None
    """The reader's tokenizer.json, as the `tokenizers` package reads it."""
    preprocessor: Path | None = None
    """The reader's preprocessor_config.json, which tells how many tokens an image takes."""
    limit: int | None = Field(default=None, ge=1, le=10**9)
    sample: int | None = Field(default=None, ge=1, le=10**9)
    """So many questions, each type with its share."""
    gates: tuple[Annotated[int, Field(ge=0, le=10**9)], ...] = (3, 10)
    """After so many questions the run stops where infrastructure failed."""
    question_ids: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Only these questions, from --questions; None means all."""
    concurrency: int = Field(default=2, ge=1, le=64)
    views_gb: float = Field(default=2.0, gt=0, le=1e6)
    """Disk, in GB, that haystack views and indexes may take while the run goes on; those used longest ago
    are removed, and made again from the store when they are needed."""
    attempts: int = Field(default=3, ge=1, le=1000)
    timeout: float = Field(default=1800.0, gt=0, le=1e6)
    """Deadline of one attempt in seconds."""
    grace: float = Field(default=10.0, ge=0, le=1e6)
    idle: float = Field(default=300.0, gt=0, le=1e6)
    """Seconds without output and model traffic after which an agent with a model counts as stalled."""
    budget: int = Field(default=20, ge=1, le=10_000)
    """Distinct states the evidence may hold."""
    workflow: bool = True
    manifests: bool = True
    summaries: bool = False
    helper: bool = True
    candidates: bool = True
    tuned_on: TunedOn | None = None
    seed: int = Field(default=0, ge=0, le=2**63 - 1)
    """Shuffles the order of questions, draws the random baseline, and is what all other seeds derive from."""

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, values: Any) -> Any:
        """The vanilla agent gets the haystack and the task, and nothing that would tell it how to work."""
        if isinstance(values, dict) and values.get("memory") == "vanilla":
            return values | dict.fromkeys(AIDS, False)
        return values

    @model_validator(mode="before")
    @classmethod
    def _counts_by_file(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("tokenizer") and "token_counter" not in values:
            return {**values, "token_counter": "file"}
        return values

    @field_validator("repeats", mode="before")
    @classmethod
    def _counts(cls, repeats: Any) -> Any:
        """Also as text: agent=2,reader=3."""
        if not isinstance(repeats, str):
            return repeats
        pairs = [part.partition("=") for part in repeats.split(",") if part.strip()]
        return {name.strip(): count.strip() for name, _, count in pairs}

    @field_validator("upstream")
    @classmethod
    def _of_official_only(cls, upstream: Path | None, info: ValidationInfo) -> Path | None:
        return upstream if info.data.get("profile") == "official" else None

    @field_validator("votes")
    @classmethod
    def _odd(cls, votes: int) -> int:
        if votes % 2 == 0:
            raise ValueError("a majority needs an odd number of votes")
        return votes


class RunRecord(BaseModel):
    """`run.json`: the settings, and the digest or version of everything else that affects a result.

    A later reader or judge is a revision of the run: the same record with other settings, in `run.<k>.json`.
    """

    model_config = ConfigDict(extra="forbid")

    format: int = 1
    created_at: str
    config: RunConfig
    revision: int = Field(default=0, ge=0)
    """0 is `run.json`; the highest is current."""
    readings_since: int = 0
    """The revision from which on readings are this one's."""
    verdicts_since: int = 0
    """The same for a judge's verdicts; a matcher's are anybody's."""
    votes_since: int = 0
    """The same for single votes that were kept: a judge that is named again is asked again."""
    smoke: bool
    """True where not all questions of the tier are run: no benchmark result."""
    questions: tuple[str, ...] = Field(min_length=1)
    """Ids in the order in which they are started."""
    question_types: dict[str, str]
    tier_questions: int = Field(ge=1)
    data_digests: dict[str, str]
    haystack_digests: dict[str, str] = {}
    """Of the content of each question's trajectories, so that a resume never mixes two versions of them."""
    prompt_digests: dict[str, str]
    versions: dict[str, str]
    git_revision: str | None
    passed_over: tuple[str, ...] = ()
    """The sandboxes that `auto` would have preferred when the run began, and why each does not work here."""

    @field_validator("questions")
    @classmethod
    def _once(cls, questions: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(questions)) < len(questions):
            raise ValueError("a question stands there twice")
        return questions
