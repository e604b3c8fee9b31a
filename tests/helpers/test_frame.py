"""What holds for every verb of the memory command, whatever the haystack holds."""

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.memory.registry import MODULES
from tests.waiting import AT_ONCE, wait_for

VERBS = sorted(MODULES)
HARD_CAP = 64 * 1024
LINE = "the one line that is five million characters long "


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory, view_builder: Any, recorded: Any) -> tuple[Path, str]:
    """A view whose every field is too long, full of control characters, or both; and a slug in it."""
    view = view_builder(tmp_path_factory.mktemp("hostile"))
    escape = "\x1b[31mred\x1b]0;title\x07 \x9b2J \u202egnp.exe\u2066 \x00nul\x7f\r"
    long = escape + LINE * 100_000
    states = [
        recorded(long, url=long[:9000], action=long[:9000], thought=long[:9000]),
        recorded("\n".join(f"[{n}] row {n} {escape}" for n in range(20_000)), image=(b"no image", "png")),
        *(recorded(f"row {n} {escape} 订单", url=escape, action=escape, thought=escape) for n in range(120)),
    ]
    slug = view.add("hostile\x1b[0m", states, goal=long, outcome=escape, start_url=escape)
    for number in range(120):
        view.add(f"other-{number}", [recorded(f"row {escape}{number}\nrow b")], goal=escape * 20)
    (view.root / "trajectories" / slug / "0003.txt").write_bytes(b"\xff\xfe\x00row\xc3\x28\n" * 2000)
    root = view.finish()
    (root / "MANIFEST.md").write_text(f"{escape}\n" * 5000)
    return root, slug


@pytest.fixture
def hostile_workspace(hostile: tuple[Path, str], workspace: Any) -> Any:
    """A workspace of this test's own over the hostile view."""
    (workspace.root / "haystack").symlink_to(hostile[0])
    return workspace


def lines_for(verb: str, slug: str) -> list[list[str]]:
    """Command lines that make a verb show as much of the hostile view as it can."""
    known = {
        "overview": [[], ["--find", "."]],
        "show": [[slug]],
        "timeline": [[slug]],
        "state": [
            [slug, "0"],
            [slug, "1"],
            [slug, "3"],
            [slug, "0", "--find", "million"],
            [slug, "0", "--from", "5:900"],
        ],
        "span": [[slug, "0:9"], [slug, "1-2,100"]],
        "match": [[slug, "row"], [slug, "million"], [slug, "."]],
        "grep": [["row"], ["million"], ["."], ["row", "--in", slug]],
        "where": [["row"]],
        "candidates": [[]],
        "diff": [[slug, "0", "1"], [slug, "1", "2"]],
        "image": [[slug, "1"], [slug, "2"], [slug, "1", "--crop", "0,0,1,1"]],
        "contact": [[slug]],
        "budget": [["--span", f"{slug}:0-9"]],
        "check": [["--span", f"{slug}:0-9", "--note", "\x1b[31m" * 2000]],
        "save": [["--span", f"{slug}:0-9"]],
        "submit": [["--span", f"{slug}:0-9"]],
    }
    return known.get(verb, [["row"], [slug], [slug, "1"]])


@pytest.mark.parametrize("verb", VERBS)
def test_help_prints_the_usage_and_touches_nothing(
    verb: str, hostile_workspace: Any, hostile: tuple[Path, str]
) -> None:
    before = hostile_workspace.files()
    words = lines_for(verb, hostile[1])[-1]
    for line in ([verb, "--help", *words], [verb, *words, "-h"], [verb, "--", "--help"], ["help", verb]):
        done = hostile_workspace.memory(*line, stdin=b'{"memory_markdown": "x"}')
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith(f"usage: memory {verb}")
    assert hostile_workspace.files() == before


@pytest.mark.parametrize("verb", VERBS)
def test_an_unknown_option_is_an_error_with_the_usage_and_writes_nothing(
    verb: str, hostile_workspace: Any
) -> None:
    before = hostile_workspace.files()
    done = hostile_workspace.memory(verb, "--no-such-option")
    assert done.code == 2
    assert done.out == ""
    assert "--no-such-option" in done.err
    assert f"usage: memory {verb}" in done.err
    assert hostile_workspace.files() == before


