"""What has to hold of a run's memory and of the models that it asks, before anything is spent."""

from collections.abc import Callable, Iterator
from functools import partial

from evals.runs.config import RunConfig
from runbook.cli.endpoints import refuse_unreachable
from runbook.cli.failures import Mistake
from runbook.endpoint.config import EmbeddingConfig, EndpointConfig
from runbook.gateway.prices import Prices, refuse_unpriced
from runbook.gateway.settings import GatewayError
from runbook.memories.errors import MemorySettingsError
from runbook.memories.needs import CASCADE, Role, members, model_of, roles
from runbook.memories.registry import AGENTS, memory_factory


def memory_checks(config: RunConfig) -> list[Callable[[], None]]:
    """Each raises Mistake."""
    names = members(config.memory, config.retrieval)
    asked = ((name, role) for name in names for role in roles(name, config.retrieval))
    return [
        *(partial(_refuse_unknown, config, name) for name in names),
        *(partial(_refuse_unready, config, name, role) for name, role in asked),
    ]


def asks_agent(config: RunConfig) -> bool:
    """Whether an agent is the memory, or one that a cascade is made of."""
    return any(name in AGENTS for name in members(config.memory, config.retrieval))


def _refuse_unknown(config: RunConfig, name: str) -> None:
    key = "--memory" if name == config.memory else "retrieval.cascade"
    if config.memory == CASCADE == name:
        raise Mistake("retrieval.cascade: a cascade is made of other memories than itself")
    if config.memory == CASCADE and name == "vanilla":
        raise Mistake(
            "retrieval.cascade: vanilla is bare only by itself: name agent, and take its aids away by "
            "--no-workflow and so on"
        )
    if name in AGENTS:
        return
    try:
        memory_factory(name)
    except MemorySettingsError as error:
        raise Mistake(f"{key}: {error}") from None


def _refuse_unready(config: RunConfig, name: str, role: Role) -> None:
    """Raise Mistake where a model is not set, or nothing listens at its address."""
    try:
        model = model_of(role, name, config.retrieval)
    except MemorySettingsError as error:
        raise Mistake(str(error)) from None
    if config.gateway.replay is None:
        refuse_unreachable(f"retrieval.{role}", model)


def refuse_unpriced_budgets(config: RunConfig) -> None:
    """Raise Mistake where a budget in money could not be kept."""
    try:
        refuse_unpriced(config.gateway.budgets, Prices.read(config.gateway.prices), _models(config))
    except GatewayError as error:
        raise Mistake(str(error)) from None


def models_asked(config: RunConfig) -> Iterator[tuple[Role, EmbeddingConfig | EndpointConfig]]:
    """The models of retrieval that the memory asks; what is not set is complained of elsewhere."""
    for name in members(config.memory, config.retrieval):
        for role in roles(name, config.retrieval):
            try:
                yield role, model_of(role, name, config.retrieval)
            except MemorySettingsError:
                continue


def _models(config: RunConfig) -> Iterator[str]:
    """All that the memory may ask."""
    yield from (model.model for _, model in models_asked(config))
    if asks_agent(config) and config.model:
        yield from (config.model, *config.gateway.allowed_models)
