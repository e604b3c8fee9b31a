"""Log-in, log-out, the dashboard, and search."""

from http import HTTPStatus

from evals.demo.app import rules
from evals.demo.app.web import Desk, Request, Response, Route, redirect


def log_in_form(desk: Desk, request: Request) -> Response:
    return desk.page(request, "login.html", login="")


def log_in(desk: Desk, request: Request) -> Response:
    login = request.sent("login").strip().lower()
    user = desk.world.users.get(login)
    if user is None or user.password != request.sent("password"):
        return desk.page(
            request,
            "login.html",
            status=HTTPStatus.UNAUTHORIZED,
            error="Name or password is wrong. Use your user name, not your e-mail address.",
            login=login,
        )
    return redirect("/", desk.log_in(user))


def log_out(desk: Desk, request: Request) -> Response:
    desk.log_out(request.user)
    return redirect("/login")


def dashboard(desk: Desk, request: Request) -> Response:
    user, world = request.user, desk.world
    visible = [ticket for ticket in world.tickets.values() if rules.may_see(user, ticket)]
    mine = [ticket for ticket in visible if ticket.assignee == user.login and ticket.active]
    latest = sorted(visible, key=lambda ticket: ticket.updated, reverse=True)[:5]
    return desk.page(
        request,
        "dashboard.html",
        mine=sorted(mine, key=lambda ticket: (ticket.priority, ticket.number)),
        unassigned=sum(ticket.active and ticket.assignee is None for ticket in visible),
        urgent=sum(ticket.active and ticket.priority == "P1" for ticket in visible),
        latest=latest,
    )


def search(desk: Desk, request: Request) -> Response:
    """Tickets of one's own team and articles that hold all words; others are counted, not shown."""
    words = request.asked("q").lower().split()
    world = desk.world
    found = [
        ticket
        for ticket in world.tickets.values()
        if words and holds(words, ticket.number, ticket.subject, world.cafes[ticket.cafe].name)
    ]
    shown = [ticket for ticket in found if rules.may_see(request.user, ticket)]
    articles = [
        article for article in world.articles.values() if words and holds(words, article.title, *article.body)
    ]
    return desk.page(
        request,
        "search.html",
        words=request.asked("q"),
        tickets=shown,
        hidden=len(found) - len(shown),
        articles=articles,
    )


def holds(words: list[str], *texts: str) -> bool:
    text = " ".join(texts).lower()
    return all(word in text for word in words)


ROUTES: tuple[Route, ...] = (
    ("GET", "/login", log_in_form),
    ("POST", "/login", log_in),
    ("POST", "/logout", log_out),
    ("GET", "/", dashboard),
    ("GET", "/search", search),
)