@pytest.mark.parametrize("verb", VERBS)
def test_a_surplus_argument_is_an_error(verb: str, hostile_workspace: Any) -> None:
    done = hostile_workspace.memory(verb, *["a"] * 9)
    assert done.code == 2
    assert "too many" in done.err
    assert done.out == ""


@pytest.mark.parametrize("verb", VERBS)
def test_output_keeps_its_cap_and_passes_no_control_characters(
    verb: str, hostile_workspace: Any, hostile: tuple[Path, str]
) -> None:
    least, most = (["--max-bytes", "1000"], 1000), (["--max-bytes", "999999"], HARD_CAP - 2048)
    for place, words in enumerate(lines_for(verb, hostile[1])):
        for options, cap in (([], 12_000), least, most) if place == 0 else (most,):
            done = hostile_workspace.memory(verb, *words, *options)
            assert done.code in (0, 1, 2), (words, done.err)
            assert "Traceback" not in done.err
            assert len(done.out.encode()) <= cap, (words, options)
            assert len(done.err.encode()) <= 2048
            assert not [c for c in done.out + done.err if is_control(c)], (words, options)


def is_control(letter: str) -> bool:
    code = ord(letter)
    hidden = 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069 or code in (0x2028, 0x2029)
    return (code < 0x20 and letter not in "\n\t") or 0x7F <= code < 0xA0 or hidden


@pytest.mark.parametrize("verb", VERBS)
def test_arguments_of_100_kb_end_in_a_short_error(verb: str, hostile_workspace: Any) -> None:
    for line in (
        [verb, "x\x1b[0m" * 20_000, "1"],
        [verb, "--" + "y" * 100_000],
        [verb, b"\xff\xfe" * 50_000],
    ):
        done = hostile_workspace.memory(*line)
        assert done.code in (1, 2)
        assert "Traceback" not in done.err
        assert len((done.out + done.err).encode()) < 4096
        assert not [c for c in done.out + done.err if is_control(c)]


@pytest.mark.parametrize("verb", VERBS)
def test_no_haystack_is_one_clear_line(verb: str, workspace: Any) -> None:
    done = workspace.memory(verb, *lines_for(verb, "some-run")[0])
    assert done.code == 2
    assert "haystack" in done.err
    assert "Traceback" not in done.err
    assert done.out == ""


def test_a_damaged_table_of_trajectories_is_named_with_its_line(shop: Any) -> None:
    table = shop.workspace.root / "haystack" / "trajectories.tsv"
    table.write_text("slug\tid\n" + "broken line\n" * 3)
    done = shop.memory("show", "nothing")
    assert done.code == 2
    assert "trajectories.tsv is damaged at line 2" in done.err
    assert shop.memory("show", shop.orders).code == 0  # a slug needs no table


def test_all_verbs_are_listed_in_at_most_25_lines(workspace: Any) -> None:
    for line in ([], ["--help"], ["-h"], ["help"]):
        done = workspace.memory(*line)
        assert done.code == 0
        assert len(done.out.splitlines()) <= 25
        assert len(done.out.encode()) <= 1536
        words = set(done.out.replace(",", " ").split())
        assert [verb for verb in VERBS if verb not in words and verb != "candidates"] == []


def test_a_mistyped_verb_names_the_nearest(workspace: Any) -> None:
    done = workspace.memory("sbmit", "--note", "x")
    assert done.code == 2
    assert "submit" in done.err
    assert workspace.files() == {}


def test_a_wrong_id_names_the_nearest_and_a_wrong_state_the_valid_range(shop: Any) -> None:
    assert shop.orders in shop.memory("show", "web/Order-Rum 7").err
    assert "0 to 2" in shop.memory("state", shop.orders, "3").err
    assert "0 to 29" in shop.memory("span", shop.refund, "28:40").err


@pytest.mark.parametrize(
    "name", ["web/Order-Run 7", "web/Order", "WEB/ORDER-RUN 7", "web-order-run", "Web-Ord"]
)
def test_a_trajectory_goes_by_id_slug_or_prefix_in_any_case(name: str, shop: Any) -> None:
    assert f"# {shop.orders} " in shop.memory("show", name).out


