"""Putting the parts together: helpers, sandbox back end, venue, agent, memory."""

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path

import helpers
from evals.runs.config import RunConfig
from instructions import InstructionOptions
from runbook.agents import AdapterAgent, Agent, CommandAgent, ExternalAgent, UnknownAgentError, make_agent
from runbook.attempt import Arm, AttemptSettings
from runbook.candidates import CandidateFinder
from runbook.cli.helper_copies import HelperCopies
from runbook.cli.home import home, tool_chains, workspace_registry
from runbook.controller import AgentMemory
from runbook.gateway.gateway import Gateway
from runbook.gateway.settings import GatewaySettings, ProviderSettings
from runbook.history import refuse_missing_git
from runbook.venue import ExternalVenue, SandboxVenue, Venue
from runbook.workspace_place import WorkspacePlace, sweep
from sandbox.docker_engine import DockerSandbox, connect
from sandbox.doctor import can_bind_mount
from sandbox.image import ensure_image
from sandbox.protocol import Capability, Limits, Mount, Sandbox, SandboxError, SandboxSpec
from sandbox.reaper import Owner, reap
from sandbox.selection import choose

BAKED_HELPERS = "/opt/helpers"
HELPER_NAMES = ("launch", "memory", "scout")


@dataclass(frozen=True, slots=True)
class ArmSettings:
    """What the command line says about who works where."""

    agent: str
    agent_command: str | None
    sandbox: str
    base_image: str | None
    allow_no_isolation: bool
    attempts: int
    timeout: float
    budget: int
    agent_version: str = ""
    model: str = ""
    effort: str = ""
    model_url: str | None = None
    model_key: str | None = None
    gateway: GatewaySettings = field(default_factory=GatewaySettings)
    grace: float = 10.0
    idle: float = 300.0
    workflow: bool = True
    manifests: bool = True
    summaries: bool = False
    helper: bool = True
    candidates: bool = True


def arm_settings(config: RunConfig) -> ArmSettings:
    """Who works where in a run."""
    return ArmSettings(**{one.name: getattr(config, one.name) for one in fields(ArmSettings)})


def _unnoted(_reason: str) -> None:
    """What a caller without a record does with a reason."""


@contextmanager
def assemble_memory(
    settings: ArmSettings, say: Callable[[str], None], passed_over: Callable[[str], None] = _unnoted
) -> Iterator[AgentMemory]:
    """The memory of a run; its sandboxes are gone when the context ends.

    `passed_over` is told of each sandbox that does not work here and would have been better, with the reason.

    Raises:
        UnknownAgentError: the agent's settings do not fit.
        SandboxError: no back end works, or the chosen one does not.
        HistoryError: there is no git.
    """
    agent = chosen_agent(settings)
    refuse_missing_git()
    with ExitStack() as stack:
        sweep(workspace_registry())
        place = stack.enter_context(WorkspacePlace.open(workspace_registry()))
        agent, venue = _agent_at_venue(agent, settings, place.path, say, passed_over, stack)
        attempt = AttemptSettings(
            limits=Limits(wall_seconds=settings.timeout),
            instruction=InstructionOptions(
                workflow=settings.workflow,
                manifests=settings.manifests,
                summaries=settings.summaries,
                helper=settings.helper,
                images=not isinstance(agent, AdapterAgent) or agent.sees_images,
                budget=settings.budget,
                seconds=int(settings.timeout),
            ),
            helper_usage=helper_usage(),
            workspaces=place.path,
            grace_seconds=settings.grace,
            idle_seconds=settings.idle,
            budget=settings.budget,
        )
        finder = CandidateFinder(sys.executable, helper_copies().placed(sys.executable, place.path))
        # Candidates name commands of the helper, so they go with it.
        wanted = settings.candidates and settings.helper
        gateway = stack.enter_context(Gateway(gateway_settings(agent, settings))) if agent.wire else None
        arm = Arm(agent, venue, attempt, finder if wanted else None, gateway)
        yield AgentMemory(arm, attempts=settings.attempts)


def chosen_agent(settings: ArmSettings) -> Agent:
    """The agent that the settings name. Raises UnknownAgentError where they do not fit."""
    return make_agent(
        settings.agent,
        settings.agent_command,
        model=settings.model,
        effort=settings.effort,
        version=settings.agent_version,
        tool_chains=tool_chains(),
    )


def may_write_haystacks(settings: ArmSettings) -> bool:
    """Whether an agent could write to the files of a view, because nothing mounts it read-only."""
    agent = chosen_agent(settings)
    if isinstance(agent, ExternalAgent):
        return True
    return not agent.trusted and settings.allow_no_isolation and settings.sandbox in ("auto", "process")


