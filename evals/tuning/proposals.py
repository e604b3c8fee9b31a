"""Which setting is tried next, and the record of all that were: an Optuna study in an SQLite file.

A setting is on record before its run begins, and keeps its number: whatever ends the process, the next start
goes on with the settings that were under way, and none is tried twice.
"""

import random
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import optuna
from optuna.trial import FrozenTrial, Trial, TrialState

from evals.tuning.space import Range, Setting, Space, digest
from evals.tuning.study_file import StudyError

FILE = "study.sqlite"
_NAME = "study"
_DRAWS, _LONG_DRAWS = 4, 50
"""Of the sampler, before a setting that it has not drawn yet is taken at random from a small space."""
_LISTED = 10_000
_SECONDS, _ENDED = "seconds", "ended "


Direction = Literal["maximize", "minimize"]


class State(StrEnum):
    """Where a setting stands."""

    UNDER_WAY = "under way"
    COMPLETE = "complete"
    STOPPED = "stopped"
    """It could not come to the frontier any more."""
    REFUSED = "refused"
    """Its values do not fit each other."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A setting with its number in the order in which they were proposed."""

    number: int
    setting: Setting
    state: State
    reason: str = ""
    """Why it was stopped or refused."""


class Proposals:
    """The settings of a study; used by one process at a time."""

    def __init__(self, folder: Path, space: Space, directions: Sequence[Direction], seed: int) -> None:
        """Open the record in `folder`, or begin it.

        Args:
            directions: of each value that a complete setting has.

        Raises:
            StudyError: the record cannot be read.
        """
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        self._space = space
        self._seed = seed
        try:
            self._study = optuna.create_study(
                storage=f"sqlite:///{folder.resolve() / FILE}",
                study_name=_NAME,
                directions=list(directions),
                load_if_exists=True,
            )
        except Exception as error:
            raise StudyError(
                f"{folder / FILE} cannot be read: {' '.join(str(error).split())[:200]} (bring it back, or "
                "begin the study anew in another folder)"
            ) from error
        self._forget_half_written()
        # The sampler's own state is not kept: a new seed for each start, lest it draws the same again.
        self._study.sampler = optuna.samplers.TPESampler(
            seed=(seed + 7919 * len(self._trials())) % 2**32, n_startup_trials=5
        )

    def all(self) -> list[Proposal]:
        """All settings that were ever proposed, in order."""
        attributes = self._study.user_attrs
        return [
            _proposal(number, one, attributes.get(f"{_ENDED}{number}"))
            for number, one in enumerate(self._settings())
        ]

    def next(self) -> Proposal | None:
        """A new setting, on record as under way; None where no other one is found."""
        seen = {one.user_attrs["digest"] for one in self._settings()}
        if self._space.size is not None and len(seen) >= self._space.size:
            return None
        for _ in range(_DRAWS if self._listed else _LONG_DRAWS):
            trial = self._study.ask()
            setting = {name: self._suggest(trial, name) for name in self._space.dimensions}
            if digest(setting) not in seen:
                return self._put_down(trial, setting)
            self._study.tell(trial, state=TrialState.FAIL)
        return self._unseen(seen)

    def complete(self, number: int, values: Sequence[float]) -> None:
        """The setting answered all questions."""
        self._study.tell(self._trial(number).number, list(values))

    def stop(self, number: int, reason: str) -> None:
        """The setting was stopped early."""
        self._end(number, State.STOPPED, TrialState.PRUNED, reason)

    def refuse(self, number: int, reason: str) -> None:
        """The setting cannot be run."""
        self._end(number, State.REFUSED, TrialState.FAIL, reason)

    def seconds(self) -> float:
        """How long the study has worked, over all its starts."""
        return float(self._study.user_attrs.get(_SECONDS, 0.0))

    def add_seconds(self, seconds: float) -> None:
        """Add to how long the study has worked."""
        self._study.set_user_attr(_SECONDS, self.seconds() + seconds)

    @property
    def _listed(self) -> bool:
        return self._space.size is not None and self._space.size <= _LISTED

    def _put_down(self, trial: Trial, setting: Setting) -> Proposal:
        number = len(self._settings())
        trial.set_user_attr("setting", dict(setting))
        trial.set_user_attr("digest", digest(setting))  # the last one: with it the record is whole
        return Proposal(number, setting, State.UNDER_WAY)

    def _unseen(self, seen: set[str]) -> Proposal | None:
        """A setting of a finite space at random; the sampler keeps to what it knows."""
        if not self._listed:
            return None
        left = [one for one in self._space.settings() if digest(one) not in seen]
        if not left:
            return None
        setting = random.Random(f"{self._seed}/{len(seen)}").choice(left)
        self._study.enqueue_trial(dict(setting))
        trial = self._study.ask()
        for name in self._space.dimensions:
            self._suggest(trial, name)
        return self._put_down(trial, setting)

    def _suggest(self, trial: Trial, name: str) -> Any:
        dimension = self._space.dimensions[name]
        if not isinstance(dimension, Range):
            return trial.suggest_categorical(name, dimension)
        low, high, step, log = dimension.low, dimension.high, dimension.step, dimension.log
        if dimension.whole:
            return trial.suggest_int(name, int(low), int(high), step=int(step or 1), log=log)
        return trial.suggest_float(name, float(low), float(high), step=step, log=log)

    def _end(self, number: int, state: State, told: TrialState, reason: str) -> None:
        self._study.set_user_attr(f"{_ENDED}{number}", [state.value, reason])
        self._study.tell(self._trial(number).number, state=told)

    def _forget_half_written(self) -> None:
        for trial in self._trials():
            if trial.state is TrialState.RUNNING and "digest" not in trial.user_attrs:
                self._study.tell(trial.number, state=TrialState.FAIL)

    def _trials(self) -> list[FrozenTrial]:
        return self._study.get_trials(deepcopy=False)

    def _settings(self) -> list[FrozenTrial]:
        return [one for one in self._trials() if "digest" in one.user_attrs]

    def _trial(self, number: int) -> FrozenTrial:
        return self._settings()[number]


def _proposal(number: int, trial: FrozenTrial, ended: Sequence[str] | None) -> Proposal:
    setting = trial.user_attrs["setting"]
    if trial.state is TrialState.COMPLETE:
        return Proposal(number, setting, State.COMPLETE)
    if trial.state.is_finished() and ended:
        return Proposal(number, setting, State(ended[0]), ended[1])
    return Proposal(number, setting, State.UNDER_WAY)
