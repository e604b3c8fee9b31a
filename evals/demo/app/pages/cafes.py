"""Cafés and the machines they rent."""

from collections.abc import Callable
from http import HTTPStatus

from evals.demo.app import accounts
from evals.demo.app.rules import RefusedError
from evals.demo.app.web import Desk, NotFoundError, Request, Response, Route, redirect
from evals.demo.app.world import Cafe


def all_cafes(desk: Desk, request: Request) -> Response:
    cafes = sorted(desk.world.cafes.values(), key=lambda cafe: cafe.name)
    return desk.page(request, "cafes.html", cafes=cafes)


def find(desk: Desk, slug: str) -> Cafe:
    cafe = desk.world.cafes.get(slug)
    if cafe is None:
        raise NotFoundError(slug)
    return cafe


def show(desk: Desk, request: Request, slug: str) -> Response:
    return render(desk, request, find(desk, slug))


def render(desk: Desk, request: Request, cafe: Cafe, error: str = "") -> Response:
    return desk.page(
        request,
        "cafe.html",
        status=HTTPStatus.UNPROCESSABLE_ENTITY if error else HTTPStatus.OK,
        error=error,
        cafe=cafe,
        slots=accounts.SLOTS,
    )


def act(action: Callable[..., str], *fields: str) -> Callable[..., Response]:
    """A handler that does something for a café and says what was done, or why it was refused."""

    def handle(desk: Desk, request: Request, slug: str) -> Response:
        cafe = find(desk, slug)
        try:
            values = (request.sent(name).strip() for name in fields)
            request.notify(action(desk.world, request.user, cafe, *values))
        except RefusedError as refusal:
            return render(desk, request, cafe, error=str(refusal))
        return redirect(f"/cafes/{slug}")

    return handle


def catalogue(desk: Desk, request: Request) -> Response:
    return desk.page(request, "catalogue.html", products=tuple(desk.world.products.values()))


def product(desk: Desk, request: Request, slug: str) -> Response:
    found = desk.world.products.get(slug)
    if found is None:
        raise NotFoundError(slug)
    return desk.page(request, "product.html", product=found)


CAFE = r"/cafes/(?P<slug>[a-z-]+)"
ROUTES: tuple[Route, ...] = (
    ("GET", "/cafes", all_cafes),
    ("GET", CAFE, show),
    ("POST", f"{CAFE}/reset", act(accounts.send_portal_reset, "pin")),
    ("POST", f"{CAFE}/visits", act(accounts.book_visit, "day", "slot")),
    ("GET", "/catalogue", catalogue),
    ("GET", r"/catalogue/(?P<slug>[a-z0-9-]+)", product),
)
