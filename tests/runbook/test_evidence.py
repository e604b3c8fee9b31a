"""Evidence files: what is accepted, mended and refused."""

import hashlib
import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.evidence import (
    Evidence,
    EvidenceStatus,
    InvalidEvidence,
    KnownTrajectories,
    ReadEvidence,
    Refusal,
    evidence_schema,
    parse_evidence,
    read_evidence,
)

Read = Callable[..., ReadEvidence]
TRIP = "Trip 1/2"


def span(trajectory_id: Any, start: Any, end: Any) -> dict[str, Any]:
    return {"trajectory_id": trajectory_id, "start_state_index": start, "end_state_index": end}


def output(*spans: Any, note: Any = "# Support Analysis", **more: Any) -> dict[str, Any]:
    return {"memory_markdown": note, "trajectory_spans": list(spans), **more}


def bounds(read: ReadEvidence) -> list[tuple[str, int, int]]:
    return [
        (one.trajectory_id, one.start_state_index, one.end_state_index)
        for one in read.evidence.trajectory_spans
    ]


@pytest.fixture
def parse(known: KnownTrajectories) -> Read:
    def parse_content(content: Any, **options: Any) -> ReadEvidence:
        if not isinstance(content, bytes):
            text = content if isinstance(content, str) else json.dumps(content)
            content = text.encode("utf-8", "surrogatepass")
        return parse_evidence(content, known, **options)

    return parse_content


@pytest.fixture
def refused(parse: Read) -> Callable[[Any], InvalidEvidence]:
    def refusal_of(content: Any) -> InvalidEvidence:
        with pytest.raises(InvalidEvidence) as caught:
            parse(content)
        assert "\n" not in caught.value.reason
        return caught.value

    return refusal_of


def test_clean_evidence_is_taken_as_it_is(parse: Read) -> None:
    read = parse(output(span(TRIP, 2, 3), span("shared-one", 0, 0), evidence_status="supported"))
    assert bounds(read) == [(TRIP, 2, 3), ("shared-one", 0, 0)]
    assert read.evidence.memory_markdown == "# Support Analysis"
    assert read.evidence.evidence_status is EvidenceStatus.SUPPORTED
    assert (read.repairs, read.unknown_ids, read.extra) == ([], [], {})


# --- form ---------------------------------------------------------------------------------------------


BARE = json.dumps(output(span(TRIP, 2, 3)))


@pytest.mark.parametrize(
    ("content", "repair"),
    [
        (b"\xef\xbb\xbf" + BARE.encode(), "byte order mark removed"),
        (f"```json\n{BARE}\n```\n", "code fence removed"),
        (f"```\n{BARE}\n```", "code fence removed"),
        (f"Here is {{what}} I found:\n{BARE}\nDone!", "text around the object removed"),
        (f"[{BARE}]", "text around the object removed"),
        (BARE.replace("# Support", "#\nSupport"), "raw control characters"),
        (
            BARE.replace("{", '{"memory_markdown": "old", ', 1),
            "doubled key, the last counts: 'memory_markdown'",
        ),
        (BARE.replace("{", '{"score": NaN, ', 1), "NaN read as null"),
        (BARE.replace(": 2,", ": 2.0,"), "start_state_index 2.0 read as 2"),
        (BARE.replace(": 2,", ': "2",'), "start_state_index 2 read as 2"),
    ],
)
def test_form_is_mended_and_recorded(parse: Read, content: Any, repair: str) -> None:
    read = parse(content)
    assert bounds(read) == [(TRIP, 2, 3)]
    assert any(repair in said for said in read.repairs), read.repairs


def test_of_several_objects_the_last_with_a_known_key_counts(parse: Read) -> None:
    first, second = output(span(TRIP, 0, 0)), output(span(TRIP, 9, 9))
    read = parse(f'{json.dumps(first)}\nbetter:\n{json.dumps(second)}\n{{"done": true}}')
    assert bounds(read) == [(TRIP, 9, 9)]
    assert read.repairs == ["3 objects; the last with a known key counts"]


