"""The reader sees context, question and image, and nothing is lost or kept that should not be."""

import base64
import hashlib
import json
import tracemalloc
from pathlib import Path

import pytest

import instructions
from evals.model_errors import ReaderError
from evals.reader import Reader, ReaderPolicy, ReaderPrompts
from runbook.context import MemoryContext, TextItem
from runbook.endpoint.config import Sampling
from runbook.outcomes import Outcome


def context(*items) -> MemoryContext:
    return MemoryContext(items=tuple(TextItem(text=one) if isinstance(one, str) else one for one in items))


def sent_texts(model, request: int = 0) -> list[str]:
    content = model.requests[request]["messages"][1]["content"]
    return [part["text"] if part["type"] == "text" else part["type"] for part in content]


def test_a_reading_has_the_parsed_answer_and_what_it_took(model, config, make_question):
    model.says("I remember. \\boxed{Red}")
    reading = Reader(config()).read(make_question(), context("note"), seed=11)
    assert (reading.response, reading.parsed_answer) == ("I remember. \\boxed{Red}", "Red")
    assert (reading.unknown, reading.fallback) == (False, None)
    assert (reading.requested_model, reading.model) == ("scripted", "scripted-1")
    assert (reading.finish_reason, reading.calls, reading.seed) == ("stop", 1, 11)
    assert reading.usage.total_tokens == 120
    assert reading.cut.counter == "estimated"
    assert reading.cut.truncated is False


def test_context_question_and_image_stand_in_order(model, config, make_question, picture):
    model.says("ok")
    image = picture("question.png")
    Reader(config()).read(
        make_question(question="Which colour?", image=image.path), context("first", picture(), "second")
    )
    frame = instructions.reader_frame()
    assert sent_texts(model) == [
        f"{frame.context_heading}\n\nfirst",
        "image_url",
        f"second\n\n{frame.question_heading}\n\nWhich colour?",
        "image_url",
    ]
    system = model.requests[0]["messages"][0]
    assert system == {"role": "system", "content": instructions.reader_system("web")}


def test_the_empty_context_says_so(model, config, make_question):
    model.says("\\boxed{UNKNOWN}")
    reading = Reader(config()).read(make_question(), context())
    assert instructions.reader_frame().empty_context in sent_texts(model)[0]
    assert reading.unknown


def test_images_are_sent_whole_and_never_recorded(model, config, make_question, picture):
    model.says("ok")
    image = picture()
    reading = Reader(config()).read(make_question(), context("note", image))
    url = model.requests[0]["messages"][1]["content"][1]["image_url"]["url"]
    kind, _, encoded = url.partition(",")
    assert kind == "data:image/png;base64"
    content = Path(image.path).read_bytes()
    assert base64.b64decode(encoded) == content
    assert "base64" not in reading.model_dump_json()
    assert encoded[:40] not in reading.model_dump_json()


def test_the_prompt_digest_depends_on_text_and_image_alone(model, config, make_question, picture):
    model.says("ok")
    reader = Reader(config())
    one, other = picture("a.png"), picture("b.png")
    bigger = picture("c.png", (65, 48))
    digest = reader.read(make_question(), context("note", one)).user_prompt_sha256
    assert reader.read(make_question(), context("note", other)).user_prompt_sha256 == digest
    assert reader.read(make_question(), context("note", bigger)).user_prompt_sha256 != digest
    assert reader.read(make_question(), context("Note", one)).user_prompt_sha256 != digest


def test_an_image_that_changed_since_it_was_recorded_is_not_sent(model, config, make_question, picture):
    image = picture()
    Path(image.path).write_bytes(Path(image.path).read_bytes() + b"\0")
    with pytest.raises(ReaderError, match="SHA-256 differs") as caught:
        Reader(config()).read(make_question(), context(image))
    assert caught.value.outcome is Outcome.READER_ERROR
    assert model.requests == []


def test_a_missing_image_is_that_questions_error(model, config, make_question, picture):
    image = picture()
    Path(image.path).unlink()
    with pytest.raises(ReaderError) as caught:
        Reader(config()).read(make_question(), context(image))
    assert caught.value.outcome is Outcome.READER_ERROR


def test_a_context_over_the_budget_is_cut_and_the_result_says_so(model, config, make_question):
    model.says("ok")
    reader = Reader(config(), policy=ReaderPolicy(context_tokens=300))
    reading = reader.read(make_question(), context("word " * 5000, "last"))
    assert reading.cut.truncated
    assert reading.cut.shortened_item == 0
    assert reading.cut.final_tokens <= 300 < reading.cut.original_tokens
    assert "cut here" in sent_texts(model)[0]
    assert "last" not in sent_texts(model)[0]


