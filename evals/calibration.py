"""Putting a judge to the test: authored cases whose label is known, through the judge and into a table."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evals.judge import KINDS, Judge
from evals.model_errors import JudgeError
from evals.question import EvalQuestion
from evals.statistics.agreement import Agreement, cohen_kappa
from evals.statistics.intervals import wilson_interval
from instructions import JudgeKind
from runbook.complaints import of_system, of_validation

_MOST_FAULTS = 30
Said = Literal[0, 1] | None
"""A judge's label; None where it gave no usable verdict."""


class CasesError(ValueError):
    """The file of cases cannot be used; the message names the line and the mend."""


class Case(BaseModel):
    """One line of a file of cases; further keys are ignored."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(min_length=1)
    judge: JudgeKind
    """Whose rubric: abstention or gotchas."""
    kind: str
    """What sort of response it is: right, premise_following, unknown, contradictory, ..."""
    question: str
    reference: str
    response: str
    expected: Literal[0, 1]

    def as_question(self) -> EvalQuestion:
        """The question that a judge is asked about."""
        checker = next(name for name, kind in KINDS.items() if kind == self.judge)
        return EvalQuestion(
            id=self.id,
            domain="default",
            question_type="static-environment-abs" if self.judge == "abstention" else "errors-gotchas",
            question=self.question,
            image=None,
            answer=self.reference,
            eval_function=checker,
        )


@dataclass(frozen=True, slots=True)
class Label:
    """What a judge said of a case, and why; `said` is None where it said nothing that can be read."""

    said: Said
    reason: str


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many cases were labelled as expected; the interval is Wilson's, 95 %."""

    right: int
    cases: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """What one judge made of the cases."""

    confusion: dict[int, dict[str, int]]
    """Expected label -> what was said ("0", "1", "none") -> cases."""
    judged: int
    """Cases with a verdict; where there is none, nothing was measured: no `overall`, no `by_kind`."""
    overall: Share | None
    by_kind: dict[str, Share]
    """Under judge/kind."""
    wrong: list[tuple[Case, Label]]
    """Also those without a verdict."""

    @property
    def cases(self) -> int:
        return sum(count for said in self.confusion.values() for count in said.values())


def read_cases(path: Path) -> list[Case]:
    """The cases of a JSONL file. Raises CasesError."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise CasesError(of_system(error)) from None
    cases: dict[str, Case] = {}
    faults: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            case = Case.model_validate(orjson.loads(line))
        except ValidationError as error:
            faults.append(f"{path}:{number}: {of_validation(error)}")
            continue
        except orjson.JSONDecodeError as error:
            faults.append(f"{path}:{number}: no JSON: {error} (one case a line)")
            continue
        if case.id in cases:
            faults.append(f"{path}:{number}: the id {case.id!r} occurs twice (ids are unique)")
        cases[case.id] = case
    if faults:
        more = [f"and {len(faults) - _MOST_FAULTS} more lines"] if len(faults) > _MOST_FAULTS else []
        raise CasesError("\n".join([*faults[:_MOST_FAULTS], *more]))
    if not cases:
        raise CasesError(f"{path} holds no case")
    return list(cases.values())


def labels_of(
    judge: Judge, cases: Sequence[Case], *, concurrency: int = 4, done: Callable[[int], None] = lambda _: None
) -> list[Label]:
    """What the judge says of each case, in their order.

    Raises:
        JudgeError: the provider refuses the key or every request; no verdict at all is to be had.
    """
    labels = []
    with ThreadPoolExecutor(concurrency, thread_name_prefix="case") as pool:
        for number, label in enumerate(pool.map(lambda case: _label(judge, case), cases), 1):
            labels.append(label)
            done(number)
    return labels


def _label(judge: Judge, case: Case) -> Label:
    try:
        verdict = judge.asked(case.as_question(), case.response)
    except JudgeError as error:
        if error.status is not None and not error.replies:
            raise
        return Label(None, str(error))
    return Label(verdict.label, verdict.reason)


def calibrated(cases: Sequence[Case], labels: Sequence[Label]) -> Calibration:
    """Confusion table and accuracy by kind of case; a case without a label counts as wrong."""
    confusion = {expected: {"0": 0, "1": 0, "none": 0} for expected in (0, 1)}
    by_kind: dict[str, list[bool]] = defaultdict(list)
    for case, label in zip(cases, labels, strict=True):
        confusion[case.expected]["none" if label.said is None else str(label.said)] += 1
        by_kind[f"{case.judge}/{case.kind}"].append(label.said == case.expected)
    judged = sum(label.said is not None for label in labels)
    return Calibration(
        confusion=confusion,
        judged=judged,
        overall=_share([right for found in by_kind.values() for right in found]) if judged else None,
        by_kind={kind: _share(found) for kind, found in sorted(by_kind.items())} if judged else {},
        wrong=[
            (case, label) for case, label in zip(cases, labels, strict=True) if label.said != case.expected
        ],
    )


def agreement_of(one: Sequence[Label], other: Sequence[Label]) -> Agreement:
    """Of two judges over the same cases; "no verdict" is a label of its own."""
    return cohen_kappa([label.said for label in one], [label.said for label in other])


def _share(found: Sequence[bool]) -> Share:
    interval = wilson_interval(sum(found), len(found))
    assert interval is not None
    return Share(right=sum(found), cases=len(found), low=interval.low, high=interval.high)
