"""`--dry-run` of `runbook eval run` and `eval matrix`: what would run, what it may take, what is missing."""

from collections.abc import Mapping

from rich.console import Console
from typer import Exit

from evals.runs.config import RunConfig
from evals.runs.estimates import Estimate, Kind, estimate, haystacks_of
from evals.runs.idle_switches import told_idle
from evals.sampling import JUDGE_SAMPLING, READER_SAMPLING
from manifests.store import Store
from runbook.agents import Agent, UnknownAgentError
from runbook.cli.assembly import arm_settings, chosen_agent
from runbook.cli.failures import FAILURE, Mistake, naming
from runbook.cli.home import retrieval_cache
from runbook.cli.memory_checks import asks_agent, models_asked, refuse_unpriced_budgets
from runbook.cli.preparing import Prepared, checks, choose_questions
from runbook.cli.tables import counted
from runbook.cli.terminal import inert
from runbook.gateway.prices import Prices
from runbook.gateway.settings import GatewayError
from runbook.memories.needs import CASCADE, members
from runbook.memories.registry import AGENTS, is_of_package


def plan(config: RunConfig, console: Console) -> None:
    """Print the plan; nothing is run, written or paid for. Exits with a failure if something is missing.

    Raises:
        Mistake: there is nothing to plan: the data root or the choice of questions is wrong, or a budget
            cannot be kept.
    """
    _end(_planned(config, console), console)


def plan_arms(arms: Mapping[str, RunConfig], console: Console) -> None:
    """Print the plan of each arm like `plan`; the Mistake names the arm."""
    missing = []
    for name, config in arms.items():
        console.print(f"arm {name}", markup=False, highlight=False, style="bold", soft_wrap=True)
        with naming(f"arm {name}"):
            missing += _planned(config, console)
    _end(missing, console)


def _end(missing: list[str], console: Console) -> None:
    console.print("Nothing was run.")
    if missing:
        raise Exit(FAILURE)


def _planned(config: RunConfig, console: Console) -> list[str]:
    """Print the plan of one run; what is missing for it."""
    refuse_unpriced_budgets(config)
    prepared = choose_questions(config)
    missing = _missing(config)
    agent = _agent(config)
    _describe(prepared, agent.name if agent is not None else config.agent, console)
    entries = Store.open(config.store).entries() if (config.store / "FORMAT").is_file() else []
    found = estimate(
        config,
        prepared.questions,
        agent=_kind(config, agent),
        prices=_prices(config),
        haystacks=haystacks_of(prepared.data, prepared.questions, entries, retrieval_cache()),
    )
    _estimate(found, console)
    if idle := told_idle(config):
        console.print(inert(idle), markup=False, highlight=False, soft_wrap=True)
    _untold(config, console)
    for line in dict.fromkeys(missing):
        console.print(inert(f"missing: {line}"), markup=False, highlight=False, soft_wrap=True)
    return missing


def _describe(prepared: Prepared, agent: str, console: Console) -> None:
    config, data = prepared.config, prepared.data
    haystacks = {data.haystacks[question.id] for question in prepared.questions}
    console.print(
        f"{len(prepared.questions)} of {counted(len(data.questions), 'question')}, "
        f"{counted(len(haystacks), 'distinct haystack')}, tier {config.tier}, "
        f"{_who(config, agent)}, {config.concurrency} at a time, profile {config.profile}.",
        highlight=False,
        soft_wrap=True,
    )


def _who(config: RunConfig, agent: str) -> str:
    """The memory; an agent's sandbox and limits with it."""
    limits = (
        f"agent {inert(agent)}{', bare' if config.memory == 'vanilla' else ''}, sandbox {config.sandbox}, "
        f"at most {counted(config.attempts, 'attempt')} of {config.timeout:.0f} s each"
    )
    if config.memory in AGENTS:
        return limits
    memory = f"memory {inert(config.memory)}"
    if config.memory == CASCADE:
        memory += f" ({', then '.join(map(inert, members(config.memory, config.retrieval)))})"
    return f"{memory}, {limits}" if asks_agent(config) else memory


def _kind(config: RunConfig, agent: Agent | None) -> Kind:
    if not asks_agent(config):
        return "none"
    asks_model = agent.wire is not None if agent is not None else bool(config.model)
    return "model" if asks_model else "model-free"


def _untold(config: RunConfig, console: Console) -> None:
    """Say of whom nothing is known."""
    for name in members(config.memory, config.retrieval):
        if is_of_package(name):
            console.print(
                inert(f"memory {name} is a package's: what it asks of models, if any, is not in this guess."),
                markup=False,
                highlight=False,
                soft_wrap=True,
            )


def _estimate(found: Estimate, console: Console) -> None:
    lines = [
        f"{stage.stage}: about {counted(stage.calls, 'call')}, {_thousands(stage.input_tokens)} tokens in, "
        f"{_thousands(stage.output_tokens)} out, {_money(stage.cost_usd)}"
        for stage in found.stages
    ]
    lines.append(f"In all about {found.hours:.1f} hours and {_known_money(found)}: a rough guess.")
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _thousands(tokens: int) -> str:
    return f"{tokens / 1000:,.0f} k"


def _known_money(found: Estimate) -> str:
    known = sum(stage.cost_usd or 0.0 for stage in found.stages)
    unknown = [stage.stage for stage in found.stages if stage.cost_usd is None]
    beside = f" beside {' and '.join(unknown)}, whose price is unknown" if unknown else ""
    return f"{known:,.2f} USD{beside}"


def _money(usd: float | None) -> str:
    return "price unknown" if usd is None else f"{usd:,.2f} USD"


def _prices(config: RunConfig) -> Prices:
    try:
        return Prices.read(config.gateway.prices)
    except GatewayError as error:
        raise Mistake(str(error)) from None


def _agent(config: RunConfig) -> Agent | None:
    """The agent, where it can be had; `_missing` says why not."""
    try:
        return chosen_agent(arm_settings(config))
    except UnknownAgentError:
        return None


def _missing(config: RunConfig) -> list[str]:
    found = []
    for check in checks(config):
        try:
            check()
        except (Mistake, UnknownAgentError) as error:
            found.append(str(error))
    for role, endpoint, usual in (
        ("reader", config.reader, READER_SAMPLING),
        ("judge", config.judge, JUDGE_SAMPLING),
    ):
        if endpoint is not None and endpoint.base_url is None and endpoint.sampled(usual).key() is None:
            found.append(f"no key for the {role}'s provider: set {endpoint.api_key_variable}")
    for role, model in models_asked(config):
        if model.base_url is None and model.key() is None:
            found.append(f"no key for the {role} model's provider: set {model.api_key_variable}")
    return found
