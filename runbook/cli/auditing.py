"""What `runbook eval show` says beside the official figures: suspect scores, and scores with errata."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from runbook.cli.failures import Mistake
from runbook.cli.tables import percent
from runbook.cli.terminal import inert

if TYPE_CHECKING:
    from evals.errata.doubts import Doubt
    from evals.errata.rescoring import Rescored

_MOST_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Audit:
    """The official scores of a run, looked at again; nothing in it replaces them."""

    suspects: "list[Doubt] | None"
    """None where the data root is gone or changed, so that nobody can tell."""
    why_none: str
    errata: "Rescored | None"

    def summary(self) -> dict[str, object]:
        """For programs, beside the official figures; Pydantic values are made plain."""
        doubts = None
        if self.suspects is not None:
            doubts = [
                {
                    "question_id": one.question_id,
                    "score": one.score,
                    "gold": one.gold,
                    "answer": one.answer,
                    "suspects": [suspect.model_dump(mode="json") for suspect in one.suspects],
                }
                for one in self.suspects
            ]
        return {"suspects": doubts, "errata": self.errata}


def audit(folder: Path, errata_file: Path | None) -> Audit:
    """Look at the scores of a run again. Raises Mistake for an errata file that cannot be used."""
    from evals.dataset import DatasetError
    from evals.errata.doubts import doubts_of
    from evals.errata.overlay import ErrataError, load_errata
    from evals.errata.rescoring import check_made_for, rescore
    from evals.recorded import data_of, read_run

    run = read_run(folder)
    if errata_file is None and not run.scored():
        return Audit([], "", None)
    try:
        questions = {one.id: one for one in data_of(run).questions}
    except DatasetError as error:
        if errata_file is not None:
            raise Mistake(f"--errata needs the run's data root: {error}") from None
        return Audit(None, str(error), None)
    results = run.results.values()
    rescored = None
    if errata_file is not None:
        try:
            errata = load_errata(errata_file)
            check_made_for(errata, run.record.data_digests.get("questions.jsonl"))
        except ErrataError as error:
            raise Mistake(f"--errata: {error}") from None
        rescored = rescore(results, questions, errata)
    return Audit(doubts_of(results, questions), "", rescored)


def print_audit(console: Console, found: Audit, *, list_suspects: bool) -> None:
    """A line on suspects, or all of them; and what the errata change."""
    if found.suspects and not list_suspects:
        console.print(f"suspect scores: {len(found.suspects)} (--suspects lists them)")
    for doubt in (found.suspects or ()) if list_suspects else ():
        why = "; ".join(f"{one.kind.value}: {one.note}" for one in doubt.suspects)
        answer, gold = (_short(text) for text in (doubt.answer, doubt.gold))
        console.print(
            f"{inert(doubt.question_id)}: score {doubt.score}, {inert(why)}; answer {answer}, gold {gold}"
        )
    if found.suspects == [] and list_suspects:
        console.print("no suspect scores")
    if found.suspects is None and list_suspects:
        console.print(f"suspect scores cannot be told: {inert(found.why_none)}")
    if found.errata is not None:
        _print_errata(console, found.errata)


def _print_errata(console: Console, errata: "Rescored") -> None:
    before, after = errata.without, errata.with_errata
    console.print(
        f"with errata {inert(errata.errata)}: {percent(after.strict)} of all {after.questions} questions, "
        f"{percent(after.conditional)} of scored; without {percent(before.strict)} and "
        f"{percent(before.conditional)}. {len(errata.excluded)} excluded, "
        f"{len(errata.became_right)} became right: {inert(', '.join(errata.became_right)) or 'none'}"
    )
    if errata.needs_judge:
        console.print(f"stay 0 until a judge is asked again: {inert(', '.join(errata.needs_judge))}")
    if errata.unknown:
        console.print(f"no questions of this run: {inert(', '.join(errata.unknown))}")


def _short(text: str) -> str:
    return repr(inert(text[:_MOST_SHOWN]) + ("…" if len(text) > _MOST_SHOWN else ""))
