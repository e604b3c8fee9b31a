"""Recording in a real browser."""

import io
from typing import Any

import pytest
from PIL import Image

from evals.demo.record import record, shrink

CLOSE_P1, COUNT_P2, OVER_LIMIT = "739f70a591", "96f90f2986", "47ca971d5b"


@pytest.mark.needs("chromium")
def test_recording_again_gives_the_same_trajectories(recordings: dict[str, dict[str, Any]]) -> None:
    again = list(record([CLOSE_P1, COUNT_P2, OVER_LIMIT]))
    assert [recording.row["id"] for recording in again] == [CLOSE_P1, COUNT_P2, OVER_LIMIT]
    for recording in again:
        assert recording.row == recordings[recording.row["id"]]
        for png in recording.screenshots.values():
            assert Image.open(io.BytesIO(png)).size == (960, 640)


@pytest.mark.needs("chromium")
def test_the_recorders_browser_reaches_nothing_but_the_desk() -> None:
    from playwright.sync_api import Error

    from evals.demo.browser import chromium, tab

    with (
        chromium(port=9) as browser,
        tab(browser, None) as window,
        pytest.raises(Error, match="ERR_NAME_NOT_RESOLVED"),
    ):
        window.page.goto("http://quillbrook.example/")


def test_an_unknown_trajectory_is_named() -> None:
    with pytest.raises(KeyError, match="no script has the trajectory id cafecafe00"):
        list(record(["cafecafe00"]))


def test_shrinking_keeps_flat_colours_exact_and_colours_few() -> None:
    picture = Image.linear_gradient("L").convert("RGB")
    picture.paste((18, 161, 154), (0, 0, 60, 60))
    out = io.BytesIO()
    picture.save(out, "PNG")
    small = Image.open(io.BytesIO(shrink(out.getvalue())))
    assert small.mode == "P"
    shown = small.convert("RGB")
    assert shown.getpixel((30, 30)) == (18, 161, 154)
    assert len(shown.getcolors() or ()) <= 64
