"""A later reader or judge for a run: its next revision, and how its verdicts differ from those before."""

from collections.abc import Mapping
from dataclasses import dataclass

from evals.runs.config import RunConfig, RunRecord
from evals.runs.results import QuestionResult
from evals.statistics.agreement import Agreement, cohen_kappa
from runbook.endpoint.config import EndpointConfig


def revised(
    record: RunRecord,
    latest: int,
    *,
    reader: EndpointConfig | None = None,
    judge: EndpointConfig | None = None,
    votes: int | None = None,
) -> RunRecord:
    """The settings of the revision after `latest`, with what is given in place of what `record` has.

    A new reader's responses are judged anew in any case. Raises ValidationError for settings that do not fit.
    """
    number = latest + 1
    changes = {"reader": reader, "judge": judge, "votes": votes}
    changed = {name: value for name, value in changes.items() if value is not None}
    config = RunConfig.model_validate(
        {name: getattr(record.config, name) for name in RunConfig.model_fields} | changed
    )
    return record.model_copy(
        update={
            "config": config,
            "revision": number,
            "readings_since": number if reader is not None else record.readings_since,
            "verdicts_since": record.verdicts_since if judge is None and votes is None else number,
            "votes_since": record.votes_since if judge is None else number,
        }
    )


def renumbered(record: RunRecord, number: int) -> RunRecord:
    """The same revision under another number."""
    names = ("readings_since", "verdicts_since", "votes_since")
    own = {name: number for name in names if getattr(record, name) == record.revision}
    return record.model_copy(update={"revision": number, **own})


def number_for(record: RunRecord, begun: RunRecord | None, otherwise: int) -> int:
    """The number for a revision: that of the one `begun` where it asks the same of the same models."""
    if begun is None:
        return otherwise
    same = renumbered(record, begun.revision).model_copy(update={"prompt_digests": begun.prompt_digests})
    return begun.revision if same == begun else otherwise


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A question whose score is not what it was, and what was said about it."""

    question_id: str
    before: int
    after: int
    reason_before: str
    reason_after: str


@dataclass(frozen=True, slots=True)
class Change:
    """Two revisions of a run over the questions that a judge model scored in both."""

    agreement: Agreement
    disagreements: list[Disagreement]


def change_of(before: Mapping[str, QuestionResult], after: Mapping[str, QuestionResult]) -> Change:
    """How the first chains' verdicts differ; questions that a matcher scores are left out."""
    pairs = []
    for question_id, old in before.items():
        new = after.get(question_id)
        first, second = (one and one.verdict and one.verdict.verdict for one in (old, new))
        if first and second and first.judge_prompt_sha256 and second.judge_prompt_sha256:
            pairs.append((question_id, first, second))
    agreement = cohen_kappa([one.score for _, one, _ in pairs], [one.score for _, _, one in pairs])
    differing = [
        Disagreement(question_id, one.score, other.score, one.reason, other.reason)
        for question_id, one, other in pairs
        if one.score != other.score
    ]
    return Change(agreement, differing)
