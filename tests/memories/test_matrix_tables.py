"""What the reader of an arms table sees, however wide the terminal is, and what is said once."""

import io

import pytest
from rich.console import Console

from evals.matrix.table import ArmDifference, ArmRow, MatrixTable
from evals.statistics.intervals import Interval
from runbook.cli.matrix_tables import print_matrix
from runbook.cli.saying_once import SharedConsole

INSERT = {
    "haystacks": 1,
    "seconds": 12.5,
    "embedded_texts": 2574,
    "embedding_calls": 81,
    "embedding_tokens": 1_445_500,
    "written_trajectories": 200,
    "writing_calls": 400,
    "writing_tokens": 1000,
    "cost_usd": 0.0123,
}


def arm(name, **changed):
    figures = {
        "memory": name,
        "questions": 451,
        "coverage": 1.0,
        "evidence_hit": 0.951,
        "evidence_hit_interval": [0.92, 1.0],
        "all_pieces_hit": 0.9,
        "states_per_question": 8.0,
        "answer_in_context": 0.846,
        "answer_in_context_interval": [0.58, 0.96],
        "scored": 451,
        "accuracy": 0.749,
        "accuracy_strict": 0.749,
        "accuracy_interval": [0.7, 0.79],
        "latency": {"avg": 2.0, "p50": 108.31, "p95": 1350.25, "max": 1400.0},
        "tokens": 1_234_567,
        "cost_usd": 12.345,
        "pools": {},
        "insert": None,
        "outcomes": {"ok": 451},
    }
    return ArmRow(name=name, **(figures | changed))


def printed(width, *rows):
    name = rows[-1].name
    table = MatrixTable(
        rows[0].name,
        list(rows),
        [
            ArmDifference(
                rows[-1].name, "accuracy", 451, -0.123, Interval(-0.2, -0.05), 0.0004, 0.00003, 0.012
            ),
            ArmDifference(name, "all_pieces_hit", 451, 0.0, None, 1.0, 1.05, 1.0),
        ],
        None,
    )
    out = io.StringIO()
    print_matrix(Console(file=out, width=width, markup=False, highlight=False, soft_wrap=True), table)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 120])
def test_the_tables_fit_and_their_columns_stand_under_each_other(width):
    lines = printed(width, arm("scout"), arm("a-name-of-forty-characters-as-long-as-it", insert=INSERT))
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for cell in (
        "74.9 (70-79)",
        "108.31/1350.25",
        "1,234.6 k",
        "12.35",
        "-12.3 (-20 to -5)",
        "<.001",
        "x <.001",
    ):
        assert cell in text
    assert ("95.1 (92-100)" in text) == (
        width == 120
    )  # the interval of hits goes first where there is no room
    head = next(line for line in lines if line.startswith("arm"))
    row = next(line for line in lines if line.startswith("scout"))
    assert head.rstrip().endswith("USD")
    assert len(head.rstrip()) == len(row.rstrip())


def test_the_insert_side_has_its_own_table_with_tokens_and_money():
    lines = printed(80, arm("scout"), arm("rag", insert=INSERT))
    row = next(line for line in lines if line.startswith("rag") and "2,574" in line)
    assert row.split() == ["rag", "1", "12.50", "2,574", "200", "481", "1,446.5", "k", "0.0123"]
    assert not any(line.startswith("scout") and "2,574" in line for line in lines)


def test_what_is_not_known_is_no_zero():
    unknown = arm("rag", tokens=None, cost_usd=None, evidence_hit=None, insert=INSERT | {"cost_usd": None})
    lines = printed(80, arm("scout"), unknown)
    assert next(line for line in lines if line.startswith("rag")).split()[-2:] == ["-", "-"]
    assert next(line for line in lines if "2,574" in line).split()[-1] == "-"


def test_pools_and_missing_figures_are_said_by_arm():
    failed = arm(
        "rag", coverage=0.5, outcomes={"ok": 10, "provider_error": 10}, pools={"raw": 6.0, "notes": 5.5}
    )
    text = " ".join(printed(120, arm("scout"), failed))
    assert "rag: 50.0 % of its questions have a figure (ok 10, provider_error 10)" in text
    assert "by pool: rag notes 5.5, raw 6.0" in text


def test_what_several_arms_say_is_printed_once_with_their_number(capsys):
    console = SharedConsole(stderr=False)
    with console.gathering():
        for name in ("a", "b", "c"):
            console.speak_for(name)
            console.print("warning: damaged")
        console.print("only c")
        console.print("only c")
    assert capsys.readouterr().out.splitlines() == ["warning: damaged (3 arms)", "only c"]


def test_what_was_said_before_an_error_is_not_lost(capsys):
    console = SharedConsole(stderr=False)
    with pytest.raises(ValueError, match="no room"), console.gathering():
        console.print("warning: damaged")
        raise ValueError("no room")
    assert capsys.readouterr().out == "warning: damaged\n"


def test_while_the_arms_run_a_line_is_not_repeated_within_a_minute(capsys):
    console = SharedConsole(stderr=False)
    for line in ("waiting for the reader", "waiting for the reader", "1/2 answers"):
        console.print(line)
    assert capsys.readouterr().out.splitlines() == ["waiting for the reader", "1/2 answers"]
