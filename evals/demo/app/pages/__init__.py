"""The pages of the help desk, one module per part of the menu."""

from evals.demo.app.pages import account, admin, cafes, front, knowledge, overview, queues, tickets
from evals.demo.app.web import Route

ROUTES: tuple[Route, ...] = (
    *front.ROUTES,
    *queues.ROUTES,
    *tickets.ROUTES,
    *knowledge.ROUTES,
    *cafes.ROUTES,
    *overview.ROUTES,
    *account.ROUTES,
    *admin.ROUTES,
)
