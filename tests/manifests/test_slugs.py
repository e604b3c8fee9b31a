"""Folder names for trajectories never collide, never escape, and can be read."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests.slugs import is_slug, slug_of


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@given(st.text())
def test_any_id_makes_a_name_that_is_safe_on_every_file_system(trajectory_id: str) -> None:
    slug = slug_of(trajectory_id, digest(trajectory_id))
    assert is_slug(slug)
    assert set(slug) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-")
    assert slug[0] not in ".-"
    assert len(slug) <= 51


@given(st.sets(st.text(max_size=60), min_size=2, max_size=20))
def test_different_contents_have_different_names(ids: set[str]) -> None:
    assert len({slug_of(one, digest(one)) for one in ids}) == len(ids)


@pytest.mark.parametrize(
    ("trajectory_id", "readable"),
    [
        ("WA-0012", "wa-0012"),
        ("shop/orders 7", "shop-orders-7"),
        ("../../etc/passwd", "etc-passwd"),
        ("..", "trajectory"),
        ("CON", "con"),
        ("x" * 300, "x" * 40),
        ("Résumé", "resume"),
        ("订单", "trajectory"),
    ],
)
def test_the_readable_part_keeps_what_it_can(trajectory_id: str, readable: str) -> None:
    assert slug_of(trajectory_id, digest("content")) == f"{readable}-{digest('content')[:10]}"


@pytest.mark.parametrize(
    "name", ["..", "a", "a-0123456789/../b-0123456789", "A-0123456789", ".a-0123456789", ""]
)
def test_nothing_else_passes_for_a_name(name: str) -> None:
    assert not is_slug(name)
