"""State files and about files read as agents are told, whatever was recorded."""

from hypothesis import given
from hypothesis import strategies as st

from manifests.model import Convention, State, Trajectory
from manifests.sanitise import Cleaner
from manifests.state_files import StateFile, about_file, parse_state_file, state_file

RECORDED = st.text(st.sampled_from("ab: \n\t#é")).map(Cleaner().clean)


def test_a_state_file() -> None:
    state = State(7, 7, "http://shop.example/", "ignored", "first\n\nsecond", "RootWebArea\n\t[1] link", None)
    assert state_file(state, "click('1')  # [1] link").decode() == (
        "url: http://shop.example/\n"
        "action: click('1')  # [1] link\n"
        "thought: first\n"
        "  \n"
        "  second\n"
        "\n"
        "RootWebArea\n"
        "\t[1] link\n"
    )


def test_what_is_empty_has_no_line() -> None:
    assert state_file(State(0, 0, "", "", "", "", None), "") == b"\n"


@given(url=RECORDED, action=RECORDED, thought=RECORDED, text=RECORDED)
def test_a_state_file_reads_back(url: str, action: str, thought: str, text: str) -> None:
    written = state_file(State(0, 0, url, "", thought, text, None), action).decode()
    ended = text if not text or text.endswith("\n") else f"{text}\n"
    assert parse_state_file(written) == StateFile(url, action, thought, ended)


def test_an_about_file_keeps_the_goal_whole() -> None:
    trajectory = Trajectory(
        "id 1", "web", "Do this\nthen that", "", None, [State(0, 0, "", "", "", "", None)]
    )
    assert about_file(trajectory, Convention.SOURCE).decode() == (
        "id: id 1\n"
        "goal: Do this\n"
        "  then that\n"
        "start_url: \n"
        "outcome: unknown\n"
        "states: 1\n"
        "action_convention: source\n"
    )