def test_a_prefix_of_several_lists_them_and_a_short_one_is_none(
    new_view: Any, workspace: Any, recorded: Any
) -> None:
    view = new_view()
    slugs = [view.add(f"task-{n}", [recorded("x")]) for n in range(3)]
    view.finish()
    done = workspace.memory("show", "task")
    assert done.code == 2
    assert all(slug in done.err for slug in slugs)
    assert "no trajectory 'ta'" in workspace.memory("show", "ta").err


def test_a_name_never_leaves_the_haystack(shop: Any) -> None:
    (shop.workspace.root / "about.txt").write_text("states: 1\n")
    for name in (
        "../..",
        "..",
        ".",
        "/etc",
        f"../trajectories/{shop.orders}",
        f"{shop.orders}/../{shop.orders}",
    ):
        assert shop.memory("show", name).code == 2
        assert shop.memory("state", name, "0").code == 2


def test_a_reader_that_leaves_is_no_traceback(hostile_workspace: Any, hostile: tuple[Path, str]) -> None:
    argv = hostile_workspace.argv("state", hostile[1], "1", "--max-bytes", "63000")
    process = subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=hostile_workspace.environment()
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    assert process.wait(timeout=AT_ONCE) == 0


def test_ctrl_c_is_no_traceback(new_view: Any, workspace: Any, recorded: Any, tmp_path: Path) -> None:
    view = new_view()
    slug = view.add("evil", [recorded("a" * 60 + "!")])
    view.finish()
    argv = workspace.argv("match", slug, "(a+)+$")
    process = subprocess.Popen(
        argv, stderr=subprocess.PIPE, env=workspace.environment({"PATH": str(tmp_path)})
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_for(children.read_text)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=AT_ONCE) == (None, b"")
    assert process.returncode == 130


INTERRUPTED = """
import os, sys
from helpers.memory import program

fork = os.fork

def interrupted() -> int:
    child = fork()
    if child:
        raise KeyboardInterrupt
    return child

os.fork = interrupted
sys.exit(program.main(["submit", "-"]))
"""


def test_ctrl_c_while_a_verb_starts_leaves_none_behind(shop: Any) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=Path(shop.workspace.argv()[-1]).parents[2],
        env=shop.workspace.environment(),
    )
    assert process.wait(timeout=AT_ONCE) == 130
    assert process.stderr is not None
    assert process.stderr.read() == b""  # and nobody is left who could write to it
    assert process.stdin is not None
    process.stdin.close()


def test_the_same_call_gives_the_same_bytes(hostile_workspace: Any, hostile: tuple[Path, str]) -> None:
    for line in (
        ["grep", "row"],
        ["where", "row"],
        ["overview", "--find", "other"],
        ["match", hostile[1], "row"],
    ):
        outputs = {hashlib.sha256(hostile_workspace.memory(*line).out.encode()).digest() for _ in range(3)}
        assert len(outputs) == 1


def test_it_runs_as_a_folder_and_from_anywhere(shop: Any, tmp_path: Path) -> None:
    folder = Path(shop.workspace.argv()[-1]).parent
    environment = {"PATH": os.environ["PATH"]}
    argv = [sys.executable, "-I", "-S", "-B", str(folder), "show", shop.refund]
    done = subprocess.run(
        argv, cwd=shop.workspace.root, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "Refund order 1001" in done.stdout
    elsewhere = subprocess.run(
        argv, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert elsewhere.returncode == 2


def test_nothing_slow_is_imported_to_read_a_state(shop: Any) -> None:
    argv = shop.workspace.argv("state", shop.orders, "0")
    argv.insert(1, "-Ximporttime")
    done = subprocess.run(argv, env=shop.workspace.environment(), capture_output=True, text=True, check=False)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    slow = {
        "re",
        "json",
        "argparse",
        "subprocess",
        "typing",
        "pathlib",
        "enum",
        "functools",
        "collections",
        "difflib",
    }
    assert "memory.state" in imported
    assert imported & slow == set()
