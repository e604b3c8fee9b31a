"""Everything the help desk knows at one moment, and how a day's world is read from its seed files.

Time stands still but for one minute per change made, so that the same actions give the same pages.
"""

import tomllib
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

SEED = Path(__file__).parent / "seed"
DAYS = ("monday", "thursday", "tuesday")

Role = Literal["agent", "admin"]
Priority = Literal["P1", "P2", "P3", "P4"]
TicketState = Literal["New", "Open", "Waiting", "Resolved", "Closed"]
Calendar = Literal["Weekdays 08-18", "Round the clock"]
PRIORITIES: tuple[Priority, ...] = ("P1", "P2", "P3", "P4")
STATES: tuple[TicketState, ...] = ("New", "Open", "Waiting", "Resolved", "Closed")
CALENDARS: tuple[Calendar, ...] = ("Weekdays 08-18", "Round the clock")
TEAMS = {
    "machines-north": "Machines North",
    "machines-south": "Machines South",
    "accounts": "Accounts",
    "network": "Network",
}


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", validate_assignment=True)


class User(Model):
    login: str
    name: str
    email: str
    role: Role
    team: str | None = None
    password: str
    """In the clear: the company is made up, and the recordings show it being typed."""
    deputy: str | None = None
    """Login of the colleague who gets this user's tickets while they are out of office."""


class Comment(Model):
    author: str
    at: datetime
    text: str
    internal: bool = False


class Event(Model):
    at: datetime
    who: str
    what: str


class Ticket(Model):
    number: str
    subject: str
    cafe: str
    team: str
    priority: Priority
    state: TicketState
    updated: datetime
    assignee: str | None = None
    product: str | None = None
    locked: bool = False
    reason: str = ""
    postmortem: str = ""
    duplicate_of: str = ""
    phone: str = ""
    closed: datetime | None = None
    comments: list[Comment] = Field(default_factory=list)
    history: list[Event] = Field(default_factory=list)

    @property
    def active(self) -> bool:
        return self.state in ("New", "Open", "Waiting")


class Visit(Model):
    on: str
    slot: str
    by: str


class Cafe(Model):
    slug: str
    name: str
    ribbon: Literal["teal", "amber", "violet", ""] = ""
    contract: str
    contact: str
    phone: str
    street: str
    visits: list[Visit] = Field(default_factory=list)


class Product(Model):
    slug: str
    name: str
    kind: str
    sku: str
    rent: int
    weight: str
    note: str


class Article(Model):
    slug: str
    title: str
    section: str
    updated: str
    body: list[str]
    draft: list[str] | None = None
    draft_by: str = ""
    picture: str = ""


class Settings(Model):
    calendar: Calendar = "Weekdays 08-18"
    workload_limit: int = 4
    reopen_days: int = 7
    banner: str = ""


class Reports(Model):
    week: str
    intake: dict[str, int]
    priorities: dict[str, int]
    response: dict[str, list[int]]


class World(Model):
    day: str
    now: datetime
    settings: Settings
    users: dict[str, User]
    cafes: dict[str, Cafe]
    products: dict[str, Product]
    articles: dict[str, Article]
    tickets: dict[str, Ticket]
    status: dict[str, Literal["green", "amber", "red", "grey"]]
    reports: Reports
    audit: list[Event] = Field(default_factory=list)

    def tick(self) -> None:
        self.now += timedelta(minutes=1)

    def record(self, who: User, what: str, ticket: Ticket | None = None) -> None:
        """Write one line into the audit log, and into the ticket's history where it concerns one."""
        event = Event(at=self.now, who=who.name, what=what)
        if ticket is None:
            self.audit.append(event)
            return
        ticket.history.append(event)
        ticket.updated = self.now
        self.audit.append(Event(at=self.now, who=who.name, what=f"{ticket.number}: {what}"))

    def queue(self, team: str) -> list[Ticket]:
        found = [ticket for ticket in self.tickets.values() if ticket.team == team]
        return sorted(found, key=lambda ticket: ticket.number)

    def load(self, user: User) -> int:
        """How many tickets a user is working on: New, Open and Waiting ones assigned to them."""
        return sum(ticket.active and ticket.assignee == user.login for ticket in self.tickets.values())

    def members(self, team: str) -> Iterator[User]:
        return (user for user in self.users.values() if user.team == team)

    def name_of(self, login: str | None) -> str:
        return self.users[login].name if login else "nobody"


def open_world(day: str) -> World:
    """The world at nine o'clock of one of DAYS. Each day's file holds what differs from the base."""
    if day not in DAYS:
        raise ValueError(f"no such day: {day}; there are {', '.join(DAYS)}")
    seed: dict[str, Any] = {"day": day}
    for name in ("people", "cafes", "catalogue", "articles", "tickets"):
        seed = merged(seed, read_seed(name))
    for earlier in DAYS[: DAYS.index(day) + 1]:
        seed = merged(seed, read_seed(earlier))
    for table, key in KEYED.items():
        seed[table] = {name: {key: name, **row} for name, row in seed[table].items()}
    return World.model_validate(seed)


KEYED = {"users": "login", "cafes": "slug", "products": "slug", "articles": "slug", "tickets": "number"}


def read_seed(name: str) -> dict[str, Any]:
    return tomllib.loads((SEED / f"{name}.toml").read_text(encoding="utf-8"))


def merged(base: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """`base` with the values of `patch` laid over it, table by table."""
    result = dict(base)
    for key, value in patch.items():
        old = result.get(key)
        result[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result
