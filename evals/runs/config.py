"""What a run was asked to do: the content of `run.json`, enough to resume it or do it again."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from evals.endpoint_config import EndpointConfig
from runbook.gateway.settings import GatewaySettings


class RunConfig(BaseModel):
    """Resolved settings of a run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: Path
    tier: str = "small"
    store: Path
    agent: str = "scout"
    agent_command: str | None = None
    agent_version: str = ""
    """Of an installed tool chain; "" is the adapter's own choice."""
    model: str = ""
    """What an agent with a model asks its provider for."""
    effort: str = ""
    """Reasoning effort in the agent's own words; "" is left to the agent."""
    model_url: str | None = None
    """Where the model answers, in place of the gateway's provider for the agent's protocol."""
    model_key: str | None = None
    """Name of the environment variable with the key for `model_url`; None: it wants no key."""
    gateway: GatewaySettings = Field(default_factory=GatewaySettings)
    sandbox: str = "auto"
    base_image: str | None = None
    allow_no_isolation: bool = False
    reader: EndpointConfig | None = None
    judge: EndpointConfig | None = None
    limit: int | None = Field(default=None, ge=1)
    sample: int | None = Field(default=None, ge=1)
    """So many questions, each type with its share."""
    gates: tuple[int, ...] = (3, 10)
    """After so many questions the run stops where infrastructure failed."""
    question_ids: tuple[str, ...] | None = None
    """Only these questions, from --questions; None means all."""
    concurrency: int = Field(default=2, ge=1, le=64)
    attempts: int = Field(default=3, ge=1)
    timeout: float = Field(default=1800.0, gt=0)
    """Deadline of one attempt in seconds."""
    grace: float = Field(default=10.0, ge=0)
    idle: float = Field(default=300.0, gt=0)
    """Seconds without output and model traffic after which an agent with a model counts as stalled."""
    budget: int = Field(default=20, ge=1)
    """Distinct states the evidence may hold."""
    workflow: bool = True
    manifests: bool = True
    summaries: bool = False
    helper: bool = True
    candidates: bool = True
    seed: int = 0
    """Shuffles the order of questions and draws the random baseline."""


class RunRecord(BaseModel):
    """`run.json`: the settings, and the digest or version of everything else that affects a result."""

    model_config = ConfigDict(extra="forbid")

    format: int = 1
    created_at: str
    config: RunConfig
    smoke: bool
    """True where not all questions of the tier are run: no benchmark result."""
    questions: tuple[str, ...]
    """Ids in the order in which they are started."""
    question_types: dict[str, str]
    tier_questions: int
    data_digests: dict[str, str]
    haystack_digests: dict[str, str] = {}
    """Of the content of each question's trajectories, so that a resume never mixes two versions of them."""
    prompt_digests: dict[str, str]
    versions: dict[str, str]
    git_revision: str | None
