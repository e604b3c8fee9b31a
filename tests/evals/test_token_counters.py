"""Exact token counts come from the reader's server or its tokenizer file, and say so."""

import json
import sys
from pathlib import Path

import pytest

from evals.context_budget import fit_context
from evals.token_counters import CountingError, ExactTokens, FileTexts, ServerTexts
from evals.tokens import ImageTokens
from runbook.context import MemoryContext, TextItem


class Characters:
    """Counts a token per character."""

    mode = "characters"

    def text(self, text: str) -> int:
        return len(text)


@pytest.mark.parametrize(
    "reply", [{"count": 3, "max_model_len": 8}, {"tokens": [5, 6, 7]}, {"tokens": [{"id": 1}] * 3}]
)
def test_a_servers_count_is_taken_as_it_tells_it(model, config, answer, reply):
    model.answers = [answer(reply)]
    assert ServerTexts(config()).text("one two three") == 3
    assert model.requests[0]["prompt"] == model.requests[0]["content"] == "one two three"
    assert model.requests[0]["add_special_tokens"] is False
    assert model.keys == ["Bearer sk-test-key"]


@pytest.mark.parametrize("reply", [{"count": "3"}, {"count": -1}, [], {"error": "no"}, {"count": True}])
def test_a_reply_without_a_count_is_no_count(model, config, answer, reply):
    model.answers = [answer(reply)]
    with pytest.raises(CountingError, match="gives no token count"):
        ServerTexts(config()).text("one")


def test_a_server_without_the_endpoint_is_named(model, config, answer):
    model.answers = [answer({"detail": "Not Found"}, status=404)]
    with pytest.raises(CountingError, match=r"/tokenize gives no token count.*404"):
        ServerTexts(config()).text("one")


def test_a_server_that_is_busy_is_asked_again(model, config, answer):
    model.answers = [answer({"error": "busy"}, status=503), answer({"count": 1})]
    assert ServerTexts(config()).text("one") == 1


def test_an_image_is_its_patches_between_two_marks(picture):
    counter = ExactTokens(Characters(), ImageTokens(16, 2, 32 * 32, 640 * 640))
    image = Path(picture("a.png", (320, 64)).path)
    alone, beside = counter.whole(["note"]), counter.whole(["note", image])
    marks = len("<|vision_start|><|image_pad|><|vision_end|>")
    assert counter.image(image) == 10 * 2
    assert beside - alone == marks + 20 - 1
    assert counter.whole([]) == 0


def test_white_space_around_the_message_is_no_part_of_it():
    counter = ExactTokens(Characters(), None)
    assert counter.whole(["\n one", "two\n\n"]) == counter.whole(["one", "two"])
    assert counter.whole(["one\n", "\ntwo"]) == counter.whole(["one", "two"]) + 2


def test_the_longest_prefix_that_fits_together_is_kept():
    counter = ExactTokens(Characters(), None)
    frame = counter.whole([""])
    items = tuple(TextItem(text="x" * 10) for _ in range(7))
    fitted, cut = fit_context(MemoryContext(items=items), counter, frame + 35, "prefix")
    assert len(fitted.items) == 3
    assert (cut.original_tokens, cut.final_tokens, cut.final_items) == (frame + 70, frame + 30, 3)
    assert cut.counter == "text by characters, images estimated"


def test_without_the_package_its_name_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(CountingError, match="pip install tokenizers"):
        FileTexts(tmp_path / "tokenizer.json")


def test_a_tokenizer_file_counts(tmp_path):
    file = tmp_path / "tokenizer.json"
    vocabulary = {"[UNK]": 0, "one": 1, "two": 2}
    file.write_text(
        json.dumps(
            {
                "version": "1.0",
                "added_tokens": [],
                "normalizer": None,
                "pre_tokenizer": {"type": "Whitespace"},
                "post_processor": None,
                "decoder": None,
                "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
            }
        )
    )
    counter = FileTexts(file)
    assert counter.text("one two three") == 3
    assert counter.mode.startswith("tokenizer ")
    file.write_text("{}")
    with pytest.raises(CountingError, match=r"no tokenizer\.json"):
        FileTexts(file)
