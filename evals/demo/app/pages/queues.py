"""The four queues: filters, saved filters, bulk edit, export. Agents see tickets of their own team only."""

import csv
import io
from http import HTTPStatus
from urllib.parse import urlencode

from evals.demo.app import rules
from evals.demo.app.web import Desk, NotFoundError, Request, Response, Route, redirect
from evals.demo.app.world import PRIORITIES, STATES, TEAMS, Ticket

PAGE_SIZE = 8
FILTERS = ("state", "priority", "assignee", "sort")
SORTS = {
    "number": lambda ticket: ticket.number,
    "priority": lambda ticket: (ticket.priority, ticket.number),
    "updated": lambda ticket: (ticket.updated, ticket.number),
}


def show(desk: Desk, request: Request, team: str) -> Response:
    return render(desk, request, team)


def render(desk: Desk, request: Request, team: str, error: str = "") -> Response:
    matching = filtered(desk, request, team)
    page = min(page_asked(request), pages_of(matching))
    return desk.page(
        request,
        "queue.html",
        status=HTTPStatus.UNPROCESSABLE_ENTITY if error else HTTPStatus.OK,
        error=error,
        team=team,
        tickets=page_of(matching, page),
        total=len(matching),
        page=page,
        pages=pages_of(matching),
        chosen={name: request.asked(name) for name in FILTERS},
        saved=request.session.filters.get(team, {}) if request.session else {},
        query=urlencode({name: request.asked(name) for name in FILTERS if request.asked(name)}),
        states=STATES,
        priorities=PRIORITIES,
        sorts=tuple(SORTS),
    )


def filtered(desk: Desk, request: Request, team: str) -> list[Ticket]:
    if team not in TEAMS:
        raise NotFoundError(team)
    user = request.user
    state, priority, assignee = (request.asked(name) for name in ("state", "priority", "assignee"))
    tickets = [
        ticket
        for ticket in desk.world.queue(team)
        if rules.may_see(user, ticket)
        and (ticket.active if not state else state in (ticket.state, "All"))
        and priority in ("", ticket.priority)
        and (not assignee or ticket.assignee == {"me": user.login, "nobody": None}.get(assignee, ""))
    ]
    return sorted(tickets, key=SORTS.get(request.asked("sort"), SORTS["number"]))


def page_asked(request: Request) -> int:
    text = request.asked("page")
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 5 else 1


def pages_of(tickets: list[Ticket]) -> int:
    return max(1, -(-len(tickets) // PAGE_SIZE))


def page_of(tickets: list[Ticket], page: int) -> list[Ticket]:
    return tickets[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]


def save_filter(desk: Desk, request: Request, team: str) -> Response:
    query = request.sent("query")
    name = request.sent("name").strip()
    if not name:
        return render(desk, request, team, error="Give the filter a name.")
    if request.session is not None:
        request.session.filters.setdefault(team, {})[name] = query
    request.notify(f"Filter “{name}” saved.")
    return redirect(f"/queues/{team}?{query}")


def bulk_edit(desk: Desk, request: Request, team: str) -> Response:
    chosen = [ticket for ticket in desk.world.queue(team) if ticket.number in request.form.get("ticket", [])]
    try:
        changed = rules.bulk_priority(desk.world, chosen, request.user, request.sent("priority"))
    except rules.RefusedError as refusal:
        return render(desk, request, team, error=str(refusal))
    request.notify(f"Bulk edit finished. {changed} tickets changed.")
    return redirect(f"/queues/{team}")


def export(desk: Desk, request: Request, team: str) -> Response:
    """The CSV of the page that was on screen, and of that page only."""
    tickets = filtered(desk, request, team)
    rows = page_of(tickets, min(page_asked(request), pages_of(tickets)))
    sheet = io.StringIO()
    writer = csv.writer(sheet, lineterminator="\n")
    writer.writerow(("number", "subject", "cafe", "priority", "state", "assignee"))
    for row in rows:
        cafe = desk.world.cafes[row.cafe].name
        writer.writerow((row.number, row.subject, cafe, row.priority, row.state, row.assignee or ""))
    return desk.page(request, "export.html", team=team, sheet=sheet.getvalue(), rows=len(rows))


QUEUE = r"/queues/(?P<team>[a-z-]+)"
ROUTES: tuple[Route, ...] = (
    ("GET", QUEUE, show),
    ("POST", f"{QUEUE}/filters", save_filter),
    ("POST", f"{QUEUE}/bulk", bulk_edit),
    ("GET", f"{QUEUE}/export", export),
)