def gateway_settings(agent: Agent, settings: ArmSettings) -> GatewaySettings:
    """The gateway's settings, with the endpoint that the command line names before all others."""
    if settings.model_url is None or agent.wire is None:
        return settings.gateway
    named = ProviderSettings(
        base_url=settings.model_url, wires=(agent.wire,), key_env=settings.model_key or ""
    )
    return settings.gateway.model_copy(update={"providers": {"named": named, **settings.gateway.providers}})


def _agent_at_venue(
    agent: Agent,
    settings: ArmSettings,
    place: Path,
    say: Callable[[str], None],
    passed_over: Callable[[str], None],
    stack: ExitStack,
) -> tuple[Agent, Venue]:
    """The venue that suits the agent, and the agent as it fits the venue."""
    if isinstance(agent, ExternalAgent):
        return agent, ExternalVenue(
            sys.executable,
            helper_copies().placed(sys.executable, place),
            lambda workspace, labels: say(
                f"question {labels.get('question', '')}: {workspace} waits for memory_module_output.json"
            ),
        )
    sandbox = open_sandbox(
        settings.sandbox,
        settings.base_image,
        allow_no_isolation=settings.allow_no_isolation or agent.trusted,
        say=say,
        passed_over=passed_over,
        stack=stack,
    )
    if isinstance(agent, CommandAgent):
        _refuse_missing_program(agent.words[0], sandbox)
    if isinstance(agent, AdapterAgent):
        _refuse_open_sandbox(agent, sandbox)
        agent = agent.fitted(sandbox)
    if isinstance(sandbox, DockerSandbox):
        return agent, SandboxVenue(sandbox, BAKED_HELPERS)
    return agent, SandboxVenue(sandbox, Mount(helper_copies().placed(sandbox.python, place), BAKED_HELPERS))


def _refuse_open_sandbox(agent: AdapterAgent, sandbox: Sandbox) -> None:
    """Raise UnknownAgentError where the agent could see this host's configuration, keys and network."""
    if not sandbox.capabilities >= {Capability.FILESYSTEM, Capability.NO_NETWORK}:
        raise UnknownAgentError(
            f"agent {agent.name} needs a sandbox that isolates, and {sandbox.name} does not: "
            "choose --sandbox docker or bubblewrap"
        )


def _refuse_missing_program(program: str, sandbox: Sandbox) -> None:
    """Raise UnknownAgentError where a sandbox lacks the agent's program, before any question is asked.

    A program named by a placeholder, or relative to the workspace, can only be looked for in an attempt.
    """
    if "{" in program or program.startswith("."):
        return
    with tempfile.TemporaryDirectory(prefix="") as workspace:
        running = sandbox.start(SandboxSpec(workspace=Path(workspace), limits=Limits(wall_seconds=60)))
        try:
            look = f"import shutil, sys; sys.exit(0 if shutil.which({program!r}) else 3)"
            found = running.exec([sandbox.python, "-I", "-S", "-c", look]).result().exit_code == 0
        finally:
            running.collect()
    if not found:
        raise UnknownAgentError(
            f"--agent-command: there is no program {program!r} in the {sandbox.name} sandbox; where "
            "it isolates, it holds none of yours: build it into a --base-image, or choose --sandbox process"
        )


def open_sandbox(
    name: str,
    base_image: str | None,
    *,
    allow_no_isolation: bool,
    say: Callable[[str], None],
    stack: ExitStack,
    passed_over: Callable[[str], None] = _unnoted,
) -> Sandbox:
    """The back end of that name, or the best one; what it holds is released when `stack` ends."""

    def docker() -> DockerSandbox:
        engine = connect()
        stack.callback(engine.close)
        reap(engine)
        image = ensure_image(engine, helper_folders(), base_image, say)
        if not can_bind_mount(engine, image):
            raise SandboxError(
                "the docker engine does not share this machine's file system",
                mend="use a local engine or --sandbox bubblewrap",
            )
        owner = stack.enter_context(Owner.open())
        return stack.enter_context(DockerSandbox(engine, image, owner))

    chosen = choose(name, docker, allow_no_isolation=allow_no_isolation)
    for remark in chosen.remarks:
        say(remark)
    for reason in chosen.passed_over:
        passed_over(reason)
    return chosen.sandbox


def helpers_folder() -> Path:
    """The folder of what goes into the sandbox."""
    return Path(helpers.__file__).parent


def helper_folders() -> dict[str, Path]:
    """The helper programs by name."""
    return {name: helpers_folder() / name for name in HELPER_NAMES}


def helper_usage() -> str:
    """How to use the `memory` command, for the prompt."""
    return (helpers_folder() / "memory" / "usage.txt").read_text(encoding="utf-8")


def helper_copies() -> HelperCopies:
    """The compiled copies of the helpers that this user's processes share."""
    return HelperCopies(home() / "helpers", helper_folders())