def test_an_object_quoted_inside_a_note_is_not_taken_for_the_evidence(parse: Read) -> None:
    quoted = json.dumps(output(span(TRIP, 9, 9)))
    assert bounds(parse(output(span(TRIP, 1, 1), note=f"as in {quoted}"))) == [(TRIP, 1, 1)]


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        (b"", Refusal.NO_OBJECT),
        (b"nothing found", Refusal.NO_OBJECT),
        (b"[]", Refusal.NO_OBJECT),
        (b"{}", Refusal.NO_OBJECT),
        (b'{"answer": 42}', Refusal.NO_OBJECT),
        (BARE[:-1].encode(), Refusal.NO_OBJECT),
        (BARE.replace("Support", "Suppört").encode("latin-1"), Refusal.NOT_UTF8),
        (BARE.encode("utf-16"), Refusal.NOT_UTF8),
        (b'{"memory_markdown":' * 50_000, Refusal.NO_OBJECT),
        (b'{"memory_markdown":' + b"[" * 500_000, Refusal.NO_OBJECT),
        (b'{"' * 500_000, Refusal.NO_OBJECT),
        (b'{"a":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,' * 18_000, Refusal.NO_OBJECT),
    ],
)
def test_what_holds_no_evidence_is_refused_quickly(
    refused: Callable[[Any], InvalidEvidence], content: bytes, refusal: Refusal
) -> None:
    start = time.process_time()
    assert refused(content).refusal is refusal
    assert time.process_time() - start < 5


def test_unprintable_characters_of_the_note_are_replaced(parse: Read) -> None:
    read = parse('{"memory_markdown": "a\\ud800b\\u0000c\\u001b[2J\\ttab\\nline"}')
    assert read.evidence.memory_markdown == "a\ufffdb\ufffdc\ufffd[2J\ttab\nline"
    assert read.repairs == [
        "halves of characters replaced",
        "memory_markdown: 2 unprintable characters replaced",
    ]


@pytest.mark.parametrize("note", [42, ["a"], {"text": "a"}, True])
def test_a_note_that_is_no_text_is_dropped_but_its_spans_kept(parse: Read, note: Any) -> None:
    read = parse(output(span(TRIP, 1, 1), note=note))
    assert (read.evidence.memory_markdown, bounds(read)) == ("", [(TRIP, 1, 1)])
    assert "memory_markdown" in read.repairs[0]


# --- meaning ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [-1, True, None, 1.5, "1.5", "-1", "one", [], "9" * 30])
def test_an_index_that_is_no_natural_number_drops_its_span(parse: Read, index: Any) -> None:
    read = parse(output(span(TRIP, index, 5), span(TRIP, 7, 7)))
    assert bounds(read) == [(TRIP, 7, 7)]
    assert "span 1: start_state_index is" in read.repairs[0]


def test_a_span_is_brought_into_the_range_of_its_trajectory(parse: Read) -> None:
    read = parse(output(span(TRIP, 9, 7), span("shared-one", 3, 10**30), span("shared-two", 5, 6)))
    assert bounds(read) == [(TRIP, 7, 9), ("shared-one", 3, 4)]
    assert [said.split(";")[0].split(" to ")[0] for said in read.repairs] == [
        "span 1: start 9 after end 7",
        f"span 2: end {2**63 - 1} clipped",
        "span 3: starts at 5, the last state is 4",
    ]


@pytest.mark.parametrize("name", ["trip-1-2-aaaaaaaaaa", "trip-1", "Trip 1", " Trip 1/2\n"])
def test_a_trajectory_may_be_named_by_id_slug_or_unique_prefix(parse: Read, name: str) -> None:
    assert bounds(parse(output(span(name, 0, 0)))) == [(TRIP, 0, 0)]


@pytest.mark.parametrize("name", ["trip-", "shared", "nowhere", "\ud800" * 300, ""])
def test_short_ambiguous_and_unknown_names_are_dropped(parse: Read, name: str) -> None:
    read = parse(output(span(name, 0, 0)))
    assert bounds(read) == []
    assert "dropped" in read.repairs[-1]
    assert all(len(one) < 90 and one.isprintable() for one in read.unknown_ids)


