"""What most states of a trajectory show is folded; what is a state's own, and its end, is shown."""

from typing import Any

import pytest

MENU = [f"[{n}] link 'Menu entry {n}'" for n in range(20)]


@pytest.fixture
def menus(new_view: Any, recorded: Any, workspace: Any) -> str:
    """A trajectory of eight pages under one menu; its slug."""
    view = new_view()
    pages = [
        recorded("\n".join([f"RootWebArea 'Page {n}'", *MENU, f"[99] cell 'Row {n}'", "[3] link 'Help'"]))
        for n in range(8)
    ]
    slug = view.add("a-run-with-session-8f3c21", pages)
    view.finish()
    return str(slug)


def test_menus_are_folded_and_all_shows_them(menus: str, workspace: Any) -> None:
    folded = workspace.memory("state", menus, "3").out
    assert "[20 menu lines folded; --all shows them]" in folded
    assert "Menu entry" not in folded
    assert "RootWebArea 'Page 3'" in folded
    assert "cell 'Row 3'" in folded
    assert "link 'Help'" in folded  # one line alone is not worth a fold
    whole = workspace.memory("state", menus, "3", "--all").out
    assert whole.count("Menu entry") == 20
    assert "folded" not in whole


def test_a_span_folds_its_first_state(menus: str, workspace: Any) -> None:
    out = workspace.memory("span", menus, "2:3").out
    assert out.count("[20 menu lines folded") == 1
    assert "cell 'Row 3'" in out
    assert "21 lines as before" in out


def test_a_short_trajectory_has_no_menus(new_view: Any, recorded: Any, workspace: Any) -> None:
    view = new_view()
    slug = view.add("short", [recorded("\n".join(MENU)) for _ in range(4)])
    view.finish()
    assert workspace.memory("state", slug, "1").out.count("Menu entry") == 20


def test_a_state_too_long_for_the_page_shows_its_end(new_view: Any, recorded: Any, workspace: Any) -> None:
    view = new_view()
    slug = view.add("log", [recorded("\n".join([*(f"line {n} of the log" for n in range(900)), "2 failed"]))])
    view.finish()
    done = workspace.memory("state", slug, "0")
    lines = done.out.splitlines()
    assert len(done.out.encode()) <= 12_000
    assert "line 0 of the log" in lines
    assert lines[-2] == "2 failed"
    left = next(line for line in lines if "lines left out" in line)
    following = left.partition("--from ")[2].rstrip("]")
    place = lines.index(left)
    more = workspace.memory("state", slug, "0", "--from", following).out.splitlines()
    assert int(more[1].split()[1]) == int(lines[place - 1].split()[1]) + 1


def test_a_trajectory_is_found_by_a_part_of_its_id(menus: str, workspace: Any) -> None:
    assert workspace.memory("state", "session-8f3c21", "0").code == 0
    assert workspace.memory("state", "8f3c2", "0").code == 2  # too short to mean one


def test_a_part_that_fits_several_ids_is_refused(new_view: Any, recorded: Any, workspace: Any) -> None:
    view = new_view()
    for name in ("one-session-77", "two-session-77"):
        view.add(name, [recorded("x")])
    view.finish()
    done = workspace.memory("show", "session-77")
    assert done.code == 2
    assert "fits 2 trajectories" in done.err
