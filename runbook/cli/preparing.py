"""What a run needs before anything is spent: its data root, its questions, and settings that fit."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from rich.console import Console

from evals.dataset import DataRoot, load_data_root
from evals.export.rules import DOMAINS
from evals.question import EvalQuestion
from evals.runs.choosing import Choice, ChoiceError, choose
from evals.runs.config import RunConfig
from manifests.errors import UnknownTrajectoryError
from manifests.importing import import_lme_v2
from manifests.index_parts import keeps_parts
from manifests.store import Store
from runbook.cli.assembly import arm_settings, chosen_agent, gateway_settings
from runbook.cli.endpoints import refuse_unreachable
from runbook.cli.evaluators import refuse_unofficial
from runbook.cli.failures import Mistake
from runbook.cli.importing import print_warnings
from runbook.cli.index_preparing import MANY, missing_parts, prepare_parts
from runbook.cli.memory_checks import memory_checks, refuse_unpriced_budgets
from runbook.cli.progress import counting
from runbook.cli.tables import counted
from runbook.endpoint.config import EndpointConfig
from runbook.gateway.keys import read_key
from runbook.gateway.settings import GatewayError
from sandbox.selection import NAMES as SANDBOXES


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything that can be wrong before anything runs has been checked."""

    config: RunConfig
    data: DataRoot
    questions: list[EvalQuestion]
    """In the order in which they are started."""

    @property
    def smoke(self) -> bool:
        return len(self.questions) < len(self.data.questions)


def prepare(config: RunConfig) -> Prepared:
    """Check the settings, read the data root and choose the questions; spends nothing and writes nothing."""
    for check in checks(config):
        check()
    return choose_questions(config)


def checks(config: RunConfig) -> list[Callable[[], object]]:
    """What has to hold whatever the questions are; each raises Mistake or UnknownAgentError."""
    roles = (("reader", config.reader), ("judge", config.judge))
    return [
        partial(refuse_unpriced_budgets, config),
        partial(_refuse_unready_agent, config),
        partial(_refuse_lone_judge, config),
        *(partial(refuse_unreachable, role, one) for role, one in roles if one is not None),
        partial(_refuse_unknown_sandbox, config),
        *memory_checks(config),
        partial(refuse_unofficial, config),
    ]


def _refuse_unready_agent(config: RunConfig) -> None:
    """Raise Mistake or UnknownAgentError where the agent, or the model it would ask, cannot be had."""
    settings = arm_settings(config)
    agent = chosen_agent(settings)
    if agent.wire is None or config.gateway.replay is not None:
        return
    providers = gateway_settings(agent, settings).providers
    name = next((name for name, one in providers.items() if agent.wire in one.wires), None)
    if name is None:
        raise Mistake(f"no provider speaks {agent.wire}: name one with --model-url")
    try:
        read_key(name, providers[name])
    except GatewayError as error:
        raise Mistake(f"agent {agent.name}: {error}") from None
    if settings.model_url is not None:
        refuse_unreachable("model-url", EndpointConfig(model=agent.model, base_url=settings.model_url))


def _refuse_lone_judge(config: RunConfig) -> None:
    if config.judge is not None and config.reader is None:
        raise Mistake("--judge judges a reader's answers: give --reader and --reader-model, or leave it out")


def _refuse_unknown_sandbox(config: RunConfig) -> None:
    if config.sandbox not in SANDBOXES:
        raise Mistake(f"--sandbox: there is no {config.sandbox!r}; there are {', '.join(SANDBOXES)}")


def choose_questions(config: RunConfig) -> Prepared:
    """Read the data root and choose the questions, whoever answers them."""
    data = load_data_root(config.data, config.tier)
    choice = Choice(config.question_ids, config.limit, config.sample, config.seed)
    try:
        chosen = choose(data.questions, choice)
    except ChoiceError as error:
        raise Mistake(f"--questions: {error} in {config.data}/questions.jsonl") from None
    if config.profile == "official" and (others := {one.domain for one in chosen} - set(DOMAINS)):
        raise Mistake(
            f"--profile official has prompts for {' and '.join(DOMAINS)} only: "
            f"{config.data} has questions of domain {', '.join(sorted(others))}"
        )
    return Prepared(config, data, chosen)


def haystack_digests(prepared: Prepared, slugs: Mapping[str, str]) -> dict[str, str]:
    """A digest of each question's trajectories; a slug holds the digest of its content."""
    digests = {}
    for question in prepared.questions:
        named = sorted(slugs[one] for one in prepared.data.haystacks[question.id])
        digests[question.id] = hashlib.sha256("\n".join(named).encode()).hexdigest()
    return digests


def refuse_impossible_gold(prepared: Prepared, states: Mapping[str, int]) -> None:
    """Raise Mistake where gold names states that the haystack has not, before any question is asked."""
    file = prepared.config.data / "gold.json"
    for question in prepared.questions:
        gold = (prepared.data.gold or {}).get(question.id)
        haystack = frozenset(prepared.data.haystacks[question.id])
        for span in (span for piece in (gold.pieces if gold else ()) for span in piece):
            if span.trajectory_id not in haystack:
                raise Mistake(
                    f"{file}: question {question.id}: trajectory {span.trajectory_id!r} is not in "
                    "its haystack; mend the gold, or remove the file to run without it"
                )
            if span.end_state_index >= states[span.trajectory_id]:
                raise Mistake(
                    f"{file}: question {question.id}: trajectory {span.trajectory_id!r} has "
                    f"{counted(states[span.trajectory_id], 'state')}, "
                    f"none with index {span.end_state_index}; mend the gold"
                )


def prepare_search(store: Store, slugs: Mapping[str, str], console: Console) -> None:
    """Make the search terms of a run's trajectories, once for each store, and say so where it takes long."""
    missing = missing_parts(store, slugs.values()) if keeps_parts(store.root) else []
    if len(missing) < MANY:
        return
    console.print(f"making the search terms of {len(missing)} trajectories, once for this store")
    with counting(console, "making search terms") as progress:
        prepare_parts(store, missing, progress)


def import_trajectories(prepared: Prepared, store: Store, console: Console) -> dict[str, str]:
    """Import what the chosen questions' haystacks name; returns the slug of each trajectory id."""
    wanted = {one for question in prepared.questions for one in prepared.data.haystacks[question.id]}
    with counting(console, "importing trajectories") as progress:
        try:
            report = import_lme_v2(prepared.config.data, store, only=wanted, progress=progress)
        except UnknownTrajectoryError as error:
            raise prepared.data.unknown_trajectory(error.trajectory_id) from error
    print_warnings(console, report)
    return dict(report.slugs)
