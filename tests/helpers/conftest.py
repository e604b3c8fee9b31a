"""A workspace with a small haystack view, and the memory command run on it as a program."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

MEMORY = Path(__file__).resolve().parents[2] / "helpers" / "memory" / "__main__.py"


@dataclass(frozen=True)
class Recorded:
    """One state as a view holds it; `image` is the bytes of its screenshot and their extension."""

    text: str
    url: str = "http://shop.test/"
    action: str = ""
    thought: str = ""
    image: tuple[bytes, str] | None = None


@dataclass
class ViewBuilder:
    """Writes the files of a view: trajectories/<slug>/{about.txt,NNNN.txt,NNNN.png} and the two tables."""

    root: Path
    rows: list[str] = field(default_factory=list)
    states: list[str] = field(default_factory=list)

    def add(
        self,
        id_: str,
        states: Iterable[Recorded],
        *,
        goal: str = "a goal",
        outcome: str = "success",
        convention: str = "source",
        start_url: str = "http://shop.test/",
    ) -> str:
        """Add a trajectory; its slug."""
        states = list(states)
        readable = (
            "".join(c if c.isascii() and c.isalnum() else "-" for c in id_.lower()).strip("-")[:40] or "t"
        )
        slug = f"{readable}-{hashlib.sha256(repr((id_, states)).encode()).hexdigest()[:10]}"
        folder = self.root / "trajectories" / slug
        folder.mkdir(parents=True)
        about = {"id": id_, "goal": goal, "start_url": start_url, "outcome": outcome}
        lines = [f"{name}: {_folded(value)}" for name, value in about.items()]
        lines += [f"states: {len(states)}", f"action_convention: {convention}"]
        _write(folder / "about.txt", "\n".join(lines) + "\n")
        for index, state in enumerate(states):
            self._state(folder, slug, index, state)
        cells = (slug, id_, str(len(states)), outcome, convention, start_url, goal[:300])
        self.rows.append("\t".join(_cell(cell) for cell in cells))
        return slug

    def finish(self) -> Path:
        """Write the tables; the view's folder."""
        head = "slug\tid\tstates\toutcome\taction_convention\tstart_url\tgoal"
        _write(self.root / "trajectories.tsv", "\n".join([head, *sorted(self.rows)]) + "\n")
        _write(
            self.root / "states.tsv", "\n".join(["slug\tstate\turl\taction\tthought", *self.states]) + "\n"
        )
        _write(self.root / "MANIFEST.md", f"# Haystack\n{len(self.rows)} trajectories\n")
        return self.root

    def _state(self, folder: Path, slug: str, index: int, state: Recorded) -> None:
        head = [f"url: {state.url}", f"action: {_folded(state.action)}" if state.action else ""]
        head.append(f"thought: {_folded(state.thought)}" if state.thought else "")
        text = "\n".join(line for line in head if line)
        _write(folder / f"{index:04d}.txt", f"{text}\n\n{state.text}\n")
        if state.image:
            (folder / f"{index:04d}.{state.image[1]}").write_bytes(state.image[0])
        cells = (slug, str(index), state.url, state.action, state.thought)
        self.states.append("\t".join(_cell(cell)[:300] for cell in cells))


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8", "surrogateescape"))


def _folded(value: str) -> str:
    return value.replace("\n", "\n  ")


def _cell(value: str) -> str:
    return value.replace("\t", " ").replace("\n", " ")


@dataclass(frozen=True)
class Done:
    """How a call of the memory command ended; out and err are decoded strictly, so they are valid UTF-8."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Workspace:
    """One attempt's workspace, and the command run inside it as an agent would."""

    root: Path

    def memory(
        self,
        *line: str | bytes,
        stdin: bytes | None = None,
        env: Mapping[str, str] | None = None,
        python: Sequence[str] = (sys.executable,),
    ) -> Done:
        """Run `memory LINE` and wait for it; stdin is empty unless given."""
        done = subprocess.run(
            self.argv(*line, python=python),
            input=stdin or b"",
            capture_output=True,
            timeout=60,
            check=False,
            cwd=self.root,
            env=self.environment(env or {}),
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def argv(self, *line: str | bytes, python: Sequence[str] = (sys.executable,)) -> list[str | bytes]:
        """What the launcher runs."""
        return [*python, "-I", "-S", "-B", str(MEMORY), *line]

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """What the launcher sets."""
        return {"PATH": os.environ["PATH"], "MEMORY_WORKSPACE": str(self.root), **(extra or {})}

    def files(self) -> dict[str, bytes]:
        """Everything written beside the haystack, by relative path."""
        found = {}
        for path in sorted(self.root.rglob("*")):
            if path.is_file() and "haystack" not in path.relative_to(self.root).parts:
                found[str(path.relative_to(self.root))] = path.read_bytes()
        return found


# One black pixel.
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63606060000000040001f61738550000000049454e44ae426082"
)


@dataclass(frozen=True)
class Shop:
    """The small haystack: a workspace and the slugs of its three trajectories."""

    workspace: Workspace
    orders: str
    refund: str
    chinese: str

    def memory(self, *line: str, **options: Any) -> Done:
        """Run the memory command in the workspace."""
        return self.workspace.memory(*line, **options)


@pytest.fixture(scope="session")
def view_builder() -> type[ViewBuilder]:
    """The builder itself, for views that several tests share."""
    return ViewBuilder


@pytest.fixture(scope="session")
def recorded() -> type[Recorded]:
    """The class of a recorded state."""
    return Recorded


@pytest.fixture
def new_view(tmp_path: Path) -> Callable[[], ViewBuilder]:
    """Make builders of views that end up as this test's haystack."""
    return lambda: ViewBuilder(tmp_path / "workspace" / "haystack")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """An attempt's workspace without a haystack, unless `new_view` builds one."""
    root = tmp_path / "workspace"
    (root / "notes").mkdir(parents=True, exist_ok=True)
    return Workspace(root)


ORDERS = """RootWebArea 'Orders', focused
\t[12] navigation '', visible
\t\t[13] link 'Export', clickable
\t[20] heading 'Orders'
\t[21] gridcell 'Order 1001, Ada Lovelace, 42.00 EUR'"""


@pytest.fixture
def shop(new_view: Callable[[], ViewBuilder], workspace: Workspace) -> Shop:
    """A small haystack: an order run with a screenshot, a refund run, and one in Chinese."""
    view = new_view()
    orders = view.add(
        "web/Order-Run 7",
        [
            Recorded(
                ORDERS,
                "http://shop.test/orders",
                "click('13')  # [13] link 'Export', clickable",
                "Export it.",
            ),
            Recorded(
                ORDERS.replace("[21]", "[99]") + "\n\t[30] dialog 'Export finished'",
                "http://shop.test/orders",
                "send_msg_to_user('done')",
            ),
            Recorded(
                "RootWebArea 'Bye'\n\t[1] StaticText 'Signed out'", "http://shop.test/bye", image=(PNG, "png")
            ),
        ],
        goal="Export all orders\nas a table",
        outcome="success",
    )
    refund = view.add(
        "refund-run",
        [Recorded(f"RootWebArea 'Refund'\n\t[5] StaticText 'Refund step {n}'") for n in range(30)],
        goal="Refund order 1001",
        outcome="failure",
    )
    chinese = view.add("中文/任务", [Recorded("首页\n\t[3] 链接 '订单列表'")], goal="打开订单列表")
    view.finish()
    return Shop(workspace, orders, refund, chinese)
