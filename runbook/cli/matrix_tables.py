"""The tables of `runbook eval matrix`: figures, differences, and what preparing took."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from runbook.cli.tables import NONE, number
from runbook.cli.terminal import inert

if TYPE_CHECKING:
    from evals.matrix.table import ArmRow, MatrixTable

_MEASURES = {"all_pieces_hit": "all pieces", "answer_in_context": "in context"}
_NAME_CELLS = 20  # of a name that are not folded while there is room for them
_LEAST_CELLS = 9
_ANY_WIDTH = 1000
_LEGEND = (
    "hit: mean over questions of the share of its gold pieces; in context: share of answers that a context "
    "holds; accuracy: of the questions with a score. In brackets 95 % intervals: Wilson's; of hits, and of "
    "means over repeats, by a bootstrap over clusters of questions, no narrower than Wilson's where few are "
    "right or wrong. Tokens and USD: of the memory's own queries."
)
_DIFFERENCES = (
    "Differences in points: bootstrap over clusters of questions, no narrower than Newcombe's where few "
    "questions differ, or few are right or wrong; p: exact McNemar; Holm: held over the table; latency: "
    "geometric mean of the ratios."
)
_INSERT = (
    "Insert side: what preparing haystacks took, never in the latency. What another arm or run had prepared "
    "is kept and cost nothing again."
)


def print_matrix(console: Console, table: "MatrixTable") -> None:
    """What each arm found and took, the differences, and the insert side, as wide as the console allows."""
    rows = table.rows
    _print_widest(
        console,
        _figures(rows, hit_intervals=True),
        _figures(rows, hit_intervals=False),
        _figures(rows, hit_intervals=False, name_cells=_LEAST_CELLS),
    )
    _say(console, _LEGEND)
    if table.differences:
        console.print()
        console.print(_differences(table))
        _say(console, _DIFFERENCES)
    prepared = [
        row for row in rows if row.insert and row.insert["embedding_calls"] + row.insert["writing_calls"]
    ]
    if prepared:
        console.print()
        console.print(_inserts(prepared))
        _say(console, _INSERT)
    console.print()
    for line in _remarks(table):
        _say(console, line)


def _print_widest(console: Console, *tables: Table) -> None:
    """The first that fits, else the last."""
    anywhere = console.options.update(width=_ANY_WIDTH)
    fitting = (one for one in tables if Measurement.get(console, anywhere, one).minimum <= console.width)
    console.print(next(fitting, tables[-1]))


def _say(console: Console, line: str) -> None:
    console.print(inert(line), soft_wrap=False)


def _figures(rows: "list[ArmRow]", *, hit_intervals: bool, name_cells: int = _NAME_CELLS) -> Table:
    names = [row.name for row in rows]
    drawn = _table(names, name_cells, "arm", "hit", "in context", "accuracy", "p50/p95 s", "tokens", "USD")
    for row in rows:
        cells = [
            inert(row.name),
            _share(row.evidence_hit) + (_ends(row.evidence_hit_interval) if hit_intervals else ""),
            _share(row.answer_in_context) + _ends(row.answer_in_context_interval),
            _share(row.accuracy) + _ends(row.accuracy_interval),
            _latency(row),
            _thousands(row.tokens),
            _money(row.cost_usd),
        ]
        drawn.add_row(*map(Text, cells))
    return drawn


def _differences(table: "MatrixTable") -> Table:
    titles = ("measure", "n", "points (95 %)", "p", "Holm", "latency")
    drawn = _table(
        [one.arm for one in table.differences], _NAME_CELLS, f"against {inert(table.reference)}", *titles
    )
    for one in table.differences:
        between = one.interval
        ends = f" ({100 * between.low:+.0f} to {100 * between.high:+.0f})" if between else ""
        cells = [
            inert(one.arm),
            _MEASURES.get(one.measure, one.measure),
            str(one.questions),
            f"{100 * one.difference:+.1f}{ends}",
            _p(one.p),
            _p(one.p_holm),
            _ratio(one.latency_ratio),
        ]
        drawn.add_row(*map(Text, cells))
    return drawn


def _inserts(rows: "list[ArmRow]") -> Table:
    names = [row.name for row in rows]
    drawn = _table(
        names,
        _NAME_CELLS,
        "insert side",
        "haystacks",
        "s",
        "embedded",
        "written",
        "calls",
        "tokens",
        "USD",
    )
    for row in rows:
        cost = row.insert or {}
        tokens = (cost["embedding_tokens"], cost["writing_tokens"])
        cells = [
            inert(row.name),
            str(cost["haystacks"]),
            number(cost["seconds"]),
            f"{cost['embedded_texts']:,}",
            f"{cost['written_trajectories']:,}",
            f"{cost['embedding_calls'] + cost['writing_calls']:,}",
            _thousands(None if None in tokens else sum(tokens)),
            _money(cost["cost_usd"]),
        ]
        drawn.add_row(*map(Text, cells))
    return drawn


def _latency(row: "ArmRow") -> str:
    return "replayed" if row.replayed else f"{number(row.latency['p50'])}/{number(row.latency['p95'])}"


def _remarks(table: "MatrixTable") -> list[str]:
    lines = []
    for row in table.rows:
        lines += [f"{row.name}: {remark}" for remark in row.remarks]
        if row.coverage is not None and row.coverage < 1:
            told = ", ".join(f"{outcome} {count}" for outcome, count in row.outcomes.items())
            lines.append(f"{row.name}: {100 * row.coverage:.1f} % of its questions have a figure ({told})")
    searched = [row for row in table.rows if row.pools]
    if searched:
        told = "; ".join(f"{row.name} {_pieces(row.pools)}" for row in searched)
        lines.append(f"pieces in a context, by pool: {told}")
    if table.leak is not None:
        lines.append(str(table.leak))
    return lines


def _pieces(pools: dict[str, float]) -> str:
    return ", ".join(f"{pool} {pools[pool]:.1f}" for pool in sorted(pools))


def _table(names: Sequence[str], name_cells: int, *titles: str) -> Table:
    """A table whose first column holds names, of which so many cells are never folded."""
    drawn = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    longest = max(map(cell_len, (titles[0], *map(inert, names))))
    drawn.add_column(titles[0], overflow="fold", min_width=min(name_cells, longest))
    for title in titles[1:]:
        drawn.add_column(title, justify="right", no_wrap=True)
    return drawn


def _share(value: float | None) -> str:
    return NONE if value is None else f"{100 * value:.1f}"


def _ends(interval: list[float] | None) -> str:
    return f" ({100 * interval[0]:.0f}-{100 * interval[1]:.0f})" if interval else ""


def _thousands(count: int | None) -> str:
    return NONE if count is None else f"{count / 1000:,.1f} k"


def _money(usd: float | None) -> str:
    if usd is None:
        return NONE
    return f"{usd:.2f}" if usd >= 1 or usd == 0 else f"{usd:.4f}"


def _ratio(value: float | None) -> str:
    if value is None:
        return NONE
    if value < 0.001:
        return "x <.001"
    return f"x {value:.2f}" if value >= 0.1 else f"x {value:.3f}"


def _p(value: float | None) -> str:
    if value is None:
        return NONE
    return "<.001" if value < 0.001 else f"{value:.3f}"
