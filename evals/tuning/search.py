"""Trying settings one after the other, each over blocks of questions until it is done or hopeless."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from evals.recorded import RecordedRun, read_run
from evals.runs.config import RunConfig
from evals.runs.config_file import ConfigError
from evals.runs.folder import RUN_FILE, RunFailure
from evals.tuning.answers import answered, missing
from evals.tuning.choosing import lafs_value
from evals.tuning.plan import Plan
from evals.tuning.proposals import Direction, Proposal, Proposals, State
from evals.tuning.racing import Answered, Figures, at_best, figures, hopeless
from evals.tuning.study_file import StudyError

Ask = Callable[[Sequence[str]], None]
"""Has a run answer the questions with these ids."""
OpenRun = Callable[[RunConfig, Path], AbstractContextManager[Ask]]
"""Begins the run in that folder, or goes on with it. Raises UnfitError where the settings do not fit."""
Say = Callable[[str], None]


SEARCH_SHARE = 0.75
"""Of the caps of money and time; the rest is left to confirm with."""


class UnfitError(ValueError):
    """Settings that do not fit each other, each of which may be right."""


class CapError(Exception):
    """The study may not spend more; the message names the cap."""


class Search:
    """The runs of a study, in `folder`; what each has cost is kept to the caps."""

    def __init__(self, plan: Plan, folder: Path, proposals: Proposals, open_run: OpenRun, say: Say) -> None:
        self._plan = plan
        self._folder = folder
        self._proposals = proposals
        self._open_run = open_run
        self._say = say
        self._spent: dict[Path, float] = {}
        self._done: dict[int, Figures] = {}
        for path in sorted(folder.glob(f"*/setting-*/{RUN_FILE}")):
            self._count(path.parent, answered(read_run(path.parent), plan.measure))

    def run(self) -> str:
        """Try settings until the space or a cap is exhausted; returns which it was.

        Raises:
            StudyError: a price that a cap or the objective needs is unknown.
            RunFailure: infrastructure failed; the same study goes on with that setting later.
        """
        self._done = {
            one.number: figures(self.answers(self.search_path(one.number)))
            for one in self._proposals.all()
            if one.state is State.COMPLETE
        }
        try:
            for proposal in self._proposed():
                self._try(proposal)
        except CapError as cap:
            return str(cap)
        return "no setting was left to try"

    def confirm(self, proposal: Proposal, tried: int) -> Path:
        """Run a setting over the questions kept for confirmation; returns its run. Raises CapError too."""
        path = self._folder / "confirm" / _name(proposal.number)
        if len(self.answers(path)) == len(self._plan.split.confirm):
            return path
        with self._open_run(self._plan.confirm_config(proposal.setting, tried), path) as ask:
            for _ in self._blocks(path, ask, 1.0):
                pass
        return path

    def answers(self, path: Path) -> list[Answered]:
        """What a run has answered, in the order of its questions up to the first without an answer."""
        return answered(read_run(path), self._plan.measure) if (path / RUN_FILE).exists() else []

    def search_path(self, number: int) -> Path:
        """The run of a setting over the search questions."""
        return self._folder / "search" / _name(number)

    def _proposed(self) -> Iterator[Proposal]:
        """Those under way, then new ones."""
        yield from (one for one in self._proposals.all() if one.state is State.UNDER_WAY)
        while True:
            run = sum(one.state is not State.REFUSED for one in self._proposals.all())
            if run >= self._plan.study.caps.settings:
                raise CapError(f"the cap of {run} settings is reached")
            self._keep_to_caps(SEARCH_SHARE)
            proposal = self._proposals.next()
            if proposal is None:
                return
            yield proposal

    def _try(self, proposal: Proposal) -> None:
        number = proposal.number
        try:
            config = self._plan.search_config(proposal.setting)
            path = self.search_path(number)
            with self._open_run(config, path) as ask:
                for answers in self._blocks(path, ask, SEARCH_SHARE):
                    if self._is_hopeless(answers):
                        asked = len(self._plan.split.search)
                        reason = f"hopeless after {len(answers)} of {asked} questions"
                        self._proposals.stop(number, reason)
                        self._say(f"setting {number}: {reason}")
                        return
        except (ConfigError, UnfitError) as error:
            self._proposals.refuse(number, str(error))
            self._say(f"setting {number}: refused: {error}")
            return
        found = figures(self.answers(path))
        self._done[number] = found
        self._proposals.complete(number, self._values(found))
        self._say(
            f"setting {number}: {self._plan.measure.name} {100 * found.quality:.1f} %, {found.seconds:.2f} s"
        )

    def _blocks(self, path: Path, ask: Ask, share: float) -> Iterator[list[Answered]]:
        """Have the run answer block after block, to a share of the caps; yields its answers after each."""
        order = read_run(path).record.questions
        size = self._plan.study.study.block
        for end in range(size, len(order) + size, size):
            self._keep_to_caps(share)
            begun = time.monotonic()
            run = self._answer(path, order[:end], ask)
            self._proposals.add_seconds(time.monotonic() - begun)
            answers = answered(run, self._plan.measure)
            self._count(path, answers)
            yield answers

    def _answer(self, path: Path, question_ids: Sequence[str], ask: Ask) -> RecordedRun:
        """A question that infrastructure failed is asked once more."""
        measure = self._plan.measure
        for _ in range(2):
            run = read_run(path)
            if not (lacking := missing(run, measure, question_ids)):
                return run
            ask(lacking)
        run = read_run(path)
        if lacking := missing(run, measure, question_ids):
            outcome = run.results[lacking[0]].worst.last_outcome
            raise RunFailure(
                f"{path}: question {lacking[0]} has no {measure.name} ({outcome or 'not asked'}): "
                "mend that, then start the study again; it goes on where it is"
            )
        return run

    def _is_hopeless(self, answers: Sequence[Answered]) -> bool:
        options, asked = self._plan.study.study, len(self._plan.split.search)
        if len(answers) >= asked:
            return False
        best = at_best(answers, asked, 1 - options.confidence)
        return hopeless(best, list(self._done.values()), keep=options.keep, money=self._plan.money)

    def _values(self, found: Figures) -> list[float]:
        if self._plan.objective == "lafs":
            return [lafs_value(found, self._plan.base.tier)]
        values = [found.quality, found.seconds]
        return [*values, found.usd or 0.0] if self._plan.money else values

    def _count(self, path: Path, answers: Sequence[Answered]) -> None:
        costs = [one.usd for one in answers]
        caps = self._plan.study.caps
        if None in costs and (caps.usd is not None or self._plan.money):
            raise StudyError(
                "the price of the memory's model is unknown: name a price table with gateway.prices under "
                "[base], or leave out caps.usd and set study.money = false"
            )
        self._spent[path] = sum(one for one in costs if one is not None)

    def _keep_to_caps(self, share: float) -> None:
        caps = self._plan.study.caps
        part = "" if share == 1 else f"{100 * share:.0f} % of "
        if caps.usd is not None and self.usd() >= share * caps.usd:
            raise CapError(f"{part}the cap of {caps.usd:g} USD is reached")
        if caps.hours is not None and self._proposals.seconds() >= 3600 * share * caps.hours:
            raise CapError(f"{part}the cap of {caps.hours:g} hours is reached")

    def usd(self) -> float:
        """What all runs of the study have spent so far, where it is known."""
        return sum(self._spent.values())


def directions(plan: Plan) -> list[Direction]:
    """Of the values that a complete setting has."""
    if plan.objective == "lafs":
        return ["maximize"]
    return ["maximize", "minimize", "minimize"] if plan.money else ["maximize", "minimize"]


def _name(number: int) -> str:
    return f"setting-{number:03d}"
