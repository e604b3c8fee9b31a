"""The report in a real browser: filters, keyboard, links, themes, widths, accessibility."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evals.report.write import write_folder, write_report
from evals.runs.folder import RunFolder
from tests.report.building import RunBuilder, Told
from tests.report.conftest import Visit
from tests.waiting import AT_ONCE

pytestmark = pytest.mark.needs("chromium")
Opens = Callable[..., Visit]
ROWS = ".q:not([hidden])"


def shown(page: Any) -> int:
    """How many questions are listed."""
    return int(page.locator(ROWS).count())


def wait_until(page: Any, condition: str, seconds: float = AT_ONCE) -> None:
    """Ask from outside: the page's own policy forbids the polling that Playwright would do inside."""
    deadline = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {condition}"
        page.wait_for_timeout(50)


OPENED = "document.querySelector('.q[open]') && !document.querySelector('.q[open] > noscript')"
"""What is in the questions that are open is there: it comes soon after they are opened."""


def open_everything(page: Any) -> None:
    """Open every question, then every fold in it."""
    for fold in (".q", "details"):
        page.evaluate(f"for (const one of document.querySelectorAll('{fold}')) one.open = true")
        wait_until(page, OPENED)


def open_first(page: Any) -> None:
    page.locator(".q > summary").first.click()
    wait_until(page, OPENED)


def test_nothing_is_complained_of_and_nothing_is_asked_for(visit: Opens, report_of_pair: Path) -> None:
    seen = visit(report_of_pair)
    for row in seen.page.locator(".q > summary").all():
        row.click()
    seen.page.locator("#theme").click()
    seen.page.wait_for_timeout(200)
    assert seen.complaints == []
    assert seen.requests == [report_of_pair.as_uri()]


def test_filters_show_what_they_say(visit: Opens, report_of_pair: Path) -> None:
    page = visit(report_of_pair).page
    assert shown(page) == 8
    for value in ("right", "wrong", "flips", "a", "b"):
        page.select_option("#answer", value)
        kept = page.locator(ROWS)
        for number in range(kept.count()):
            marks = kept.nth(number).locator("summary .mark")
            classes = [marks.nth(one).get_attribute("class").split()[1] for one in range(marks.count())]
            expected = {
                "right": "right" in classes,
                "wrong": "wrong" in classes,
                "flips": sorted(classes) == ["right", "wrong"],
                "a": classes == ["right", "wrong"],
                "b": classes == ["wrong", "right"],
            }
            assert expected[value]
        assert page.locator("#count").inner_text() == (
            f"{shown(page)} of 8" if shown(page) < 8 else "8 questions"
        )
    page.locator("#clear").click()
    assert shown(page) == 8


def test_the_flips_that_are_counted_are_the_flips_that_are_shown(visit: Opens, report_of_pair: Path) -> None:
    page = visit(report_of_pair).page
    counted = int(page.locator("#comparison .plain", has_text="flip").inner_text().split()[0])
    page.get_by_role("button", name="Show them").click()
    assert shown(page) == counted


def test_search_finds_words_of_questions_and_answers(visit: Opens, report_of_pair: Path) -> None:
    page = visit(report_of_pair).page
    page.fill("#find", "WAREHOUSE step")
    assert shown(page) == 8
    page.fill("#find", "q-5")
    assert shown(page) == 1
    page.fill("#find", "code-3-2")
    assert shown(page) == 2
    page.fill("#find", "nowhere to be found")
    assert shown(page) == 0
    assert page.locator("#none").is_visible()


def test_the_slowest_come_first_where_that_is_chosen(visit: Opens, report_of_pair: Path) -> None:
    page = visit(report_of_pair).page
    page.select_option("#order", "seconds")
    seconds = [float(row.get_attribute("data-seconds")) for row in page.locator(".q").all()]
    assert seconds == sorted(seconds, reverse=True)


