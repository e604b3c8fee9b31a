"""Searching all states, with rg and without it."""

import os
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(params=["rg", "python"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """The environment of a call that has rg, and of one that has not."""
    return {} if request.param == "rg" else {"PATH": str(tmp_path / "nothing")}


def test_counts_come_first_and_most_states_lead(shop: Any, engine: dict[str, str]) -> None:
    done = shop.memory("grep", "order|refund", env=engine)
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].startswith("# 'order|refund' (case ignored): 32 states in 2 of 3 trajectories")
    assert lines[1].startswith(f"30 {shop.refund}: 0-29 | Refund order 1001")
    assert lines[2].startswith(f"2 {shop.orders}: 0-1 ")
    assert "  0-1 (line 9): [21] gridcell 'Order 1001" in done.out


def test_both_engines_print_the_same(shop: Any, tmp_path: Path) -> None:
    slow = {"PATH": str(tmp_path / "nothing")}
    lines = (
        ["grep", "order"],
        ["grep", "Order \\d+"],
        ["grep", "^url: .*bye$"],
        ["grep", "订单."],
        ["grep", "-F", "[13] link"],
        ["match", shop.refund, "step [23]'"],
        ["match", shop.orders, "export", "-i"],
        ["where", "[20] heading 'Orders'"],
    )
    for line in lines:
        assert shop.memory(*line).out == shop.memory(*line, env=slow).out, line


def test_an_upper_case_letter_asks_for_exact_case(shop: Any, engine: dict[str, str]) -> None:
    assert shop.memory("grep", "signed OUT", env=engine).code == 1
    assert shop.memory("grep", "signed OUT", "-i", env=engine).code == 0
    assert shop.memory("grep", "signed out", env=engine).code == 0
    assert shop.memory("grep", "\\Signed out", env=engine).code == 0  # \S is no upper-case letter


def test_an_invalid_expression_is_explained(shop: Any, engine: dict[str, str]) -> None:
    for line in (
        ["grep", "(order"],
        ["match", shop.orders, "(order"],
        ["state", shop.orders, "0", "--find", "(order"],
    ):
        done = shop.memory(*line, env=engine)
        assert done.code == 2
        assert "is no regular expression" in done.err
        assert done.out == ""
    assert shop.memory("grep", "-F", "click('13')", env=engine).code == 0
    assert shop.memory("grep", "", env=engine).code == 2


def test_an_expression_that_only_python_knows_works_too(shop: Any) -> None:
    assert "30 states in 1 of 3" in shop.memory("grep", "Refund(?= step)").out


def test_no_ignore_file_nor_configuration_blinds_it(shop: Any, tmp_path: Path) -> None:
    for folder in (
        shop.workspace.root,
        shop.workspace.root / "haystack",
        shop.workspace.root / "haystack/trajectories",
    ):
        for name in (".ignore", ".rgignore", ".gitignore"):
            (folder / name).write_text("*\n")
    configuration = tmp_path / "rc"
    configuration.write_text("--glob=!*.txt\n")
    done = shop.memory("grep", "Export finished", env={"RIPGREP_CONFIG_PATH": str(configuration)})
    assert done.code == 0


def test_only_states_are_searched(shop: Any, engine: dict[str, str]) -> None:
    (shop.workspace.root / "haystack" / "notes.txt").write_text("only here\n")
    (shop.workspace.root / "haystack" / "trajectories" / shop.orders / "extra.txt").write_text("only here\n")
    assert shop.memory("grep", "only here", env=engine).code == 1
    assert shop.memory("grep", "as a table", env=engine).code == 1  # the goal stands in about.txt


def test_where_gives_compact_ranges_ids_and_indentation_aside(shop: Any, engine: dict[str, str]) -> None:
    done = shop.memory("where", "  [77] gridcell 'Order 1001, Ada Lovelace, 42.00 EUR'", env=engine)
    assert done.out.splitlines()[1] == f"{shop.orders}: 0-1"
    assert (
        shop.memory("where", "RootWebArea 'Refund'", env=engine).out.splitlines()[1] == f"{shop.refund}: 0-29"
    )
    assert shop.memory("where", "rootwebarea 'refund'", env=engine).code == 1
    assert shop.memory("where", "a\nb", env=engine).code == 2


def test_match_says_once_what_many_states_show(shop: Any, engine: dict[str, str]) -> None:
    out = shop.memory("match", shop.orders, "gridcell", env=engine).out
    assert "in 2 of 3 states (0-1)" in out
    assert out.count("Ada Lovelace") == 1
    assert out == shop.memory("grep", "gridcell", "--in", shop.orders, env=engine).out
    assert shop.memory("match", shop.orders, "nowhere", env=engine).code == 1


def test_a_long_line_is_shown_around_its_match(
    new_view: Any, workspace: Any, recorded: Any, engine: dict[str, str]
) -> None:
    view = new_view()
    slug = view.add("wide", [recorded("订" * 100_000 + " needle here " + "b" * 100_000)])
    view.finish()
    for line in (["grep", "needle"], ["match", slug, "needle"]):
        out = workspace.memory(*line, env=engine).out
        assert "订 needle here b" in out
        assert len(out) < 2000


def test_results_beyond_a_page_can_be_reached(
    new_view: Any, workspace: Any, recorded: Any, engine: dict[str, str]
) -> None:
    view = new_view()
    slugs = {view.add(f"task-{n}", [recorded(f"common word {m} " * 9) for m in range(9)]) for n in range(60)}
    view.finish()
    seen: set[str] = set()
    start = 0
    while len(seen) < 60:
        out = workspace.memory("grep", "common", "--from", str(start), env=engine).out
        quoted = [slug for slug in slugs if f"\n{slug}\n" in out]
        assert quoted, start
        seen.update(quoted)
        if "--from" not in out.splitlines()[-1]:
            break
        start = int(out.splitlines()[-1].partition("--from ")[2].split(";")[0])
    assert seen == slugs


def test_an_rg_that_fails_is_replaced(shop: Any, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "rg").write_text("#!/bin/sh\nexit 2\n")
    (tmp_path / "bin" / "rg").chmod(0o755)
    done = shop.memory("grep", "Export finished", env={"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"})
    assert done.code == 0
    assert shop.orders in done.out
