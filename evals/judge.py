"""The judge: a model that labels responses where no matcher can. One bad reply costs one question at most."""

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import orjson

import instructions
from evals.completion import Reply
from evals.endpoint import Completion, Endpoint, JudgeError, Message
from evals.endpoint_config import JUDGE_SAMPLING, EndpointConfig
from evals.question import EvalQuestion
from evals.scoring.answer import is_unknown, parse_answer
from evals.scoring.eval_function import ABSTENTION_CHECKER, GOTCHAS_CHECKER, parse_eval_function
from evals.scoring.evaluate import score
from evals.scoring.judge_reply import UnusableReplyError, lenient_verdict, strict_verdict
from evals.usage import Usage
from evals.verdict import Verdict

MAX_ASKS = 3

_KINDS: dict[str, instructions.JudgeKind] = {ABSTENTION_CHECKER: "abstention", GOTCHAS_CHECKER: "gotchas"}
_AGAIN = (
    "That reply cannot be read. Reply with exactly one JSON object and nothing else: "
    '{"label": 0 or 1, "reason": "one or two sentences"}'
)
_KEPT_CHARACTERS = 4_000


class Judge:
    """Scores responses; safe to use from several threads at once.

    Args:
        endpoint: the judge's model.
        replies: `strict` takes exactly one JSON object and asks again for anything else; `lenient` reads
            replies as the public harness does and asks once.
        cancel: when set, running calls end with the outcome `cancelled` before their next request.
        remark: told when a call goes on being repeated, and why.

    Raises:
        JudgeError: the model's provider needs a key and there is none.
    """

    def __init__(
        self,
        endpoint: EndpointConfig,
        *,
        replies: Literal["strict", "lenient"] = "strict",
        cancel: threading.Event | None = None,
        remark: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._endpoint = Endpoint(
            endpoint.sampled(JUDGE_SAMPLING), error=JudgeError, cancel=cancel, remark=remark
        )
        self._read = strict_verdict if replies == "strict" else lenient_verdict
        self._asks = MAX_ASKS if replies == "strict" else 1

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.close()

    def judge(self, question: EvalQuestion, response: str, *, seed: int | None = None) -> Verdict:
        """The verdict on a response; no model is asked where `score` can tell.

        Raises JudgeError, whose outcome says whose fault it was and whose `replies` are what the model said.
        """
        return score(question, response) or self._asked(question, response, seed)

    def _asked(self, question: EvalQuestion, response: str, seed: int | None) -> Verdict:
        function = parse_eval_function(question.eval_function)
        answer = parse_answer(response)
        messages: list[Message] = list(
            instructions.judge_messages(
                _KINDS[function.name], question.question, question.answer, response, answer
            )
        )
        prompt_sha256 = hashlib.sha256(orjson.dumps(messages)).hexdigest()
        spent = _Spent()
        problem = ""
        for _ in range(self._asks):
            reply = spent.add(self._endpoint.complete(messages, seed=seed))
            try:
                label, reason = self._read(reply.content)
            except UnusableReplyError as error:
                problem = str(error)
                messages = _with_reminder(messages, reply.content)
                continue
            return Verdict(
                score=label,
                label=label,
                unknown=is_unknown(answer),
                parsed_answer=answer,
                evaluator=function.name,
                reason=reason,
                judge_model=reply.model,
                judge_calls=spent.calls,
                judge_seconds=spent.seconds,
                judge_prompt_sha256=prompt_sha256,
                usage=spent.usage,
            )
        raise JudgeError(
            f"{self._endpoint.config.model}: no usable verdict in {len(spent.replies)} replies: {problem}",
            replies=tuple(spent.replies),
        )


@dataclass(slots=True)
class _Spent:
    """What one verdict took."""

    calls: int = 0
    seconds: float = 0.0
    usage: Usage | None = None
    replies: list[str] = field(default_factory=list)

    def add(self, completion: Completion) -> Reply:
        reply = completion.reply
        self.calls += completion.calls
        self.seconds += completion.seconds
        self.usage = reply.usage if self.usage is None else self.usage + reply.usage
        self.replies.append(reply.content[:_KEPT_CHARACTERS])
        return reply


def _with_reminder(messages: list[Message], reply: str) -> list[Message]:
    said: list[Message] = [{"role": "assistant", "content": reply}] if reply.strip() else []
    return [*messages, *said, {"role": "user", "content": _AGAIN}]
