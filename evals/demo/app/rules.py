"""Who may do what to a ticket. A rule that forbids something raises RefusedError with the words to show.

Some rules are silent on purpose (bulk edits, deputies, duplicates): the recordings are to be learned from.
"""

import re
from collections.abc import Sequence
from datetime import timedelta

from evals.demo.app.world import PRIORITIES, Priority, Ticket, User, World

POSTMORTEM = "https://notes.quillbrook.demo/pm-"
PHONE = re.compile(r"\+\d{2} \d{3} \d{4}")
REASONS = ("Parts on order", "Café to reply", "Supplier to reply", "Visit booked")


class RefusedError(Exception):
    """A rule of the help desk forbids the action; the message is for the person who tried."""


def may_see(user: User, ticket: Ticket) -> bool:
    return user.role == "admin" or user.team == ticket.team


def resolve(world: World, ticket: Ticket, user: User) -> None:
    if not ticket.active:
        raise RefusedError(f"{ticket.number} is {ticket.state.lower()} already.")
    if ticket.assignee is None:
        raise RefusedError("A ticket without an assignee cannot be resolved. Assign it first.")
    ticket.state = "Resolved"
    world.record(user, "state set to Resolved", ticket)


def close(world: World, ticket: Ticket, user: User) -> None:
    if ticket.state != "Resolved":
        raise RefusedError("Only a resolved ticket can be closed. Resolve it first.")
    if ticket.priority == "P1" and not ticket.postmortem:
        raise RefusedError("A P1 ticket needs a postmortem link before it can be closed.")
    ticket.state = "Closed"
    ticket.closed = world.now
    world.record(user, "state set to Closed", ticket)


def reopen(world: World, ticket: Ticket, user: User) -> None:
    """Open a closed ticket again. Its assignee is taken off without a word."""
    if ticket.state != "Closed" or ticket.closed is None:
        raise RefusedError(f"{ticket.number} is not closed.")
    limit = world.settings.reopen_days
    if user.role != "admin" and world.now - ticket.closed > timedelta(days=limit):
        raise RefusedError(f"Closed more than {limit} days ago: only an admin can reopen {ticket.number}.")
    ticket.state = "Open"
    ticket.closed = None
    ticket.assignee = None
    world.record(user, "reopened", ticket)


def hold(world: World, ticket: Ticket, user: User, reason: str) -> None:
    if not ticket.active:
        raise RefusedError(f"{ticket.number} is {ticket.state.lower()}; only active tickets can wait.")
    if reason not in REASONS:
        raise RefusedError("Choose a waiting reason.")
    ticket.state = "Waiting"
    ticket.reason = reason
    world.record(user, f"state set to Waiting ({reason})", ticket)


def assign(world: World, ticket: Ticket, user: User, login: str) -> None:
    """Give a ticket to someone; while they are out of office it goes to their deputy instead."""
    target = world.users.get(login)
    if target is None:
        raise RefusedError("Choose a colleague.")
    if user.role != "admin" and target.login != user.login:
        raise RefusedError("Agents can assign tickets to themselves only. Ask an admin.")
    if target.team != ticket.team:
        raise RefusedError(f"{target.name} is not in the team of this ticket.")
    if target.deputy:
        target = world.users[target.deputy]
    if world.load(target) >= world.settings.workload_limit:
        raise RefusedError(
            f"{target.name} has reached the workload limit of {world.settings.workload_limit}."
        )
    ticket.assignee = target.login
    if ticket.state == "New":
        ticket.state = "Open"
    world.record(user, f"assigned to {target.name}", ticket)


def set_priority(world: World, ticket: Ticket, user: User, priority: str, phone: str) -> None:
    wanted = next((level for level in PRIORITIES if level == priority), None)
    if wanted is None:
        raise RefusedError("Choose a priority.")
    if ticket.priority == "P1" and wanted != "P1" and user.role != "admin":
        raise RefusedError("Only an admin can lower a P1 ticket.")
    if wanted == "P1" and not PHONE.fullmatch(phone.strip()):
        raise RefusedError("P1 needs an on-call phone number, written like +44 555 0100.")
    ticket.phone = phone.strip() or ticket.phone
    change_priority(world, ticket, user, wanted)


def change_priority(world: World, ticket: Ticket, user: User, priority: Priority) -> None:
    before, ticket.priority = ticket.priority, priority
    world.record(user, f"priority changed from {before} to {priority}", ticket)


def set_postmortem(world: World, ticket: Ticket, user: User, link: str) -> None:
    if not link.strip().startswith(POSTMORTEM):
        raise RefusedError(f"A postmortem link starts with {POSTMORTEM}")
    ticket.postmortem = link.strip()
    world.record(user, "postmortem link set", ticket)


def mark_duplicate(world: World, ticket: Ticket, user: User, number: str) -> None:
    """Resolve a ticket as a duplicate. It takes over the priority of the original."""
    original = world.tickets.get(number.strip().upper())
    if original is None or original is ticket:
        raise RefusedError("Give the number of another ticket, such as QB-1001.")
    if original.team != ticket.team:
        raise RefusedError("The original must be in the same queue.")
    ticket.duplicate_of = original.number
    ticket.priority = original.priority
    ticket.state = "Resolved"
    world.record(user, f"marked as a duplicate of {original.number}", ticket)


def toggle_lock(world: World, ticket: Ticket, user: User) -> None:
    if ticket.locked and user.role != "admin":
        raise RefusedError("Only an admin can unlock a ticket.")
    ticket.locked = not ticket.locked
    world.record(user, "locked" if ticket.locked else "unlocked", ticket)


def bulk_priority(world: World, tickets: Sequence[Ticket], user: User, priority: str) -> int:
    """Change the priority of many tickets; returns how many changed. Locked ones are passed over."""
    wanted = next((level for level in PRIORITIES if level == priority), None)
    if wanted is None:
        raise RefusedError("Choose a priority.")
    if user.role != "admin":
        raise RefusedError("Bulk edits are for admins.")
    if not tickets:
        raise RefusedError("Select at least one ticket.")
    changed = [ticket for ticket in tickets if not ticket.locked]
    for ticket in changed:
        change_priority(world, ticket, user, wanted)
    return len(changed)
