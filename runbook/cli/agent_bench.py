"""Agents in a sandbox, ready for the cases of the conformance kit."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from instructions import InstructionOptions
from runbook.agents import AdapterAgent, Catalogue, make_agent
from runbook.agents.conformance.kit import Bench, Terms
from runbook.attempt import Arm, AttemptSettings
from runbook.cli.assembly import BAKED_HELPERS, helper_copies, helper_usage, open_sandbox
from runbook.cli.failures import Mistake
from runbook.cli.home import tool_chains, workspace_registry
from runbook.gateway import Budget, Gateway, GatewaySettings, ProviderSettings, Wire
from runbook.venue import SandboxVenue
from runbook.workspace_place import WorkspacePlace, sweep
from sandbox.docker_engine import DockerSandbox, connect
from sandbox.protocol import Capability, Limits, Mount, Sandbox
from sandbox.reaper import LABEL

MODELS = {Wire.GEMINI: "gemini-2.5-pro"}
"""Names that agents of a wire know; all others take any."""
MODEL = "scripted-model"
_OPENAI = (Wire.OPENAI_CHAT, Wire.OPENAI_RESPONSES)


@contextmanager
def open_benches(
    names: Sequence[str], sandbox: str, base_image: str | None, say: Callable[[str], None]
) -> Iterator[list[Bench]]:
    """A bench for each agent, all in one sandbox back end, which is released when the context ends.

    Raises:
        UnknownAgentError: no agent of that name, or it is not installed.
        SandboxError: no back end works, or not the chosen one.
        Mistake: the back end does not isolate.
    """
    with ExitStack() as stack:
        sweep(workspace_registry())
        place = stack.enter_context(WorkspacePlace.open(workspace_registry())).path
        chosen = open_sandbox(sandbox, base_image, allow_no_isolation=False, say=say, stack=stack)
        if not chosen.capabilities >= {Capability.FILESYSTEM, Capability.NO_NETWORK}:
            raise Mistake(f"the {chosen.name} sandbox does not isolate: choose docker or bubblewrap")
        if isinstance(chosen, DockerSandbox):
            venue = SandboxVenue(chosen, BAKED_HELPERS)
        else:
            copies = helper_copies().placed(chosen.python, place)
            venue = SandboxVenue(chosen, Mount(copies, BAKED_HELPERS))
        with ThreadPoolExecutor(2) as pool:  # each agent is tried out first, which can take seconds
            agents = list(pool.map(lambda name: _agent(name, chosen), names))
        yield [AgentBench(agent, venue, place, chosen) for agent in agents]


def _agent(name: str, sandbox: Sandbox) -> AdapterAgent:
    wire = Catalogue().find(name).adapter.wire
    agent = make_agent(name, None, model=MODELS.get(wire, MODEL), tool_chains=tool_chains())
    if not isinstance(agent, AdapterAgent):
        raise Mistake(f"{name} asks no model, so there is nothing to test with a scripted one")
    return agent.fitted(sandbox)


@dataclass(frozen=True, slots=True)
class AgentBench:
    """One agent at one venue; makes a gateway for each case, because each case has its own provider."""

    installed: AdapterAgent
    venue: SandboxVenue
    workspaces: Path
    sandbox: Sandbox

    @property
    def agent(self) -> str:
        return self.installed.name

    @property
    def prompt_in_argument(self) -> bool:
        return self.installed.found.adapter.uses("prompt")

    @contextmanager
    def arm(self, terms: Terms) -> Iterator[Arm]:
        """The agent with a gateway to the scripted model."""
        wire = self.installed.found.adapter.wire
        base_url = f"{terms.base_url}/v1" if wire in _OPENAI else terms.base_url
        settings = GatewaySettings(
            providers={"scripted": ProviderSettings(base_url=base_url, wires=(wire,))},
            attempt_budget=Budget(calls=terms.calls),
            retry_seconds=terms.retry_seconds,
        )
        attempt = AttemptSettings(
            limits=Limits(wall_seconds=terms.wall_seconds),
            instruction=InstructionOptions(seconds=int(terms.wall_seconds)),
            helper_usage=helper_usage(),
            workspaces=self.workspaces,
            grace_seconds=terms.grace_seconds,
            idle_seconds=terms.idle_seconds,
        )
        with Gateway(settings) as gateway:
            yield Arm(self.installed, self.venue, attempt, None, gateway)

    def containers(self, question: str) -> list[str]:
        """Containers of that question; none where the back end has none."""
        if not isinstance(self.sandbox, DockerSandbox):
            return []
        engine = connect()
        try:
            # The list of the high-level API asks for each container again, which may be gone by then.
            found = engine.api.containers(all=True, filters={"label": f"{LABEL}.question={question}"})
            return [f"container {container['Id'][:12]}" for container in found]
        finally:
            engine.close()
