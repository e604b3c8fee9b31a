"""The fixed reader: sees the memory context, the question and its image, and answers.

Reader and prompts are held fixed, so that a difference in score is a difference in evidence.
"""

import hashlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

import instructions
from evals.context_budget import CutPolicy, fit_context
from evals.model_errors import ReaderError
from evals.question import EvalQuestion
from evals.reader_message import ImageError, UserMessage, message_parts, parts_sha256, sent_content
from evals.reading import Cut, Fallback, Reading
from evals.sampling import READER_SAMPLING
from evals.scoring.answer import is_unknown, parse_answer
from evals.tokens import EstimatedTokens, TokenCounter
from runbook.context import MemoryContext
from runbook.endpoint.chat import Completion, Endpoint, Message
from runbook.endpoint.completion import Reply
from runbook.endpoint.config import EndpointConfig
from runbook.endpoint.usage import Usage


class ReaderPolicy(BaseModel):
    """What happens at the edges. The defaults are the `fixed` profile."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    context_tokens: int = Field(default=200_000, gt=0)
    """Budget of the memory context."""
    cut: CutPolicy = "cut"
    empty_content: Literal["error", "reasoning"] = "error"
    """Whether a reply without content counts as its reasoning text, if it has one."""
    bad_request: Literal["error", "empty"] = "error"
    """Whether a request refused with status 400 counts as an empty response."""


class Prompts(Protocol):
    """What a reader is told, and how context and question are put before it."""

    def system(self, domain: str, /) -> str: ...

    def user(self, question: EvalQuestion, context: MemoryContext, /) -> UserMessage:
        """Raises ImageError."""
        ...


@dataclass(frozen=True, slots=True)
class ReaderPrompts:
    """Our own way: texts around context and question; `system` gets the question's domain."""

    system: Callable[[str], str]
    frame: instructions.ReaderFrame

    def user(self, question: EvalQuestion, context: MemoryContext) -> UserMessage:
        """Context, question and its image, neighbouring texts joined."""
        parts = message_parts(self.frame, question, context)
        return UserMessage(sent_content(parts), parts_sha256(parts))


class Reader:
    """Answers questions from memory contexts; safe to use from several threads at once.

    Args:
        endpoint: the reader's model.
        policy: budget and edge cases.
        counter: how the context's tokens are counted; an estimate where none is given.
        prompts: the texts around context and question; our own where none are given.
        cancel: when set, running calls end with the outcome `cancelled` before their next request.
        remark: told when a call goes on being repeated, and why.

    Raises:
        ReaderError: the model's provider needs a key and there is none.
    """

    def __init__(
        self,
        endpoint: EndpointConfig,
        *,
        policy: ReaderPolicy | None = None,
        counter: TokenCounter | None = None,
        prompts: Prompts | None = None,
        cancel: threading.Event | None = None,
        remark: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._endpoint = Endpoint(
            endpoint.sampled(READER_SAMPLING), error=ReaderError, cancel=cancel, remark=remark
        )
        self._policy = policy or ReaderPolicy()
        self._counter = counter or EstimatedTokens()
        self._prompts: Prompts = prompts or ReaderPrompts(
            instructions.reader_system, instructions.reader_frame()
        )

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.close()

    def read(self, question: EvalQuestion, context: MemoryContext, *, seed: int | None = None) -> Reading:
        """Answer one question; raises ReaderError, whose outcome says whose fault it was."""
        fitted, cut = self._fitted(context)
        system = self._prompts.system(question.domain)
        try:
            user = self._prompts.user(question, fitted)
        except ImageError as error:
            raise ReaderError(str(error)) from error
        response, fallback, completion = self._answer(
            [{"role": "system", "content": system}, {"role": "user", "content": user.content}], seed
        )
        answer = parse_answer(response)
        return Reading(
            response=response,
            parsed_answer=answer,
            unknown=is_unknown(answer),
            finish_reason=completion.reply.finish_reason,
            requested_model=self._endpoint.config.model,
            model=completion.reply.model,
            usage=completion.reply.usage,
            seconds=completion.seconds,
            calls=completion.calls,
            waited_seconds=completion.waited_seconds,
            cut=cut,
            system_prompt_sha256=hashlib.sha256(system.encode()).hexdigest(),
            user_prompt_sha256=user.sha256,
            seed=seed,
            fallback=fallback,
        )

    def _fitted(self, context: MemoryContext) -> tuple[MemoryContext, Cut]:
        try:
            return fit_context(context, self._counter, self._policy.context_tokens, self._policy.cut)
        except OSError as error:
            raise ReaderError(f"the size of the context cannot be told: {error}") from error

    def _answer(self, messages: list[Message], seed: int | None) -> tuple[str, Fallback | None, Completion]:
        began = time.monotonic()
        try:
            completion = self._endpoint.complete(messages, seed=seed)
        except ReaderError as error:
            if error.status != 400 or self._policy.bad_request == "error":
                raise
            return "", "bad_request", _refused(time.monotonic() - began)
        reply = completion.reply
        if content := reply.content.strip():
            return content, None, completion
        # The public harness knows no `reasoning_content`.
        if self._policy.empty_content == "reasoning" and (reasoning := reply.reasoning.strip()):
            return reasoning, "reasoning", completion
        unused = len(reply.reasoning or reply.reasoning_content)
        raise ReaderError(
            f"{self._endpoint.config.model}: the reply has no content "
            f"(finish_reason {reply.finish_reason}, {unused} characters of reasoning)"
        )


def _refused(seconds: float) -> Completion:
    """What stands for the reply to a request refused with status 400, where that counts as a response."""
    nothing = Reply(content="", reasoning="", finish_reason=None, model=None, usage=Usage())
    return Completion(reply=nothing, seconds=seconds, calls=1, waited_seconds=0.0)