def test_the_keyboard_is_enough(visit: Opens, report_of_pair: Path) -> None:
    page = visit(report_of_pair).page
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    assert page.locator(".q").nth(1).get_attribute("open") is not None
    wait_until(page, "location.hash.startsWith('#q-q-1-')")
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.closest('.q') === document.querySelector('.q')")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.closest('.q') === document.querySelectorAll('.q')[1]")
    page.keyboard.press("x")
    assert page.locator(".q[open]").count() == 0
    page.keyboard.press("/")
    page.keyboard.type("q-5")
    assert shown(page) == 1
    page.keyboard.press("Escape")
    assert shown(page) == 8


FOCUSED = "document.activeElement.closest('.q')?.dataset.anchor ?? document.activeElement.tagName"


def anchor(page: Any, number: int) -> str:
    """The name of a question, the first is 0."""
    return str(page.locator(".q").nth(number).get_attribute("data-anchor"))


def test_escape_leaves_the_search_and_keeps_the_other_filters(visit: Opens, report_of_pair: Path) -> None:
    page = visit(report_of_pair).page
    page.select_option("#answer", "right")
    right = shown(page)
    page.locator(f"{ROWS} > summary").first.click()
    page.keyboard.press("/")
    page.keyboard.type("x j k /")
    assert page.input_value("#find") == "x j k /"
    page.keyboard.press("Escape")
    assert page.input_value("#find") == ""
    assert shown(page) == right
    assert page.locator(".q[open]").count() == 1
    page.keyboard.press("x")
    assert page.locator(".q[open]").count() == 0
    assert page.input_value("#find") == ""


def test_keys_do_nothing_in_a_choice_until_it_is_left(visit: Opens, report_of_pair: Path) -> None:
    page = visit(report_of_pair).page
    page.locator("#order").focus()
    page.keyboard.press("j")
    assert page.evaluate(FOCUSED) == "SELECT"
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    assert page.evaluate(FOCUSED) == anchor(page, 0)


@pytest.mark.parametrize("place", ["#theme", ".q[open] .fold > summary", ".q[open] button.shot"])
def test_all_keys_work_with_the_focus_elsewhere(visit: Opens, report_of_pair: Path, place: str) -> None:
    page = visit(report_of_pair).page
    for number in range(3):
        page.locator(".q > summary").nth(number).click()
    inside = 1 if place.startswith(".q") else None
    focused = page.locator(".q").nth(1).locator(place.partition(" ")[2]) if inside else page.locator(place)
    focused.first.focus()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "find"
    for key, expected in (("j", 2 if inside else 0), ("k", 0 if inside else 7)):
        focused.first.focus()
        page.keyboard.press(key)
        assert page.evaluate(FOCUSED) == anchor(page, expected)
    focused.first.focus()
    page.keyboard.press("x")
    assert page.locator(".q[open]").count() == 0
    assert page.evaluate(FOCUSED) == (anchor(page, 1) if inside else "BUTTON")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    assert page.locator(".q[open]").count() == 1
    page.keyboard.press("Enter")
    assert page.locator(".q[open]").count() == 0


@pytest.mark.parametrize("script", [True, False])
def test_a_deep_link_opens_its_question_with_and_without_script(
    visit: Opens, report_of_pair: Path, script: bool
) -> None:
    anchor = visit(report_of_pair).page.locator(".q").nth(5).get_attribute("data-anchor")
    assert visit(report_of_pair, script=script).page.locator(f"#{anchor}").is_hidden()
    opened = visit(report_of_pair, script=script, at=f"#{anchor}").page.locator(f"#{anchor}")
    opened.wait_for(state="visible")
    assert opened.is_visible()


def test_without_script_the_tables_and_the_questions_are_there(visit: Opens, report_of_pair: Path) -> None:
    page = visit(report_of_pair, script=False).page
    assert page.locator("#comparison tbody tr").count() >= 1
    assert page.locator("#types tbody tr").first.is_visible()
    assert page.locator(".toolbar").is_hidden()
    page.locator(".q > summary").first.click()
    assert page.locator(".q .body").first.is_visible()


