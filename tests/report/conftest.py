"""A small recorded world with screenshots, runs over it, and a browser that reaches nothing."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from evals.report.write import write_report
from evals.runs.folder import RunFolder
from tests.conftest import lacking, require
from tests.report.building import RunBuilder, imported, pictured_root
from tests.waiting import AT_ONCE, FOREVER

AXE_VERSION = "4.10.3"


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> RunBuilder:
    """Eight questions over four trajectories of five states, each with a screenshot, in a store."""
    place = tmp_path_factory.mktemp("world")
    root = pictured_root(place / "data", questions=8, trajectories=4, states=5)
    imported(root, place / "store")
    return RunBuilder(root, place / "store", commands=6)


@pytest.fixture(scope="session")
def pair(world: RunBuilder, tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, RunFolder]:
    """Two runs of the same questions, one more skilful."""
    place = tmp_path_factory.mktemp("pair")
    return world.write(place / "skilful", skill=0.8), world.write(place / "clumsy", skill=0.3)


@pytest.fixture(scope="session")
def report_of_pair(pair: tuple[RunFolder, RunFolder], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of both."""
    out = tmp_path_factory.mktemp("report") / "report.html"
    write_report([one.path for one in pair], out)
    return out


@dataclass
class Visit:
    """A page that was opened, and everything that it complained about or asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"], timeout=1000 * AT_ONCE
        )
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Visit]]:
    """Opens a file in a page of its own: `visit(path, width=360, scheme="dark", script=False, at="#q-1")`."""
    contexts = []

    def open_page(
        path: Path, *, width: int = 1280, scheme: str = "light", script: bool = True, at: str = ""
    ) -> Visit:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=script
        )
        contexts.append(context)
        context.set_default_timeout(1000 * AT_ONCE)
        seen = Visit(context.new_page())
        seen.page.on("console", lambda message: seen.complaints.append(message.text))
        seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        seen.page.on("dialog", lambda dialog: (seen.complaints.append("a dialog"), dialog.dismiss()))
        seen.page.on(
            "request",
            lambda request: None if request.url.startswith("data:") else seen.requests.append(request.url),
        )
        seen.page.goto(path.as_uri() + at)
        return seen

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def axe(request: pytest.FixtureRequest) -> str:
    """The text of axe-core, fetched once from the npm registry."""
    cache = Path(request.config.cache.mkdir("axe-core"))  # type: ignore[union-attr]
    script = cache / AXE_VERSION / "package" / "axe.min.js"
    if not script.is_file():
        require("agents")  # which is npm
        script.parent.parent.mkdir(exist_ok=True)
        packed = subprocess.run(
            ["npm", "pack", "--silent", f"axe-core@{AXE_VERSION}"],
            cwd=script.parent.parent, capture_output=True, text=True, timeout=FOREVER, check=False,
        )  # fmt: skip
        if packed.returncode:
            lacking("agents", f"axe-core cannot be fetched: {packed.stderr.strip()[-200:]}")
        archive = script.parent.parent / packed.stdout.strip().splitlines()[-1]
        shutil.unpack_archive(archive, script.parent.parent, filter="data")
    return script.read_text()
