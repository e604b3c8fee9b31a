"""The few words that a page needs of the web: a request, a response, a session, a table of routes."""

import re
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import jinja2

from evals.demo.app.world import TEAMS, User, World

COOKIE = "desk_session"
Fields = dict[str, list[str]]


@dataclass(slots=True)
class Session:
    """What the server remembers of one log-in. It is thrown away at log-out, saved filters and all."""

    user: User
    notices: list[str] = field(default_factory=list)
    filters: dict[str, dict[str, str]] = field(default_factory=dict)
    """Saved filters by team and name: {"machines-north": {"my P2": "state=Open&priority=P2"}}."""


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: Fields
    form: Fields
    session: Session | None

    def asked(self, name: str) -> str:
        """The first value of `name` in the query string, or nothing."""
        return self.query.get(name, [""])[0]

    def sent(self, name: str) -> str:
        """The first value of `name` in the submitted form, or nothing."""
        return self.form.get(name, [""])[0]

    @property
    def user(self) -> User:
        """Who asks. The server lets nobody past the log-in page without a session."""
        if self.session is None:
            raise ForbiddenError("Log in first.")
        return self.session.user

    def notify(self, text: str) -> None:
        """Show `text` on the next page."""
        if self.session is not None:
            self.session.notices.append(text)


@dataclass(frozen=True, slots=True)
class Response:
    body: str = ""
    status: HTTPStatus = HTTPStatus.OK
    headers: tuple[tuple[str, str], ...] = ()


class NotFoundError(Exception):
    """There is no such page."""


class ForbiddenError(Exception):
    """The page exists, but not for this user; the message says why."""


def redirect(path: str, *headers: tuple[str, str]) -> Response:
    return Response(status=HTTPStatus.SEE_OTHER, headers=(("Location", path), *headers))


class Desk:
    """The application: one world, its sessions, its templates. Pages get it with every request."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.sessions: dict[str, Session] = {}
        self.templates = jinja2.Environment(
            loader=jinja2.PackageLoader("evals.demo.app"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def log_in(self, user: User) -> tuple[str, str]:
        """Open a session; returns the header that gives the browser its token."""
        token = secrets.token_urlsafe(24)
        self.sessions[token] = Session(user)
        return ("Set-Cookie", f"{COOKIE}={token}; HttpOnly; SameSite=Lax; Path=/")

    def log_out(self, user: User) -> None:
        """End all sessions of a user."""
        self.sessions = {
            token: session for token, session in self.sessions.items() if session.user is not user
        }

    def page(
        self,
        request: Request,
        template: str,
        *,
        status: HTTPStatus = HTTPStatus.OK,
        error: str = "",
        **values: Any,
    ) -> Response:
        """Render a template for the user of the request, with the notices that waited for them."""
        notices: list[str] = []
        if request.session is not None:
            notices, request.session.notices = request.session.notices, []
        body = self.templates.get_template(template).render(
            world=self.world,
            teams=TEAMS,
            user=request.session.user if request.session else None,
            path=request.path,
            notices=notices,
            error=error,
            **values,
        )
        return Response(body, status)


Handler = Callable[..., Response]
Route = tuple[str, str, Handler]


@dataclass(frozen=True, slots=True)
class Router:
    """Finds the handler of a path. Handlers take (desk, request, **named groups of the pattern)."""

    routes: tuple[tuple[str, re.Pattern[str], Handler], ...]

    @classmethod
    def of(cls, routes: Iterable[Route]) -> "Router":
        return cls(tuple((method, re.compile(pattern), handler) for method, pattern, handler in routes))

    def respond(self, desk: Desk, request: Request) -> Response:
        """Raises NotFoundError where no route matches, and whatever the handler raises."""
        for method, pattern, handler in self.routes:
            match = pattern.fullmatch(request.path)
            if method == request.method and match:
                return handler(desk, request, **match.groupdict())
        raise NotFoundError(request.path)
