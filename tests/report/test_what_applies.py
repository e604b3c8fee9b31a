"""A report says what applies to the run's memory, in units that are told, and nothing else."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from evals.report.write import write_report
from tests.recorded_runs import Answer, write_run
from tests.report.building import RunBuilder


def parts(text: str, section: str) -> str:
    """The markup of one section."""
    found = re.search(rf'<section id="{section}".*?</section>', text, re.DOTALL)
    assert found
    return found[0]


def settings(text: str) -> dict[str, str]:
    """The rows of the table of settings."""
    table = text.partition('<table class="settings">')[2].partition("</table>")[0]
    return dict(re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td>', table))


@pytest.fixture(scope="module")
def searched(world: RunBuilder, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report of a memory without an agent, made while the machine was busy."""
    place = tmp_path_factory.mktemp("searched")
    run = replace(world, searching="rag-slice-bm25", load=2.25).write(place / "run")
    assert write_report([run.path], place / "report.html").notes == []
    return (place / "report.html").read_text()


def test_nothing_is_missed_of_a_memory_without_an_agent(searched: str) -> None:
    assert "no trace" not in searched.lower()
    assert "This memory has no agent, so there is no timeline." in searched
    assert "the memory asked no model" in searched
    assert "the memory&#39;s own search" in parts(searched, "time")
    assert "the agent itself" not in searched
    assert "Attempt 1" not in searched


def test_the_settings_are_those_of_the_memory(searched: str, world: RunBuilder, tmp_path: Path) -> None:
    of_agent = {"agent", "sandbox", "attempts, at most", "deadline of an attempt", "model", "effort", "price"}
    told = settings(searched)
    assert told["memory"] == "rag-slice-bm25"
    assert not of_agent & told.keys()
    run = world.write(tmp_path / "run", repeats={"reader": 2})
    write_report([run.path], tmp_path / "report.html")
    told = settings((tmp_path / "report.html").read_text())
    assert of_agent <= told.keys()
    assert "memory" not in told
    assert told["repeats"] == "agent 1, reader 2, judge 1"
    assert told["price"].startswith("$")


def test_an_attempt_of_an_agent_without_a_trace_is_still_said(world: RunBuilder, tmp_path: Path) -> None:
    run = world.write(tmp_path / "run")
    (run.attempts_folder("q-0") / "1" / "trace.jsonl").unlink()
    notes = write_report([run.path], tmp_path / "report.html").notes
    assert notes == ["1 attempt has no trace that can be read: its timeline is empty."]
    assert "No trace was kept." in (tmp_path / "report.html").read_text()


def test_a_busy_machine_is_said_beside_the_seconds(searched: str, world: RunBuilder, tmp_path: Path) -> None:
    assert "8 of 8 queries ran while more than 1.5 programs per processor" in parts(searched, "summary")
    assert settings(searched)["load"].startswith("2.2 programs per processor")
    quiet = replace(world, load=0.4).write(tmp_path / "run")
    write_report([quiet.path], tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "queries ran while" not in text
    assert settings(text)["load"].startswith("0.4 programs per processor")


def test_readers_and_judges_tokens_are_told(searched: str) -> None:
    readings = searched.count("tokens read</span>")
    assert f"reader: {readings} calls, {24.3 * readings:.0f}" in parts(searched, "summary")
    assert settings(searched)["reader"].startswith("qwen3.5-9b: ")
    assert f"{300 * readings:,} out".replace(",", "\u202f") in settings(searched)["reader"]


def test_pieces_and_questions_are_counted_apart(data_root: Path, tmp_path: Path) -> None:
    whole = Answer(score=1, spans=(("tr-0", 2, 2), ("tr-1", 2, 2)))
    run = write_run(
        tmp_path / "run", data_root, {"q-0": whole, "q-1": Answer(score=1), "q-2": Answer(score=1)}
    )
    write_report([run.path], tmp_path / "report.html")
    course = parts((tmp_path / "report.html").read_text(), "course")
    pieces, _, questions = course.partition(">Questions</th>")
    assert "mean share of its pieces" in pieces
    assert "answered" not in pieces
    assert "answered right" in questions
    assert questions.index("answered right") < questions.index("100.0") < questions.index("all gold cited")
    assert "Right answers are counted in questions, not in pieces" in questions


def test_without_a_reader_nothing_is_said_of_right_answers_or_lafs(data_root: Path, tmp_path: Path) -> None:
    hit = Answer(spans=(("tr-0", 2, 2), ("tr-1", 2, 2), ("tr-2", 2, 2)), seconds=0.0001)
    one = write_run(tmp_path / "one", data_root, {f"q-{number}": hit for number in range(3)}, reader=None)
    other = write_run(
        tmp_path / "other", data_root, {f"q-{number}": Answer() for number in range(3)}, reader=None
    )
    write_report([one.path, other.path], tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert re.search(r"\d questions flip: \d with all pieces hit in A only", parts(text, "comparison"))
    assert "Show them" not in text
    frontier = parts(text, "frontier")
    assert "LAFS" not in frontier
    assert 'class="uncounted"' not in frontier
    assert "0.0001 s" in frontier
    assert "&lt; 1 ms" in parts(text, "summary").replace("\u00a0", " ")


def test_what_is_shown_of_repeats_is_said_to_be_the_first(data_root: Path, tmp_path: Path) -> None:
    answers = (Answer(score=1), Answer(score=0))
    run = write_run(tmp_path / "run", data_root, {"q-0": answers, "q-1": answers, "q-2": answers})
    write_report([run.path], tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert 'class="mark mixed" title="not the same in all repeats"' in text
    assert "errors, gold and tool calls are those of the first time" in parts(text, "course")
    assert "All else that is shown here is of the first time." in text
    assert "all gold cited" not in text
