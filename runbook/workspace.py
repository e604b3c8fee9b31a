"""The workspace of one attempt: what an agent sees, made under a neutral random path.

Nothing in it tells which question of which run this is: no id, no type, no gold, no path of ours.
"""

import shlex
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from instructions import InstructionOptions, agent_instruction, agent_prompt
from runbook.complaints import naming, of_system
from runbook.evidence import evidence_schema
from runbook.question import Question
from runbook.question_image import write_question_image
from runbook.workspace_keeping import discard, keep

QUESTION_IMAGE = "question_image.png"
_LAUNCHER = """\
#!/bin/sh
MEMORY_WORKSPACE={workspace} exec {python} -I -S -B {helpers}/memory/__main__.py "$@"
"""


class WorkspaceError(OSError):
    """A workspace that cannot be made; the message names the file, the reason and the mend."""


@dataclass(frozen=True, slots=True)
class WorkspacePlan:
    """What a workspace is made from."""

    question: Question
    instruction: InstructionOptions
    helper_usage: str
    """Usage text of the `memory` command."""
    python: str
    """The interpreter as the agent sees it."""
    locate_workspace: Callable[[Path], str]
    """From the workspace's path on this host to where the agent sees it."""
    locate_helpers: Callable[[Path], str]
    """From the workspace's path on this host to where the agent sees the helpers folder."""
    haystack: Path | None = None
    """The view to link to, where no sandbox will mount it."""
    candidates: str | None = None
    overview: str | None = None
    parent: Path | None = None
    """The folder that workspaces are made in; the system's temporary folder by default."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A prepared workspace and the complete prompt that goes with it."""

    path: Path
    prompt: str

    def move_into(self, folder: Path) -> list[str]:
        """Keep the workspace as `folder`, which must not exist yet. The agent is gone by now.

        Renamed where possible, else copied; links become text, pipes, sockets and devices are dropped, sizes
        are bounded. Returns what was left out or went wrong, and never raises for what an agent left there.
        """
        return keep(self.path, folder)

    def discard(self) -> None:
        """Remove the workspace."""
        discard(self.path)


def create_workspace(plan: WorkspacePlan) -> Workspace:
    """Make a workspace.

    Raises:
        WorkspaceError: it cannot be written, or the image is none; nothing is left behind.
    """
    try:
        path = Path(tempfile.mkdtemp(prefix="", dir=plan.parent))
    except OSError as error:
        raise WorkspaceError(of_system(error)) from error
    try:
        return _fill(path, plan)
    except OSError as error:
        discard(path)
        raise WorkspaceError(of_system(error)) from error
    except BaseException:
        discard(path)
        raise


def _fill(path: Path, plan: WorkspacePlan) -> Workspace:
    # An instruction never speaks of candidates that are not there.
    options = replace(plan.instruction, candidates=plan.candidates is not None)
    usage = plan.helper_usage if options.helper else None
    image = QUESTION_IMAGE if plan.question.image else None
    instruction = agent_instruction(options)
    if plan.question.image:
        with naming(path / QUESTION_IMAGE):
            write_question_image(plan.question.image, path / QUESTION_IMAGE)
    _write(path / "question.json", orjson.dumps({"question": plan.question.text, "image": image}))
    _write(path / "INSTRUCTION.md", "\n\n".join(filter(None, [instruction, usage])).encode())
    _write(path / "evidence.schema.json", orjson.dumps(evidence_schema(), option=orjson.OPT_INDENT_2))
    if plan.candidates is not None:
        _write(path / "CANDIDATES.md", plan.candidates.encode())
    if options.helper:
        _write_launcher(path, plan)
    (path / "notes").mkdir()
    if plan.haystack:
        (path / "haystack").symlink_to(plan.haystack.absolute(), target_is_directory=True)
    prompt = agent_prompt(
        instruction, usage, plan.question.text, image, plan.candidates, overview=plan.overview
    )
    return Workspace(path, prompt)


def _write_launcher(path: Path, plan: WorkspacePlan) -> None:
    places = {
        "workspace": plan.locate_workspace(path),
        "python": plan.python,
        "helpers": plan.locate_helpers(path),
    }
    launcher = path / "memory"
    _write(
        launcher, _LAUNCHER.format(**{name: shlex.quote(place) for name, place in places.items()}).encode()
    )
    launcher.chmod(0o755)


def _write(path: Path, data: bytes) -> None:
    with naming(path):
        path.write_bytes(data if data.endswith(b"\n") else data + b"\n")
