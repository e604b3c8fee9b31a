"""The prompts of the public harness, asked of a user's checkout when a run needs them; none is kept here."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import orjson
from pydantic import JsonValue

from evals.official.launcher import importable, named, part
from evals.question import EvalQuestion
from evals.reader_message import ImageError, UserMessage, checked_picture
from instructions import JudgeKind
from runbook.context import ImageItem, MemoryContext
from runbook.endpoint.chat import Message

HARNESS, METRICS = "evaluation.harness", "evaluation.qa_eval_metrics"


@dataclass(frozen=True, slots=True)
class Upstream:
    """The parts of a checkout that make prompts."""

    harness: ModuleType
    metrics: ModuleType

    @classmethod
    def load(cls, checkout: Path) -> "Upstream":
        """Import them. Raises OfficialError where `checkout` is none, or its requirements are missing."""
        with importable(checkout):
            found = cls(part(checkout, HARNESS), part(checkout, METRICS))
        for module, names in ((found.harness, _OF_READER), (found.metrics, _OF_JUDGE.values())):
            for name in names:
                named(module, name)
        return found

    def digests(self) -> dict[str, str]:
        """SHA-256 of the files that the prompts come from, by name."""
        files = {module: Path(module.__file__ or "") for module in (self.harness, self.metrics)}
        return {
            f"upstream/{file.name}": hashlib.sha256(file.read_bytes()).hexdigest() for file in files.values()
        }

    def system(self, domain: str) -> str:
        """The reader's system prompt. The harness knows two domains, and raises for others."""
        return str(self.harness.get_system_prompt(domain))

    def user(self, question: EvalQuestion, context: MemoryContext) -> UserMessage:
        """The reader's user message as the harness builds it; raises ImageError."""
        items = []
        for item in context.items:
            if isinstance(item, ImageItem):
                checked_picture(Path(item.path), item.sha256)
                items.append({"type": "image", "value": item.path})
            else:
                items.append({"type": "text", "value": item.text})
        if question.image is not None:
            checked_picture(question.image, None)
        try:
            messages, logged = self.harness.build_messages(
                system_prompt="",
                question_text=question.question,
                image_path=str(question.image) if question.image else None,
                memory_context=items,
            )
        except (RuntimeError, OSError) as error:
            raise ImageError(str(error)) from error
        content = cast("list[JsonValue]", messages[1]["content"])
        return UserMessage(content, _digest(logged[1]["content"], question, context))

    def judge(
        self, kind: JudgeKind, question: str, reference: str, response: str, parsed: str
    ) -> Sequence[Message]:
        """What the harness asks a judge; it trims all texts."""
        build = getattr(self.metrics, _OF_JUDGE[kind])
        return cast(
            "Sequence[Message]",
            build(
                question_text=question.strip(),
                reference_answer=reference.strip(),
                model_full_response=response.strip(),
                model_final_answer=parsed.strip() or response.strip(),
            ),
        )


_OF_READER = ("get_system_prompt", "build_messages")
_OF_JUDGE: Mapping[JudgeKind, str] = {
    "abstention": "_build_abstention_judge_messages",
    "gotchas": "_build_gotchas_judge_messages",
}


def _digest(logged: Any, question: EvalQuestion, context: MemoryContext) -> str:
    """Of the message in which images stand as their own digests, wherever their files lie."""
    digests = {item.path: item.sha256 for item in context.items if isinstance(item, ImageItem)}
    if question.image is not None:
        digests[str(question.image)] = checked_picture(question.image, None).sha256
    listed = [
        {"image_sha256": digests[one["image_path"]]} if "image_path" in one else one["text"] for one in logged
    ]
    return hashlib.sha256(orjson.dumps(listed)).hexdigest()
