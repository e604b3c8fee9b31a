"""A workspace on a haystack with an index, made by the store as in a run."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from helpers.memory import tokens
from helpers.memory.keys import line_keys, term_keys
from manifests.index import Tokeniser, build_index
from manifests.index_format import INDEX_FOLDER
from manifests.model import Convention, State, Trajectory
from manifests.store import Store
from manifests.views import View, Views

HELPERS = Path(__file__).resolve().parents[2] / "helpers"
TOKENISER = Tokeniser(tokens.VERSION, tokens.terms, term_keys, line_keys)


def state(text: str = "", action: str = "", thought: str = "", url: str = "") -> State:
    """A state whose index and screenshot come from its place in the trajectory."""
    return State(0, None, url, action, thought, text, None)


def trajectory(
    name: str, states: Sequence[State], goal: str = "a goal", outcome: str = "success"
) -> Trajectory:
    """A trajectory with its states numbered in order."""
    for index, one in enumerate(states):
        one.index = index
    return Trajectory(name, "web", goal, "http://start.test/", outcome, list(states))


@dataclass(frozen=True)
class Done:
    """How a call ended."""

    code: int
    out: str
    err: str

    def hits(self) -> list[tuple[str, int]]:
        """Trajectory id (the slug without its hash) and state of each numbered hit."""
        places = [line.split()[1].rsplit(":", 1) for line in self.out.splitlines() if line[:1].isdigit()]
        return [(slug.rpartition("-")[0], int(index)) for slug, index in places]


@dataclass(frozen=True)
class Indexed:
    """A workspace whose haystack is a view of the store."""

    root: Path
    store: Store
    slugs: dict[str, str]

    @classmethod
    def make(
        cls,
        folder: Path,
        trajectories: Sequence[Trajectory],
        convention: Convention = Convention.SOURCE,
        index: bool = True,
    ) -> "Indexed":
        """Store the trajectories, and link a view of them into a new workspace."""
        store = Store.open(folder / "store")
        slugs = {one.id: store.add(one, folder, convention=convention).slug for one in trajectories}
        workspace = folder / "workspace"
        (workspace / "notes").mkdir(parents=True)
        made = cls(workspace, store, slugs)
        with made.view() as view:
            if index:
                build_index(view, TOKENISER)
            (workspace / "haystack").symlink_to(view.path)
        return made

    @property
    def index(self) -> Path:
        """The folder of the index."""
        return (self.root / "haystack").resolve() / INDEX_FOLDER

    def view(self) -> View:
        """The view, pinned."""
        return Views(self.store).acquire(self.slugs.values())

    def ask(self, question: str, image: str | None = None) -> None:
        """Put the question into the workspace."""
        (self.root / "question.json").write_text(json.dumps({"question": question, "image": image}))

    def memory(self, *line: str) -> Done:
        """Run the memory command."""
        return self._run("memory", line)

    def scout(self, *line: str) -> Done:
        """Run scout."""
        return self._run("scout", line)

    def evidence(self) -> dict[str, object]:
        """What was handed in."""
        found = json.loads((self.root / "memory_module_output.json").read_text())
        assert isinstance(found, dict)
        return found

    def handed_in(self) -> list[tuple[str, int]]:
        """The states of the evidence, in order."""
        spans = self.evidence()["trajectory_spans"]
        assert isinstance(spans, list)
        return [
            (span["trajectory_id"], index)
            for span in spans
            for index in range(span["start_state_index"], span["end_state_index"] + 1)
        ]

    def _run(self, name: str, line: Sequence[str]) -> Done:
        argv = [sys.executable, "-I", "-S", "-B", str(HELPERS / name / "__main__.py"), *line]
        environment = {"PATH": os.environ["PATH"], "MEMORY_WORKSPACE": str(self.root)}
        done = subprocess.run(argv, capture_output=True, timeout=60, check=False, env=environment)
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def rewritten(path: Path, content: bytes) -> None:
    """Write a file of the index anew: the store's own, which it may be a link to, stays as it is."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)


def sealed(content: bytes) -> bytes:
    """Content with the checksum that it should have at its end, in place of the one it has."""
    return content[:-4] + crc32(content[:-4]).to_bytes(4, "little")
