"""A small haystack on disk, and memories made from real parts against a scripted server."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from evals.dataset import DataRoot, load_data_root
from evals.tokens import EstimatedTokens
from manifests.importing import import_lme_v2
from manifests.index import build_index
from manifests.store import Store
from manifests.views import View, Views
from runbook.cli.haystacks import TOKENISER
from runbook.embedding.embedder import Embedder
from runbook.endpoint import EmbeddingConfig, Endpoint, EndpointConfig
from runbook.endpoint.embeddings import EmbeddingEndpoint
from runbook.endpoint.ledger import Account
from runbook.evidence import Span
from runbook.gateway.settings import GatewaySettings
from runbook.memories.errors import MemorySettingsError
from runbook.memories.parts import MemoryParts
from runbook.memories.registry import memory_factory
from runbook.memories.settings import RetrievalSettings
from runbook.memory import Memory, QueryTask
from runbook.question import Question
from tests.scripted_retrieval import ScriptedRetrieval, scripted_retrieval
from tests.waiting import FOREVER


@pytest.fixture
def run() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `runbook ARGUMENTS` as a process of its own and returns what it printed."""
    program = (sys.executable, "-c", "from runbook.cli import main; main()")

    def finish(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*program, *map(str, arguments)],
            env=dict(os.environ),
            capture_output=True,
            text=True,
            timeout=FOREVER,
            check=False,
        )

    return finish


@pytest.fixture
def script() -> Iterator[ScriptedRetrieval]:
    with scripted_retrieval() as running:
        yield running


@pytest.fixture
def data(make_data_root: Callable[..., Path], tmp_path: Path) -> DataRoot:
    """5 questions over 6 trajectories of 7 states; see `write_data_root`."""
    return load_data_root(make_data_root(tmp_path / "data", questions=5, trajectories=6, states=7))


@pytest.fixture
def store(data: DataRoot, tmp_path: Path) -> Store:
    store = Store.open(tmp_path / "store")
    import_lme_v2(data.path, store)
    return store


@pytest.fixture
def haystack(store: Store) -> Iterator[View]:
    """All trajectories, with manifests and index."""
    with Views(store).acquire(store.slugs()) as view:
        build_index(view, TOKENISER)
        yield view


@dataclass(frozen=True)
class Bench:
    """Makes memories and asks them."""

    data: DataRoot
    haystack: View
    script: ScriptedRetrieval
    folder: Path

    def memory(self, name: str, **settings: object) -> Memory:
        """The memory `name`, with `[retrieval]` settings beside the scripted endpoints."""
        return memory_factory(name)(self.parts(**settings))

    def parts(self, **settings: object) -> MemoryParts:
        patience = settings.pop("retry_seconds", 900.0)
        gateway = GatewaySettings.model_validate(settings.pop("gateway", {}))
        chosen = RetrievalSettings.model_validate(settings)

        def embedder() -> Embedder:
            address = {"base_url": self.script.url, "backoff_seconds": 0.01, "retry_seconds": patience}
            endpoint = EmbeddingEndpoint(EmbeddingConfig(model="bag", batch=4, concurrency=1, **address))
            return Embedder(
                endpoint, self.folder / "cache" / "embedded", EstimatedTokens().text, threading.Event()
            )

        def chat() -> Endpoint:
            return Endpoint(EndpointConfig(model="chat", base_url=self.script.url, backoff_seconds=0.01))

        return MemoryParts(
            settings=chosen,
            seed=3,
            budget=20,
            cache=self.folder / "cache",
            cancel=threading.Event(),
            account=Account(gateway),
            order=lambda task: self.data.haystacks[task.labels["question"]],
            gold=self._gold,
            tokeniser=TOKENISER,
            embedder=embedder,
            controller=chat,
            writer=chat,
            other=self._no_other,
        )

    def _gold(self, task: QueryTask) -> tuple[Span, ...]:
        pieces = (self.data.gold or {})[task.labels["question"]].pieces
        return tuple(Span(**piece[0].model_dump()) for piece in pieces)

    def _no_other(self, name: str) -> Memory:
        raise MemorySettingsError(name)

    def task(self, number: int = 0, text: str | None = None) -> QueryTask:
        """A question of the data set, or another text in its place."""
        asked = self.data.questions[number]
        return QueryTask(
            question=Question(text=text or asked.question),
            haystack=self.haystack,
            folder=self.folder / "attempts" / asked.id,
            cancel=threading.Event(),
            labels={"run": "test", "question": asked.id},
        )


@pytest.fixture
def bench(data: DataRoot, haystack: View, script: ScriptedRetrieval, tmp_path: Path) -> Bench:
    return Bench(data, haystack, script, tmp_path)


PACKAGE = """
from runbook.evidence import Evidence
from runbook.memory import QueryResult
from runbook.outcomes import Outcome

class Mine:
    name = "mine"
    def insert(self, haystack):
        {insert}
    def query(self, task):
        {query}
        return QueryResult(outcome=Outcome.OK, evidence=Evidence(memory_markdown="a note"))

def make(parts):
    {make}
    return Mine()
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Installs a package with the memory `mine`; what its parts do is given as a line of Python."""

    def install(top: str = "", insert: str = "pass", query: str = "pass", make: str = "pass") -> None:
        folder = tmp_path / "site"
        info = folder / "mine-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[runbook.memories]\nmine = mine_package:make\n")
        code = PACKAGE.format(insert=insert, query=query, make=make)
        (folder / "mine_package.py").write_text(f"{top}\n{code}")
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(Path.cwd())]))

    return install
