"""Handing in evidence: what is accepted, what is refused with its mend, and what is written."""

import hashlib
import json
from typing import Any

import pytest

OUTPUT = "memory_module_output.json"


def document(*spans: tuple[Any, Any, Any], note: Any = "A note.", **more: Any) -> bytes:
    """An evidence file with these (trajectory id, start, end)."""
    keys = ("trajectory_id", "start_state_index", "end_state_index")
    rows = [dict(zip(keys, span, strict=True)) for span in spans]
    return json.dumps({"memory_markdown": note, "trajectory_spans": rows, **more}).encode()


def written(shop: Any) -> Any:
    """The result in the workspace."""
    return json.loads((shop.workspace.root / OUTPUT).read_text())


def test_one_command_hands_in_with_the_original_ids(shop: Any) -> None:
    line = [
        "--note",
        "Export works.",
        "--span",
        f"{shop.orders}:0-1",
        "--span",
        "refund-run:4",
        "--status",
        "supported",
    ]
    done = shop.memory("submit", *line)
    assert (done.code, done.err) == (0, "")
    assert "3 of 20 states" in done.out
    assert written(shop) == {
        "memory_markdown": "Export works.",
        "trajectory_spans": [
            {"trajectory_id": "web/Order-Run 7", "start_state_index": 0, "end_state_index": 1},
            {"trajectory_id": "refund-run", "start_state_index": 4, "end_state_index": 4},
        ],
        "evidence_status": "supported",
    }
    files = shop.workspace.files()
    assert sorted(files) == [".submitted", OUTPUT]
    assert files[".submitted"].decode() == hashlib.sha256(files[OUTPUT]).hexdigest()


@pytest.mark.parametrize("way", ["stdin", "file", "default"])
def test_json_is_taken_from_stdin_a_file_or_the_result_file(way: str, shop: Any) -> None:
    raw = b"\xef\xbb\xbf" + document(
        (shop.orders, "0", 1.0), ("web/Order", 1, 2), evidence_status="near_match_only"
    )
    name = {"stdin": "-", "file": str(shop.workspace.root / "notes" / "e.json"), "default": ""}[way]
    if way != "stdin":
        (shop.workspace.root / ("notes/e.json" if name else OUTPUT)).write_bytes(raw)
    done = shop.memory("submit", *([name] if name else []), stdin=raw)
    assert done.code == 0, done.err
    spans = [{"trajectory_id": "web/Order-Run 7", "start_state_index": 0, "end_state_index": 2}]
    assert written(shop)["trajectory_spans"] == spans  # overlapping spans are one
    assert written(shop)["evidence_status"] == "near_match_only"


def test_merged_spans_keep_the_earlier_rank(shop: Any) -> None:
    spans = [f"{shop.refund}:10-12", f"{shop.orders}:0", f"{shop.refund}:12-15", f"{shop.refund}:1"]
    shop.memory("submit", "--note", "n", *(word for span in spans for word in ("--span", span)))
    rows = [(row["trajectory_id"], *list(row.values())[1:]) for row in written(shop)["trajectory_spans"]]
    assert rows == [("refund-run", 10, 15), ("web/Order-Run 7", 0, 0), ("refund-run", 1, 1)]


