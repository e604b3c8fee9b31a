"""What a run says while it works, also while nothing ends."""

import io
import time
from collections.abc import Callable

from rich.console import Console

from evals.runs.at_work import HAYSTACK, QUERY, AtWork
from runbook.cli.matrix import told_at_work
from runbook.cli.progress import counting, run_progress
from tests.waiting import AT_ONCE


def said_in_time(said: io.StringIO, words: str) -> bool:
    deadline = time.monotonic() + AT_ONCE
    while words not in said.getvalue() and time.monotonic() < deadline:
        time.sleep(0.01)
    return words in said.getvalue()


def plain(said: io.StringIO) -> Console:
    return Console(file=said, force_terminal=False, width=40)


def two_in_query() -> Callable[[], str]:
    return lambda: "query 2 (95 s)"


def test_plain_lines_say_what_is_waited_for_while_nothing_ends() -> None:
    said = io.StringIO()
    with run_progress(plain(said), 3, at_work=two_in_query(), still_seconds=0.05):
        assert said_in_time(
            said, "0/3 questions, 0/min, time left not known yet; at work: query 2 (95 s)\n"
        ), said.getvalue()


def test_the_bar_says_what_is_waited_for_while_nothing_ends() -> None:
    said = io.StringIO()
    with run_progress(Console(file=said, force_terminal=True, width=120), 3, at_work=two_in_query()):
        assert said_in_time(said, "at work: query 2 (95 s)"), said.getvalue()


def test_an_import_that_takes_long_says_so_in_plain_lines() -> None:
    said = io.StringIO()
    with counting(plain(said), "importing trajectories", still_seconds=0.05) as update:
        assert said_in_time(said, "importing trajectories\n"), said.getvalue()
        update(3, 9)
        assert said_in_time(said, "importing trajectories 3/9\n"), said.getvalue()


def test_what_is_quick_says_nothing_in_plain_lines() -> None:
    said = io.StringIO()
    with counting(plain(said), "importing trajectories") as update:
        update(9, 9)
    assert said.getvalue() == ""


def test_stages_are_told_in_order_with_their_longest_stay() -> None:
    now = 0.0
    at_work = AtWork(clock=lambda: now)
    assert at_work.told() == ""
    with at_work.on(QUERY):
        now = 95.0
        with at_work.on(QUERY), at_work.on(HAYSTACK):
            now = 98.0
            assert at_work.told() == "haystack 1 (3 s), query 2 (98 s)"
    assert at_work.told() == ""


def test_of_several_arms_those_are_told_that_wait_for_something() -> None:
    now = 0.0
    arms = {name: AtWork(clock=lambda: now) for name in ("first", "idle", "last")}
    assert told_at_work(arms) == ""
    with arms["first"].on(QUERY), arms["last"].on(HAYSTACK):
        now = 7.0
        assert told_at_work(arms) == "first: query 1 (7 s); last: haystack 1 (7 s)"
