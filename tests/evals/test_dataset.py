"""A data root is read whole or refused with one line that names file, line and mend."""

import hashlib
import json

import pytest
from PIL import Image

from evals.dataset import DatasetError, load_data_root
from evals.dataset_files import MAX_ROW_BYTES
from evals.question import Gold, GoldSpan


def refusal(root, tier="small") -> str:
    with pytest.raises(DatasetError) as caught:
        load_data_root(root.write(), tier)
    message = str(caught.value)
    assert "\n" not in message
    assert str(root.path) in message
    assert message.endswith(")"), "the mend stands in brackets at the end"
    return message.removeprefix(f"{root.path.resolve()}/")


def test_questions_and_haystacks_come_back_in_order(root):
    root.question(1).question(2, domain="any domain", question_type="procedure-abs", answer="no such thing")
    root.questions[1]["eval_function"] = "llm_abstention_checker"
    data = load_data_root(root.write())
    assert [one.id for one in data.questions] == ["q1", "q2"]
    assert data.questions[1].domain == "any domain"
    assert data.haystacks == {"q1": ("t1", "t2"), "q2": ("t1", "t2")}
    assert data.gold is None


def test_digests_are_those_of_the_files(root):
    data = load_data_root(root.question().write())
    assert set(data.digests) == {"questions.jsonl", "haystacks/lme_v2_small.json"}
    for name, digest in data.digests.items():
        assert digest == hashlib.sha256((root.path / name).read_bytes()).hexdigest()


def test_blank_lines_a_byte_order_mark_and_carriage_returns_are_accepted(root):
    root.question()
    row = json.dumps(root.questions[0])
    root.file("questions.jsonl", b"\xef\xbb\xbf" + row.encode() + b"\r\n\r\n   \n")
    assert len(load_data_root(root.write()).questions) == 1


def test_haystacks_and_gold_of_other_questions_are_left_out(root):
    root.question().file("haystacks/lme_v2_small.json", {"q1": ["t1"], "q9": ["t9"]})
    root.file("gold.json", {"q9": {"evidence": []}})
    data = load_data_root(root.write())
    assert data.haystacks == {"q1": ("t1",)}
    assert data.gold == {}


def test_another_tier_has_its_own_haystacks(root):
    root.question().file("haystacks/lme_v2_small.json", {"q1": ["t1"]})
    root.file("haystacks/lme_v2_medium.json", {"q1": ["t1", "t2", "t3"]})
    assert len(load_data_root(root.write(), "medium").haystacks["q1"]) == 3


def test_gold_evidence_has_pieces_of_alternatives(root):
    spans = [
        {"trajectory_id": "t1", "start_state_index": 3, "end_state_index": 4},
        {"trajectory_id": "t2", "start_state_index": "0", "end_state_index": "0"},
    ]
    root.question().file("gold.json", {"q1": {"evidence": [spans, spans[:1]], "note": "n"}})
    first = GoldSpan(trajectory_id="t1", start_state_index=3, end_state_index=4)
    second = GoldSpan(trajectory_id="t2", start_state_index=0, end_state_index=0)
    assert load_data_root(root.write()).gold == {"q1": Gold(pieces=((first, second), (first,)))}


def test_each_span_of_the_generators_gold_is_a_piece(root):
    spans = [
        {"trajectory_id": "t1", "start_state_index": 3, "end_state_index": 4},
        {"trajectory_id": "t2", "start_state_index": 0, "end_state_index": 0},
    ]
    root.question().file("gold.json", {"q1": {"answer": "x", "spans": spans}})
    gold = load_data_root(root.write()).gold
    assert gold is not None
    assert [len(piece) for piece in gold["q1"].pieces] == [1, 1]


def test_an_image_is_resolved_inside_the_root(root):
    root.question(image="question_images/a b.png").file("question_images/x", b"")
    Image.new("RGB", (4, 4)).save(root.path / "question_images" / "a b.png")
    data = load_data_root(root.write())
    assert data.questions[0].image == (root.path / "question_images" / "a b.png").resolve()
    assert "question_images/a b.png" in data.digests


def test_no_folder(root, tmp_path):
    with pytest.raises(DatasetError, match="no such folder"):
        load_data_root(tmp_path / "nowhere")


