"""The Agent Trajectory Interchange Format, version 1.7, as far as it is written here.

The rules are those of its published specification (Harbor, RFC 0001); unknown fields are refused.
"""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

VERSION: Literal["ATIF-v1.7"] = "ATIF-v1.7"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class AtifAgent(_Part):
    name: str = Field(min_length=1)
    version: str = Field(min_length=1)
    model_name: str | None = None
    extra: dict[str, Any] | None = None


class AtifToolCall(_Part):
    tool_call_id: str = Field(min_length=1)
    function_name: str = Field(min_length=1)
    arguments: dict[str, Any]
    extra: dict[str, Any] | None = None


class AtifResult(_Part):
    source_call_id: str | None = None
    content: str | None = None
    extra: dict[str, Any] | None = None


class AtifObservation(_Part):
    results: list[AtifResult]


class AtifMetrics(_Part):
    """`prompt_tokens` hold the cached ones, `completion_tokens` those of reasoning and tool calls."""

    prompt_tokens: int | None = Field(default=None, ge=0)
    completion_tokens: int | None = Field(default=None, ge=0)
    cached_tokens: int | None = Field(default=None, ge=0)
    cost_usd: float | None = Field(default=None, ge=0)
    extra: dict[str, Any] | None = None


class AtifStep(_Part):
    """A system message, a user message or one turn of the agent, results included."""

    step_id: int = Field(ge=1)
    timestamp: str | None = None
    source: Literal["system", "user", "agent"]
    message: str
    model_name: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[AtifToolCall] | None = None
    observation: AtifObservation | None = None
    metrics: AtifMetrics | None = None
    llm_call_count: int | None = Field(default=None, ge=0)
    """0 for a turn that no model took."""
    extra: dict[str, Any] | None = None

    @field_validator("timestamp")
    @classmethod
    def _is_time(cls, value: str | None) -> str | None:
        if value is not None:
            datetime.fromisoformat(value)
        return value

    @model_validator(mode="after")
    def _fields_fit_the_source(self) -> "AtifStep":
        ours = (self.model_name, self.reasoning_content, self.tool_calls, self.metrics, self.llm_call_count)
        if self.source != "agent" and any(value is not None for value in ours):
            raise ValueError("only a step of the agent has a model, reasoning, tool calls or metrics")
        if self.llm_call_count == 0 and (self.metrics or self.reasoning_content):
            raise ValueError("a step without a model call has neither metrics nor reasoning")
        return self

    @model_validator(mode="after")
    def _results_are_of_calls_of_this_step(self) -> "AtifStep":
        asked = {call.tool_call_id for call in self.tool_calls or ()}
        for result in self.observation.results if self.observation else ():
            if result.source_call_id is not None and result.source_call_id not in asked:
                raise ValueError(f"{result.source_call_id} is no tool call of this step")
        return self


class AtifFinalMetrics(_Part):
    total_prompt_tokens: int | None = Field(default=None, ge=0)
    total_completion_tokens: int | None = Field(default=None, ge=0)
    total_cached_tokens: int | None = Field(default=None, ge=0)
    total_cost_usd: float | None = Field(default=None, ge=0)
    total_steps: int | None = Field(default=None, ge=0)
    extra: dict[str, Any] | None = None


class AtifTrajectory(_Part):
    """Steps are numbered from 1, without gaps."""

    schema_version: Literal["ATIF-v1.7"] = VERSION
    session_id: str = Field(min_length=1)
    agent: AtifAgent
    steps: list[AtifStep] = Field(min_length=1)
    notes: str | None = None
    final_metrics: AtifFinalMetrics | None = None
    extra: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _steps_are_in_order(self) -> "AtifTrajectory":
        if [step.step_id for step in self.steps] != list(range(1, len(self.steps) + 1)):
            raise ValueError("steps are not numbered 1, 2, 3 and so on")
        return self