def test_unknown_and_ambiguous_names_are_reported(parse: Read) -> None:
    read = parse(output(span("nowhere", 0, 0), span("shared", 1, 1), span("nowhere", 3, 3)))
    assert read.unknown_ids == ["nowhere", "shared"]
    assert "ambiguous prefix shared: 2 trajectories" in read.repairs[1]


def test_an_original_id_wins_over_another_trajectorys_slug() -> None:
    known = KnownTrajectories([("a", "b", 1), ("b", "c", 1)])
    read = parse_evidence(json.dumps(output(span("b", 0, 0))).encode(), known)
    assert bounds(read) == [("b", 0, 0)]


def test_a_numeric_id_may_be_written_as_a_number() -> None:
    read = parse_evidence(json.dumps(output(span(123, 0, 0))).encode(), KnownTrajectories([("123", "x", 1)]))
    assert bounds(read) == [("123", 0, 0)]
    assert read.repairs


def test_overlapping_spans_are_merged_at_the_earlier_rank(parse: Read) -> None:
    read = parse(output(span(TRIP, 0, 3), span("shared-one", 0, 0), span(TRIP, 6, 8), span(TRIP, 3, 6)))
    assert bounds(read) == [(TRIP, 0, 8), ("shared-one", 0, 0)]
    assert "3 overlapping spans" in read.repairs[0]


def test_neighbouring_spans_stay_apart(parse: Read) -> None:
    assert bounds(parse(output(span(TRIP, 4, 5), span(TRIP, 2, 3)))) == [(TRIP, 4, 5), (TRIP, 2, 3)]


def test_over_budget_the_tail_is_cut_and_the_span_on_the_edge_clipped(parse: Read) -> None:
    read = parse(output(span("shared-one", 0, 3), span(TRIP, 5, 25), span("shared-two", 0, 0)))
    assert bounds(read) == [("shared-one", 0, 3), (TRIP, 5, 20)]
    assert read.repairs == ["26 states cut to the budget of 20, least important first"]


def test_the_budget_can_be_set(parse: Read) -> None:
    assert bounds(parse(output(span(TRIP, 0, 9)), budget=5)) == [(TRIP, 0, 4)]


@pytest.mark.parametrize(
    ("written", "status"),
    [
        ("contradicts_premise", EvidenceStatus.CONTRADICTS_PREMISE),
        ("Near-match only", EvidenceStatus.NEAR_MATCH_ONLY),
        ("maybe", None),
        (3, None),
        ({}, None),
    ],
)
def test_status_is_read_leniently_and_ignored_when_unknown(
    parse: Read, written: Any, status: EvidenceStatus | None
) -> None:
    assert parse(output(evidence_status=written)).evidence.evidence_status is status


def test_extra_keys_are_kept_within_bounds(parse: Read) -> None:
    deep: Any = []
    for _ in range(400):
        deep = [deep]
    read = parse(
        output(plan=["a"], blob="x" * 100_000, deep=deep, lone="\ud800", **{f"k{i}": i for i in range(99)})
    )
    assert read.extra["plan"] == ["a"]
    assert len(json.dumps(read.extra)) < 10_000
    assert len(read.extra) == 32


# --- empty or invalid ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        {"memory_markdown": "", "trajectory_spans": []},
        {"trajectory_spans": []},
        {"memory_markdown": None, "trajectory_spans": None},
        {"evidence_status": "insufficient"},
    ],
)
def test_evidence_that_says_it_is_empty_is_valid_and_empty(parse: Read, content: Any) -> None:
    assert parse(content).evidence.is_empty


def test_spans_that_are_all_invalid_without_a_note_are_refused(
    refused: Callable[[Any], InvalidEvidence],
) -> None:
    error = refused(output(span("nowhere", 0, 0), span(TRIP, 99, 99), note=" \n"))
    assert error.refusal is Refusal.NOTHING_VALID
    assert error.unknown_ids == ["nowhere"]
    assert len(error.repairs) == 2


