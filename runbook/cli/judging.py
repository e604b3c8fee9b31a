"""`runbook eval rejudge`, `runbook eval reread` and `runbook judge calibrate`."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runbook.cli.failures import FAILURE, Commands, Mistake
from runbook.cli.options import AsJson, JudgeModel, JudgeUrl, NoGates, ReaderModel, ReaderUrl
from runbook.cli.terminal import WorkConsole, inert, terminal

if TYPE_CHECKING:
    from evals.calibration import Calibration, Case, Label
    from evals.runs.revising import Change
    from evals.statistics.agreement import Agreement
    from runbook.endpoint.config import EndpointConfig

judging = typer.Typer(cls=Commands, no_args_is_help=True, help="Put judges to the test.")

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.")]


def _odd(votes: int | None) -> int | None:
    if votes is not None and votes % 2 == 0:
        raise Mistake("--votes: a majority needs an odd number of votes")
    return votes


Votes = Annotated[
    int | None,
    typer.Option(min=1, max=99, callback=_odd, help="Ask the judge so often, odd; the majority counts."),
]
_MOST_SHOWN = 30


def rejudge(
    folder: RunArgument,
    judge: JudgeUrl = None,
    judge_model: JudgeModel = None,
    votes: Votes = None,
    no_gates: NoGates = False,
) -> None:
    """Judge the recorded responses of a run again.

    It makes a new revision of the run; RUN@0 stays what it was. A judge that is named is asked anew, also
    where it is the run's own; for more --votes alone the first ones count.
    """
    from runbook.cli.endpoints import endpoint

    chosen = endpoint("judge", judge, judge_model)
    if chosen is None and votes is None:
        raise Mistake("name a judge with --judge and --judge-model, or ask the run's own for --votes")
    _again(folder, None, chosen, votes, no_gates=no_gates)


def reread(
    folder: RunArgument,
    reader: ReaderUrl = None,
    reader_model: ReaderModel = None,
    judge: JudgeUrl = None,
    judge_model: JudgeModel = None,
    votes: Votes = None,
    no_gates: NoGates = False,
) -> None:
    """Read the recorded contexts of a run again, and judge.

    It makes a new revision of the run; RUN@0 stays what it was.
    """
    from runbook.cli.endpoints import endpoint

    chosen = endpoint("reader", reader, reader_model)
    if chosen is None:
        raise Mistake("name a reader with --reader and --reader-model")
    _again(folder, chosen, endpoint("judge", judge, judge_model), votes, no_gates=no_gates)


@judging.command()
def calibrate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Cases as JSONL; `evals/demo` has 76.")],
    judge: JudgeUrl = None,
    judge_model: JudgeModel = None,
    second_judge: Annotated[str | None, typer.Option(help="Base URL of another judge.")] = None,
    second_judge_model: Annotated[str | None, typer.Option(help="The other judge's model.")] = None,
    votes: Votes = None,
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="Cases at a time.")] = 4,
    as_json: AsJson = False,
) -> None:
    """Put authored cases through a judge.

    Prints the confusion table, accuracy by kind, and the agreement with another judge.
    """
    from evals.calibration import CasesError, agreement_of, calibrated, read_cases
    from runbook.cli.endpoints import endpoint
    from runbook.cli.tables import print_json

    chosen = endpoint("judge", judge, judge_model)
    if chosen is None:
        raise Mistake("name a judge with --judge and --judge-model")
    other = endpoint("second-judge", second_judge, second_judge_model)
    try:
        cases = read_cases(file)
    except CasesError as error:
        raise Mistake(str(error)) from None
    labels = _labels(chosen, cases, votes, concurrency)
    result = calibrated(cases, labels)
    second = agreement = None
    if other is not None:
        second_labels = _labels(other, cases, votes, concurrency)
        second = calibrated(cases, second_labels)
        if result.judged and second.judged:
            agreement = agreement_of(labels, second_labels)
    if as_json:
        plain: dict[str, Any] = {"cases": len(cases), "judge": {"model": chosen.model, **_plain(result)}}
        if other is not None and second is not None:
            plain["second_judge"] = {"model": other.model, **_plain(second)}
            plain["agreement"] = asdict(agreement) if agreement else None
            plain["disagreements"] = _disagreements(cases, labels, second_labels) if agreement else []
        print_json(plain)
    else:
        _print_calibration(chosen.model, result)
        if other is not None and second is not None:
            _print_calibration(other.model, second)
        if agreement is not None:
            _say(f"The two agree on {_agreed(agreement)}")
            for one in _disagreements(cases, labels, second_labels)[:_MOST_SHOWN]:
                said = f"{one['one']} against {one['other']}"
                _say(f"  {one['id']} ({one['kind']}, expected {one['expected']}): {said}")
    if not result.judged or (second is not None and not second.judged):
        raise typer.Exit(FAILURE)


def _again(
    folder: Path,
    reader: "EndpointConfig | None",
    judge: "EndpointConfig | None",
    votes: int | None,
    *,
    no_gates: bool,
) -> None:
    from evals.recorded import read_run
    from evals.runs.folder import RunFolder
    from evals.runs.revising import change_of, revised
    from runbook.cli.evaluating_again import evaluate_again

    run = RunFolder.open(folder)
    before = read_run(folder)
    if reader is None and not before.has_reader:
        raise Mistake(f"{folder} has no reader, so there is nothing to judge: `runbook eval reread` reads it")
    evaluate_again(
        folder,
        revised(before.record, run.latest_revision(), reader=reader, judge=judge, votes=votes),
        WorkConsole(),
        no_gates=no_gates,
    )
    after = read_run(folder)
    _say(f"This is revision {after.record.revision}; {folder}@{before.record.revision} is what was before.")
    if reader is None:
        _print_change(change_of(before.results, after.results))


def _labels(
    config: "EndpointConfig", cases: "list[Case]", votes: int | None, concurrency: int
) -> "list[Label]":
    from contextlib import closing

    from evals.calibration import labels_of
    from evals.judge import Judge
    from runbook.cli.progress import counting

    console = terminal(stderr=True)
    with closing(Judge(config, votes=votes or 1)) as judge, counting(console, "cases") as progress:
        return labels_of(
            judge, cases, concurrency=concurrency, done=lambda number: progress(number, len(cases))
        )


def _plain(result: "Calibration") -> dict[str, Any]:
    return {
        "confusion": {str(expected): said for expected, said in result.confusion.items()},
        "judged": result.judged,
        "overall": asdict(result.overall) if result.overall else None,
        "by_kind": {kind: asdict(share) for kind, share in result.by_kind.items()},
        "wrong": [
            {"id": case.id, "kind": case.kind, "expected": case.expected, **asdict(label)}
            for case, label in result.wrong
        ],
    }


def _print_calibration(model: str, result: "Calibration") -> None:
    if silent := result.cases - result.judged:
        why = next(label.reason for _, label in result.wrong if label.said is None)
        _say(f"{model} gave no verdict for {silent} of {result.cases}; the first time: {why}")
    if result.overall is None:
        _say("  Nothing was judged, so nothing is said of the judge.")
        return
    _say(
        f"{model}: {result.overall.right} of {result.overall.cases} as expected"
        + (", no verdict counted as wrong" if silent else "")
    )
    _say("  expected      said 0   said 1   no verdict")
    for expected, said in result.confusion.items():
        _say(f"  {expected:<12}{said['0']:>8}{said['1']:>9}{said['none']:>13}")
    for kind, share in result.by_kind.items():
        interval = f"95 % interval {100 * share.low:.0f} to {100 * share.high:.0f} %"
        _say(f"  {kind:<32}{share.right:>4} of {share.cases:<4} {interval}")
    for case, label in result.wrong[:_MOST_SHOWN]:
        answer = "no verdict" if label.said is None else f"said {label.said}"
        _say(f"  {case.id} ({case.kind}): expected {case.expected}, {answer}: {label.reason}")


def _disagreements(cases: "list[Case]", labels: "list[Label]", others: "list[Label]") -> list[dict[str, Any]]:
    return [
        {
            "id": case.id,
            "kind": case.kind,
            "expected": case.expected,
            "one": one.said,
            "other": other.said,
            "reason_one": one.reason,
            "reason_other": other.reason,
        }
        for case, one, other in zip(cases, labels, others, strict=True)
        if one.said != other.said
    ]


def _print_change(change: "Change") -> None:
    if not change.agreement.count:
        return
    _say(f"Before and after agree on {_agreed(change.agreement)} that a judge scored")
    for one in change.disagreements[:_MOST_SHOWN]:
        _say(f"  {one.question_id}: {one.before} -> {one.after}: {one.reason_after}")


def _agreed(agreement: "Agreement") -> str:
    kappa = "not defined" if agreement.kappa is None else f"{agreement.kappa:.2f}"
    return f"{agreement.agreed} of {agreement.count} (Cohen's kappa {kappa})"


def _say(line: str) -> None:
    terminal().print(inert(line), markup=False, highlight=False, soft_wrap=True)