def test_an_empty_root(root):
    with pytest.raises(DatasetError, match=r"no questions\.jsonl"):
        load_data_root(root.path)


def test_no_questions_in_the_file(root):
    root.file("questions.jsonl", b"\n \n")
    assert "holds no question" in refusal(root)


BAD_ROWS = {
    "not an object": (b"[1]", "is not a JSON object"),
    "not JSON": (b'{"id": ', "not valid JSON"),
    "not UTF-8": (b'{"id": "\xff"}', "is not UTF-8"),
    "half a surrogate": (b'{"id": "\\ud800"}', "not valid JSON"),
}


@pytest.mark.parametrize("kind", BAD_ROWS)
def test_a_bad_line_is_named(root, kind):
    row, complaint = BAD_ROWS[kind]
    root.question()
    root.lines([json.dumps(root.questions[0]), "", row])
    message = refusal(root)
    assert message.startswith("questions.jsonl:3: ")
    assert complaint in message


def test_a_line_too_long_is_refused_without_being_read(root):
    root.question()
    row = json.dumps(root.questions[0])
    root.file("questions.jsonl", f"{row}\n".encode() + b" " * (MAX_ROW_BYTES + 2))
    assert refusal(root).startswith("questions.jsonl:2: the line is longer than 16 MiB")


@pytest.mark.parametrize("key", ["id", "domain", "question_type", "question", "answer", "eval_function"])
@pytest.mark.parametrize(
    ("value", "complaint"),
    [(..., "has no"), (None, "has no"), ("  ", "is empty"), (["x"], "is not a string")],
)
def test_a_question_without_a_field(root, key, value, complaint):
    message = refusal(root.question(1).question(2, **{key: value}))
    assert message.startswith("questions.jsonl:2: ")
    assert key in message
    assert complaint in message


def test_a_duplicate_id_names_both_lines(root):
    message = refusal(root.question(1).question(2).question(1))
    assert message.startswith("questions.jsonl:3: ")
    assert "line 1" in message


@pytest.mark.parametrize(
    ("eval_function", "complaint"),
    [
        ("nope", "unknown evaluator"),
        ("norm_phrase_set_match|bogus=1", "no option 'bogus'"),
        ("norm_phrase_set_match|lower", "is no key=value"),
        ("llm_abstention_checker", "-abs"),
    ],
)
def test_a_wrong_evaluator_is_found_before_anything_is_spent(root, eval_function, complaint):
    message = refusal(root.question(eval_function=eval_function))
    assert message.startswith("questions.jsonl:1: ")
    assert complaint in message


@pytest.mark.parametrize("image", ["../x.png", "a/../../x.png", "/etc/passwd", "..\\x.png", "a\0b.png"])
def test_an_image_path_that_leaves_the_root(root, image):
    message = refusal(root.question(image=image))
    assert message.startswith("questions.jsonl:1: ")
    assert "leaves the data root" in message


def test_an_image_that_is_a_link_out_of_the_root(root):
    root.question(image="leak.png")
    (root.path / "leak.png").symlink_to("/etc/passwd")
    assert "link out of the data root" in refusal(root)


