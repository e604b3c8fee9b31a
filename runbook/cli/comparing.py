"""`runbook compare`: runs against each other, question by question."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from evals.statistics.variance import STAGES
from runbook.cli.failures import Mistake
from runbook.cli.interleaving import run_in_turn
from runbook.cli.options import AsJson, NoGates
from runbook.cli.saying_once import SharedConsole
from runbook.cli.tables import NONE, number, print_json
from runbook.cli.terminal import inert, terminal

if TYPE_CHECKING:
    from evals.comparison.compare import Comparison, Latency, Row
    from evals.comparison.differences import Difference
    from evals.comparison.noise import Noise
    from evals.statistics.intervals import Interval

_MOST_FLIPS = 20


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="A B...", help="Runs, or settings files; all are compared with A."),
    ],
    allow: Annotated[
        str,
        typer.Option(help="Compare although these differ: data, reader, judge, profile, tier; with commas."),
    ] = "",
    interleave: Annotated[
        bool,
        typer.Option(
            "--interleave", help="A, B... are settings files: run them in turn first, then compare."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="With --interleave: folder of their runs; what is there is gone on with."),
    ] = None,
    no_gates: NoGates = False,
    as_json: AsJson = False,
) -> None:
    """Compare runs, question by question.

    Over the questions they have in common: differences, intervals, tests, flips.
    """
    from evals.comparison.compare import compare as compare_runs
    from evals.comparison.noise import independent, noise_of
    from evals.recorded import gold_of_run, read_run
    from runbook.cli.places import Place

    allowed = _aspects(allow)
    if len(runs) < 2:
        raise Mistake("name at least two runs")
    if interleave != (out is not None):
        raise Mistake("--interleave and --out FOLDER belong together: the runs are made there")
    if out is not None:
        runs = run_in_turn(runs, Place.named(out), allowed, SharedConsole(stderr=as_json), no_gates=no_gates)
    base, *others = [read_run(path) for path in runs]
    gold, why_not = gold_of_run(base)
    try:
        made = compare_runs(base, others, gold)
    except ValueError as error:
        raise Mistake(str(error)) from None
    for one in made:
        _refuse(one, allowed)
    # Without any difference the arms are repeats of one arm.
    equal = not any(one.differences for one in made)
    repeated = equal and independent([base, *others])
    noise = noise_of([base, *others]) if repeated else None
    if as_json:
        print_json({"comparisons": made, "noise": noise, "no_gold": why_not or None})
        return
    console = terminal()
    for place, one in enumerate(made):
        if place:
            console.print()
        _print(console, one, why_not)
    if noise is not None:
        console.print()
        _print_noise(console, noise)
    elif equal and not repeated:
        console.print()
        console.print(
            "Two of these hold the same answers of the memory (one run, a copy or revision of it): they are "
            "no repeats, and tell nothing about chance."
        )


def _aspects(names: str) -> frozenset[str]:
    from evals.comparison.differences import Aspect

    chosen = frozenset(filter(None, (part.strip() for part in names.split(","))))
    if unknown := sorted(chosen - {aspect.value for aspect in Aspect}):
        raise Mistake(f"--allow: {unknown[0]!r} is none of {', '.join(Aspect)}")
    return chosen


def _refuse(comparison: "Comparison", allowed: frozenset[str]) -> None:
    """Raise Mistake where the two runs differ in more than their memory, and nobody allowed it."""
    refused = [one for one in comparison.differences if one.aspect and one.aspect not in allowed]
    if refused:
        aspects = ",".join(dict.fromkeys(one.aspect.value for one in refused if one.aspect))
        raise Mistake(
            f"{comparison.a} and {comparison.b} differ in more than the memory: "
            f"{_named(refused)} (--allow {aspects} compares them all the same)"
        )


def _named(differences: Iterable["Difference"]) -> str:
    return "; ".join(str(one) for one in differences)


def _print(console: Console, made: "Comparison", why_no_gold: str) -> None:
    coverage = made.coverage
    console.print(f"A = {inert(made.a)}, B = {inert(made.b)}; a difference is B - A", style="bold")
    console.print(
        f"{coverage.common} questions with {_words(made.measure)} in both "
        f"(A has {coverage.a} of {coverage.a_questions}, B {coverage.b} of {coverage.b_questions})"
    )
    console.print(_table(made.rows, tested=True))
    if made.beside:
        console.print(_table(made.beside, tested=False))
    if made.latency:
        _print_latency(console, made.latency)
    else:
        console.print("latency: not compared, for these are not the latencies of two real runs")
    _print_flips(console, made)
    for line in (*map(inert, made.remarks), *_remarks(made, why_no_gold)):
        console.print(line)


def _table(rows: Sequence["Row"], *, tested: bool) -> Table:
    """Narrow enough for 80 columns."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column(f"{_words(rows[0].measure)}, %" if tested else "beside it, %")
    for title in ("n", "A", "B", "B - A (95 %)", "only A/B", *(("p", "Holm") if tested else ())):
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        cells = [
            inert(row.scope) if tested else _words(row.measure),
            str(row.questions),
            f"{100 * row.a:.1f}",
            f"{100 * row.b:.1f}",
            f"{100 * row.difference:+.1f}{_interval(row.interval)}",
            NONE if row.only_a is None else f"{row.only_a}/{row.only_b}",
        ]
        if tested:
            cells += [_p(row.p), _p(row.p_holm)]
        table.add_row(*map(Text, cells))
    return table


