"""The workspace an agent sees, and what is kept of it."""

import contextlib
import errno
import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, PngImagePlugin

from instructions import InstructionOptions
from runbook.question import Question
from runbook.workspace import Workspace, WorkspacePlan, create_workspace

Create = Callable[..., Workspace]
CANARY = "canary-7f3e"


@pytest.fixture
def create(tmp_path: Path) -> Create:
    """Create a workspace below tmp_path/made; keyword arguments change the plan."""
    (tmp_path / "made").mkdir()

    def make(**changes: Any) -> Workspace:
        plan = {
            "question": Question(text="Which port?"),
            "instruction": InstructionOptions(),
            "helper_usage": "USAGE OF THE HELPER",
            "python": "/usr/bin/python3",
            "locate_workspace": str,
            "locate_helpers": lambda _: "/opt/helpers",
            "parent": tmp_path / "made",
        }
        return create_workspace(WorkspacePlan(**{**plan, **changes}))

    return make


def picture(path: Path, size: tuple[int, int] = (40, 30), **options: Any) -> Path:
    Image.new("RGB", size, "red").save(path, **options)
    return path


def names(workspace: Workspace) -> set[str]:
    return {path.name for path in workspace.path.iterdir()}


# --- what the agent sees ------------------------------------------------------------------------------


def test_a_workspace_holds_the_question_and_what_is_needed_to_answer_it(create: Create) -> None:
    workspace = create(candidates="CANDIDATE LIST")
    assert names(workspace) == {
        "question.json",
        "INSTRUCTION.md",
        "CANDIDATES.md",
        "evidence.schema.json",
        "memory",
        "notes",
    }
    question = json.loads((workspace.path / "question.json").read_text())
    assert question == {"question": "Which port?", "image": None}
    schema = json.loads((workspace.path / "evidence.schema.json").read_text())
    assert "trajectory_spans" in schema["properties"]


def test_the_prompt_holds_the_same_as_the_files(create: Create) -> None:
    workspace = create(candidates="CANDIDATE LIST", overview="OVERVIEW")
    for text in ("Which port?", "USAGE OF THE HELPER", "CANDIDATE LIST", "OVERVIEW", "Candidates first"):
        assert text in workspace.prompt
    assert (workspace.path / "INSTRUCTION.md").read_text().split("\n\n")[0] in workspace.prompt


def test_without_candidates_nothing_speaks_of_them(create: Create) -> None:
    workspace = create()
    assert "andidates first" not in workspace.prompt
    assert "CANDIDATES.md" not in names(workspace)


def test_without_the_helper_there_is_no_launcher(create: Create) -> None:
    workspace = create(instruction=InstructionOptions(helper=False))
    assert "memory" not in names(workspace)
    assert "USAGE OF THE HELPER" not in workspace.prompt


def test_the_launcher_starts_the_helper_where_the_agent_sees_it(create: Create, tmp_path: Path) -> None:
    helper = tmp_path / "the helpers/memory/__main__.py"
    helper.parent.mkdir(parents=True)
    helper.write_text(
        "import os, sys; print(os.environ['MEMORY_WORKSPACE'], sys.argv[1:], sys.flags.isolated)"
    )
    workspace = create(
        python=sys.executable,
        locate_workspace=lambda path: f"/inside/it's {path.name}",
        locate_helpers=lambda _: str(tmp_path / "the helpers"),
    )
    launched = subprocess.run(
        [workspace.path / "memory", "grep", "a b"], capture_output=True, text=True, check=True
    )
    assert launched.stdout == f"/inside/it's {workspace.path.name} ['grep', 'a b'] 1\n"


def test_an_external_workspace_links_to_the_view(create: Create, tmp_path: Path) -> None:
    (tmp_path / "view").mkdir()
    (tmp_path / "view/MANIFEST.md").write_text("here")
    workspace = create(haystack=tmp_path / "view")
    assert (workspace.path / "haystack/MANIFEST.md").read_text() == "here"


def test_nothing_of_the_questions_origin_is_inside(create: Create, tmp_path: Path) -> None:
    folder = tmp_path / f"{CANARY}-data"
    folder.mkdir()
    metadata = PngImagePlugin.PngInfo()
    metadata.add_text("Comment", CANARY)
    source = picture(folder / f"{CANARY}.png", pnginfo=metadata)
    with contextlib.suppress(OSError):  # not every file system has them
        os.setxattr(source, "user.origin", CANARY.encode())
    workspace = create(question=Question(text="Which port?", image=source))
    seen = [workspace.prompt, str(workspace.path.relative_to(tmp_path))]
    for path in workspace.path.rglob("*"):
        seen += [path.name, path.read_bytes().decode("latin-1") if path.is_file() else ""]
    assert not any(CANARY in text or str(tmp_path / "made") in text for text in seen[:1])
    assert not any(CANARY in text for text in seen)
    assert "user.origin" not in os.listxattr(workspace.path / "question_image.png")


def test_the_place_of_a_workspace_is_random(create: Create) -> None:
    first, second = create().path.name, create().path.name
    assert first != second
    assert not any(word in first for word in ("runbook", "memory", "tmp", "question"))


def test_a_large_picture_is_made_small_enough_for_every_model(create: Create, tmp_path: Path) -> None:
    source = picture(tmp_path / "wide.jpg", (4000, 1000))
    workspace = create(question=Question(text="?", image=source))
    with Image.open(workspace.path / "question_image.png") as shown:
        assert (shown.format, shown.size) == ("PNG", (1568, 392))
    assert json.loads((workspace.path / "question.json").read_text())["image"] == "question_image.png"
    assert "question_image.png" in workspace.prompt


