"""Serves a world over HTTP on a loopback port."""

import contextlib
import mimetypes
import threading
from collections.abc import Iterator
from http import HTTPStatus
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from evals.demo.app.pages import ROUTES
from evals.demo.app.web import (
    COOKIE,
    Desk,
    ForbiddenError,
    NotFoundError,
    Request,
    Response,
    Router,
    Session,
    redirect,
)
from evals.demo.app.world import World

STATIC = Path(__file__).parent / "static"
PUBLIC = ("/login",)
LARGEST_FORM = 64 * 1024


class DeskServer(ThreadingHTTPServer):
    """One world behind one port. Requests are answered one at a time: the world has no locks of its own."""

    daemon_threads = True

    def __init__(self, world: World, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), DeskHandler)
        self.desk = Desk(world)
        self.router = Router.of(ROUTES)
        self.turn = threading.Lock()

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class DeskHandler(BaseHTTPRequestHandler):
    server: DeskServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path.startswith("/static/"):
            self.send_static(path.removeprefix("/static/"))
        else:
            self.answer("GET", {})

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        if length > LARGEST_FORM:
            self.close_connection = True
            self.send(Response("The form is too large.", HTTPStatus.REQUEST_ENTITY_TOO_LARGE))
            return
        text = self.rfile.read(length).decode("utf-8", "replace")
        self.answer("POST", parse_qs(text, keep_blank_values=True))

    def answer(self, method: str, form: dict[str, list[str]]) -> None:
        parts = urlsplit(self.path)
        desk = self.server.desk
        with self.server.turn:
            request = Request(
                method=method,
                path=parts.path,
                query=parse_qs(parts.query, keep_blank_values=True),
                form=form,
                session=self.session(desk),
            )
            if method == "POST":
                desk.world.tick()
            response = respond(self.server.router, desk, request)
        self.send(response)

    def session(self, desk: Desk) -> Session | None:
        cookies = SimpleCookie(self.headers.get("Cookie", ""))
        token = cookies[COOKIE].value if COOKIE in cookies else ""
        return desk.sessions.get(token)

    def send_static(self, name: str) -> None:
        file = STATIC / name
        if not file.resolve().is_relative_to(STATIC) or not file.is_file():
            self.send(Response("No such file.", HTTPStatus.NOT_FOUND))
            return
        content_type = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        self.send_bytes(HTTPStatus.OK, file.read_bytes(), (("Content-Type", content_type),))

    def send(self, response: Response) -> None:
        headers = (("Content-Type", "text/html; charset=utf-8"), *response.headers)
        self.send_bytes(response.status, response.body.encode("utf-8"), headers)

    def send_bytes(self, status: HTTPStatus, body: bytes, headers: tuple[tuple[str, str], ...]) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet: the pages are the output."""


def respond(router: Router, desk: Desk, request: Request) -> Response:
    """The answer to a request, whatever becomes of it."""
    try:
        if request.path not in PUBLIC and request.session is None:
            return redirect("/login")
        return router.respond(desk, request)
    except NotFoundError:
        text = "There is nothing at this address."
        return desk.page(
            request, "message.html", status=HTTPStatus.NOT_FOUND, title="Page not found", text=text
        )
    except ForbiddenError as refusal:
        return desk.page(
            request, "message.html", status=HTTPStatus.FORBIDDEN, title="Not for you", text=str(refusal)
        )


@contextlib.contextmanager
def serving(world: World, port: int = 0) -> Iterator[DeskServer]:
    """Serve `world` on a loopback port (a free one by default) until the block ends."""
    server = DeskServer(world, port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
