"""Shell text becomes the simple commands that it would run."""

from hypothesis import given, settings
from hypothesis import strategies as st

from evals.traces.shell import SimpleCommand, simple_commands


def programs(text: str) -> list[str]:
    return [command.program for command in simple_commands(text)]


def test_lists_pipelines_loops_and_substitutions_are_taken_apart() -> None:
    assert programs("a; b && c || d | e & (f) ; { g; }") == ["a", "b", "c", "d", "e", "f", "g"]
    assert programs("for x in 1 2; do h $x; done; if i; then j; fi; while k; do l; done") == [
        "h",
        "i",
        "j",
        "k",
        "l",
    ]
    assert programs('m "$(n | o)" `p` <(q)') == ["n", "o", "p", "q", "m"]


def test_words_lose_their_quotes() -> None:
    [command] = simple_commands(r"""rg -n "a \"b\"" 'c d' e\ f "g"'h'""")
    assert command.words == ("-n", 'a "b"', "c d", "e f", "gh")


def test_folders_are_followed() -> None:
    _, command = simple_commands("cd haystack/trajectories && cat a-1/0007.txt ../MANIFEST.md < x")
    assert command.places == (
        "haystack/trajectories/a-1/0007.txt",
        "haystack/MANIFEST.md",
        "haystack/trajectories/x",
    )
    inner = simple_commands("cd haystack && bash -lc 'cd trajectories; cat a'")
    assert inner[-1].places == ("haystack/trajectories/a",)


def test_redirections_and_here_documents_belong_to_their_command() -> None:
    one, two = simple_commands("rg x 2>/dev/null > out.txt; cat > f <<'END'\nbody\nEND")
    assert (one.program, one.writes) == ("rg", ("/dev/null", "out.txt"))
    assert two == SimpleCommand("cat", writes=("f",), body="body\n")


def test_only_what_follows_a_pipe_is_piped() -> None:
    assert [(c.program, c.piped) for c in simple_commands("cd x && a | b; c")] == [
        ("cd", False),
        ("a", False),
        ("b", True),
        ("c", False),
    ]


def test_wrappers_are_looked_through() -> None:
    assert programs("timeout -k 5 10 nice -n 3 env A=1 rg x") == ["rg"]
    assert programs("/usr/bin/bash -lc 'sh -c \"ls\"'") == ["ls"]
    assert programs("find . -name x -exec cat {} +") == ["cat", "find"]
    assert programs("bash script.sh") == ["bash"]
    assert programs("xargs") == ["xargs"]


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("ab \t\n'\"\\$(){}[]<>|&;`#=~!*?-0/é"), max_size=60))
def test_any_text_gives_commands_without_raising(text: str) -> None:
    for command in simple_commands(text):
        assert isinstance(command.program, str)


def test_deep_nesting_ends(monkeypatch) -> None:
    assert simple_commands("(" * 20_000) is not None
    assert simple_commands("echo " + "$(" * 5_000 + ")" * 5_000) is not None
