"""The rest of the help desk over HTTP: articles, cafés, accounts, settings, and hostile input."""

import http.client
from collections.abc import Callable
from typing import Any, TypeAlias

from evals.demo.app.server import serving
from evals.demo.app.world import open_world
from tests.waiting import AT_ONCE

Enter: TypeAlias = Callable[[str], Any]
"""From a login to a person who is logged in (see conftest)."""


def test_the_service_levels_follow_a_setting_made_elsewhere(monday: Enter) -> None:
    devraj, ines = monday("devraj.pell"), monday("ines.halloran")
    assert "50 hours" in devraj.get("/sla")
    ines.post("/admin/settings", calendar="Round the clock", workload_limit="4", reopen_days="7", banner="")
    page = devraj.get("/sla")
    assert "36 hours" in page
    assert "50 hours" not in page


def test_a_refused_setting_leaves_all_the_others_as_they_were(monday: Enter) -> None:
    ines = monday("ines.halloran")
    ines.post("/admin/settings", calendar="Round the clock", workload_limit="10", reopen_days="7", banner="x")
    assert ines.status == 422
    assert ines.world.settings.calendar == "Weekdays 08-18"
    assert ines.world.settings.banner != "x"


def test_an_agents_edit_waits_as_a_draft_until_an_admin_approves_it(monday: Enter) -> None:
    devraj, ines = monday("devraj.pell"), monday("ines.halloran")
    assert "why the article changes" in devraj.post("/kb/router-swap/edit", text="Wait an hour.", why="")
    page = devraj.post("/kb/router-swap/edit", text="Wait.\r\n\r\nThen an hour.", why="new")
    assert "your change is saved" in page
    assert "wait 5 minutes" in page
    assert "Written by Devraj Pell" in ines.get("/drafts")
    ines.post("/drafts/router-swap", decision="approve")
    assert ines.world.articles["router-swap"].body == ["Wait.", "Then an hour."]


def test_a_rejected_draft_changes_nothing(monday: Enter) -> None:
    devraj, ines = monday("devraj.pell"), monday("ines.halloran")
    devraj.post("/kb/router-swap/edit", text="Wait an hour.", why="new")
    ines.post("/drafts/router-swap", decision="reject")
    assert "wait 5 minutes" in ines.get("/kb/router-swap")
    assert "No drafts are waiting" in ines.get("/drafts")


def test_visits_are_refused_for_an_amber_ribbon_at_weekends_and_twice(monday: Enter) -> None:
    joon = monday("joon.baek")
    assert "on hold" in joon.post("/cafes/station-nord/visits", day="2031-03-10", slot="11:00")
    assert "weekends" in joon.post("/cafes/copperleaf/visits", day="2031-03-08", slot="11:00")
    assert "one day of notice" in joon.post("/cafes/copperleaf/visits", day="2031-03-03", slot="11:00")
    assert "is taken" in joon.post("/cafes/goose-gander/visits", day="2031-03-12", slot="11:00")
    assert "Visit booked" in joon.post("/cafes/copperleaf/visits", day="2031-03-10", slot="11:00")


def test_a_portal_reset_wants_the_end_of_the_contract_number(monday: Enter) -> None:
    yuki, mira = monday("yuki.arden"), monday("mira.okafor")
    assert "sent by Accounts" in mira.post("/cafes/nine-bells/reset", pin="5904")
    assert "does not match" in yuki.post("/cafes/nine-bells/reset", pin="5940")
    assert "It works for 25 minutes" in yuki.post("/cafes/nine-bells/reset", pin="5904")


def test_a_new_password_ends_the_session_and_works(monday: Enter) -> None:
    yuki = monday("yuki.arden")
    current = yuki.world.users["yuki.arden"].password
    for new, message in (
        ("tally-2031", "at least 12 characters"),
        ("tally-tally-tally", "needs a digit"),
        ("yuki-tally-2031", "must not contain your name"),
    ):
        assert message in yuki.post("/me/password", current=current, new=new, again=new)
    yuki.post("/me/password", current=current, new="copper-tally-2031", again="copper-tally-2031")
    yuki.get("/me")
    assert yuki.url == "/login"
    yuki.log_in().get("/me")
    assert yuki.url == "/me"


def test_a_new_agent_needs_our_mail_domain_and_a_team(monday: Enter) -> None:
    ines = monday("ines.halloran")
    nell = {"name": "Nell Abara", "role": "agent"}
    assert "must end with" in ines.post("/admin/users", email="nell@quillbrook.com", team="network", **nell)
    assert "needs a team" in ines.post("/admin/users", email="nell@quillbrook.demo", team="", **nell)
    ines.post("/admin/users", email="nell@quillbrook.demo", team="network", **nell)
    assert ines.world.users["nell"].team == "network"


def test_admin_pages_are_barred_to_agents(monday: Enter) -> None:
    mira = monday("mira.okafor")
    for path in ("/admin/settings", "/admin/users", "/admin/audit", "/drafts"):
        mira.get(path)
        assert mira.status == 403, path


def test_what_people_write_is_shown_as_text(monday: Enter) -> None:
    devraj = monday("devraj.pell")
    devraj.get("/tickets/QB-1069")
    assert "&lt;script&gt;alert" in devraj.source
    assert "<script>alert" not in devraj.source
    devraj.get("/search?q=%3Cscript%3Ealert(1)%3C/script%3E")
    assert "<script>alert" not in devraj.source


def test_nobody_gets_in_without_logging_in(monday: Enter) -> None:
    mira = monday("mira.okafor")
    mira.post("/logout")
    for path in ("/", "/tickets/QB-1042", "/admin/users"):
        mira.get(path)
        assert mira.url == "/login", path


def test_static_files_stay_in_their_folder_and_forms_small() -> None:
    with serving(open_world("monday")) as server:
        link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=AT_ONCE)
        link.request("GET", "/static/../world.py")
        answer = link.getresponse()
        assert (answer.status, b"import" in answer.read()) == (404, False)
        link.request("POST", "/login", body=b"x", headers={"Content-Length": "10000000"})
        assert link.getresponse().status == 413
        link.close()


def test_the_same_day_gives_the_same_pages(desk: Callable[[str], Enter]) -> None:
    first, second = (desk("tuesday")("bo.castellan") for _ in range(2))
    for path in ("/", "/queues/machines-south?state=All", "/reports", "/status", "/floor", "/catalogue"):
        first.get(path)
        second.get(path)
        assert first.source == second.source, path
