"""What commands print: tables for people, JSON for programs."""

import sys
from pathlib import Path
from typing import Any

import orjson
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from runbook.cli.terminal import inert

NONE = "-"
_COUNTED_FROM = {"first_model_byte": " after the attempt's start"}


def print_json(value: object) -> None:
    """Indented JSON on standard output, bytes as orjson writes them."""
    sys.stdout.buffer.write(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    sys.stdout.flush()


def print_summary(console: Console, summary: dict[str, Any], shown: Path) -> None:
    """The table of a run: accuracy or, without a reader, what can be said without one; then latency.

    `shown` is its folder as one would type it.
    """
    rows = _rows(summary)
    width = max(cell_len(name) for name, _ in rows)
    for name, value in rows:
        padding = " " * (width + 2 - cell_len(name))
        console.print(Text.assemble((name, "bold"), padding, value), soft_wrap=True)
    if summary["reader"] is None:
        console.print(
            "No reader ran, so there is no accuracy: the evidence figures say what the memory found, not "
            "whether a model can answer from it.",
            highlight=False,
        )
    for remark in summary["remarks"]:
        console.print(Text(inert(remark["text"])), soft_wrap=True)
    console.print(f"Everything is in {shown}", highlight=False, soft_wrap=True)


def _rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    latency, evidence, accuracy = summary["latency"], summary["evidence"], summary["accuracy"]
    rows = [
        _who(summary),
        ("questions", f"{summary['finished']} of {summary['questions']} finished"),
        ("coverage", percent(summary["coverage"])),
        ("outcomes", ", ".join(f"{name} {count}" for name, count in summary["outcomes"].items()) or NONE),
    ]
    if accuracy is not None:
        rows.append(
            (
                "accuracy",
                f"{percent(accuracy['strict'])} of all, {percent(accuracy['conditional'])} of scored"
                f"{_interval(accuracy['interval'])}",
            )
        )
        if summary["repeats"] is not None:
            rows.append(("  interval", inert(accuracy["interval_method"])))
        rows += [(f"  {inert(kind)}", percent(value)) for kind, value in accuracy["by_type"].items()]
    if summary["repeats"] is not None:
        rows += _repeat_rows(summary["repeats"])
    if evidence["n"]:
        rows += [
            (
                "evidence hit",
                f"{percent(evidence['hit'])} (mean share of a question's gold pieces, "
                f"n = {counted(evidence['n'], 'question')})",
            ),
            ("  all pieces hit", percent(evidence["all_pieces_hit"])),
            ("  strict", percent(evidence["strict"])),
            ("  states a question", number(evidence["states_per_question"])),
        ]
    if summary["answer_in_context_n"]:
        rows.append(
            (
                "answer in context",
                f"{percent(summary['answer_in_context'])} "
                f"(gold spans {percent(summary['answer_in_context_gold'])}, "
                f"20 random states {percent(summary['answer_in_context_random'])}, "
                f"n = {summary['answer_in_context_n']})",
            )
        )
    if summary["cascade"] is not None:
        rows.append(_cascade_row(summary["cascade"]))
    rows.append(
        (
            "latency, seconds",
            f"avg {number(latency['avg'])}, p50 {number(latency['p50'])}, "
            f"p95 {number(latency['p95'])}, max {number(latency['max'])}",
        )
    )
    rows += _latency_rows(summary["latency_breakdown"])
    if summary["insert_cost"] is not None:
        rows += _insert_rows(summary["insert_cost"])
    if summary["position_leak"] is not None:
        rows.append(("position", summary["position_leak"]["told"]))
    if summary["model_use"] is not None:
        rows += _model_rows(summary["model_use"])
    for role in ("reader", "judge"):
        if (use := summary[f"{role}_use"]) is not None:
            rows += _answering_rows(role, use)
    return rows + _reading_rows(summary)


def _cascade_row(use: dict[str, Any]) -> tuple[str, str]:
    """How often each memory's answer was taken."""
    quick, slow = (f"{inert(use[f'{one}_memory'])} {use[one]}" for one in ("quick", "slow"))
    return "cascade", f"answered by quick {quick}, slow {slow} (threshold {use['threshold']:g})"


def _latency_rows(breakdown: dict[str, Any]) -> list[tuple[str, str]]:
    """Where the time went."""
    told = {
        name: f"{name.replace('_', ' ')} {number(figures['avg'])}{_COUNTED_FROM.get(name, '')}"
        for name, figures in breakdown["parts"].items()
        if figures["avg"] is not None and round(figures["avg"], 2) > 0
    }
    clocked = [text for name, text in told.items() if name in breakdown["on_the_clock"]]
    beside = [text for name, text in told.items() if name not in breakdown["on_the_clock"]]
    rows = [("  of it, avg", ", ".join(clocked) or NONE)]
    if beside:
        rows.append(("  beside it, avg", ", ".join(beside)))
    return rows


def _reading_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """What a figure of accuracy has to say about how it came about, where that is not the usual way."""
    rows = []
    if summary["profile"] != "fixed":
        rows.append(("profile", summary["profile"]))
    if summary["votes"] > 1:
        rows.append(("votes", f"{summary['votes']} for each verdict"))
    rows += [
        (f"fall-back {inert(reason)}", ", ".join(map(inert, questions)))
        for reason, questions in summary["fallbacks"].items()
    ]
    return rows


def _model_rows(use: dict[str, Any]) -> list[tuple[str, str]]:
    """What the memory's model calls took, as seen on the wire."""
    told = _told_tokens(use)
    if use["estimated_tokens"]:
        told.append(f"and about {use['estimated_tokens']:,} that nobody told")
    failed = f", {use['failed_calls']} failed" if use["failed_calls"] else ""
    reused = f", {use['reused_calls']} of them reused from earlier" if use["reused_calls"] else ""
    cost = "price unknown" if use["cost_usd"] is None else f"{use['cost_usd']:.2f} USD"
    if use["abandoned_calls"]:
        cost += f", without {counted(use['abandoned_calls'], 'call')} that the end of an attempt broke off"
    models = ", ".join(map(inert, use["models"])) or NONE
    return [
        ("model", f"{models}: {counted(use['calls'], 'call')}{reused}{failed}"),
        ("  tokens", ", ".join(told) or "the provider told none"),
        ("  cost", cost),
        ("  rate-limit wait", f"{number(use['rate_limit_seconds'])} s, part of the latency"),
    ]


def _answering_rows(role: str, use: dict[str, Any]) -> list[tuple[str, str]]:
    """Who read or judged, and what its answers took."""
    others = [name for name in use["answered_as"] if name != use["model"]]
    named = f"{use['model']} (its replies say {', '.join(others)})" if others else use["model"]
    counts = [counted(use["calls"], "call")]
    if use["failed"]:
        counts.append(f"{use['failed']} failed")
    if use.get("reused_votes"):
        counts.append(f"{counted(use['reused_votes'], 'vote')} paid for before")
    rows = [(role, inert(f"{named}: {', '.join(counts)}"))]
    if not use["answers"]:
        return rows
    tokens = _told_tokens(use)
    if use["usage_unknown_calls"]:
        tokens.append(f"{counted(use['usage_unknown_calls'], 'answer')} not told in full")
    cost = "price unknown" if use["cost_usd"] is None else f"{use['cost_usd']:.2f} USD"
    return [*rows, ("  tokens", ", ".join(tokens)), ("  cost", cost)]


def _told_tokens(use: dict[str, Any]) -> list[str]:
    return [
        f"{name.replace('_', ' ')} {count:,}" for name, count in use["tokens"].items() if count is not None
    ]


def _repeat_rows(repeats: dict[str, Any]) -> list[tuple[str, str]]:
    """How much of the accuracy is chance, by stage."""
    shares = [
        f"{stage} {value if isinstance(value, str) else format(value, '.4f')}"
        for stage, value in repeats["variance"].items()
    ]
    rows = [
        ("  repeats", ", ".join(f"{stage} {count}" for stage, count in repeats["counts"].items())),
        ("  variance", ", ".join(shares)),
    ]
    if repeats["deviation"] is not None:
        chance = f"standard deviation {100 * repeats['deviation']:.1f} points"
        rows.append(("  by chance alone", chance))
    return rows


def _who(summary: dict[str, Any]) -> tuple[str, str]:
    """Who answered; an agent's sandbox with it."""
    from runbook.memories.registry import AGENTS

    if summary["memory"] not in AGENTS:
        return "memory", inert(summary["memory"])
    bare = ", bare" if summary["memory"] == "vanilla" else ""
    return "agent, sandbox", f"{summary['agent']}{bare}, {summary['sandbox']}"


def _insert_rows(cost: dict[str, Any]) -> list[tuple[str, str]]:
    """What preparing took: never part of the latency."""
    texts = f"{cost['embedded_texts']:,} texts embedded in {counted(cost['embedding_calls'], 'call')}"
    written = f"{cost['written_trajectories']:,} trajectories written about"
    return [
        (
            "insert side",
            f"{counted(cost['haystacks'], 'haystack')} in {number(cost['seconds'])} s: {texts}, {written} in "
            f"{counted(cost['writing_calls'], 'call')} ({cost['fallbacks']} plain texts for want of them); "
            f"{_insert_spent(cost)}",
        )
    ]


def _insert_spent(cost: dict[str, Any]) -> str:
    tokens = (cost["embedding_tokens"], cost["writing_tokens"])
    told = "tokens untold" if None in tokens else f"{sum(tokens):,} tokens"
    return f"{told}, " + ("price unknown" if cost["cost_usd"] is None else f"{cost['cost_usd']:.2f} USD")


def _interval(ends: list[float] | None) -> str:
    return f" (95 % interval {100 * ends[0]:.1f} to {100 * ends[1]:.1f})" if ends else ""


def percent(share: float | None) -> str:
    """A share of 0..1 as a percentage with one decimal."""
    return NONE if share is None else f"{100 * share:.1f} %"


def sized(count: int) -> str:
    """A number of bytes in the unit that suits it: `0 B`, `12.3 KB` (10**3), `4.5 MB`, `10 GB`."""
    for factor, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if count >= factor:
            return f"{count / factor:.1f}".removesuffix(".0") + f" {unit}"
    return f"{count} B"


def counted(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun: `1 view`, `2 views`; `many` is the plural where an s does not make it."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def number(value: float | None) -> str:
    """Two decimals."""
    return NONE if value is None else f"{value:.2f}"