def test_screenshots_are_drawn_and_grow_when_asked(visit: Opens, report_of_pair: Path) -> None:
    page = visit(report_of_pair).page
    open_first(page)
    shot = page.locator(".q[open] button.shot").first
    shot.scroll_into_view_if_needed()
    wait_until(page, "document.querySelector('.q[open] button.shot img').naturalWidth > 0")
    before = shot.bounding_box()["width"]
    shot.click()
    assert shot.bounding_box()["width"] > before
    assert shot.get_attribute("aria-expanded") == "true"


@pytest.mark.parametrize("width", [360, 390, 768, 1024, 1600])
def test_nothing_is_wider_than_the_window(visit: Opens, report_of_pair: Path, width: int) -> None:
    page = visit(report_of_pair, width=width).page
    open_everything(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_theme_follows_the_system_until_it_is_chosen(visit: Opens, report_of_pair: Path) -> None:
    def lightness(page: Any) -> int:
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour.strip("rgb()").split(","))

    light, dark = visit(report_of_pair).page, visit(report_of_pair, scheme="dark").page
    assert lightness(light) > 600
    assert lightness(dark) < 200
    dark.locator("#theme").click()
    assert lightness(dark) > 600


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_axe_finds_nothing_serious(
    visit: Opens, report_of_pair: Path, axe: str, scheme: str, width: int
) -> None:
    page = visit(report_of_pair, scheme=scheme, width=width).page
    open_first(page)
    page.locator(".q > summary").nth(3).click()
    wait_until(page, OPENED)
    # The page's own policy lets no other script in, so it goes through the debugger.
    page.context.new_cdp_session(page).send("Runtime.evaluate", {"expression": axe})
    found = page.evaluate("axe.run({resultTypes: ['violations']})")
    serious = [
        f"{one['id']}: {one['help']}: {[node['html'][:160] for node in one['nodes'][:3]]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_it_prints(visit: Opens, report_of_pair: Path) -> None:
    page = visit(report_of_pair, scheme="dark").page
    open_first(page)
    page.emulate_media(media="print")
    assert page.locator(".toolbar").is_hidden()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator(".q[open] .body").is_visible()
    assert page.pdf().startswith(b"%PDF")


_DRAWN = """(row) => row.querySelector('.line').checkVisibility({contentVisibilityAuto: true})
    && row.querySelector('.line').scrollWidth <= row.querySelector('.line').clientWidth"""


def test_every_question_of_a_long_list_is_photographed_and_printed(
    visit: Opens, pair: tuple[RunFolder, RunFolder], tmp_path: Path
) -> None:
    out = tmp_path / "report.html"
    write_report([one.path for one in pair], out)
    head, opening, rest = out.read_text().partition('<div id="list">')
    rows, closing, foot = rest.partition('</div><p class="empty" id="none"')
    out.write_text(f"{head}{opening}{20 * rows}{closing}{foot}")
    page = visit(out).page
    assert page.locator(".q").count() == 160
    # Far below the window a browser leaves out what is laid out as it comes into view.
    drawn = "(line) => line.checkVisibility({contentVisibilityAuto: true})"
    wait_until(page, f"[...document.querySelectorAll('.q .line')].every({drawn})")
    open_first(page)
    page.emulate_media(media="print")
    assert page.evaluate(f"[...document.querySelectorAll('.q')].every({_DRAWN})")
    silent = visit(out, script=False).page
    silent.emulate_media(media="print")
    assert silent.evaluate(f"[...document.querySelectorAll('.q')].every({_DRAWN})")
    shots = page.locator(".q[open] .shot img")
    wait_until(page, "[...document.querySelectorAll('.q[open] .shot img')].every((one) => one.complete)")
    assert shots.count() > 0
    assert all(shots.nth(number).evaluate("(one) => one.naturalWidth > 0") for number in range(shots.count()))


@pytest.mark.parametrize("width", [640, 730, 960])
def test_nothing_is_wider_than_the_paper(visit: Opens, report_of_pair: Path, width: int) -> None:
    page = visit(report_of_pair, width=width).page
    open_first(page)
    page.emulate_media(media="print")
    wider = "[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth)"
    assert page.evaluate(f"{wider}.map((one) => one.getAttribute('aria-label'))") == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_full_folder_leads_from_page_to_page(
    visit: Opens, pair: tuple[RunFolder, RunFolder], tmp_path: Path
) -> None:
    write_folder([pair[0].path], tmp_path / "full")
    pictured = next(
        page.stem
        for page in (tmp_path / "full" / "questions").iterdir()
        if "../screenshots/" in page.read_text()
    )
    seen = visit(tmp_path / "full" / "index.html", at=f"#{pictured}")
    seen.page.locator(f"#{pictured} a").click()
    seen.page.wait_for_load_state()
    shot = seen.page.locator("a.shot img").first
    shot.scroll_into_view_if_needed()
    wait_until(seen.page, "document.querySelector('a.shot img').naturalWidth > 0")
    seen.page.get_by_role("link", name="All questions").click()
    seen.page.wait_for_load_state()
    assert seen.page.locator(".q").count() == 8
    assert seen.complaints == []


EVIL = (
    "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
    "<svg onload='window.hacked = 3'><a href='javascript:window.hacked=4'>click</a></svg>"
    "</pre></code></noscript></details></style></script>\"' onmouseover='window.hacked=5' x=\""
    "<a href='data:text/html,<script>window.hacked=6</script>'>go</a>"
    "[link](javascript:window.hacked=7) https://evil.example/leak {{ 7 * 7 }} {% raw %}"
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>"
    "<iframe src='https://evil.example/'></iframe><style>*{display:none}</style>"
    "\x1b[31m\x1b]8;;https://evil.example/\x07\x00\u202e\u2066\ud800"
)


def test_a_hostile_haystack_is_inert(world: RunBuilder, visit: Opens, tmp_path: Path) -> None:
    cell = EVIL + "<b>" * 50_000 + "x" * 10_000_000
    writable = EVIL.replace("\ud800", "\ufffd")
    told = Told(
        note=writable, response=writable, reason=writable, item=writable + cell[len(EVIL) :],
        diff=EVIL, detail=writable, command=writable, output=writable, score=1,
    )  # fmt: skip
    run = world.write(tmp_path / "run", told={f"q-{number}": told for number in range(8)})
    out = tmp_path / "report.html"
    written = write_report([run.path], out)
    assert written.bytes < 25_000_000
    data = out.read_bytes()
    data.decode()
    for forbidden in (b"\x00", b"\x1b", "\u202e".encode(), "\u2066".encode()):
        assert forbidden not in data
    seen = visit(out)
    page = seen.page
    open_everything(page)
    for place in (".q .note", ".q blockquote", ".q .steps code", ".q .diff", ".q .item"):
        page.locator(place).first.hover()
    page.wait_for_timeout(300)
    assert page.evaluate("window.hacked") is None
    assert seen.requests == [out.as_uri()]
    assert seen.complaints == []
    links = page.evaluate("[...document.querySelectorAll('a[href]')].map((one) => one.getAttribute('href'))")
    assert links
    assert all(link.startswith(("#q-", "run/questions/")) for link in links)
    assert page.locator("iframe, object, embed, form[action], link, base").count() == 0
    assert page.locator("script").count() == 1
    assert page.locator("svg a, svg script").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert "49" not in page.locator(".q .note").first.inner_text()


def test_hostile_names_are_inert(world: RunBuilder, visit: Opens, tmp_path: Path) -> None:
    run = world.write(
        tmp_path / "<img src=x onerror=window.hacked=1>", limit=2, model="<script>window.hacked=1"
    )
    out = tmp_path / "report.html"
    write_report([run.path, run.path], out)
    seen = visit(out)
    assert seen.page.evaluate("window.hacked") is None
    assert seen.page.locator("h1").inner_text().count("onerror=window.hacked=1") == 2
    assert seen.complaints == []
