"""The questions of a data root in the LongMemEval-V2 layout, with their haystacks and gold evidence.

    questions.jsonl   haystacks/lme_v2_<tier>.json   gold.json (optional)   question images, by relative path

Everything in these files is untrusted. Whatever is wrong is one DatasetError that names file, line and mend.
Trajectories are the importer's (`manifests.importing`); `DataRoot.check_trajectories` joins the two.
"""

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from evals.dataset_files import DatasetError, JsonFile, read_json, read_rows
from evals.dataset_rows import gold_of, question_of
from evals.question import EvalQuestion, Gold
from manifests.sanitise import recorded_id

__all__ = ["DataRoot", "DatasetError", "EvalQuestion", "Gold", "load_data_root"]

_TIER = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class DataRoot:
    """The questions of one tier. `digests` maps each file read, by its path in the root, to its SHA-256."""

    path: Path
    tier: str
    questions: tuple[EvalQuestion, ...]
    haystacks: Mapping[str, tuple[str, ...]]
    gold: Mapping[str, Gold] | None
    digests: Mapping[str, str]

    def check_trajectories(self, known: Collection[str]) -> None:
        """Raise DatasetError where a haystack names a trajectory that is not among the `known` ids."""
        known = frozenset(known)
        for trajectories in self.haystacks.values():
            for trajectory in trajectories:
                if trajectory not in known:
                    raise self.unknown_trajectory(trajectory)

    def unknown_trajectory(self, trajectory: str) -> DatasetError:
        """The complaint that a haystack names a trajectory which is not there."""
        question = next(one for one, named in self.haystacks.items() if trajectory in named)
        haystack = read_json(self.path / _haystack_name(self.tier), digest=None)
        return haystack.error(
            f"the haystack of question {question!r} names trajectory {trajectory!r}, "
            "which trajectories.jsonl does not have",
            "add the trajectory, or take its id out of the haystack",
            near=trajectory,
        )


def load_data_root(path: Path, tier: str = "small") -> DataRoot:
    """Read and check the questions, haystacks and gold of a data root.

    Each question has a haystack; haystacks and gold of other questions are left out.
    Raises DatasetError for the first thing that is wrong.
    """
    root = _existing_root(path)
    if not _TIER.fullmatch(tier):
        raise DatasetError(f"{tier!r} is no tier's name (use letters, digits, - and _)")
    digests: dict[str, str] = {}
    questions = _questions(root, digests)
    haystacks = _haystacks(root, tier, questions, digests)
    gold = _gold(root, questions, digests) if (root / "gold.json").exists() else None
    return DataRoot(root, tier, questions, haystacks, gold, digests)


def _existing_root(path: Path) -> Path:
    if not path.is_dir():
        raise DatasetError(f"{path}: no such folder (give the folder that holds questions.jsonl)")
    if not (path / "questions.jsonl").is_file():
        raise DatasetError(
            f"{path}: no questions.jsonl in this folder (a data root holds questions.jsonl, "
            "trajectories.jsonl and haystacks/lme_v2_<tier>.json)"
        )
    return path.resolve()


def _questions(root: Path, digests: dict[str, str]) -> tuple[EvalQuestion, ...]:
    seen: dict[str, int] = {}
    questions = []
    digest = hashlib.sha256()
    for row in read_rows(root / "questions.jsonl", digest):
        question, image_digest = question_of(row, root)
        if question.id in seen:
            raise row.error(
                f"id {question.id!r} is already the id of line {seen[question.id]}",
                "give each question its own id",
            )
        seen[question.id] = row.line
        if question.image is not None and image_digest is not None:
            digests[question.image.relative_to(root).as_posix()] = image_digest
        questions.append(question)
    if not questions:
        raise DatasetError(
            f"{root / 'questions.jsonl'}: the file holds no question (add one JSON object a line)"
        )
    digests["questions.jsonl"] = digest.hexdigest()
    return tuple(questions)


def _haystack_name(tier: str) -> str:
    return f"haystacks/lme_v2_{tier}.json"


def _haystacks(
    root: Path, tier: str, questions: tuple[EvalQuestion, ...], digests: dict[str, str]
) -> dict[str, tuple[str, ...]]:
    name = _haystack_name(tier)
    if not (root / name).is_file():
        there = sorted(
            found.stem.removeprefix("lme_v2_") for found in (root / "haystacks").glob("lme_v2_*.json")
        )
        mend = f"choose a tier that is there: {', '.join(there)}" if there else f"add {name}"
        raise DatasetError(f"{root / name}: no such file ({mend})")
    digest = hashlib.sha256()
    listing = read_json(root / name, digest)
    digests[name] = digest.hexdigest()
    rows = listing.object("a JSON object of question id -> list of trajectory ids")
    return {question.id: _haystack(listing, rows, question.id) for question in questions}


def _haystack(listing: JsonFile, rows: Mapping[str, object], question: str) -> tuple[str, ...]:
    if question not in rows:
        raise listing.error(f"no haystack for question {question!r}", "add it, or take the question out")
    ids = rows[question]
    if not isinstance(ids, list) or not all(isinstance(one, str) and one for one in ids):
        raise listing.error(
            f"the haystack of question {question!r} is not a list of trajectory ids",
            'write ["id", ...]',
            near=question,
        )
    if not ids:
        raise listing.error(
            f"the haystack of question {question!r} is empty", "name at least one trajectory", near=question
        )
    ids = [recorded_id(one) for one in ids]
    if len(set(ids)) < len(ids):
        twice = next(one for position, one in enumerate(ids) if one in ids[:position])
        raise listing.error(
            f"the haystack of question {question!r} names trajectory {twice!r} twice",
            "name it once",
            near=question,
        )
    return tuple(ids)


def _gold(root: Path, questions: tuple[EvalQuestion, ...], digests: dict[str, str]) -> dict[str, Gold]:
    digest = hashlib.sha256()
    listing = read_json(root / "gold.json", digest)
    digests["gold.json"] = digest.hexdigest()
    rows = listing.object("a JSON object of question id -> gold evidence")
    return {one.id: gold_of(listing, one.id, rows[one.id]) for one in questions if one.id in rows}
