"""A history is imported as often as one likes: only what is new is read, and each session is there once."""

import fcntl
import json
import os
from pathlib import Path

import pytest

from manifests.errors import DataError, StoreError
from manifests.maintenance import collect_garbage, verify
from manifests.sessions import SessionReport, import_sessions
from manifests.sessions.reading import MAX_LINE
from manifests.store import Store
from manifests.views import Views
from tests.manifests.session_files import (
    SESSION,
    ClaudeSession,
    CodexSession,
    claude_session,
    codex_session,
    write_lines,
)

OTHER = "33333333-2222-4333-8444-55555555ffff"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder of Claude Code, with two sessions of two states each."""
    claude_session().write(tmp_path / "home")
    claude_session(OTHER, "Why is staging slow?").write(tmp_path / "home")
    return tmp_path / "home"


def again(home: Path, store: Store) -> SessionReport:
    """Import as another process would."""
    return import_sessions(home, Store.open(store.root), "claude-code")


def goals(store: Store) -> list[str]:
    """What `ask` would look into."""
    return sorted(entry.goal for entry in Store.open(store.root).entries())


def grown(session: ClaudeSession) -> ClaudeSession:
    """The session, one request later."""
    session.user("And production?")
    session.says("The same retry.")
    return session


def test_an_unchanged_history_is_not_read_again(home: Path, store: Store) -> None:
    progress: list[tuple[int, int]] = []
    first = import_sessions(
        home, store, "claude-code", progress=lambda done, total: progress.append((done, total))
    )
    assert (first.sessions, first.states, first.reused) == (2, 4, 0)
    assert progress == [(1, 2), (2, 2)]
    second = again(home, store)
    assert (second.sessions, second.states, second.reused) == (2, 4, 2)
    assert second.slugs == first.slugs


def test_a_part_of_a_history_and_the_whole_of_it_are_the_same_sessions(home: Path, store: Store) -> None:
    file = home / "projects" / "-home-ada-shop" / f"{SESSION}.jsonl"
    assert import_sessions(file, store, "claude-code").sessions == 1
    assert again(file.parent, store).reused == 1
    assert again(home, store).reused == 2
    assert len(goals(store)) == 2


def test_a_session_that_grew_takes_the_place_of_its_older_version(home: Path, store: Store) -> None:
    before = again(home, store)
    grown(claude_session()).write(home)
    after = again(home, store)
    assert (after.sessions, after.states, after.reused) == (2, 5, 1)
    changed = [name for name in after.slugs if after.slugs[name] != before.slugs[name]]
    assert changed == ["shop-2026-03-02-5555abcd"]
    assert sorted(Store.open(store.root).slugs()) == sorted(after.slugs.values())
    with Views(store).acquire(Store.open(store.root).slugs()) as view:
        table = (view.path / "trajectories.tsv").read_text()
    assert before.slugs[changed[0]] not in table


def test_an_older_version_is_replaced_even_if_its_receipt_was_lost(home: Path, store: Store) -> None:
    again(home, store)
    for receipt in store.receipts.iterdir():
        receipt.unlink()
    grown(claude_session()).write(home)
    assert again(home, store).reused == 0
    assert len(goals(store)) == 2


def test_garbage_collection_leaves_the_newest_version_of_each_session(home: Path, store: Store) -> None:
    again(home, store)
    grown(claude_session()).write(home)
    again(home, store)
    assert collect_garbage(store, Views(store)).superseded == 1
    assert again(home, store).reused == 2
    assert verify(Store.open(store.root)) == []


def test_a_session_whose_file_is_gone_is_remembered(home: Path, store: Store) -> None:
    again(home, store)
    (home / "projects" / "-home-ada-shop" / f"{OTHER}.jsonl").unlink()
    assert again(home, store).sessions == 1
    assert len(goals(store)) == 2


def test_what_is_lost_from_the_store_is_imported_again(home: Path, store: Store) -> None:
    slug = again(home, store).slugs["shop-2026-03-02-5555abcd"]
    for path in sorted((store.trajectories / slug).rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (store.trajectories / slug).rmdir()
    assert again(home, store).reused == 1
    assert Store.open(store.root).get(slug).states == 2


def test_after_a_restart_of_the_machine_the_store_is_measured(home: Path, store: Store) -> None:
    slug = again(home, store).slugs["shop-2026-03-02-5555abcd"]
    os.truncate(store.trajectories / slug / "states" / "0001.txt", 0)
    assert again(home, store).reused == 2
    receipt = store.receipts / "sessions-claude-code.json"
    receipt.write_text(json.dumps({**json.loads(receipt.read_text()), "boot": "an earlier start"}))
    assert again(home, store).reused == 1
    assert verify(Store.open(store.root)) == []


def test_a_resumed_session_that_repeats_an_earlier_one_replaces_it(home: Path, store: Store) -> None:
    again(home, store)
    resumed = ClaudeSession("44444444-2222-4333-8444-555555550000")
    resumed.lines = [{**line, "sessionId": resumed.session} for line in claude_session().lines]
    grown(resumed).write(home)
    report = again(home, store)
    assert (report.sessions, report.repeated, report.states) == (2, 1, 5)
    assert sorted(report.slugs) == ["shop-2026-03-02-55550000", "shop-2026-03-02-5555ffff"]
    assert sorted(Store.open(store.root).slugs()) == sorted(report.slugs.values())
    assert again(home, store).reused == 2


def test_an_earlier_session_found_later_is_no_second_one(home: Path, tmp_path: Path, store: Store) -> None:
    resumed = ClaudeSession("44444444-2222-4333-8444-555555550000")
    resumed.lines = list(claude_session().lines)
    again(grown(resumed).write(tmp_path / "elsewhere"), store)
    report = again(home, store)
    assert (report.sessions, report.repeated) == (1, 1)
    assert len(goals(store)) == 2


def test_an_older_copy_of_a_session_does_not_replace_it(home: Path, tmp_path: Path, store: Store) -> None:
    grown(claude_session()).write(home)
    slugs = again(home, store).slugs
    report = again(claude_session().write(tmp_path / "backup"), store)
    assert (report.sessions, report.repeated) == (0, 1)
    assert sorted(Store.open(store.root).slugs()) == sorted(slugs.values())


def test_a_fork_that_went_another_way_leaves_both(home: Path, store: Store) -> None:
    fork = ClaudeSession("44444444-2222-4333-8444-555555550000")
    fork.lines = list(claude_session().lines)
    grown(fork).write(home)
    original = claude_session()
    original.user("Rather not")
    original.says("As you wish.", uuid="another-end")
    original.write(home)
    report = again(home, store)
    assert (report.sessions, report.repeated) == (3, 0)


def test_a_fork_of_codex_replaces_what_it_repeats(tmp_path: Path, store: Store) -> None:
    codex_session().write(tmp_path)
    fork = CodexSession(OTHER, forked_from_id=SESSION)
    fork.lines += codex_session().lines
    fork.user("And production?")
    fork.write(tmp_path)
    report = import_sessions(tmp_path, store, "codex")
    assert (report.sessions, report.repeated) == (1, 1)


def test_a_copy_and_a_moved_file_are_no_second_session(home: Path, store: Store) -> None:
    folder = home / "projects" / "-home-ada-shop"
    again(home, store)
    (folder / f"{SESSION}.jsonl").rename(folder / "moved.jsonl")
    write_lines(folder / "copy.jsonl", claude_session(OTHER, "Why is staging slow?").lines)
    report = again(home, store)
    assert (report.sessions, len(goals(store))) == (2, 2)


def test_what_was_masked_and_skipped_is_told_again_without_reading(home: Path, store: Store) -> None:
    session = claude_session()
    session.user("password: tr0ub4dor")
    with session.write(home).open("a") as file:
        file.write("broken\n")
    first, second = again(home, store), again(home, store)
    assert second.reused == 2
    assert first.masked == second.masked == {"password": 1}
    assert first.skipped == second.skipped == 1
    assert first.warnings == second.warnings


def test_a_file_that_is_no_session_is_not_counted_as_reused(home: Path, store: Store) -> None:
    (home / "projects" / "broken.jsonl").write_text("broken\n")
    first, second = again(home, store), again(home, store)
    assert (first.sessions, first.reused) == (2, 0)
    assert (second.sessions, second.reused) == (2, 2)
    assert second.warnings == first.warnings


def test_a_secret_is_counted_once_for_each_place_in_the_recording(tmp_path: Path, store: Store) -> None:
    session = ClaudeSession(folder="/home/ada/token=swordfish7")
    session.user("Log in with password: tr0ub4dor")
    session.calls("Bash", command="PGPASSWORD=swordfish psql")
    session.gets("ok")
    session.says("Done.")
    report = again(session.write(tmp_path), store)
    assert report.masked == {"password": 2, "secret": 1}
    assert [name for name in report.slugs if "sword" in name] == []


def test_a_secret_is_not_cut_in_two_where_a_goal_ends(tmp_path: Path, store: Store) -> None:
    request = "x " * 990 + "password: correct-Horse-battery-staple-2"
    claude_session(request=request).write(tmp_path)
    again(tmp_path, store)
    assert "correct" not in goals(store)[0]


def test_what_an_earlier_version_imported_is_read_again_and_replaced(home: Path, store: Store) -> None:
    again(home, store)
    receipt = store.receipts / "sessions-claude-code.json"
    receipt.write_text(json.dumps({**json.loads(receipt.read_text()), "version": 1}))
    assert again(home, store).reused == 0
    assert len(goals(store)) == 2
    assert again(home, store).reused == 2


def test_an_empty_session_is_left_out(home: Path, store: Store) -> None:
    empty = ClaudeSession("44444444-2222-4333-8444-555555550000")
    empty.remark("last-prompt", lastPrompt="")
    empty.user("<command-name>/exit</command-name>")
    empty.user("<local-command-stdout>Bye</local-command-stdout>")
    empty.write(home)
    report = again(home, store)
    assert (report.sessions, report.empty, report.warnings) == (2, 1, [])


def test_links_are_not_followed_and_lists_of_prompts_are_no_sessions(
    home: Path, tmp_path: Path, store: Store
) -> None:
    elsewhere = claude_session(OTHER.replace("3", "5"), "Elsewhere").write(tmp_path / "elsewhere")
    project = home / "projects" / "-home-ada-shop"
    (project / "link.jsonl").symlink_to(elsewhere)
    (project / "folder").symlink_to(elsewhere.parent)
    (project / "history.jsonl").write_text('{"display": "hello"}\n')
    (home / "other.jsonl").write_text("not in the folder of projects\n")
    os.mkfifo(project / "pipe.jsonl")
    report = again(home, store)
    assert (report.sessions, report.warnings) == (2, [])


def test_a_file_in_a_folder_that_is_no_session_is_named_and_passed_over(home: Path, store: Store) -> None:
    file = home / "projects" / "notes.jsonl"
    file.write_text('{"note": 1}\n')
    report = again(home, store)
    assert report.sessions == 2
    assert report.warnings == [
        f"{file}:1: no line of this file is of a Claude Code session; give a session file (*.jsonl)"
    ]


def test_packed_sessions_are_named(tmp_path: Path, store: Store) -> None:
    file = codex_session().write(tmp_path)
    file.with_suffix(".jsonl.zst").write_bytes(b"(\xb5/\xfd")
    report = import_sessions(tmp_path, store, "codex")
    assert report.sessions == 1
    assert "1 packed sessions (*.jsonl.zst) were not read; unpack them" in report.warnings[0]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.jsonl", None, "No such file or directory; give a session file"),
        ("text.jsonl", "hello\n", ":1: no line of this file is of a Claude Code session"),
        ("empty.jsonl", "", ":1: no line of this file is of a Claude Code session"),
        ("codex.jsonl", json.dumps(codex_session().lines[0]) + "\n", "use `runbook import codex`"),
    ],
)
def test_a_file_that_is_no_session_is_refused_with_a_mend(
    store: Store, tmp_path: Path, name: str, content: str | None, message: str
) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        import_sessions(file, store, "claude-code")
    assert str(caught.value).startswith(str(file))
    assert "\n" not in str(caught.value)


def test_a_folder_without_sessions_is_refused_with_a_mend(store: Store, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no session of Codex in it; give a session file"):
        import_sessions(tmp_path, store, "codex")


def test_a_line_over_the_limit_is_skipped(home: Path, store: Store) -> None:
    file = home / "projects" / "-home-ada-shop" / f"{SESSION}.jsonl"
    lines = file.read_bytes()
    with file.open("wb") as opened:
        opened.truncate(2 * MAX_LINE)
        opened.seek(2 * MAX_LINE)
        opened.write(b"\n" + lines)
    report = again(home, store)
    assert (report.sessions, report.skipped) == (2, 1)
    assert report.warnings == [f"{file}:1: is longer than 64 MiB; the line was skipped"]


def test_of_many_broken_lines_the_first_are_named(home: Path, store: Store) -> None:
    file = home / "projects" / "-home-ada-shop" / f"{SESSION}.jsonl"
    with file.open("a") as opened:
        opened.write("broken\n" * 50)
    report = again(home, store)
    assert (report.sessions, report.skipped, len(report.warnings)) == (2, 50, 21)
    assert report.warnings[-1] == f"{file}: 30 more lines were skipped"


def test_two_imports_of_one_agents_sessions_do_not_run_at_once(home: Path, store: Store) -> None:
    lock = os.open(store.receipts / "sessions-claude-code.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with pytest.raises(StoreError, match="another import of claude-code sessions"):
        again(home, store)
    os.close(lock)
    assert again(home, store).sessions == 2


def test_an_import_that_was_cut_off_is_continued(
    home: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_sessions(home, store, "claude-code", progress=stop)
    assert len(goals(store)) == 1
    report = again(home, store)
    assert (report.sessions, report.reused) == (2, 1)


def test_a_damaged_receipt_costs_time_only(home: Path, store: Store) -> None:
    again(home, store)
    (store.receipts / "sessions-claude-code.json").write_text('{"version": 1, "files": {"a": 3}}')
    report = again(home, store)
    assert (report.sessions, report.reused, len(goals(store))) == (2, 0, 2)


def test_a_file_name_that_is_no_text_is_no_obstacle(home: Path, store: Store) -> None:
    folder = os.fsencode(home / "projects" / "-home-ada-shop")
    os.rename(folder + f"/{SESSION}.jsonl".encode(), folder + b"/\xff\xfe.jsonl")  # noqa: PTH104
    assert again(home, store).sessions == 2
    assert again(home, store).reused == 2
