"""Pages to look at: reports, service levels, the status board, the floor plan."""

from evals.demo.app import drawings
from evals.demo.app.web import Desk, NotFoundError, Request, Response, Route
from evals.demo.app.world import TEAMS, Calendar, Priority

SERVICE_LEVELS: dict[Calendar, dict[Priority, tuple[str, str]]] = {
    "Weekdays 08-18": {
        "P1": ("1 hour", "6 hours"),
        "P2": ("4 hours", "18 hours"),
        "P3": ("12 hours", "50 hours"),
        "P4": ("30 hours", "100 hours"),
    },
    "Round the clock": {
        "P1": ("20 minutes", "4 hours"),
        "P2": ("90 minutes", "11 hours"),
        "P3": ("8 hours", "36 hours"),
        "P4": ("24 hours", "96 hours"),
    },
}
FLOORS = {
    "ground": ("Ground floor", ("Workshop", "Loading bay", "Goods lift", "Parts hatch", "Tasting bar")),
    "first": ("First floor", ("Arabica", "Robusta", "Liberica", "Print room", "Quiet room")),
}


def reports(desk: Desk, request: Request, kind: str) -> Response:
    world = desk.world
    numbers = world.reports
    workload = [
        (TEAMS[team], member.name, world.load(member)) for team in TEAMS for member in world.members(team)
    ]
    return desk.page(
        request,
        "reports.html",
        kind=kind,
        week=numbers.week,
        bars=drawings.bars(numbers.intake),
        slices=drawings.slices(numbers.priorities),
        response=drawings.chart_data(numbers.response),
        workload=workload,
    )


def all_reports(desk: Desk, request: Request) -> Response:
    return reports(desk, request, "intake")


def service_levels(desk: Desk, request: Request) -> Response:
    calendar = desk.world.settings.calendar
    return desk.page(request, "sla.html", calendar=calendar, levels=SERVICE_LEVELS[calendar])


def status_board(desk: Desk, request: Request) -> Response:
    return desk.page(request, "status.html", services=desk.world.status)


def floor_plan(desk: Desk, request: Request, floor: str) -> Response:
    if floor not in FLOORS:
        raise NotFoundError(floor)
    title, rooms = FLOORS[floor]
    return desk.page(request, "floor.html", floor=floor, title=title, rooms=rooms, floors=FLOORS)


def ground_floor(desk: Desk, request: Request) -> Response:
    return floor_plan(desk, request, "ground")


ROUTES: tuple[Route, ...] = (
    ("GET", "/reports", all_reports),
    ("GET", r"/reports/(?P<kind>intake|priorities|response|workload)", reports),
    ("GET", "/sla", service_levels),
    ("GET", "/status", status_board),
    ("GET", "/floor", ground_floor),
    ("GET", r"/floor/(?P<floor>[a-z]+)", floor_plan),
)
