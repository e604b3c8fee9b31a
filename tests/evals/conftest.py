"""Builders for evaluation tests: vectors, questions, and small data roots on disk."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from evals.question import EvalQuestion


@pytest.fixture(scope="session")
def vectors(shared: Path) -> Callable[[str], list[dict[str, Any]]]:
    """Recorded outputs of the public scoring functions, by kind."""
    lines = (shared / "specs" / "lme_v2_vectors.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return lambda kind: [row for row in rows if row["kind"] == kind]


@pytest.fixture
def make_question() -> Callable[..., EvalQuestion]:
    def build(**changed: Any) -> EvalQuestion:
        values = {
            "id": "q1",
            "domain": "web",
            "question_type": "static-environment",
            "question": "Which colour?",
            "image": None,
            "answer": "red",
            "eval_function": "norm_phrase_set_match",
        }
        return EvalQuestion.model_validate(values | changed)

    return build


@dataclass
class RootBuilder:
    """A data root on disk; each file can be written as rows or as raw bytes."""

    path: Path
    questions: list[dict[str, Any]] = field(default_factory=list)

    def question(self, number: int = 1, **changed: Any) -> "RootBuilder":
        row = {
            "id": f"q{number}",
            "domain": "web",
            "question_type": "static-environment",
            "question": "Which colour?",
            "image": None,
            "answer": "red",
            "eval_function": "norm_phrase_set_match",
        } | changed
        self.questions.append({key: value for key, value in row.items() if value is not ...})
        return self

    def file(self, name: str, content: bytes | str | Mapping[str, Any]) -> "RootBuilder":
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Mapping):
            content = json.dumps(content)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return self

    def lines(self, rows: Iterable[bytes | str]) -> "RootBuilder":
        """questions.jsonl from raw lines."""
        encoded = [row.encode() if isinstance(row, str) else row for row in rows]
        return self.file("questions.jsonl", b"\n".join(encoded) + b"\n")

    def write(self) -> Path:
        """Fill in what no test has written: questions, and a haystack of t1 and t2 for each."""
        if not (self.path / "questions.jsonl").exists():
            self.lines(json.dumps(row) for row in self.questions)
        if not (self.path / "haystacks").exists():
            ids = [str(row.get("id")) for row in self.questions]
            self.file("haystacks/lme_v2_small.json", {one: ["t1", "t2"] for one in ids})
        return self.path


@pytest.fixture
def root(tmp_path: Path) -> RootBuilder:
    folder = tmp_path / "root"
    folder.mkdir()
    return RootBuilder(folder)
