"""Reading trajectories and states: what is shown, and how an agent gets at the rest."""

import re
from typing import Any


def test_show_tells_the_story_in_one_line_per_state(shop: Any) -> None:
    done = shop.memory("show", shop.orders)
    assert done.code == 0
    lines = done.out.splitlines()
    assert "goal: Export all orders as a table" in lines
    assert "web/Order-Run 7" in lines[0]
    assert "0 click('13')  # [13] link 'Export', clickable | Export it. @ http://shop.test/orders" in lines
    assert "1 send_msg_to_user('done')" in lines  # the same url is not said again
    assert any(line.startswith("2 - @ http://shop.test/bye") for line in lines)
    assert "screenshots: 2" in done.out


def test_show_shortens_its_lines_before_it_makes_pages(new_view: Any, workspace: Any, recorded: Any) -> None:
    view = new_view()
    states = [recorded("x", action=f"step {n}", thought="why " * 60) for n in range(150)]
    slug = view.add("long run", states)
    view.finish()
    whole = workspace.memory("show", slug)
    assert "149 step 149" in whole.out
    paged = workspace.memory("show", slug, "--max-bytes", "1500")
    following = re.search(rf"memory show {slug} --from (\d+)", paged.out)
    assert following
    assert f"\n{following[1]} step" in workspace.memory("show", slug, "--from", following[1]).out


def test_show_reads_no_state_that_it_has_no_room_for(new_view: Any, workspace: Any, recorded: Any) -> None:
    view = new_view()
    slug = view.add("long", [recorded("x", action=f"step({n})", thought="why " * 9) for n in range(90)])
    (view.finish() / "trajectories" / slug / "0089.txt").unlink()
    page = workspace.memory("show", slug, "--max-bytes", "1500")
    assert page.code == 0
    assert "\n1 step(1)\n2 step(2)\n" in page.out
    following = int(page.out.split()[-1])
    assert page.out.endswith(
        f"{following - 1} step({following - 1})\n"
        f"… states {following}-89: memory show {slug} --from {following}\n"
    )
    assert "state 89" in workspace.memory("show", slug, "--from", str(following)).err


def test_state_prints_the_file_and_pages_through_all_of_it(
    new_view: Any, workspace: Any, recorded: Any
) -> None:
    view = new_view()
    text = "\n".join(f"line {n} of the page" for n in range(900))
    slug = view.add("pages", [recorded(text)])
    view.finish()
    seen: list[str] = []
    start = "1"
    while start:
        lines = workspace.memory("state", slug, "0", "--from", start, "--max-bytes", "4000").out.splitlines()
        following = re.search(r"--from (\d+)", lines[-1])
        seen += lines[1:-1] if following else lines[1:]
        start = following[1] if following else ""
    assert seen == ["url: http://shop.test/", "", *text.split("\n")]


def test_a_line_of_five_megabytes_can_be_searched_and_paged(
    new_view: Any, workspace: Any, recorded: Any
) -> None:
    view = new_view()
    slug = view.add("one line", [recorded("a" * 3_000_000 + " needle in it " + "订" * 700_000)])
    view.finish()
    first = workspace.memory("state", slug, "0").out
    assert "+3698014 characters: --from 3:2000" in first
    assert "needle in it" in workspace.memory("state", slug, "0", "--find", "needle").out
    piece = workspace.memory("state", slug, "0", "--from", "3:3000000").out
    assert piece.splitlines()[1].startswith(" needle in it 订订")
    following = re.search(r"--from 3:(\d+)", piece)
    assert following
    assert (
        workspace.memory("state", slug, "0", "--from", f"3:{following[1]}")
        .out.splitlines()[1]
        .startswith("订")
    )


def test_find_shows_line_numbers_and_what_stands_around(shop: Any) -> None:
    done = shop.memory("state", shop.orders, "0", "--find", "export'")
    assert done.code == 0
    assert "7:" in done.out
    assert "[13] link 'Export'" in done.out
    assert "8-" in done.out
    assert shop.memory("state", shop.orders, "0", "--find", "nowhere").code == 1