REFUSED = [
    (document(("refund-run", 0, 20)), "cut 1, least important first: shorten refund-run-"),
    (document(("refund-run", 0, 19), ("web/Order-Run 7", 0, 1)), "drop web-order-run-7-"),
    (document(("refund-rum", 0, 1)), "nearest: refund-run-"),
    (document(("refund-run", 0, 30)), "its states are 0 to 29"),
    (document(("refund-run", True, 3)), "start_state_index is 'True'"),
    (document(("refund-run", 0, -1)), "end_state_index is '-1'"),
    (document(("refund-run", 0, 1.5)), "end_state_index is '1.5'"),
    (document(("refund-run", 0, "1e3")), "end_state_index is '1e3'"),
    (document(("refund-run", 0, float("inf"))), "end_state_index is 'inf'"),
    (document(("refund-run", 5, 3)), "start_state_index 5 is after end_state_index 3"),
    (document((None, 0, 1)), "trajectory_id must be a text"),
    (
        b'{"trajectory_spans": [{"trajectory_id": "refund-run"}]}',
        "start_state_index, end_state_index is missing",
    ),
    (b'{"trajectory_spans": ["refund-run:1"]}', "span 1: must be an object"),
    (b'{"trajectory_spans": {}}', "must be a list"),
    (document(("refund-run", 0, 1), note=["x"]), "memory_markdown must be a text"),
    (document(("refund-run", 0, 1), evidence_status="sure"), "none of supported, contradicts_premise"),
    (b'{"memory_markdown": "x", "spans": []}', "unknown key 'spans'"),
    (b"[1]", "must be a JSON object"),
    (b"{'a': 1}", "is no JSON"),
    (b"[" * 100_000, "is no JSON"),
    (b"\xff\xfe{}", "not UTF-8 (byte 0)"),
    (b"   ", "standard input is empty"),
    (b'{"memory_markdown": "' + b"x" * (1 << 20) + b'"}', "more than 1048576 bytes"),
    (document(), "say why there are none, as --status insufficient"),
    (document(evidence_status="supported"), "no spans"),
    (document(note=" ", evidence_status="near_match_only"), "neither spans nor a note"),
    (b"{}", "no spans"),
]


@pytest.mark.parametrize(("raw", "error"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_wrong_is_said_with_its_mend_and_nothing_is_written(
    raw: bytes, error: str, shop: Any
) -> None:
    for verb in ("submit", "save") if len(raw) < 200 else ("submit",):
        done = shop.memory(verb, "-", stdin=raw)
        assert done.code == 2
        assert error in done.err
        assert len(done.err) < 2048
        assert shop.workspace.files() == {}


def test_all_errors_are_told_at_once(shop: Any) -> None:
    raw = document(("nowhere", 0, 1), ("refund-run", 0, 99), ("refund-run", -1, 2))
    error = shop.memory("check", "-", stdin=raw).err
    assert all(f"span {number}: " in error for number in (1, 2, 3))


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (["--span", "refund-run"], "a span is ID:A-B"),
        (["--span", "refund-run:3-1"], "runs backwards; write 1-3"),
        (["--span", "refund-run:-1"], "no state ''"),
        (["--status", "perhaps", "--span", "refund-run:1"], "--status must be one of"),
        (["-", "--span", "refund-run:1"], "either a file or"),
        (["no-such-file.json"], "no file no-such-file.json"),
        (["/dev/zero"], "no file"),
        (["--note", "@no-such-file", "--span", "refund-run:1"], "no file no-such-file"),
        (["--note", "a", "--note", "b"], "given twice"),
        ([], "nothing to hand in"),
    ],
)
def test_wrong_options_are_refused(line: list[str], error: str, shop: Any) -> None:
    done = shop.memory("submit", *line, stdin=document(("refund-run", 0, 1)))
    assert done.code == 2
    assert error in done.err
    assert shop.workspace.files() == {}


def test_empty_evidence_must_be_meant(shop: Any) -> None:
    for line in (
        ["--status", "insufficient"],
        ["--empty"],
        ["--note", "No trace.", "--status", "contradicts_premise"],
    ):
        assert shop.memory("submit", *line).code == 0
        assert written(shop)["trajectory_spans"] == []


def test_the_note_comes_from_a_file_or_stdin_whole(shop: Any) -> None:
    note = '# Support\n\n- 订单 \u2028 "quoted" \\ back\n'
    (shop.workspace.root / "notes" / "n.md").write_text(note)
    shop.memory("submit", "--note", f"@{shop.workspace.root}/notes/n.md", "--span", "refund-run:1")
    assert written(shop)["memory_markdown"] == note
    shop.memory("submit", "--note", "-", "--span", "refund-run:2", stdin=note.encode())
    assert written(shop)["memory_markdown"] == note


