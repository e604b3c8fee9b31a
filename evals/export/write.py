"""Writing a run in the public layout: the whole of it, and a folder for each domain to be packaged.

exports/per_question.jsonl, aggregated_metrics.json
exports/<method>_<domain>_<tier>/{aggregated_metrics.json, per_question.jsonl, run_args.json,
                                  runtime_inputs/{questions.json, haystack.json}}
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from evals.aggregate import aggregated_metrics
from evals.dataset import DataRoot
from evals.export.rows import as_counted_publicly, public_row, runtime_question, scored_question
from evals.export.rules import DOMAINS, obstacles
from evals.question import EvalQuestion
from evals.recorded import RecordedRun
from evals.runs.fallbacks import touched_by_fallbacks
from evals.runs.results import QuestionResult
from runbook.files import write_atomically

_PRIVATE: Any = {
    **dict.fromkeys(("data", "store", "agent", "model_url", "model_key", "gateway"), True),
    "reader": {"base_url"},
    "judge": {"base_url"},
}
"""Settings that say where this machine keeps things and reaches its models."""
_METHOD = re.compile(r"[A-Za-z0-9._-]+")


class ExportError(Exception):
    """A run that cannot be exported as asked; the message says why, and how to go on."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written; `obstacles` is empty where it is a benchmark result."""

    files: list[Path]
    packages: list[Path]
    """The folders of the domains, for the public packaging scripts; none for an unofficial export."""
    obstacles: list[str]
    label: str = ""
    """What has to be said beside the result."""


def export(
    run: RecordedRun, data: DataRoot, *, method: str | None = None, unofficial: bool = False
) -> Exported:
    """Write `exports/` of a run.

    Args:
        data: the run's own data root, unchanged since.
        method: the name on a leaderboard; by default made from the agent's.
        unofficial: write the two files also where the run is no benchmark result, with the reasons in them,
            and no folder to be packaged.

    Raises:
        ExportError: the run is no benchmark result, or the method's name cannot be one.
        OSError: a file cannot be written.
    """
    name = method or f"runbook-{re.sub(r'[^A-Za-z0-9.-]+', '-', _agent(run))}"
    if not _METHOD.fullmatch(name):
        raise ExportError(f"{name!r} is no method's name: use letters, digits, '.', '_' and '-'")
    against = obstacles(run, data)
    if against and not unofficial:
        raise ExportError(
            f"{run.name} is no benchmark result: {'; '.join(against)} (--unofficial exports it as what it is)"
        )
    folder = run.folder.path / "exports"
    folder.mkdir(exist_ok=True)
    questions = [question for question in data.questions if question.id in run.results]
    label = _label(run)
    stamp: dict[str, Any] = {"unofficial": against} if unofficial else {}
    stamp |= {"label": label} if label else {}
    files = _write_results(folder, run, data, questions, stamp, unofficial=unofficial)
    packages = []
    for domain in () if unofficial else DOMAINS:
        chosen = [question for question in questions if question.domain == domain]
        if chosen:
            package = folder / f"{name}_{domain}_{run.record.config.tier}"
            files += _write_package(package, run, data, chosen, domain=domain, method=name)
            packages.append(package)
    return Exported(files, packages, against, label)


def _write_results(
    folder: Path,
    run: RecordedRun,
    data: DataRoot,
    questions: Sequence[EvalQuestion],
    stamp: Mapping[str, Any],
    *,
    unofficial: bool,
) -> list[Path]:
    ids = {one.id for one in questions}
    order = {one: place for place, one in enumerate(one for one in run.results if one in ids)}
    rows = [
        public_row(one, run.results[one.id], data.haystacks[one.id], index, order[one.id])
        for index, one in enumerate(questions)
    ]
    scored = [scored_question(one, run.results[one.id]) for one in questions]
    if not unofficial:
        scored = [as_counted_publicly(one) for one in scored]
        for row in rows:
            row["usage"] = {name: count or 0 for name, count in row["usage"].items()}
    lines = folder / "per_question.jsonl"
    # The public scripts split lines at every character that Unicode calls a line's end.
    write_atomically(lines, "".join(json.dumps(row) + "\n" for row in rows).encode("ascii"))
    return [lines, _write(folder / "aggregated_metrics.json", {**aggregated_metrics(scored), **stamp})]


def _write_package(
    folder: Path,
    run: RecordedRun,
    data: DataRoot,
    questions: Sequence[EvalQuestion],
    *,
    domain: str,
    method: str,
) -> list[Path]:
    inputs = folder / "runtime_inputs"
    inputs.mkdir(parents=True, exist_ok=True)
    haystack = {question.id: list(data.haystacks[question.id]) for question in questions}
    return [
        *_write_results(folder, run, data, questions, _of_harness(run, haystack), unofficial=False),
        _write(folder / "run_args.json", _run_args(run, questions, domain=domain, method=method)),
        _write(inputs / "questions.json", [runtime_question(question) for question in questions]),
        _write(inputs / "haystack.json", haystack),
    ]


def _of_harness(run: RecordedRun, haystack: Mapping[str, list[str]]) -> dict[str, Any]:
    """What the harness's own figures say of a run as a whole."""
    verdicts = [run.results[one].verdict for one in haystack]
    first, *others = haystack.values()
    shared = all(one == first for one in others)
    return {
        "completed_at_utc": max((one.written_at for one in verdicts if one), default=None),
        "shared_haystack": shared,
        **({"shared_haystack_ids": first} if shared else {}),
    }


def _run_args(
    run: RecordedRun, questions: Sequence[EvalQuestion], *, domain: str, method: str
) -> dict[str, Any]:
    config = run.record.config
    assert config.reader is not None
    assert config.judge is not None
    return {
        "domain": domain,
        "tier": config.tier,
        "method": method,
        "model": config.reader.model,
        "evaluator_model": config.judge.model,
        "started_at_utc": run.record.created_at,
        "label": _label(run),
        "harness": f"agent-runbook {run.record.versions.get('agent-runbook', '')}".strip(),
        "settings": {"agent": _agent(run), **config.model_dump(mode="json", exclude=_PRIVATE)},
        "versions": run.record.versions,
        "data_digests": run.record.data_digests,
        "prompt_digests": run.record.prompt_digests,
        "fallbacks": _fallbacks([run.results[one.id] for one in questions]),
    }


def _fallbacks(results: Sequence[QuestionResult]) -> dict[str, list[str]]:
    """Those of the run, and the questions whose tokens nobody told, so that they count as 0."""
    readings = {one.question_id: one.reading.reading for one in results if one.reading}
    untold = [one for one, reading in readings.items() if reading and reading.usage.prompt_tokens is None]
    return touched_by_fallbacks(results) | ({"untold_tokens": untold} if untold else {})


def _label(run: RecordedRun) -> str:
    """That the settings were chosen on questions of a benchmark; empty where they were not."""
    tuned = run.record.config.tuned_on
    if tuned is None:
        return ""
    return (
        f"settings chosen out of {tuned.settings} on {tuned.questions} questions (sha256 of their ids: "
        f"{tuned.digest}); on those the result is too good"
    )


def _agent(run: RecordedRun) -> str:
    """The agent's name; of one that a file describes, the file's."""
    return Path(run.record.config.agent).name.removesuffix(".toml")


def _write(path: Path, value: Any) -> Path:
    write_atomically(path, orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    return path
