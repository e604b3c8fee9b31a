"""What only admins do: desk settings, users, the audit log."""

from http import HTTPStatus

from evals.demo.app import accounts
from evals.demo.app.rules import RefusedError
from evals.demo.app.web import Desk, ForbiddenError, Request, Response, Route, redirect
from evals.demo.app.world import CALENDARS, User

HIGHEST_LIMIT = 6


def admin_of(request: Request) -> User:
    if request.user.role != "admin":
        raise ForbiddenError("This page is for admins.")
    return request.user


def settings_form(desk: Desk, request: Request) -> Response:
    admin_of(request)
    return render_settings(desk, request)


def render_settings(desk: Desk, request: Request, error: str = "") -> Response:
    return desk.page(
        request,
        "settings.html",
        status=HTTPStatus.UNPROCESSABLE_ENTITY if error else HTTPStatus.OK,
        error=error,
        calendars=CALENDARS,
    )


def save_settings(desk: Desk, request: Request) -> Response:
    admin = admin_of(request)
    settings = desk.world.settings
    limit, days = request.sent("workload_limit"), request.sent("reopen_days")
    calendar = next((name for name in CALENDARS if name == request.sent("calendar")), None)
    if not limit.isdecimal() or not 1 <= int(limit) <= HIGHEST_LIMIT:
        return render_settings(desk, request, f"The workload limit is a number from 1 to {HIGHEST_LIMIT}.")
    if not days.isdecimal() or not 1 <= int(days) <= 30:
        return render_settings(desk, request, "Days for reopening is a number from 1 to 30.")
    if calendar is None:
        return render_settings(desk, request, "Choose a calendar.")
    before = settings.model_copy()
    settings.workload_limit, settings.reopen_days = int(limit), int(days)
    settings.calendar, settings.banner = calendar, request.sent("banner").strip()
    for name in type(settings).model_fields:
        old, new = getattr(before, name), getattr(settings, name)
        if old != new:
            desk.world.record(admin, f"setting {name.replace('_', ' ')}: {old} → {new}")
    request.notify("Settings saved.")
    return redirect("/admin/settings")


def users(desk: Desk, request: Request) -> Response:
    admin_of(request)
    return render_users(desk, request)


def render_users(desk: Desk, request: Request, error: str = "") -> Response:
    return desk.page(
        request,
        "users.html",
        status=HTTPStatus.UNPROCESSABLE_ENTITY if error else HTTPStatus.OK,
        error=error,
        entered={name: request.sent(name) for name in ("name", "email", "role", "team")},
        people=sorted(desk.world.users.values(), key=lambda user: user.name),
    )


def add_user(desk: Desk, request: Request) -> Response:
    admin = admin_of(request)
    values = (request.sent(name) for name in ("name", "email", "role", "team"))
    try:
        user = accounts.add_user(desk.world, admin, *values)
    except RefusedError as refusal:
        return render_users(desk, request, str(refusal))
    request.notify(f"{user.name} can log in as {user.login}. First password: {user.password}")
    return redirect("/admin/users")


def audit(desk: Desk, request: Request) -> Response:
    admin_of(request)
    return desk.page(request, "audit.html", events=desk.world.audit[::-1])


ROUTES: tuple[Route, ...] = (
    ("GET", "/admin/settings", settings_form),
    ("POST", "/admin/settings", save_settings),
    ("GET", "/admin/users", users),
    ("POST", "/admin/users", add_user),
    ("GET", "/admin/audit", audit),
)
