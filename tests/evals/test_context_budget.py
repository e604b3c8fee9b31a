"""What a reader sees of a context that is too large, and how tokens are estimated."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.context_budget import MARKER, fit_context
from evals.tokens import EstimatedTokens, ImageTokens
from runbook.context import ImageItem, MemoryContext, TextItem


class Characters:
    """One token per character, and 100 per image."""

    mode = "characters"

    def text(self, text: str) -> int:
        return len(text)

    def image(self, _path) -> int:
        return 100

    def whole(self, items) -> int:
        return sum(len(one) if isinstance(one, str) else 100 for one in items)


IMAGE = ImageItem(path="x.png", sha256="0" * 64)


def context(*items) -> MemoryContext:
    return MemoryContext(items=tuple(TextItem(text=one) if isinstance(one, str) else one for one in items))


def test_a_context_that_fits_is_left_as_it_is():
    whole = context("one", IMAGE, "two")
    fitted, cut = fit_context(whole, Characters(), 106)
    assert fitted == whole
    assert (cut.original_tokens, cut.final_tokens, cut.truncated) == (106, 106, False)


def test_the_least_important_items_go_first():
    fitted, cut = fit_context(context("a" * 100, "b" * 50, "c" * 10), Characters(), 150)
    assert fitted == context("a" * 100, "b" * 50)
    assert (cut.original_items, cut.final_items, cut.shortened_item) == (3, 2, None)
    assert cut.truncated


def test_a_first_item_over_the_budget_is_cut_with_a_marker():
    fitted, cut = fit_context(context("a" * 5_000, "b"), Characters(), 1_000)
    (item,) = fitted.items
    assert isinstance(item, TextItem)
    assert item.text.startswith("a" * 900)
    assert item.text.endswith(MARKER)
    assert len(item.text) <= 1_000
    assert (cut.shortened_item, cut.final_items) == (0, 1)


def test_a_later_item_is_cut_where_there_is_room_for_it():
    fitted, cut = fit_context(context("a" * 100, "b" * 5_000), Characters(), 1_000)
    assert cut.shortened_item == 1
    assert 900 < cut.final_tokens <= 1_000
    tight, cut = fit_context(context("a" * 980, "b" * 5_000), Characters(), 1_000)
    assert tight == context("a" * 980)
    assert cut.shortened_item is None
    assert fitted != tight


def test_the_line_that_closes_a_fence_stays():
    text = "<<< recorded 1234\n" + "x" * 5_000 + "\n>>> recorded 1234"
    fitted, _ = fit_context(context(text), Characters(), 500)
    (item,) = fitted.items
    assert isinstance(item, TextItem)
    assert item.text.endswith(f"{MARKER}\n>>> recorded 1234")
    assert len(item.text) <= 500


def test_an_image_is_never_cut_and_never_the_reason_for_nothing():
    fitted, cut = fit_context(context(IMAGE, "a" * 50), Characters(), 99)
    assert fitted == context("a" * 50)
    assert cut.truncated
    fitted, _ = fit_context(context("a" * 50, IMAGE, "b"), Characters(), 99)
    assert fitted == context("a" * 50)


def test_a_prefix_is_of_whole_items_and_may_be_nothing():
    fitted, cut = fit_context(context("a" * 5_000, "b"), Characters(), 1_000, "prefix")
    assert fitted == context()
    assert (cut.final_items, cut.final_tokens, cut.truncated) == (0, 0, True)
    fitted, _ = fit_context(context("a", "b" * 5_000, "c"), Characters(), 1_000, "prefix")
    assert fitted == context("a")


@given(st.lists(st.text(max_size=300) | st.just(IMAGE), max_size=8), st.integers(1, 600))
def test_the_budget_holds_and_what_is_kept_is_in_order(items, budget):
    whole = context(*items)
    for policy in ("cut", "prefix"):
        fitted, cut = fit_context(whole, Characters(), budget, policy)
        assert cut.final_tokens <= budget
        assert cut.final_tokens == sum(
            100 if isinstance(item, ImageItem) else len(item.text) for item in fitted.items
        )
        assert cut.truncated is (fitted != whole)


# Exact counts of a public 151,000-entry byte-pair vocabulary (Qwen's) for texts like those of recordings.
COUNTED = [
    ("RootWebArea 'Orders', focused\n\t[12] navigation '', visible\n\t\t[13] link 'Export', clickable", 28),
    ("The page shows the order list. I should look at the priority column before I go on.", 18),
    ('{"flight": "HAT169", "price": 1074, "date": "2024-05-20", "seats": {"economy": 12}}', 46),
    ("$ grep -n wrapt setup.cfg\n40:    wrapt>=1.11,<1.14\n", 26),
]


@pytest.mark.parametrize(("text", "tokens"), COUNTED)
def test_the_estimate_is_near_the_count_of_a_real_vocabulary(text, tokens):
    assert EstimatedTokens().text(text * 20) == pytest.approx(tokens * 20, rel=0.1)


def test_nothing_has_no_tokens():
    assert EstimatedTokens().text("") == 0


@given(st.text(), st.text())
def test_more_text_is_not_fewer_tokens(one, other):
    assert EstimatedTokens().text(f"{one}. {other}") + 1 >= EstimatedTokens().text(one)


def test_images_count_in_cells_within_the_pixel_limits(picture):
    sizes = ImageTokens(patch_size=16, merge_size=2, min_pixels=64 * 64, max_pixels=640 * 640)
    assert sizes.of_size(640, 320) == 20 * 10
    assert sizes.of_size(6_400, 6_400) == 20 * 20
    assert sizes.of_size(1, 1) == 2 * 2
    assert EstimatedTokens(sizes).image(Path(picture(size=(320, 160)).path)) == 10 * 5


def test_a_models_own_numbers_are_read_from_its_file(tmp_path):
    file = tmp_path / "preprocessor_config.json"
    file.write_text(
        json.dumps(
            {"patch_size": 14, "merge_size": 2, "size": {"shortest_edge": 3136, "longest_edge": 12_845_056}}
        )
    )
    assert ImageTokens.from_preprocessor_config(file) == ImageTokens(14, 2, 3136, 12_845_056)
    file.write_text("[]")
    with pytest.raises(ValueError, match="patch_size"):
        ImageTokens.from_preprocessor_config(file)