def test_a_folder_that_is_a_link_out_of_the_root(root, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    Image.new("RGB", (4, 4)).save(tmp_path / "elsewhere" / "x.png")
    (root.path / "images").symlink_to(tmp_path / "elsewhere")
    assert "link out of the data root" in refusal(root.question(image="images/x.png"))


def test_an_image_that_is_a_link_to_itself(root):
    (root.path / "loop.png").symlink_to("loop.png")
    assert "loop.png" in refusal(root.question(image="loop.png"))


def test_an_image_that_is_not_there(root):
    assert "is not there" in refusal(root.question(image="x.png"))


def test_an_image_that_is_none(root):
    root.question(image="x.png").file("x.png", b"\x89PNG\r\n\x1a\nnonsense")
    assert refusal(root).startswith("questions.jsonl:1: image 'x.png' cannot be read as a picture")


@pytest.mark.parametrize("name", ["x.png", "x.jpg", "x.webp", "x.gif"])
def test_an_image_that_breaks_off_is_found_before_the_run(root, name):
    noise = Image.effect_noise((300, 200), 90).convert("RGB")
    noise.save(root.path / name)
    whole = (root.path / name).read_bytes()
    root.question().question(2, image=name).file(name, whole[: len(whole) // 2])
    assert refusal(root).startswith(f"questions.jsonl:2: image {name!r} cannot be read as a picture")


def test_an_image_that_is_a_bomb(root):
    root.question(image="x.png")
    Image.new("1", (12_000, 9_000)).save(root.path / "x.png")
    assert "12000 x 9000 pixels" in refusal(root)


def test_a_tier_that_is_not_there_names_those_that_are(root):
    assert "choose a tier that is there: small" in refusal(root.question(), tier="medium")


def test_a_tier_is_a_name_not_a_path(root):
    root.question().write()
    with pytest.raises(DatasetError, match="no tier's name"):
        load_data_root(root.path, "../small")


BAD_HAYSTACKS = {
    "missing": ({"q2": ["t1"]}, "no haystack for question 'q1'"),
    "empty": ({"q1": []}, "is empty"),
    "twice": ({"q1": ["t1", "t2", "t1"]}, "names trajectory 't1' twice"),
    "no list": ({"q1": "t1"}, "is not a list"),
    "numbers": ({"q1": [1]}, "is not a list"),
}


@pytest.mark.parametrize("kind", BAD_HAYSTACKS)
def test_a_bad_haystack(root, kind):
    haystack, complaint = BAD_HAYSTACKS[kind]
    root.question().file("haystacks/lme_v2_small.json", json.dumps({"q0": ["t1"]} | haystack, indent=1))
    message = refusal(root)
    assert message.startswith("haystacks/lme_v2_small.json:")
    assert complaint in message


def test_a_haystack_that_names_an_unknown_trajectory_gives_its_line(root):
    root.question().file("haystacks/lme_v2_small.json", '{"q1": [\n"t1",\n"t7"]}')
    data = load_data_root(root.write())
    data.check_trajectories({"t1", "t7"})
    with pytest.raises(DatasetError, match=r"lme_v2_small\.json:3: .*'q1' names trajectory 't7'"):
        data.check_trajectories({"t1"})


@pytest.mark.parametrize("ascii_only", [True, False])
def test_an_unknown_trajectory_is_found_however_its_id_is_written(root, ascii_only):
    listing = json.dumps({"q1": ["t1", "fährte"]}, indent=0, ensure_ascii=ascii_only)
    data = load_data_root(root.question().file("haystacks/lme_v2_small.json", listing).write())
    with pytest.raises(DatasetError, match=r"lme_v2_small\.json:4: "):
        data.check_trajectories({"t1"})


BAD_GOLD = {
    "neither form": {"answer": "x"},
    "no list": {"evidence": {}},
    "an empty piece": {"evidence": [[]]},
    "a span that is none": {"spans": [7]},
    "no trajectory": {"spans": [{"start_state_index": 0, "end_state_index": 0}]},
    "backwards": {"spans": [{"trajectory_id": "t", "start_state_index": 2, "end_state_index": 1}]},
    "negative": {"spans": [{"trajectory_id": "t", "start_state_index": -1, "end_state_index": 1}]},
    "5,000 digits": {
        "spans": [{"trajectory_id": "t", "start_state_index": 0, "end_state_index": "9" * 5000}]
    },
    "a truth value": {"spans": [{"trajectory_id": "t", "start_state_index": True, "end_state_index": 1}]},
}


@pytest.mark.parametrize("kind", BAD_GOLD)
def test_bad_gold_names_its_question(root, kind):
    root.question().file("gold.json", json.dumps({"q0": {"evidence": []}, "q1": BAD_GOLD[kind]}, indent=0))
    message = refusal(root)
    assert message.startswith("gold.json:")
    assert "question 'q1'" in message


@pytest.mark.needs("shared")
@pytest.mark.parametrize(("name", "questions"), [("code", 30), ("service", 20), ("web", 20)])
def test_the_recorded_roots_load(shared, name, questions):
    data = load_data_root(shared / "data" / "realmem" / name)
    assert len(data.questions) == questions
    assert data.gold is not None
    assert set(data.gold) == {one.id for one in data.questions}
    trajectories = (shared / "data" / "realmem" / name / "trajectories.jsonl").read_text(encoding="utf-8")
    data.check_trajectories({json.loads(line)["id"] for line in trajectories.splitlines()})