def _print_latency(console: Console, latency: "Latency") -> None:
    between = latency.interval
    ratio = latency.ratio_interval
    console.print(
        f"latency, seconds: A avg {number(latency.a['avg'])} p50 {number(latency.a['p50'])} "
        f"p95 {number(latency.a['p95'])}, B avg {number(latency.b['avg'])} p50 {number(latency.b['p50'])} "
        f"p95 {number(latency.b['p95'])}; difference {latency.difference:+.2f}"
        + (f" ({between.low:+.2f} to {between.high:+.2f})" if between else "")
        + f", B takes {latency.ratio:.2f} times as long"
        + (f" ({ratio.low:.2f} to {ratio.high:.2f})" if ratio else "")
    )


def _print_flips(console: Console, made: "Comparison") -> None:
    for right, title in (("a", "only A"), ("b", "only B")):
        names = [inert(flip.question_id) for flip in made.flips if flip.right == right]
        if names:
            more = (
                f" and {len(names) - _MOST_FLIPS} more (--json lists all)" if len(names) > _MOST_FLIPS else ""
            )
            console.print(f"{title}: {', '.join(names[:_MOST_FLIPS])}{more}")


def _print_noise(console: Console, noise: "Noise") -> None:
    console.print(
        f"Equal settings, so these {noise.runs} runs are repeats: over {noise.questions} questions the "
        f"accuracy of one varies by a standard deviation of {100 * (noise.deviation or 0):.1f} points; "
        f"{len(noise.unsteady)} questions do not score the same in all."
    )
    stages = ", ".join(f"{stage} {_variance(getattr(noise.split, stage))}" for stage in STAGES)
    included = " and ".join(noise.split.includes("agent"))
    console.print(
        f"Variance of a question's score: {stages}" + (f" (in the agent's: {included})" if included else "")
    )


def _variance(value: float | None) -> str:
    return "not estimated" if value is None else f"{value:.4f}"


def _remarks(made: "Comparison", why_no_gold: str) -> list[str]:
    clusters = made.rows[0].clusters
    remarks = [
        f"Intervals: bootstrap over {clusters} clusters of questions, by {made.clustered_by}"
        + (f" ({inert(why_no_gold)})" if why_no_gold else "")
        + "; no narrower than Newcombe's where few questions differ, or few are right or wrong. "
        "p: exact McNemar, which takes questions for independent; Holm: held over all rows printed."
    ]
    everything = made.rows[0]
    if everything.detectable is not None:
        remarks.append(
            f"With so many discordant questions a true difference of about {100 * everything.detectable:.0f} "
            "points would be found with power 0.8 (normal approximation; the exact test finds a little less)."
        )
    elif everything.p is not None:
        remarks.append("Too few discordant questions to find any difference with power 0.8.")
    if made.few_clusters:
        remarks.append(f"Only {clusters} clusters: too few to trust the intervals.")
    if not all(row.interval for row in made.rows):
        remarks.append("No interval where the questions show no spread to draw from.")
    allowed = [one for one in made.differences if one.aspect]
    beside = [one for one in made.differences if not one.aspect]
    if allowed:
        remarks.append(f"Not the same, as allowed: {inert(_named(allowed))}")
    if beside:
        remarks.append(f"Also different: {inert(_named(beside))}")
    return remarks


def _words(name: str) -> str:
    return name.replace("_", " ")


def _interval(interval: "Interval | None") -> str:
    return "" if interval is None else f" ({100 * interval.low:+.1f} to {100 * interval.high:+.1f})"


def _p(value: float | None) -> str:
    if value is None:
        return NONE
    return "<.001" if value < 0.001 else f"{value:.3f}"
