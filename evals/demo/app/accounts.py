"""Rules for people and cafés: passwords, new users, portal resets, visits. They refuse as rules.py does."""

import re
from datetime import date

from evals.demo.app.rules import RefusedError
from evals.demo.app.world import TEAMS, Cafe, Role, User, Visit, World

DOMAIN = "@quillbrook.demo"
SLOTS = ("08:30", "11:00", "14:30")
SHORTEST_PASSWORD = 12
RESET_MINUTES = 25


def change_password(world: World, user: User, current: str, new: str, again: str) -> None:
    if current != user.password:
        raise RefusedError("The current password is not right.")
    if len(new) < SHORTEST_PASSWORD:
        raise RefusedError(f"The new password needs at least {SHORTEST_PASSWORD} characters.")
    if not re.search(r"\d", new):
        raise RefusedError("The new password needs a digit.")
    if any(part in new.lower() for part in user.login.split(".")):
        raise RefusedError("The new password must not contain your name.")
    if new != again:
        raise RefusedError("The two new passwords differ.")
    user.password = new
    world.record(user, "changed their password")


def set_deputy(world: World, user: User, login: str) -> None:
    deputy = world.users.get(login)
    if login and (deputy is None or deputy.team != user.team or deputy is user):
        raise RefusedError("A deputy must be a colleague of your own team.")
    user.deputy = login or None
    world.record(user, f"out of office, deputy {deputy.name}" if deputy else "back in office")


def add_user(world: World, admin: User, name: str, email: str, role: str, team: str) -> User:
    if not name.strip():
        raise RefusedError("Give a name.")
    if not email.endswith(DOMAIN) or email == DOMAIN:
        raise RefusedError(f"The e-mail address must end with {DOMAIN}")
    login = email.removesuffix(DOMAIN)
    if login in world.users:
        raise RefusedError(f"There is a user {login} already.")
    known: Role = "admin" if role == "admin" else "agent"
    if known == "agent" and team not in TEAMS:
        raise RefusedError("An agent needs a team.")
    if known == "admin" and team:
        raise RefusedError("An admin cannot be in a team. Leave the team empty.")
    user = User(
        login=login, name=name.strip(), email=email, role=known, team=team or None, password="first-login-1"
    )
    world.users[login] = user
    world.record(admin, f"added user {login} ({known})")
    return user


def send_portal_reset(world: World, user: User, cafe: Cafe, pin: str) -> str:
    """Send a café a link to set a new portal password. The PIN is the end of its contract number."""
    if user.team not in (None, "accounts"):
        raise RefusedError("Portal resets are sent by Accounts.")
    if pin != cafe.contract[-4:]:
        raise RefusedError("That PIN does not match. Two more wrong PINs block the café's portal.")
    world.record(user, f"sent a portal reset to {cafe.name}")
    return f"Reset link sent to {cafe.contact}. It works for {RESET_MINUTES} minutes."


def book_visit(world: World, user: User, cafe: Cafe, day: str, slot: str) -> str:
    if cafe.ribbon == "amber":
        raise RefusedError("Visits are on hold for this café.")
    try:
        on = date.fromisoformat(day)
    except ValueError:
        raise RefusedError("Write the date like 2031-03-14.") from None
    if on <= world.now.date():
        raise RefusedError("A visit needs at least one day of notice.")
    if on.weekday() >= 5:
        raise RefusedError("No visits at weekends.")
    if slot not in SLOTS:
        raise RefusedError("Choose a time.")
    if any(visit.on == day and visit.slot == slot for visit in cafe.visits):
        raise RefusedError(f"{slot} on {day} is taken.")
    cafe.visits.append(Visit(on=day, slot=slot, by=user.name))
    world.record(user, f"booked a visit to {cafe.name} on {day} at {slot}")
    return f"Visit booked for {day} at {slot}."
