"""A study made ready: its base settings, space, questions and measure, all checked."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from evals.comparison.measures import ACCURACY, EVIDENCE_HIT, Measure
from evals.dataset import DataRoot, load_data_root
from evals.question import EvalQuestion
from evals.runs.choosing import Choice, ChoiceError, choose
from evals.runs.config import RunConfig, TunedOn
from evals.runs.config_file import PATHS, ConfigError, read_config
from evals.scoring.eval_function import parse_eval_function
from evals.scoring.lafs import REFERENCE
from evals.tuning.space import Setting, Space, space_of
from evals.tuning.split import Split, SplitError, split
from evals.tuning.study_file import SpaceError, StudyError, StudyFile
from runbook.toml_places import TomlPlaces, told_faults


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a study needs to know before it begins."""

    study: StudyFile
    base: RunConfig
    space: Space
    data: DataRoot
    split: Split
    measure: Measure
    objective: Literal["lafs", "pareto"]
    remarks: tuple[str, ...]
    """What has to be said before any figure."""
    _base: Mapping[str, Any]
    _store: Path

    @property
    def money(self) -> bool:
        """Whether a price is part of the objective."""
        return self.objective == "pareto" and self.study.study.money

    def search_config(self, setting: Setting) -> RunConfig:
        """Of a setting's run over the search questions. Raises ConfigError where its values do not fit."""
        return self._config(setting, {"question_ids": self.split.search})

    def confirm_config(self, setting: Setting, tried: int) -> RunConfig:
        """The same over the questions kept for confirmation."""
        chosen = {"question_ids": self.split.confirm, "tuned_on": self.tuned_on(tried)}
        return self._config(setting, chosen)

    def ready_config(self, setting: Setting, tried: int) -> RunConfig:
        """The setting for all questions, as it goes to whoever wants to use it."""
        config = read_config(
            None, copy.deepcopy(dict(self._base)) | self.space.changes(setting), store=self._store
        )
        return config.model_copy(
            update={"tuned_on": self.tuned_on(tried), "limit": None, "sample": None, "question_ids": None}
        )

    def tuned_on(self, tried: int) -> TunedOn:
        """The questions that settings were chosen on."""
        ids = "\n".join(sorted(self.split.search))
        return TunedOn(
            digest=sha256(ids.encode()).hexdigest(), questions=len(self.split.search), settings=max(1, tried)
        )

    def _config(self, setting: Setting, chosen: Mapping[str, Any]) -> RunConfig:
        settings = copy.deepcopy(dict(self._base)) | self.space.changes(setting)
        whole = {"limit": None, "sample": None, "seed": self.study.study.seed, "gates": ()}
        return read_config(None, settings | whole | dict(chosen), store=self._store)


def plan_of(study: StudyFile, file: Path, store: Path) -> Plan:
    """Check a study and split its questions; nothing is run or written.

    Args:
        file: the study's, whose folder its relative paths start from.
        store: where the base names none.

    Raises:
        StudyError: something does not fit; the message names the key and the mend.
        DatasetError: the data root cannot be read.
    """
    settings = _resolved(study.base, file.parent)
    if "data" not in settings:
        raise StudyError(f"{file}: base.data names no data root")
    try:
        base = read_config(None, copy.deepcopy(settings), store=store)
    except ConfigError as error:
        raise StudyError(f"{file}: base: {error}") from None
    if base.repeats.several:
        raise StudyError(f"{file}: base.repeats: a study asks each question once; leave it out")

    def check(changes: Mapping[str, Any]) -> RunConfig:
        return read_config(None, copy.deepcopy(settings) | dict(changes), store=store)

    try:
        space = space_of(study, check)
    except SpaceError as error:
        raise StudyError(told_faults(file, TomlPlaces.of_file(file), error.faults)) from None
    data = load_data_root(base.data, base.tier)
    measure = _measure(base, data)
    objective = _objective(study, base, file)
    questions, remarks = _measurable(base, data, study.study.seed)
    try:
        parts = split(
            [question.id for question in questions],
            data.gold,
            confirm=study.study.confirm,
            seed=study.study.seed,
        )
    except SplitError as error:
        raise StudyError(f"{base.data}: {error}") from None
    if not parts.by_gold:
        remarks.append("There is no gold evidence, so each question is taken to stand for itself.")
    return Plan(study, base, space, data, parts, measure, objective, tuple(remarks), settings, store)


def _resolved(base: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    settings = copy.deepcopy(dict(base))
    for key in PATHS:
        *tables, last = key.split(".")
        table: Any = settings
        for name in tables:
            table = table.get(name, {}) if isinstance(table, dict) else {}
        if isinstance(table, dict) and isinstance(table.get(last), str):
            table[last] = str((folder / table[last]).resolve())
    return settings


def _measure(base: RunConfig, data: DataRoot) -> Measure:
    if base.reader is not None:
        return ACCURACY
    if not any(gold.pieces for gold in (data.gold or {}).values()):
        raise StudyError(
            f"{base.data} has no gold evidence and the study no reader, so settings cannot be told apart: "
            "add gold.json, or name a reader under [base.reader]"
        )
    return EVIDENCE_HIT


def _objective(study: StudyFile, base: RunConfig, file: Path) -> Literal["lafs", "pareto"]:
    wanted = study.study.objective or (
        "lafs" if base.reader is not None and base.tier in REFERENCE else "pareto"
    )
    if wanted == "lafs" and base.reader is None:
        raise StudyError(
            f"{file}: study.objective: LAFS is of accuracy, and there is none without a reader: name one "
            'under [base.reader], or choose objective = "pareto", which takes the gold evidence hit instead'
        )
    if wanted == "lafs" and base.tier not in REFERENCE:
        raise StudyError(
            f"{file}: study.objective: there are no published points of tier {base.tier!r}: "
            'choose objective = "pareto"'
        )
    return wanted


def _measurable(base: RunConfig, data: DataRoot, seed: int) -> tuple[list[EvalQuestion], list[str]]:
    """The questions that can have a figure, in the order of the data root, and what was left out."""
    try:
        chosen = choose(data.questions, Choice(base.question_ids, base.limit, base.sample, seed))
    except ChoiceError as error:
        raise StudyError(f"base.question_ids: {error} in {base.data}/questions.jsonl") from None
    wanted = {question.id for question in chosen}
    questions = [question for question in data.questions if question.id in wanted]
    if base.reader is None:
        kept = [one for one in questions if data.gold and one.id in data.gold and data.gold[one.id].pieces]
        why = "have no gold evidence to hit"
        remarks = [
            "No reader: the quality of a setting is the mean over questions of the share of gold pieces "
            "that it hits, which is no accuracy."
        ]
    else:
        kept = [one for one in questions if base.judge or not _needs_judge(one)]
        why = "need a judge, and the study has none"
        remarks = []
    return kept, remarks + _left_out(questions, kept, why)


def _left_out(all_of_them: Sequence[EvalQuestion], kept: Sequence[EvalQuestion], why: str) -> list[str]:
    missing = len(all_of_them) - len(kept)
    return [f"{missing} of {len(all_of_them)} questions are left out: they {why}."] if missing else []


def _needs_judge(question: EvalQuestion) -> bool:
    return parse_eval_function(question.eval_function).needs_model
