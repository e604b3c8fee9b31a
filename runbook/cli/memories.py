"""The memory that a run's settings name, with everything it is made from."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial

from rich.console import Console

from evals.dataset import DataRoot
from evals.runs.config import RunConfig
from evals.tokens import EstimatedTokens
from runbook.agents import UnknownAgentError
from runbook.cli.assembly import arm_settings, assemble_memory
from runbook.cli.endpoints import refuse_unreachable
from runbook.cli.failures import Mistake
from runbook.cli.haystacks import TOKENISER
from runbook.cli.home import retrieval_cache
from runbook.cli.terminal import inert
from runbook.controller import RATE_LIMIT_PATIENCE
from runbook.embedding.embedder import Embedder
from runbook.endpoint.chat import Endpoint
from runbook.endpoint.config import Address
from runbook.endpoint.embeddings import EmbeddingEndpoint
from runbook.endpoint.errors import EndpointError
from runbook.endpoint.ledger import Account
from runbook.evidence import Span
from runbook.gateway.settings import GatewayError
from runbook.history import HistoryError
from runbook.memories.errors import MemoryFaultError, MemorySettingsError
from runbook.memories.needs import Role, chat_model, embedding_model, members
from runbook.memories.of_packages import PackageMemory
from runbook.memories.package_faults import fault_line
from runbook.memories.parts import MemoryFactory, MemoryParts
from runbook.memories.registry import AGENTS, is_of_package, memory_factory, origin
from runbook.memories.settings import CONTROLLER_SAMPLING
from runbook.memory import Memory, QueryTask
from sandbox.protocol import SandboxError

_OURS = (
    *(Mistake, MemorySettingsError, GatewayError, EndpointError),
    *(UnknownAgentError, SandboxError, HistoryError),
)
"""What goes wrong with the parts of a memory, and is said as with any memory."""


@contextmanager
def open_memory(
    config: RunConfig,
    data: DataRoot,
    cancel: threading.Event,
    console: Console,
    passed_over: Callable[[str], None],
) -> Iterator[Memory]:
    """The memory of a run; what it holds is released when the context ends.

    `passed_over` is told of sandboxes that do not work here, as by `assemble_memory`.

    Raises:
        Mistake: the settings name no memory, or lack what it needs.
        EndpointError: there is no key for one of its models.
        UnknownAgentError, SandboxError, HistoryError: where the memory is, or asks, an agent.
    """
    with ExitStack() as stack:
        try:
            account = Account(config.gateway)
            opener = _Opener(config, data, cancel, console, passed_over, stack, account)
            memory = opener.memory(config.memory)
        except (MemorySettingsError, GatewayError) as error:
            raise Mistake(str(error)) from None
        yield memory


@dataclass(frozen=True, slots=True)
class _Opener:
    """Opens parts as they are asked for; all are closed with `stack`."""

    config: RunConfig
    data: DataRoot
    cancel: threading.Event
    console: Console
    passed_over: Callable[[str], None]
    stack: ExitStack
    account: Account

    def memory(self, name: str) -> Memory:
        if name in AGENTS:
            settings = arm_settings(self.config)
            return self.stack.enter_context(assemble_memory(settings, self.console.print, self.passed_over))
        make = memory_factory(name)
        if not is_of_package(name):
            return make(self._parts(name))
        return self._of_package(name, make)

    def _of_package(self, name: str, make: MemoryFactory) -> PackageMemory:
        asked: list[str] = []

        def other(one: str) -> Memory:
            asked.append(one)
            return self.memory(one)

        try:
            made = make(replace(self._parts(name), other=other))
            fits = all(callable(getattr(made, method, None)) for method in ("insert", "query"))
        except (*_OURS, KeyboardInterrupt):  # the latter is the user's: this is the main thread
            raise
        except BaseException as error:
            raise MemoryFaultError(f"{origin(name)} could not be made: {fault_line(error)}") from error
        if not fits:
            raise MemoryFaultError(f"{origin(name)} made what has no methods insert and query")
        return PackageMemory(name, origin(name), made, self.config.budget, self._limit(asked), self.cancel)

    def _limit(self, asked: Sequence[str]) -> float:
        """Seconds that a query of a package's memory may take, which asks those others.

        An agent has a deadline for each of its attempts, and waits in between where its provider wants it to.
        """
        config = self.config
        if not any(one in AGENTS for name in asked for one in members(name, config.retrieval)):
            return config.timeout
        return config.timeout + config.attempts * (config.timeout + config.grace) + RATE_LIMIT_PATIENCE

    def _parts(self, name: str) -> MemoryParts:
        return MemoryParts(
            settings=self.config.retrieval,
            seed=self.config.seed,
            budget=self.config.budget,
            cache=retrieval_cache(),
            cancel=self.cancel,
            account=self.account,
            order=lambda task: self.data.haystacks[_question(task)],
            gold=self._gold,
            tokeniser=TOKENISER,
            embedder=partial(self._embedder, name),
            controller=partial(self._chat, name, "controller"),
            writer=partial(self._chat, name, "writer"),
            other=self.memory,
        )

    def _gold(self, task: QueryTask) -> tuple[Span, ...] | None:
        """The first span of each piece; any of them would do."""
        gold = (self.data.gold or {}).get(_question(task))
        return None if gold is None else tuple(Span(**piece[0].model_dump()) for piece in gold.pieces)

    def _embedder(self, memory: str) -> Embedder:
        config = embedding_model(memory, self.config.retrieval)
        self._refuse("retrieval.embedding", config)
        endpoint = EmbeddingEndpoint(config, cancel=self.cancel, remark=self._remark("embedding model"))
        self.stack.enter_context(closing(endpoint))
        return Embedder(endpoint, retrieval_cache() / "embedded", EstimatedTokens().text, self.cancel)

    def _chat(self, memory: str, role: Role) -> Endpoint:
        config = chat_model(role, memory, self.config.retrieval)
        self._refuse(f"retrieval.{role}", config)
        endpoint = Endpoint(
            config.sampled(CONTROLLER_SAMPLING), cancel=self.cancel, remark=self._remark(role)
        )
        self.stack.enter_context(closing(endpoint))
        return endpoint

    def _refuse(self, role: str, address: Address) -> None:
        """Raise Mistake where nothing listens, GatewayError where a budget could not be kept."""
        self.account.refuse_unpriced(address.model)
        if self.config.gateway.replay is None:
            refuse_unreachable(role, address)

    def _remark(self, role: str) -> Callable[[str], None]:
        return lambda line: self.console.print(inert(f"waiting for the {role}: {line}"), markup=False)


def _question(task: QueryTask) -> str:
    """The id of the task's question, which only its labels know."""
    return task.labels["question"]
