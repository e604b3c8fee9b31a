"""A session of Codex becomes what the agent saw and did, in its present and in its early form."""

import json
from pathlib import Path

import pytest

from manifests.materialise import recorded
from manifests.model import Trajectory
from manifests.sessions import import_sessions
from manifests.store import Store
from tests.manifests.recordings import picture
from tests.manifests.session_files import (
    FOLDER,
    SESSION,
    TIME,
    CodexSession,
    codex_session,
    encoded,
    write_lines,
)

INSTRUCTIONS = "# AGENTS.md instructions for /home/ada/shop\n\n<INSTRUCTIONS>\nBe good.\n</INSTRUCTIONS>"
ENVIRONMENT = "<environment_context>\n  <cwd>/home/ada/shop</cwd>\n</environment_context>"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store")


def imported(file: Path, store: Store) -> Trajectory:
    """The one trajectory that a file becomes."""
    import_sessions(file, store, "codex")
    (entry,) = store.entries()
    return recorded((entry.path / "trajectory.json").read_bytes(), entry.images).trajectory


def test_each_state_is_what_was_seen_and_what_was_done_then(store: Store, tmp_path: Path) -> None:
    session = CodexSession()
    session.item("message", role="developer", content=[{"type": "input_text", "text": "<permissions>"}])
    session.user(INSTRUCTIONS, ENVIRONMENT)
    session.user("How do we fix the flaky deploy?\n")
    session.event("user_message", message="How do we fix the flaky deploy?\n")
    session.thinks("**Looking** at the logs")
    session.event("agent_reasoning", text="**Looking** at the logs")
    session.calls("exec_command", cmd="kubectl logs deploy/shop", yield_time_ms=1000)
    session.event("token_count", info=None)
    session.gets("Process exited with code 0\nOutput:\nconnection reset\n")
    session.says("It needs a retry.")
    trajectory = imported(session.write(tmp_path), store)
    first, second = trajectory.states
    assert trajectory.goal == "How do we fix the flaky deploy?"
    assert trajectory.id == "shop-2026-03-02-5555abcd"
    assert first.text.endswith("Git branch: main\n\nUser:\nHow do we fix the flaky deploy?")
    assert (first.thought, first.action) == ("**Looking** at the logs", "kubectl logs deploy/shop")
    assert second.text == "Process exited with code 0\nOutput:\nconnection reset\n"
    assert second.action == 'respond("It needs a retry.")'
    assert second.url == f"file://{FOLDER}"


PATCH = "*** Begin Patch\n*** Add File: a.txt\n+x"


def call(name: str, arguments: object) -> dict[str, object]:
    """A function call with these arguments."""
    told = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"type": "function_call", "name": name, "arguments": told}


@pytest.mark.parametrize(
    ("item", "action"),
    [
        (call("shell", {"command": ["bash", "-lc", "ls | wc"]}), "ls | wc"),
        (call("shell", {"command": ["ls", "a b"]}), "ls 'a b'"),
        (call("shell", {"command": ["apply_patch", PATCH]}), f"apply_patch a.txt\n{PATCH}"),
        ({"type": "custom_tool_call", "name": "apply_patch", "input": PATCH}, f"apply_patch a.txt\n{PATCH}"),
        ({"type": "local_shell_call", "action": {"command": ["bash", "-lc", "ls"]}}, "ls"),
        ({"type": "web_search_call", "action": {"type": "search", "query": "helm"}}, "web_search helm"),
        (call("view_image", {"path": "/a.png"}), "view_image /a.png"),
        (call("tool", "{not json"), "tool\n{not json"),
    ],
)
def test_every_kind_of_call_is_an_action(
    store: Store, tmp_path: Path, item: dict[str, object], action: str
) -> None:
    session = CodexSession()
    session.user("Go")
    session.line("response_item", {"call_id": "call_1", **item})
    session.gets("done")
    assert imported(session.write(tmp_path), store).states[0].action == action