def test_a_note_without_one_valid_span_is_valid(parse: Read) -> None:
    assert not parse(output(span("nowhere", 0, 0))).evidence.is_empty


# --- the file -----------------------------------------------------------------------------------------


def test_a_file_is_read_with_its_digest(write: Callable[[Any], Path], known: KnownTrajectories) -> None:
    path = write({"memory_markdown": "a"})
    assert read_evidence(path, known).sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def _link(path: Path) -> None:
    (path.parent / "target").write_text(BARE)
    path.symlink_to(path.parent / "target")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))


@pytest.mark.parametrize(
    ("plant", "refusal"),
    [
        (Path.absolute, Refusal.MISSING),
        (_link, Refusal.NOT_REGULAR),
        (lambda path: path.symlink_to("/dev/zero"), Refusal.NOT_REGULAR),
        (os.mkfifo, Refusal.NOT_REGULAR),
        (os.mkdir, Refusal.NOT_REGULAR),
        (_socket, Refusal.NOT_REGULAR),
        (lambda path: path.write_bytes(b" " * (1024 * 1024 + 1)), Refusal.TOO_LARGE),
    ],
)
def test_what_is_no_small_regular_file_is_refused_without_waiting(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    known: KnownTrajectories,
    plant: Callable[[Path], object],
    refusal: Refusal,
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "memory_module_output.json"
    plant(path)
    with pytest.raises(InvalidEvidence) as caught:
        read_evidence(path, known)
    assert caught.value.refusal is refusal


def test_a_linked_folder_on_the_way_to_the_file_is_refused(tmp_path: Path, known: KnownTrajectories) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/a.json").write_text(BARE)
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace/notes").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidEvidence, match="notes is a symbolic link"):
        read_evidence(tmp_path / "workspace/notes/a.json", known, below=tmp_path / "workspace")


# --- any input ----------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 40) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from([TRIP, "trip-1", "shared-one", "shared-two-cccccccccc", "shared", "nowhere"])
INDICES = st.integers(-2, 40) | st.sampled_from(["3", 3.0, True, None, "x", 10**40])
SPANS = st.builds(span, NAMES | JSON, INDICES, INDICES)
OUTPUTS = st.builds(output, note=st.text(max_size=20) | JSON, evidence_status=JSON) | st.builds(
    lambda spans, note: {"memory_markdown": note, "trajectory_spans": spans},
    st.lists(SPANS | JSON, max_size=8) | JSON,
    st.text(max_size=5),
)
KNOWN = KnownTrajectories(
    [(TRIP, "trip-1-2-aaaaaaaaaa", 30), ("shared-one", "s1", 5), ("shared-two", "s2", 5)]
)


@given(st.binary(max_size=60) | OUTPUTS.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_give_valid_evidence_or_a_refusal(data: bytes) -> None:
    try:
        read = parse_evidence(data, KNOWN, budget=7)
    except InvalidEvidence:
        return
    evidence = read.evidence
    assert Evidence.model_validate_json(evidence.model_dump_json()) == evidence
    shown = [(one.trajectory_id, i) for one in evidence.trajectory_spans for i in one.states]
    assert len(shown) == len(set(shown)) <= 7
    assert all(i < (30 if name == TRIP else 5) for name, i in shown)


@given(OUTPUTS)
def test_reading_what_was_read_changes_nothing(value: Any) -> None:
    try:
        first = parse_evidence(json.dumps(value).encode(), KNOWN).evidence
    except InvalidEvidence:
        return
    again = parse_evidence(first.model_dump_json().encode(), KNOWN)
    assert again.evidence == first
    assert again.repairs == []


def test_the_schema_names_the_fields_and_their_limits() -> None:
    schema = evidence_schema()
    assert set(schema["properties"]) == {"memory_markdown", "trajectory_spans", "evidence_status"}
    assert schema["$defs"]["Span"]["properties"]["start_state_index"]["minimum"] == 0
    assert schema["$defs"]["Span"]["required"] == ["trajectory_id", "start_state_index", "end_state_index"]
