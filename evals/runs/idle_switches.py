"""Ablations that change nothing, because nobody reads what they take away or give."""

from evals.runs.config import AIDS, RunConfig
from runbook.memories.needs import members
from runbook.memories.registry import AGENTS

READS_NO_AID = "scout"
"""The agent that ranks by itself: prompt, manifests, helper and candidates are made for others."""
_OF_RETRIEVAL = {"agentrunbook-r": frozenset({"manifests"})}
"""Aids that memories without an agent read: the controller sees the manifest."""


def idle_aids(config: RunConfig) -> frozenset[str]:
    """The switches that change nothing in a run with these settings, whatever they are set to."""
    names = members(config.memory, config.retrieval)
    if any(name in AGENTS for name in names) and config.agent != READS_NO_AID:
        return frozenset()
    return frozenset(AIDS).difference(*(_OF_RETRIEVAL.get(name, frozenset()) for name in names))


def effective(config: RunConfig) -> RunConfig:
    """The same run, with all that changes nothing as it usually is."""
    usual = {name: RunConfig.model_fields[name].default for name in idle_aids(config)}
    if usual.keys() == set(AIDS) and config.memory == "vanilla":
        usual["memory"] = "agent"
    return config.model_copy(update=usual)


def told_idle(config: RunConfig) -> str:
    """A sentence about switches that were thrown for nothing; "" where there are none."""
    plain = effective(config)
    thrown = [_option(name, config) for name in AIDS if getattr(config, name) != getattr(plain, name)]
    if plain.memory != config.memory:
        thrown = [f"--memory {config.memory}"]
    if not thrown:
        return ""
    asks_agent = any(name in AGENTS for name in members(config.memory, config.retrieval))
    who = f"Agent {config.agent}" if asks_agent else f"Memory {config.memory}"
    changes = "changes" if len(thrown) == 1 else "change"
    return (
        f"{who} reads neither prompt nor candidates, so {', '.join(thrown)} {changes} nothing: this is no "
        "ablation."
    )


def _option(name: str, config: RunConfig) -> str:
    return f"--{name}" if getattr(config, name) else f"--no-{name}"