def test_a_rotated_photo_is_shown_upright(create: Create, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    source = picture(tmp_path / "photo.jpg", (40, 30), exif=exif)
    workspace = create(question=Question(text="?", image=source))
    with Image.open(workspace.path / "question_image.png") as shown:
        assert (shown.size, dict(shown.getexif())) == ((30, 40), {})


@pytest.mark.parametrize("content", [b"", b"no picture", b"\x89PNG\r\n\x1a\nbroken", None])
def test_a_picture_that_is_none_is_one_clear_error_and_leaves_nothing(
    create: Create, tmp_path: Path, content: bytes | None
) -> None:
    source = tmp_path / "question.png"
    if content is not None:
        source.write_bytes(content)
    with pytest.raises(OSError, match=r"question image .*question\.png cannot be read as a picture"):
        create(question=Question(text="?", image=source))
    assert list((tmp_path / "made").iterdir()) == []


# --- what is kept -------------------------------------------------------------------------------------


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every rename fails as it does between two file systems."""

    def refuse(self: Path, target: Path) -> Path:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr(Path, "rename", refuse)


@pytest.fixture(params=["near", "far"])
def kept(request: pytest.FixtureRequest, create: Create, tmp_path: Path) -> Callable[..., Any]:
    """Let `act` fill a workspace, move it (renamed or copied), and return where it is now and the notes."""
    if request.param == "far":
        request.getfixturevalue("far")

    def move(act: Callable[[Path], object]) -> tuple[Path, list[str]]:
        workspace = create()
        act(workspace.path)
        notes = workspace.move_into(tmp_path / "kept")
        assert not workspace.path.exists()
        return tmp_path / "kept", notes

    return move


def test_a_workspace_is_kept_whole(kept: Callable[..., Any]) -> None:
    def act(path: Path) -> None:
        (path / "notes/drafts").mkdir()
        (path / "notes/drafts/1.json").write_text("draft")
        (path / "memory_module_output.json").write_text("{}")

    folder, notes = kept(act)
    assert notes == []
    assert (folder / "notes/drafts/1.json").read_text() == "draft"
    assert (folder / "memory_module_output.json").read_text() == "{}"
    assert (folder / "memory").stat().st_mode & 0o777 == 0o755


def test_links_become_text_that_leads_nowhere(kept: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/key").write_text("s3cret")

    def act(path: Path) -> None:
        (path / "away").symlink_to(tmp_path / "secret")
        (path / "notes/passwd").symlink_to("/etc/passwd")
        (path / "notes/circle").symlink_to("circle")

    folder, notes = kept(act)
    assert not [path for path in folder.rglob("*") if path.is_symlink()]
    assert (folder / "away").read_text() == f"link to {tmp_path / 'secret'}\n"
    assert (folder / "notes/passwd").read_text() == "link to /etc/passwd\n"
    assert (tmp_path / "secret/key").read_text() == "s3cret"
    assert sorted(note.split(":")[0] for note in notes) == ["away", "notes/circle", "notes/passwd"]


def test_pipes_and_sockets_are_dropped_and_said(
    kept: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(path: Path) -> None:
        os.mkfifo(path / "pipe")
        monkeypatch.chdir(path)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("notes/socket")

    folder, notes = kept(act)
    assert sorted(note.split(":")[0] for note in notes) == ["notes/socket", "pipe"]
    kinds = {stat.S_IFMT(path.lstat().st_mode) for path in folder.rglob("*")}
    assert kinds <= {stat.S_IFREG, stat.S_IFDIR}


def test_no_tree_is_too_deep_or_too_oddly_named(kept: Callable[..., Any]) -> None:
    def act(path: Path) -> None:
        (path / os.fsdecode(b"caf\xe9 \n\x1b[2J")).write_text("odd")
        down = os.open(path, os.O_RDONLY)
        for _ in range(1500):
            os.mkdir("deep", dir_fd=down)
            below = os.open("deep", os.O_RDONLY, dir_fd=down)
            os.close(down)
            down = below
        os.close(down)

    folder, notes = kept(act)
    assert (folder / os.fsdecode(b"caf\xe9 \n\x1b[2J")).read_text() == "odd"
    assert any("deeper than" in note for note in notes)
    assert max(len(path.relative_to(folder).parts) for path in folder.rglob("*")) < 50


def test_what_is_too_large_to_copy_is_left_out(create: Create, far: None, tmp_path: Path) -> None:
    workspace = create()
    with (workspace.path / "flood").open("wb") as file:
        file.truncate(300 * 1024 * 1024)
    notes = workspace.move_into(tmp_path / "kept")
    assert notes == ["flood: 314,572,800 bytes; too large to be kept"]
    assert not (tmp_path / "kept/flood").exists()
    assert (tmp_path / "kept/question.json").exists()


def test_where_nothing_can_be_kept_the_note_says_so(create: Create, tmp_path: Path) -> None:
    workspace = create()
    assert "stays at" in workspace.move_into(tmp_path / "missing/kept")[0]
    workspace.discard()
    assert not workspace.path.exists()


def test_a_planted_repository_is_disarmed_when_kept(kept: Callable[..., Any]) -> None:
    def act(path: Path) -> None:
        (path / "notes" / ".git").mkdir()
        (path / "notes" / ".git" / "config").write_text("[core]\nfsmonitor = touch owned\n")
        (path / ".envrc").write_text("touch owned")

    folder, notes = kept(act)
    assert not list(folder.rglob(".git"))
    assert (folder / "notes" / "kept-git" / "config").is_file()
    assert (folder / "kept-envrc").is_file()
    assert sum("renamed" in note for note in notes) == 2
