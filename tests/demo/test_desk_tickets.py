"""The help desk's rules about tickets, tried over HTTP as its users meet them."""

from collections.abc import Callable
from typing import Any, TypeAlias

Enter: TypeAlias = Callable[[str], Any]
"""From a login to a person who is logged in (see conftest)."""


def test_a_p1_is_closed_only_when_resolved_and_with_a_postmortem_link(monday: Enter) -> None:
    mira = monday("mira.okafor")
    assert "Resolve it first" in mira.post("/tickets/QB-1042/close")
    assert mira.status == 422
    mira.post("/tickets/QB-1042/resolve")
    assert "needs a postmortem link" in mira.post("/tickets/QB-1042/close")
    assert "starts with https://notes.quillbrook.demo/pm-" in mira.post(
        "/tickets/QB-1042/postmortem", link="pm-118"
    )
    mira.post("/tickets/QB-1042/postmortem", link="https://notes.quillbrook.demo/pm-118")
    mira.post("/tickets/QB-1042/close")
    assert mira.world.tickets["QB-1042"].state == "Closed"


def test_an_agent_finds_other_queues_empty_and_other_tickets_barred(monday: Enter) -> None:
    tomas = monday("tomas.lindqvist")
    assert "No tickets match." in tomas.get("/queues/machines-north?state=All")
    assert "Ask a colleague there or an admin" in tomas.get("/tickets/QB-1042")
    assert tomas.status == 403
    assert "QB-1043" in tomas.get("/queues/machines-south")
    assert "QB-1044" in monday("bo.castellan").get("/queues/machines-north")


def test_a_search_counts_what_other_teams_have_without_showing_it(monday: Enter) -> None:
    tomas = monday("tomas.lindqvist")
    found = tomas.get("/search?q=burr")
    assert "QB-1045" in found
    assert "QB-1044" not in found
    assert "1 more in other teams" in found


def test_a_bulk_edit_passes_over_locked_tickets_without_a_word(monday: Enter) -> None:
    bo = monday("bo.castellan")
    page = bo.post("/queues/machines-south/bulk", ticket=["QB-1046", "QB-1056", "QB-1065"], priority="P2")
    assert "2 tickets changed" in page
    assert "locked" not in page.lower()
    assert bo.world.tickets["QB-1065"].priority == "P3"


def test_a_bulk_edit_is_refused_to_agents_and_without_a_selection(monday: Enter) -> None:
    tomas, bo = monday("tomas.lindqvist"), monday("bo.castellan")
    assert "Bulk edits are for admins" in tomas.post(
        "/queues/machines-south/bulk", ticket="QB-1046", priority="P1"
    )
    assert "Select at least one ticket" in bo.post("/queues/machines-south/bulk", priority="P1")


def test_saved_filters_end_with_the_session(monday: Enter) -> None:
    mira = monday("mira.okafor")
    mira.post("/queues/machines-north/filters", name="urgent", query="priority=P2")
    assert ">urgent</a>" in mira.source
    mira.post("/logout")
    mira.log_in()
    mira.get("/queues/machines-north")
    assert ">urgent</a>" not in mira.source


def test_agents_reopen_within_the_limit_and_admins_always(thursday: Enter) -> None:
    tomas, joon, bo = (thursday(name) for name in ("tomas.lindqvist", "joon.baek", "bo.castellan"))
    assert "more than 7 days ago" in tomas.post("/tickets/QB-1018/reopen")
    assert "QB-1020 is open again" in joon.post("/tickets/QB-1020/reopen")
    assert "QB-1018 is open again" in bo.post("/tickets/QB-1018/reopen")
    assert bo.world.tickets["QB-1018"].assignee is None


def test_tickets_for_somebody_out_of_office_go_to_the_deputy(thursday: Enter) -> None:
    bo = thursday("bo.castellan")
    bo.post("/tickets/QB-1073/assign", login="petra.voss")
    assert bo.world.tickets["QB-1073"].assignee == "tomas.lindqvist"
    assert "Assignee: Tomas Lindqvist" in bo.text


def test_waiting_tickets_count_towards_the_workload_limit(thursday: Enter) -> None:
    mira, ines = thursday("mira.okafor"), thursday("ines.halloran")
    mira.post("/tickets/QB-1055/hold", reason="Parts on order")
    assert "workload limit of 4" in mira.post("/tickets/QB-1072/assign", login="mira.okafor")
    form = {"calendar": "Weekdays 08-18", "reopen_days": "7", "banner": ""}
    assert "a number from 1 to 6" in ines.post("/admin/settings", workload_limit="8", **form)
    ines.post("/admin/settings", workload_limit="6", **form)
    assert "Assignment saved" in mira.post("/tickets/QB-1072/assign", login="mira.okafor")


def test_agents_assign_to_themselves_only(monday: Enter) -> None:
    mira = monday("mira.okafor")
    assert "to themselves only" in mira.post("/tickets/QB-1047/assign", login="joon.baek")


def test_a_duplicate_takes_over_the_priority_of_its_original(monday: Enter) -> None:
    tomas = monday("tomas.lindqvist")
    tomas.post("/tickets/QB-1067/duplicate", number="QB-1050")
    assert tomas.world.tickets["QB-1067"].priority == "P1"
    assert "needs a postmortem link" in tomas.post("/tickets/QB-1067/close")


def test_raising_to_p1_wants_a_phone_number_and_lowering_wants_an_admin(monday: Enter) -> None:
    tomas, bo = monday("tomas.lindqvist"), monday("bo.castellan")
    for wrong in ("", "0555 0163"):
        page = tomas.post("/tickets/QB-1043/priority", priority="P1", phone=wrong)
        assert "written like +44 555 0100" in page
    tomas.post("/tickets/QB-1043/priority", priority="P1", phone="+44 555 0163")
    assert "Only an admin can lower" in tomas.post("/tickets/QB-1043/priority", priority="P2", phone="")
    bo.post("/tickets/QB-1043/priority", priority="P2", phone="")
    assert bo.world.tickets["QB-1043"].priority == "P2"


def test_only_admins_unlock(monday: Enter) -> None:
    mira, bo = monday("mira.okafor"), monday("bo.castellan")
    assert "Only an admin can unlock" in mira.post("/tickets/QB-1061/lock")
    bo.post("/tickets/QB-1061/lock")
    assert not bo.world.tickets["QB-1061"].locked


def test_a_reply_is_internal_unless_the_box_is_unticked(monday: Enter) -> None:
    devraj = monday("devraj.pell")
    devraj.get("/tickets/QB-1057")
    assert 'name="internal" checked' in devraj.source
    devraj.post("/tickets/QB-1057/reply", text="Better?", internal="on")
    devraj.post("/tickets/QB-1057/reply", text="Better?")
    history = devraj.get("/tickets/QB-1057?tab=history")
    assert "internal note" in history
    assert "reply sent to Sami Haddock" in history


def test_an_export_holds_the_page_on_screen_only(thursday: Enter) -> None:
    bo = thursday("bo.castellan")
    assert "8 rows written" in bo.get("/queues/machines-north/export?state=All")
    assert "4 rows written" in bo.get("/queues/machines-north/export?state=All&page=2")