def test_state_and_span_take_the_forms_an_agent_writes(shop: Any) -> None:
    for line in (["state", shop.orders, "1"], ["state", f"{shop.orders}:1"], ["state", "web/Order-Run 7:1"]):
        assert "Export finished" in shop.memory(*line).out
    for numbers in (["0:2"], ["0-2"], ["0..2"], ["0", "2"], ["0,1,2"]):
        out = shop.memory("span", shop.orders, *numbers).out
        assert [line for line in out.splitlines() if line.startswith("## ")] == [
            "## state 0",
            "## state 1",
            "## state 2",
        ]
    assert "## state 2" in shop.memory("span", f"{shop.orders}:1-2").out


def test_span_shows_of_a_later_state_only_what_is_new(shop: Any) -> None:
    out = shop.memory("span", shop.orders, "0:1").out
    assert out.count("link 'Export'") == 2  # in the action and in the first tree
    assert out.count("Order 1001") == 1  # the row's other id is no change
    assert "Export finished" in out
    assert "5 lines as before" in out


def test_a_span_too_long_for_a_page_still_shows_each_state_and_says_how_to_read_on(
    new_view: Any, workspace: Any, recorded: Any
) -> None:
    view = new_view()
    slug = view.add("wide", [recorded("\n".join(f"cell {n} {m}" for m in range(400))) for n in range(4)])
    view.finish()
    out = workspace.memory("span", slug, "0:3", "--max-bytes", "4000").out
    assert all(f"cell {n} 0\n" in out for n in range(4))
    assert f"memory state {slug} 2" in out


def test_timeline_shows_new_lines_once(shop: Any) -> None:
    out = shop.memory("timeline", shop.refund).out
    assert out.count("RootWebArea 'Refund'") == 1
    assert "+ StaticText 'Refund step 29'" in out
    assert shop.memory("timeline", shop.refund, "--from", "29").out.count("Refund step") == 1


def test_diff_sets_ids_and_moved_lines_aside(new_view: Any, workspace: Any, recorded: Any) -> None:
    view = new_view()
    before = "RootWebArea 'A'\n\t[1] link 'one'\n\t[2] link 'two'\n\t[3] checkbox 'x', checked='false'"
    after = "RootWebArea 'A'\n\t[7] link 'two'\n\t\t[8] link 'one'\n\t[9] checkbox 'x', checked='true'"
    after += "\n\t[4] link 'two'"
    slug = view.add("d", [recorded(before), recorded(after), recorded(after.replace("[7]", "[70]"))])
    view.finish()
    done = workspace.memory("diff", slug, "0", "1")
    changes = [line for line in done.out.splitlines() if line[:2] in ("+ ", "- ")]
    assert done.code == 0
    assert changes == ["+ checkbox 'x', checked='true'", "+ link 'two'", "- checkbox 'x', checked='false'"]
    assert workspace.memory("diff", slug, "1", "2").code == 1
    assert workspace.memory("diff", slug, "1").code == 2


def test_diff_keeps_room_for_what_has_gone(new_view: Any, workspace: Any, recorded: Any) -> None:
    view = new_view()
    many = ["\n".join(f"{word} {n}" for n in range(2000)) for word in ("old", "new")]
    slug = view.add("d", [recorded(text) for text in many])
    view.finish()
    out = workspace.memory("diff", slug, "0-1").out
    assert "+ new 0\n" in out
    assert "- old 0\n" in out
    assert "more changed lines" in out


def test_overview_counts_and_finds_by_goal(shop: Any) -> None:
    assert "3 trajectories, 34 states" in shop.memory("overview").out
    found = shop.memory("overview", "--find", "refund order")
    assert shop.refund in found.out
    assert shop.orders not in found.out
    assert shop.memory("overview", "--find", "nothing like it").code == 1


def test_overview_pages_through_the_manifest(shop: Any) -> None:
    manifest = shop.workspace.root / "haystack" / "MANIFEST.md"
    manifest.write_text("".join(f"manifest line {n}\n" for n in range(2000)))
    following = re.search(r"--from (\d+)", shop.memory("overview").out)
    assert following
    assert f"manifest line {int(following[1]) - 1}\n" in shop.memory("overview", "--from", following[1]).out


def test_chinese_is_found_and_shown(shop: Any) -> None:
    assert "订单列表" in shop.memory("state", "中文/任务", "0").out
    assert shop.chinese in shop.memory("grep", "订单").out
    assert shop.chinese in shop.memory("overview", "--find", "打开").out
