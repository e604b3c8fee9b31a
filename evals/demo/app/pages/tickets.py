"""One ticket: conversation, details and history, and the forms that change it."""

from collections.abc import Callable
from http import HTTPStatus

from evals.demo.app import rules
from evals.demo.app.web import Desk, ForbiddenError, NotFoundError, Request, Response, Route, redirect
from evals.demo.app.world import PRIORITIES, TEAMS, Comment, Ticket

TABS = ("conversation", "details", "history")
Change = Callable[[Desk, Request, Ticket], None]


def show(desk: Desk, request: Request, number: str) -> Response:
    tab = request.asked("tab")
    return render(desk, request, find(desk, request, number), tab if tab in TABS else "conversation")


def find(desk: Desk, request: Request, number: str) -> Ticket:
    user = request.user
    ticket = desk.world.tickets.get(number)
    if ticket is None:
        raise NotFoundError(number)
    if not rules.may_see(user, ticket):
        raise ForbiddenError(
            f"{number} is in the queue of {TEAMS[ticket.team]}. Ask a colleague there or an admin."
        )
    return ticket


def render(desk: Desk, request: Request, ticket: Ticket, tab: str, error: str = "") -> Response:
    world = desk.world
    colleagues = world.users.values() if request.user.role == "admin" else (request.user,)
    return desk.page(
        request,
        "ticket.html",
        status=HTTPStatus.UNPROCESSABLE_ENTITY if error else HTTPStatus.OK,
        error=error,
        ticket=ticket,
        tab=tab,
        tabs=TABS,
        cafe=world.cafes[ticket.cafe],
        product=world.products[ticket.product] if ticket.product else None,
        colleagues=[user for user in colleagues if user.team],
        priorities=PRIORITIES,
        reasons=rules.REASONS,
    )


def change(tab: str, done: str, apply: Change) -> Callable[..., Response]:
    """A handler that applies a change and goes back to `tab`, or shows why it was refused."""

    def handle(desk: Desk, request: Request, number: str) -> Response:
        ticket = find(desk, request, number)
        try:
            apply(desk, request, ticket)
        except rules.RefusedError as refusal:
            return render(desk, request, ticket, tab, error=str(refusal))
        if done:
            request.notify(done.format(ticket=ticket))
        return redirect(f"/tickets/{number}?tab={tab}")

    return handle


def reply(desk: Desk, request: Request, ticket: Ticket) -> None:
    """Add a comment. The form's box for internal notes starts ticked, so cafés hear nothing by default."""
    text = request.sent("text").strip()
    if not text:
        raise rules.RefusedError("Write something first.")
    internal = "internal" in request.form
    world = desk.world
    ticket.comments.append(Comment(author=request.user.name, at=world.now, text=text, internal=internal))
    cafe = world.cafes[ticket.cafe]
    world.record(request.user, "internal note" if internal else f"reply sent to {cafe.contact}", ticket)


def by_rule(rule: Callable[..., None], *fields: str) -> Change:
    """The change that a rule makes with the named fields of the form."""

    def apply(desk: Desk, request: Request, ticket: Ticket) -> None:
        rule(desk.world, ticket, request.user, *(request.sent(name) for name in fields))

    return apply


TICKET = r"/tickets/(?P<number>QB-\d+)"
CHANGES = (
    ("resolve", "conversation", "Saved.", by_rule(rules.resolve)),
    ("close", "conversation", "Saved.", by_rule(rules.close)),
    ("reopen", "conversation", "{ticket.number} is open again.", by_rule(rules.reopen)),
    ("lock", "conversation", "", by_rule(rules.toggle_lock)),
    ("reply", "conversation", "Added to the conversation.", reply),
    ("hold", "details", "Saved.", by_rule(rules.hold, "reason")),
    ("assign", "details", "Assignment saved.", by_rule(rules.assign, "login")),
    ("priority", "details", "Saved.", by_rule(rules.set_priority, "priority", "phone")),
    ("postmortem", "details", "Saved.", by_rule(rules.set_postmortem, "link")),
    ("duplicate", "details", "Saved.", by_rule(rules.mark_duplicate, "number")),
)
ROUTES: tuple[Route, ...] = (
    ("GET", TICKET, show),
    *(("POST", f"{TICKET}/{name}", change(tab, done, apply)) for name, tab, done, apply in CHANGES),
)