def test_other_prompts_can_be_given(model, config, make_question):
    model.says("ok")
    frame = instructions.ReaderFrame("CONTEXT", "NONE", "QUESTION")
    Reader(config(), prompts=ReaderPrompts(lambda domain: f"for {domain}", frame)).read(
        make_question(), context()
    )
    assert model.requests[0]["messages"][0]["content"] == "for web"
    assert sent_texts(model) == ["CONTEXT\n\nNONE\n\nQUESTION\n\nWhich colour?"]


def test_the_usual_sampling_is_the_benchmarks(model, config, make_question):
    model.says("ok")
    Reader(config()).read(make_question(), context())
    Reader(config(sampling=Sampling(temperature=0))).read(make_question(), context())
    sent, other = model.requests
    assert (other["temperature"], "top_k" in other) == (0, False)
    assert (sent["temperature"], sent["top_p"], sent["top_k"]) == (0.6, 0.95, 20)
    assert sent["max_tokens"] == 20_000


@pytest.mark.parametrize("content", ["", "  \n", None, []])
def test_empty_content_is_that_questions_error(model, config, make_question, answer, saying, content):
    model.answers = [answer(saying(content, reasoning="long thoughts"))]
    with pytest.raises(ReaderError, match="13 characters of reasoning") as caught:
        Reader(config()).read(make_question(), context())
    assert caught.value.outcome is Outcome.READER_ERROR
    assert len(model.requests) == 1


def test_reasoning_stands_in_for_content_only_where_the_policy_says_so(
    model, config, make_question, answer, saying
):
    model.answers = [answer(saying(None, reasoning="\\boxed{red}"))]
    reader = Reader(config(), policy=ReaderPolicy(empty_content="reasoning"))
    reading = reader.read(make_question(), context())
    assert (reading.parsed_answer, reading.fallback) == ("red", "reasoning")


def test_the_public_harness_takes_no_other_field_for_reasoning(model, config, make_question, answer, saying):
    model.answers = [answer(saying(None, reasoning_content="\\boxed{red}"))]
    with pytest.raises(ReaderError, match="11 characters of reasoning"):
        Reader(config(), policy=ReaderPolicy(empty_content="reasoning")).read(make_question(), context())


def test_a_refused_request_is_an_empty_response_only_where_the_policy_says_so(
    model, config, make_question, answer
):
    model.answers = [answer({"error": {"message": "too long"}}, 400)]
    with pytest.raises(ReaderError, match="too long") as caught:
        Reader(config()).read(make_question(), context())
    assert caught.value.outcome is Outcome.READER_ERROR
    reading = Reader(config(), policy=ReaderPolicy(bad_request="empty")).read(make_question(), context())
    assert (reading.response, reading.fallback, reading.usage.total_tokens) == ("", "bad_request", None)


def test_other_errors_are_errors_also_where_a_refused_request_is_not(model, config, make_question, answer):
    model.answers = [answer(b"{}", 401)]
    with pytest.raises(ReaderError) as caught:
        Reader(config(), policy=ReaderPolicy(bad_request="empty")).read(make_question(), context())
    assert caught.value.outcome is Outcome.AUTH_ERROR


def test_a_reading_survives_its_record(model, config, make_question):
    model.says("\\boxed{red}")
    reading = Reader(config()).read(make_question(), context("note"))
    assert type(reading).model_validate_json(reading.model_dump_json()) == reading


def test_memory_is_flat_over_many_readings_with_screenshots(model, config, make_question, tmp_path):
    model.says("ok")
    content = b"\x89PNG\r\n\x1a\n" + hashlib.sha256(b"seed").digest() * 7_000
    path = tmp_path / "big.png"
    path.write_bytes(content)
    item = {"type": "image", "path": str(path), "sha256": hashlib.sha256(content).hexdigest()}
    many = MemoryContext.model_validate({"items": [item] * 20})
    reader = Reader(config(), counter=FreeCounter())
    readings = [reader.read(make_question(), many)]
    model.requests.clear()
    tracemalloc.start()
    for _ in range(4):
        readings.append(reader.read(make_question(), many))
        model.requests.clear()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 2_000_000
    assert len(json.dumps([one.model_dump() for one in readings])) < 10_000


class FreeCounter:
    """Counts nothing, so that a file need not be a whole image."""

    mode = "none"

    def text(self, _text: str) -> int:
        return 0

    def image(self, _path: Path) -> int:
        return 0
