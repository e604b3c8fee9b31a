"""Scout hands in the states that answer, within its budget, with reasons, always alike, without peeking."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from helpers.memory.question import Question
from helpers.memory.words import words
from manifests.model import State
from tests.helpers.indexed import HELPERS, Indexed, state, trajectory

TOPICS = ("parser", "scheduler", "renderer", "importer")


def attempt(topic: str, number: int, answer: str) -> list[State]:
    """Thirty states about one bug; state 17 shows the answer, the last one how it came out."""
    states = [
        state(
            f"$ ls step {n}\nfile_{topic}_{n}.py",
            f"open file_{topic}_{n}.py",
            f"Look at part {n} of the {topic}",
        )
        for n in range(28)
    ]
    states[16].action = f"pytest tests/test_{topic}.py"
    states[17].text = f"collected 9 items\nFAILED test_{topic}: {answer}\n1 failed, 8 passed"
    states[17].thought = f"The failure shows {answer}"
    states.append(state(f"diff --git a/{topic}.py\n+ fix number {number}", "submit", "Submit the patch"))
    return states


@pytest.fixture(scope="module")
def bugs(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    """Two attempts at each of four bugs."""
    recordings = [
        trajectory(
            f"{topic}-{n}", attempt(topic, n, f"E{100 * t + n} expected {n}"), f"Fix the crash of the {topic}"
        )
        for t, topic in enumerate(TOPICS, 1)
        for n in (1, 2)
    ]
    return Indexed.make(tmp_path_factory.mktemp("bugs"), recordings)


def test_the_answering_state_is_handed_in_first_with_reasons(bugs: Indexed) -> None:
    bugs.ask("In the scheduler crash task, which error did the failed test show?")
    done = bugs.scout()
    assert (done.code, done.err) == (0, "")
    assert {("scheduler-1", 17), ("scheduler-2", 17)} & set(bugs.handed_in()[:2])
    note = bugs.evidence()["memory_markdown"]
    assert isinstance(note, str)
    assert "## Support Analysis" in note
    assert "## Relevant Procedure and Hint Notes" in note
    assert re.search(r"goal: .*scheduler", note)
    assert "FAILED test_scheduler" in note
    assert bugs.evidence()["evidence_status"] == "supported"


def test_both_runs_of_a_comparison_are_there(bugs: Indexed) -> None:
    bugs.ask(
        "Two attempts at the renderer crash failed with different errors: which did each failed test show?"
    )
    bugs.scout()
    assert {("renderer-1", 17), ("renderer-2", 17)} <= set(bugs.handed_in())


def test_how_the_meant_recordings_came_out_is_handed_in_too(bugs: Indexed) -> None:
    bugs.ask("What did the patch of the importer crash change in the end?")
    bugs.scout()
    assert {("importer-1", 28), ("importer-2", 28)} & set(bugs.handed_in())


@pytest.mark.parametrize("budget", [1, 3, 5, 20])
def test_the_budget_is_kept_and_a_small_one_used_up(bugs: Indexed, budget: int) -> None:
    bugs.ask("Which file did the parser attempt open, and which error came?")
    bugs.scout("--budget", str(budget))
    handed_in = bugs.handed_in()
    assert len(handed_in) == len(set(handed_in))
    assert len(handed_in) <= budget
    assert len(handed_in) == budget or budget == 20


def test_the_budget_can_come_from_the_environment(bugs: Indexed) -> None:
    bugs.ask("Which error did the failed tests show?")
    line = [sys.executable, "-I", "-S", str(HELPERS / "scout")]
    environment = {"PATH": os.environ["PATH"], "MEMORY_WORKSPACE": str(bugs.root), "SCOUT_BUDGET": "2"}
    subprocess.run(line, env=environment, check=True, capture_output=True, timeout=60)
    assert len(bugs.handed_in()) == 2


@pytest.mark.parametrize(
    "line", [("--budget", "0"), ("--budget", "21"), ("--budget", "x"), ("--budget",), ("x",)]
)
def test_a_wrong_line_is_one_clear_error(bugs: Indexed, line: tuple[str, ...]) -> None:
    done = bugs.scout(*line)
    assert done.code == 2
    assert done.err.startswith("scout: ")
    assert len(done.err.splitlines()) == 1


def test_the_same_question_gives_the_same_bytes(bugs: Indexed) -> None:
    bugs.ask("Which errors did the failed tests of the parser show?")
    seen = set()
    for seed in ("0", "1", "77"):
        line = [sys.executable, "-S", str(HELPERS / "scout" / "__main__.py")]
        environment = {"PATH": os.environ["PATH"], "MEMORY_WORKSPACE": str(bugs.root), "PYTHONHASHSEED": seed}
        subprocess.run(line, env=environment, check=True, capture_output=True, timeout=60)
        seen.add((bugs.root / "memory_module_output.json").read_bytes())
    assert len(seen) == 1


def test_only_the_workspace_is_read(bugs: Indexed, tmp_path: Path) -> None:
    bugs.ask("Which error did the parser test show?")
    gold = tmp_path / "gold.json"
    gold.write_text("{}")
    probe = tmp_path / "probe.py"
    probe.write_text(
        "import os, runpy, sys\n"
        "seen = []\n"
        "sys.addaudithook(lambda event, args: seen.append(str(args[0])) if event == 'open' else None)\n"
        f"sys.argv = ['scout']\nsys.path.insert(0, {str(HELPERS / 'scout')!r})\n"
        "try:\n"
        f"    runpy.run_path({str(HELPERS / 'scout' / '__main__.py')!r}, run_name='__main__')\n"
        "except SystemExit as done:\n"
        "    assert not done.code, done\n"
        "print('\\n'.join(seen), file=sys.stderr)\n"
    )
    environment = {"PATH": os.environ["PATH"], "MEMORY_WORKSPACE": str(bugs.root)}
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", str(probe)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    allowed = (str(bugs.root), str(HELPERS), sys.prefix, sys.base_prefix, str(probe))
    opened = [path for path in done.stderr.splitlines() if path.startswith("/")]
    assert any("haystack" in path for path in opened)
    assert [path for path in opened if not path.startswith(allowed)] == []


def test_a_name_that_stands_nowhere_makes_it_a_near_match(bugs: Indexed) -> None:
    bugs.ask("In the scheduler crash task, what did test_config99.py show for error E7777?")
    bugs.scout()
    assert bugs.evidence()["evidence_status"] == "near_match_only"
    assert "E7777" in str(bugs.evidence()["memory_markdown"])


@pytest.mark.parametrize(
    ("question", "status"),
    [
        ("Which error did the scheduler test show?", "supported"),
        ("Which error did the test show for Zebulon in the scheduler task?", "near_match_only"),
        ('Did the scheduler test say "expected 7"?', "near_match_only"),  # each word stands somewhere, not so
        ('Did the scheduler test say "E201 expected"?', "supported"),
        ("Did zeppelins, airships, balloons, kites or gliders delay the scheduler?", "insufficient"),
    ],
)
def test_the_status_says_what_is_missing(bugs: Indexed, question: str, status: str) -> None:
    bugs.ask(question)
    bugs.scout()
    assert bugs.evidence()["evidence_status"] == status, bugs.evidence()["memory_markdown"]
    assert f"Verdict by words alone: {status}: " in str(bugs.evidence()["memory_markdown"])


def test_a_question_without_a_known_word_is_insufficient(bugs: Indexed) -> None:
    bugs.ask("Zeppelin moored quietly?")
    bugs.scout()
    assert bugs.evidence()["evidence_status"] == "insufficient"
    assert bugs.evidence()["trajectory_spans"] == []


def test_a_question_without_any_word_is_told_from_one_whose_words_are_nowhere(bugs: Indexed) -> None:
    for question, why in (("???", "has no word to look for"), ("zeppelin airship", "no state has any word")):
        bugs.ask(question)
        assert bugs.scout().code == 0
        assert why in str(bugs.evidence()["memory_markdown"])
        assert (why if "no state" in why else "no word to look for") in bugs.memory("candidates").out


def test_a_question_with_an_image_looks_only_at_states_with_a_screenshot(
    bugs: Indexed, tmp_path: Path
) -> None:
    picture = tmp_path / "shots" / "0.png"
    picture.parent.mkdir()
    Image.new("RGB", (8, 8), "red").save(picture)
    seen = [state("a heron on the lake"), state("a heron in the list of photographs of herons")]
    seen[0].screenshot = "shots/0.png"
    place = Indexed.make(tmp_path, [trajectory("zoo", seen)])
    place.ask("Which bird is in the attached photograph of the list, a heron?", image="question_image.png")
    place.scout()
    assert place.handed_in() == [("zoo", 0)]


def test_without_an_index_it_still_answers_and_says_so(tmp_path: Path) -> None:
    place = Indexed.make(
        tmp_path, [trajectory("one", [state("nothing"), state("widget77 costs 12")])], index=False
    )
    place.ask("What does widget77 cost?")
    assert place.scout().code == 0
    assert ("one", 1) in place.handed_in()
    assert "without an index" in str(place.evidence()["memory_markdown"])


@pytest.mark.parametrize(
    "text", ["x" * 200_000, "\0\0 which error \ud800?", "A. \nB. \nC. ", '"' * 999, "?" * 99]
)
def test_hostile_questions_end_in_evidence(bugs: Indexed, text: str) -> None:
    (bugs.root / "question.json").write_text(json.dumps({"question": text, "image": None}))
    done = bugs.scout()
    assert (done.code, done.err) == (0, "")
    assert len(str(bugs.evidence()["memory_markdown"])) <= 8_000


@pytest.mark.parametrize(
    ("text", "options", "quotes", "comparing"),
    [
        ("Which one?\nA. first\nB. second", ["first", "second"], [], False),
        ("Which one?\n(a) red\n(b) blue", ["red", "blue"], [], False),
        ('What follows "Save and close"?', [], ["Save and close"], False),
        ("What do both attempts report?", [], [], True),
        ("Don't the agent's notes say so?", [], [], False),
    ],
)
def test_a_question_is_taken_apart(text: str, options: list[str], quotes: list[str], comparing: bool) -> None:
    question = Question(text)
    assert (question.options, question.quotes) == (options, quotes)
    assert (question.runs > 1) is comparing


def test_words_weigh_by_what_they_say() -> None:
    weights = words("which line of setup.cfg shows the wrapt requirement")
    assert weights["setup.cfg"] == weights["wrapt"] == 1
    assert weights["lin"] < weights["setup"] < 1
    assert "which" not in weights and "the" not in weights
    asked = Question("Which price was shown? Put the final answer in \\boxed{} in dollars.").weights
    assert asked["dollar"] < asked["pric"]
