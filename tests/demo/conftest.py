"""A help desk on a loopback port and people who use it over HTTP; the committed recordings."""

import html
import http.cookiejar
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from evals.demo.app.server import DeskServer, serving
from evals.demo.app.world import World, open_world
from evals.demo.check import DATA, read_lines
from tests.waiting import AT_ONCE


@dataclass
class Person:
    """Somebody with a browser of their own: `text` is what the last page said, tags taken away."""

    server: DeskServer
    login: str
    status: int = 0
    url: str = ""
    source: str = ""
    cookies: http.cookiejar.CookieJar = field(default_factory=http.cookiejar.CookieJar)

    @property
    def world(self) -> World:
        return self.server.desk.world

    @property
    def text(self) -> str:
        return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", self.source)).split())

    def get(self, path: str) -> str:
        return self._ask(path, None)

    def post(self, path: str, **form: str | list[str]) -> str:
        return self._ask(path, urllib.parse.urlencode(form, doseq=True).encode())

    def log_in(self) -> "Person":
        self.post("/login", login=self.login, password=self.world.users[self.login].password)
        return self

    def _ask(self, path: str, body: bytes | None) -> str:
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))
        try:
            answer = opener.open(f"http://127.0.0.1:{self.server.port}{path}", body, timeout=AT_ONCE)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            self.status = answer.status
            self.url = urllib.parse.urlsplit(answer.url).path
            self.source = answer.read().decode("utf-8")
        return self.text


@pytest.fixture
def desk() -> Iterator[Callable[[str], Callable[[str], Person]]]:
    """`desk(day)` opens that day's help desk; calling what it gives with a login gives a logged-in person."""
    with ExitStack() as stack:

        def open_day(day: str) -> Callable[[str], Person]:
            server = stack.enter_context(serving(open_world(day)))
            return lambda login: Person(server, login).log_in()

        yield open_day


@pytest.fixture
def monday(desk: Callable[[str], Callable[[str], Person]]) -> Callable[[str], Person]:
    return desk("monday")


@pytest.fixture
def thursday(desk: Callable[[str], Callable[[str], Person]]) -> Callable[[str], Person]:
    return desk("thursday")


@pytest.fixture(scope="session")
def demo_root() -> Path:
    return DATA


@pytest.fixture(scope="session")
def recordings() -> dict[str, dict[str, Any]]:
    """The committed trajectories by id. Tests copy what they change."""
    return {row["id"]: row for row in read_lines(DATA / "trajectories.jsonl")}
