"""Headless Chromium on one page: what is to be seen, and acting on the elements seen.

The browser reaches one made-up host, which is the help desk's loopback port, and nothing else.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.demo.tree import Element, Node, nodes_of, text_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, CDPSession, ElementHandle, Page

HOST = "http://helpdesk.demo"
VIEWPORT = (960, 640)
FONTS = Path(__file__).parent / "fonts.conf"
PATIENCE_MILLISECONDS = 120_000  # of each step; a busy machine is slow, not broken
FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-lcd-text",
    "--force-color-profile=srgb",
)
SURVEY = """() => Array.from(document.querySelectorAll('*'), element => [
  element.checkVisibility() && element.getClientRects().length > 0,
  element.matches('a[href], button, input:not([type=hidden]), select, textarea, summary'),
])"""


class BrowserMissingError(Exception):
    """Chromium or Playwright is not installed; the message says how to get it."""


class ElementMissingError(Exception):
    """The tree has no such element, or more than one."""


@dataclass(frozen=True, slots=True)
class View:
    """What an agent sees of a page: its address and its tree."""

    url: str
    nodes: list[Node]

    @property
    def tree(self) -> str:
        return text_of(self.nodes)

    def number_of(self, role: str, name: str) -> int:
        """The number of the one element of this role and name. Raises ElementMissingError."""
        found = [node.number for node in self.nodes if node.role == role and node.name == name]
        if len(found) != 1 or found[0] is None:
            raise ElementMissingError(
                f"{len(found)} elements are a {role} {name!r} at {self.url}:\n{self.tree}"
            )
        return found[0]


class Tab:
    """One page of the browser."""

    def __init__(self, page: "Page") -> None:
        self.page = page
        self.tools: CDPSession = page.context.new_cdp_session(page)

    def open(self, path: str) -> None:
        self.page.goto(HOST + path)

    def look(self) -> View:
        document = self.tools.send("DOM.getDocument", {"depth": -1})["root"]
        survey = self.page.evaluate(SURVEY)
        elements = {
            backend_id: Element(number, *survey[number])
            for number, backend_id in enumerate(element_ids(document))
        }
        raw = self.tools.send("Accessibility.getFullAXTree")["nodes"]
        return View(self.page.url, nodes_of(raw, elements))

    def screenshot(self) -> bytes:
        """The visible part of the page as PNG."""
        return self.page.screenshot()

    def click(self, number: int) -> None:
        element = self.element(number)
        leads_on = element.evaluate("element => element.matches('a[href], button')")
        with self.page.expect_navigation() if leads_on else contextlib.nullcontext():
            element.click()

    def fill(self, number: int, value: str) -> None:
        self.element(number).fill(value)

    def select(self, number: int, label: str) -> None:
        self.element(number).select_option(label=label)

    def press(self, number: int, key: str) -> None:
        with self.page.expect_navigation() if key == "Enter" else contextlib.nullcontext():
            self.element(number).press(key)

    def back(self) -> None:
        self.page.go_back()

    def scroll(self, distance: int) -> None:
        """Scroll the page by a number of CSS pixels, downwards where positive."""
        self.page.evaluate("distance => window.scrollBy(0, distance)", distance)

    def element(self, number: int) -> "ElementHandle":
        handle = self.page.evaluate_handle("number => document.querySelectorAll('*')[number]", number)
        element = handle.as_element()
        if element is None:
            raise ElementMissingError(f"no element has the number {number} at {self.page.url}")
        return element


def element_ids(node: dict[str, Any]) -> Iterator[int]:
    """Backend ids of all elements below a node, in document order (the order of querySelectorAll('*'))."""
    for child in node.get("children", ()):
        if child["nodeType"] == 1:
            yield child["backendNodeId"]
        yield from element_ids(child)


@contextlib.contextmanager
def chromium(port: int) -> Iterator["Browser"]:
    """Headless Chromium with an empty profile, for which HOST is a loopback port.

    Raises BrowserMissingError.
    """
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        raise BrowserMissingError("chromium is not installed; on Debian: apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise BrowserMissingError(
            "playwright is not installed; run: pip install 'agent-runbook[record]'"
        ) from None
    host = HOST.removeprefix("http://")
    flags = [*FLAGS, f"--host-resolver-rules=MAP {host} 127.0.0.1:{port}, MAP * ~NOTFOUND"]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")
    environment: dict[str, str | float | bool] = {**os.environ, "FONTCONFIG_FILE": str(FONTS)}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program,
            headless=True,
            args=flags,
            env=environment,
            timeout=PATIENCE_MILLISECONDS,
        )
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def tab(browser: "Browser", cookie: tuple[str, str] | None) -> Iterator[Tab]:
    """A fresh window without history, with one cookie (name, value) for HOST where one is given."""
    width, height = VIEWPORT
    context = browser.new_context(
        viewport={"width": width, "height": height},
        locale="en-GB",
        timezone_id="UTC",
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    try:
        if cookie is not None:
            context.add_cookies([{"name": cookie[0], "value": cookie[1], "url": HOST}])
        yield Tab(context.new_page())
    finally:
        context.close()
