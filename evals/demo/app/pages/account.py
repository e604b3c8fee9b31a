"""A user's own settings: password and deputy."""

from http import HTTPStatus

from evals.demo.app import accounts
from evals.demo.app.rules import RefusedError
from evals.demo.app.web import Desk, Request, Response, Route, redirect


def show(desk: Desk, request: Request) -> Response:
    return render(desk, request)


def render(desk: Desk, request: Request, error: str = "", failed: str = "") -> Response:
    user = request.user
    colleagues = (
        [member for member in desk.world.members(user.team) if member is not user] if user.team else []
    )
    return desk.page(
        request,
        "me.html",
        status=HTTPStatus.UNPROCESSABLE_ENTITY if error else HTTPStatus.OK,
        error=error,
        failed=failed,
        colleagues=colleagues,
    )


def change_password(desk: Desk, request: Request) -> Response:
    """A new password ends all sessions of the user, this one included."""
    values = (request.sent(name) for name in ("current", "new", "again"))
    try:
        accounts.change_password(desk.world, request.user, *values)
    except RefusedError as refusal:
        return render(desk, request, str(refusal), failed="password")
    desk.log_out(request.user)
    return redirect("/login")


def set_deputy(desk: Desk, request: Request) -> Response:
    try:
        accounts.set_deputy(desk.world, request.user, request.sent("deputy"))
    except RefusedError as refusal:
        return render(desk, request, str(refusal), failed="deputy")
    request.notify("Saved.")
    return redirect("/me")


ROUTES: tuple[Route, ...] = (
    ("GET", "/me", show),
    ("POST", "/me/password", change_password),
    ("POST", "/me/deputy", set_deputy),
)