def test_drafts_are_kept_apart_and_the_latest_can_be_handed_in(shop: Any) -> None:
    for number in (1, 2, 3):
        assert shop.memory("save", "--note", f"draft {number}", "--span", f"refund-run:{number}").code == 0
    drafts = sorted((shop.workspace.root / "notes" / "drafts").iterdir())
    assert [json.loads(draft.read_text())["memory_markdown"] for draft in drafts] == [
        "draft 1",
        "draft 2",
        "draft 3",
    ]
    assert not (shop.workspace.root / OUTPUT).exists()
    assert f"{shop.refund}:3" in shop.memory("check").out
    assert shop.memory("submit").code == 0
    assert written(shop)["memory_markdown"] == "draft 3"


def test_budget_counts_span_by_span(shop: Any) -> None:
    assert shop.memory("budget").code == 1
    out = shop.memory("budget", "--span", f"{shop.refund}:3-7,12", "--span", shop.orders + ":0").out
    assert out.splitlines() == [
        "7 of 20 states used, 13 left",
        f"5 {shop.refund}:3-7",
        f"1 {shop.refund}:12",
        f"1 {shop.orders}:0",
    ]


def test_nothing_is_written_through_a_link(shop: Any, tmp_path: Any) -> None:
    root, outside = shop.workspace.root, tmp_path / "outside"
    outside.write_text("mine")
    (root / OUTPUT).symlink_to(outside)
    (root / ".submitted").symlink_to(outside)
    assert shop.memory("submit", "--note", "n", "--span", "refund-run:1").code == 0
    assert outside.read_text() == "mine"
    assert not (root / OUTPUT).is_symlink()
    (root / "notes" / "drafts").symlink_to(tmp_path)
    done = shop.memory("save", "--note", "n", "--span", "refund-run:1")
    assert done.code == 2
    assert "is not a folder" in done.err


def test_a_place_that_cannot_be_written_is_said(shop: Any) -> None:
    (shop.workspace.root / OUTPUT).mkdir()
    done = shop.memory("submit", "--note", "n", "--span", "refund-run:1")
    assert done.code == 2
    assert "cannot write" in done.err
    assert "Traceback" not in done.err
    assert shop.workspace.files() == {}


def test_an_id_that_two_trajectories_share_is_written_as_slug(
    new_view: Any, workspace: Any, recorded: Any
) -> None:
    view = new_view()
    first, second = (view.add("same", [recorded(text)]) for text in ("one", "two"))
    view.finish()
    assert f"fits 2 trajectories: {min(first, second)}" in workspace.memory("show", "same").err
    workspace.memory("submit", "--note", "n", "--span", f"{second}:0")
    document_ = json.loads(workspace.files()[OUTPUT])
    assert document_["trajectory_spans"][0]["trajectory_id"] == second


def test_an_id_with_colons_and_line_breaks_survives(new_view: Any, workspace: Any, recorded: Any) -> None:
    view = new_view()
    view.add("task:12", [recorded(str(n)) for n in range(9)])
    slug = view.add("two\nlines", [recorded("x")])
    view.finish()
    line = ["--note", "n", "--span", "task:12:3-4", "--span", "task:12:7:8", "--span", f"{slug}:0"]
    assert workspace.memory("submit", *line).code == 0
    rows = json.loads(workspace.files()[OUTPUT])["trajectory_spans"]
    assert [row["trajectory_id"] for row in rows] == ["task:12", "task:12", "two\nlines"]


def test_keys_of_the_agents_own_are_kept(shop: Any) -> None:
    shop.memory("submit", "-", stdin=document(("refund-run", 0, 1), answer_policy="abstain"))
    assert written(shop)["answer_policy"] == "abstain"