def test_a_picture_seen_is_the_screenshot(store: Store, tmp_path: Path) -> None:
    url = f"data:image/png;base64,{encoded(picture())}"
    session = CodexSession()
    session.item(
        "message",
        role="user",
        content=[
            {"type": "input_text", "text": '<image name=[Image #1] path="red.png">'},
            {"type": "input_image", "image_url": url},
            {"type": "input_text", "text": "</image>"},
            {"type": "input_text", "text": "What is in the picture?"},
        ],
    )
    session.calls("view_image", path="/b.png")
    session.gets([{"type": "input_image", "image_url": url}])
    session.says("A red square.")
    trajectory = imported(session.write(tmp_path), store)
    assert trajectory.goal == "What is in the picture?"
    (entry,) = store.entries()
    assert [shot.path.read_bytes() for i in (0, 1) if (shot := entry.screenshot(i))] == [picture()] * 2


def test_the_request_is_found_behind_what_an_editor_adds(store: Store, tmp_path: Path) -> None:
    session = CodexSession()
    session.user(
        "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nFix it\n"
    )
    session.says("Fixed.")
    assert imported(session.write(tmp_path), store).goal == "Fix it"


def test_compaction_abortion_and_failure_are_told(store: Store, tmp_path: Path) -> None:
    session = codex_session()
    session.line(
        "compacted", {"message": "We retried deploys.", "replacement_history": [{"type": "message"}]}
    )
    session.user("<turn_aborted>The user interrupted</turn_aborted>")
    session.event("task_complete", error={"message": "stream disconnected"})
    text = imported(session.write(tmp_path), store).states[-1].text
    assert text == (
        "[the conversation so far was replaced by a summary]\nWe retried deploys.\n"
        "<turn_aborted>The user interrupted</turn_aborted>\n[error: stream disconnected]"
    )


def test_the_early_form_without_envelopes_is_read(store: Store, tmp_path: Path) -> None:
    lines = [
        {"id": SESSION, "timestamp": TIME, "instructions": None, "git": {"branch": "main"}},
        {"record_type": "state"},
        {
            "type": "message",
            "role": "user",
            "content": [
                {
                    "type": "input_text",
                    "text": "<environment_context>\nCurrent working directory: /home/ada/shop\n",
                }
            ],
        },
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix it"}]},
        {"type": "function_call", "name": "shell", "arguments": '{"command": ["false"]}', "call_id": "c"},
        {
            "type": "function_call_output",
            "call_id": "c",
            "output": json.dumps({"output": "no luck\n", "metadata": {"exit_code": 1}}),
        },
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It fails."}]},
    ]
    trajectory = imported(write_lines(tmp_path / "rollout-old.jsonl", lines), store)
    assert (trajectory.id, trajectory.goal) == ("shop-2026-03-02-5555abcd", "Fix it")
    assert [state.action for state in trajectory.states] == ["false", 'respond("It fails.")']
    assert trajectory.states[1].text == "Exit code 1\nno luck\n"
    assert trajectory.start_url == f"file://{FOLDER}"


def test_a_fork_keeps_its_own_name_before_the_head_it_repeats(store: Store, tmp_path: Path) -> None:
    parent = codex_session()
    fork = CodexSession("22222222-2222-4333-8444-55555555ffff", forked_from_id=SESSION)
    fork.lines += parent.lines
    fork.user("And staging?")
    fork.says("The same.")
    assert imported(fork.write(tmp_path), store).id == "shop-2026-03-02-5555ffff"


def test_unknown_lines_and_items_are_counted(store: Store, tmp_path: Path) -> None:
    session = codex_session()
    session.item("hologram")
    session.line("hologram", {})
    session.line("world_state", {"full": True})
    report = import_sessions(session.write(tmp_path), store, "codex")
    assert report.skipped == 2
    assert "'response_item' 1, 'hologram' 1" in report.warnings[0]


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "message", "role": "user", "content": 5},
        {"type": "function_call", "name": None, "arguments": 5},
        {"type": "function_call_output", "call_id": [], "output": {"content": 1}},
        {"type": "function_call_output", "output": [{"type": ["list"]}, 3]},
        {"type": "local_shell_call", "action": {"command": None}},
        {"type": "reasoning", "summary": [None, "text"]},
        {"type": ["list"]},
    ],
)
@pytest.mark.parametrize("kind", ["response_item", "event_msg", ["list"], 7])
def test_odd_shapes_never_end_an_import(
    store: Store, tmp_path: Path, kind: object, odd: dict[str, object]
) -> None:
    session = codex_session()
    session.lines.append({"timestamp": "soon", "type": kind, "payload": odd})
    assert imported(session.write(tmp_path), store).goal == "How do we fix the flaky deploy?"
