"""The history of a workspace: complete, bounded, and deaf to whatever an agent plants there."""

import os
import resource
import subprocess
from pathlib import Path

import pytest

from runbook.history import MAX_DIFF_BYTES, HistoryError, WorkspaceHistory


@pytest.fixture
def work_tree(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "question.json").write_text("{}\n")
    return folder


@pytest.fixture
def history(tmp_path: Path, work_tree: Path) -> WorkspaceHistory:
    return WorkspaceHistory(tmp_path / "history.git", work_tree)


def git(tmp_path: Path, *words: str) -> str:
    command = ["git", "--git-dir", str(tmp_path / "history.git"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def processor_seconds() -> float:
    """What this process and those that it started and saw the end of have used."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(used.ru_utime + used.ru_stime for used in both)


def recorded_size(tmp_path: Path, name: str) -> int:
    return int(git(tmp_path, "cat-file", "-s", name))


def recorded(tmp_path: Path, label: str) -> dict[str, str]:
    """Mode by path."""
    lines = git(tmp_path, "ls-tree", "-r", "-z", label).rstrip("\0").split("\0")
    return {line.split("\t")[1]: line.split(" ")[0] for line in lines}


def test_the_difference_between_before_and_after_is_kept(
    history: WorkspaceHistory, work_tree: Path, tmp_path: Path
) -> None:
    (work_tree / "gone.txt").write_text("x\n")
    before = history.snapshot("before")
    (work_tree / "gone.txt").unlink()
    (work_tree / "notes").mkdir()
    (work_tree / "notes/plan ü.md").write_text("first look\n")
    after = history.snapshot("after")
    assert (before.files, after.files, after.skipped) == (2, 2, [])
    patch = history.diff()
    assert "+first look" in patch
    assert "deleted file" in patch
    assert "question.json" not in patch
    assert git(tmp_path, "log", "--format=%s", "main").split() == ["after", "before"]
    assert git(tmp_path, "fsck", "--strict") == ""
    assert not (work_tree / ".git").exists()


def test_modes_links_and_odd_names_are_recorded(
    history: WorkspaceHistory, work_tree: Path, tmp_path: Path
) -> None:
    (work_tree / "memory").write_text("#!/bin/sh\n")
    (work_tree / "memory").chmod(0o755)
    (work_tree / "away").symlink_to("/etc/passwd")
    (work_tree / 'a "b"\n\\c').write_text("odd")
    Path(os.fsdecode(os.fsencode(work_tree) + b"/caf\xe9")).write_text("latin")
    history.snapshot("before")
    command = ["git", "--git-dir", tmp_path / "history.git", "ls-tree", "-z", "before"]
    listed = subprocess.run(command, capture_output=True, check=True).stdout
    assert b"100755" in listed.split(b"\tmemory")[0].split(b"\0")[-1]
    assert b'\ta "b"\n\\c\0' in listed
    assert b"\tcaf\xe9\0" in listed
    assert git(tmp_path, "cat-file", "-p", "before:away") == "/etc/passwd"


def test_nothing_an_agent_plants_is_run_or_followed(
    history: WorkspaceHistory, work_tree: Path, tmp_path: Path
) -> None:
    history.snapshot("before")
    trap, sprung = tmp_path / "trap", tmp_path / "sprung"
    trap.write_text(f"#!/bin/sh\necho $0 $@ >> {sprung}\ncat\n")
    trap.chmod(0o755)
    config = (
        f"[core]\n\tfsmonitor = {trap}\n\thooksPath = {work_tree}/hooks\n"
        f"\tattributesFile = {work_tree}/.gitattributes\n"
        f'[filter "evil"]\n\tclean = {trap}\n\tsmudge = {trap}\n\tprocess = {trap}\n'
        f'[diff "evil"]\n\ttextconv = {trap}\n\tcommand = {trap}\n'
    )
    subprocess.run(["git", "init", "-q", work_tree], check=True)
    subprocess.run(["git", "init", "-q", work_tree / "notes/inner"], check=True)
    for place in (work_tree / ".git", work_tree / "notes/inner/.git"):
        (place / "config").write_text(config)
        (place / "objects/info/alternates").write_text("/etc\n")
    (work_tree / ".gitattributes").write_text("* filter=evil diff=evil ident working-tree-encoding=UTF-16\n")
    (work_tree / ".gitignore").write_text("*\n")
    (work_tree / ".gitconfig").write_text(config)
    (work_tree / "hooks").mkdir()
    for hook in ("post-commit", "reference-transaction", "post-index-change", "fsmonitor-watchman"):
        (work_tree / "hooks" / hook).write_bytes(trap.read_bytes())
        (work_tree / "hooks" / hook).chmod(0o755)
    (work_tree / "seen.txt").write_text("$Id$\r\nkept as it is\n")
    after = history.snapshot("after")
    assert "+kept as it is" in history.diff()
    assert recorded_size(tmp_path, "after:seen.txt") == len("$Id$\r\nkept as it is\n")
    assert not sprung.exists()
    assert [note.split(":")[0] for note in after.skipped] == [".git", "notes/inner/.git"]
    assert ".git" in git(tmp_path, "log", "-1", "--format=%b", "after")
    assert not any(".git/" in place for place in recorded(tmp_path, "after"))


def test_the_users_own_git_settings_play_no_part(
    history: WorkspaceHistory, work_tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", other], check=True)
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[diff]\n\tnoprefix = true\n\texternal = false\n[core]\n\tbroken\n[")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other / ".git/objects"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    history.snapshot("before")
    (work_tree / "new").write_text("new\n")
    history.snapshot("after")
    assert "+++ b/new" in history.diff()
    assert not list((other / ".git/objects").rglob("*.pack"))
    assert not list((other / ".git/refs").rglob("main"))


def test_special_large_and_too_many_files_are_left_out_and_listed(
    history: WorkspaceHistory, work_tree: Path
) -> None:
    os.mkfifo(work_tree / "a-pipe")
    with (work_tree / "b-large").open("wb") as file:
        file.truncate(1024 * 1024 + 1)
    (work_tree / "many").mkdir()
    for number in range(3000):
        (work_tree / f"many/{number:04}").write_bytes(b"")
    start = processor_seconds()
    snapshot = history.snapshot("before")
    assert processor_seconds() - start < 5
    assert snapshot.files == 2000
    assert [note.split(":")[0] for note in snapshot.skipped] == [
        "a-pipe",
        "b-large",
        "many/1999 and what follows",
    ]


def test_the_haystack_is_not_part_of_the_history(history: WorkspaceHistory, work_tree: Path) -> None:
    (work_tree / "haystack").symlink_to("/")
    assert history.snapshot("before").files == 1


def test_a_long_difference_is_cut(history: WorkspaceHistory, work_tree: Path) -> None:
    history.snapshot("before")
    (work_tree / "long.txt").write_text("line\n" * 100_000)
    history.snapshot("after")
    patch = history.diff()
    assert len(patch) < MAX_DIFF_BYTES + 100
    assert patch.endswith("bytes cut]\n")


def test_one_snapshot_alone_has_no_difference(history: WorkspaceHistory) -> None:
    history.snapshot("before")
    assert history.diff() == ""


def test_gits_failure_is_one_clear_error(work_tree: Path, tmp_path: Path) -> None:
    history = WorkspaceHistory(tmp_path / "history.git", work_tree)
    history.snapshot("before")
    (tmp_path / "history.git/HEAD").unlink()
    with pytest.raises(HistoryError, match="workspace history: git fast-import failed"):
        history.snapshot("after")


def test_a_snapshot_of_an_ordinary_workspace_is_quick(history: WorkspaceHistory, work_tree: Path) -> None:
    for number in range(10):
        (work_tree / f"note-{number}.md").write_text("note\n" * 200)
    history.snapshot("warm")
    quickest = 9.0
    for number in range(5):
        start = processor_seconds()
        history.snapshot(f"s{number}")
        quickest = min(quickest, processor_seconds() - start)
    assert quickest < 0.15
