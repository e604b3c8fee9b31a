"""The judge: a model that labels responses where no matcher can. One bad reply costs one question at most."""

import hashlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import orjson

import instructions
from evals.model_errors import JudgeError
from evals.question import EvalQuestion
from evals.sampling import JUDGE_SAMPLING
from evals.scoring.answer import is_unknown, parse_answer
from evals.scoring.eval_function import ABSTENTION_CHECKER, GOTCHAS_CHECKER, parse_eval_function
from evals.scoring.evaluate import score
from evals.scoring.judge_reply import Label, UnusableReplyError, lenient_verdict, strict_verdict
from evals.verdict import Verdict, Vote
from evals.vote_cache import VoteCache
from runbook.endpoint.chat import Completion, Endpoint, Message
from runbook.endpoint.completion import Reply
from runbook.endpoint.config import EndpointConfig
from runbook.endpoint.usage import Usage

MAX_ASKS = 3

Prompts: TypeAlias = Callable[[instructions.JudgeKind, str, str, str, str], Sequence[Message]]
"""(kind, question, reference, response, parsed answer) -> chat messages."""

KINDS: dict[str, instructions.JudgeKind] = {ABSTENTION_CHECKER: "abstention", GOTCHAS_CHECKER: "gotchas"}
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
        votes: how often the model is asked for one verdict; odd, the majority counts.
        prompts: what the model is asked; our own texts where none are given.
        cache: where votes are kept, so that none is paid for twice.
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
        votes: int = 1,
        prompts: Prompts = instructions.judge_messages,
        cache: VoteCache | None = None,
        cancel: threading.Event | None = None,
        remark: Callable[[str], None] = lambda _: None,
    ) -> None:
        if votes % 2 == 0:
            raise ValueError("a majority needs an odd number of votes")
        self._endpoint = Endpoint(
            endpoint.sampled(JUDGE_SAMPLING), error=JudgeError, cancel=cancel, remark=remark
        )
        self._replies = replies
        self._votes = votes
        self._prompts = prompts
        self._cache = cache

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.close()

    def judge(
        self, question: EvalQuestion, response: str, *, seed: int | None = None, repeat: int = 0
    ) -> Verdict:
        """The verdict on a response; no model is asked where `score` can tell.

        Args:
            seed: of the first vote; the others count on from it.
            repeat: which of several verdicts on the same response this is; each asks anew.

        Raises JudgeError, whose outcome says whose fault it was and whose `replies` are what the model said.
        """
        return score(question, response) or self.asked(question, response, seed=seed, repeat=repeat)

    def asked(
        self, question: EvalQuestion, response: str, *, seed: int | None = None, repeat: int = 0
    ) -> Verdict:
        """The model's verdict, also where `score` could tell; the question's evaluator is a checker."""
        function = parse_eval_function(question.eval_function)
        answer = parse_answer(response)
        messages = self._prompts(KINDS[function.name], question.question, question.answer, response, answer)
        votes = [
            self._vote(messages, repeat, number, None if seed is None else seed + number)
            for number in range(self._votes)
        ]
        label: Literal[0, 1] = 1 if 2 * sum(vote.label for vote in votes) > len(votes) else 0
        unknown = is_unknown(answer)
        agreeing = next(vote for vote in votes if vote.label == label)
        return Verdict(
            score=0 if unknown else label,
            label=label,
            unknown=unknown,
            parsed_answer=answer,
            evaluator=function.name,
            reason=agreeing.reason,
            judge_model=agreeing.model,
            judge_calls=sum(vote.calls for vote in votes),
            judge_seconds=sum(vote.seconds for vote in votes),
            judge_prompt_sha256=hashlib.sha256(orjson.dumps(messages)).hexdigest(),
            usage=_total(votes),
            votes=tuple(votes),
        )

    def _vote(self, messages: Sequence[Message], repeat: int, number: int, seed: int | None) -> Vote:
        key = self._key(messages, repeat, number)
        if self._cache is not None and (known := self._cache.get(key)) is not None:
            return known
        vote = self._new_vote(messages, seed)
        if self._cache is not None:
            self._cache.put(key, vote)
        return vote

    def _key(self, messages: Sequence[Message], repeat: int, number: int) -> str:
        """A digest of what is asked of whom, and for the how manieth time; seeds only vary chance."""
        config = self._endpoint.config
        asked = [self._endpoint.base_url, config.model, config.body(None), self._replies, messages]
        return hashlib.sha256(orjson.dumps([*asked, repeat, number])).hexdigest()

    def _new_vote(self, messages: Sequence[Message], seed: int | None) -> Vote:
        read = _strict if self._replies == "strict" else _lenient
        spent = _Spent()
        problem = ""
        for _ in range(MAX_ASKS if self._replies == "strict" else 1):
            reply = spent.add(self._endpoint.complete(messages, seed=seed))
            try:
                label, reason, fallback = read(reply.content)
            except UnusableReplyError as error:
                problem = str(error)
                messages = _with_reminder(messages, reply.content)
                continue
            return Vote(
                label=label,
                reason=reason,
                model=reply.model,
                calls=spent.calls,
                seconds=spent.seconds,
                usage=spent.usage,
                seed=seed,
                fallback=fallback,
            )
        raise JudgeError(
            f"{self._endpoint.config.model}: no usable verdict in {len(spent.replies)} replies: {problem}",
            replies=tuple(spent.replies),
        )


_Read: TypeAlias = tuple[Label, str, Literal["lenient_verdict"] | None]
"""Label, reason, and whether it took leniency to read them."""


def _strict(reply: str) -> _Read:
    return (*strict_verdict(reply), None)


def _lenient(reply: str) -> _Read:
    label, reason = lenient_verdict(reply)
    try:
        needed = strict_verdict(reply)[0] != label
    except UnusableReplyError:
        needed = True
    return label, reason, "lenient_verdict" if needed else None


@dataclass(slots=True)
class _Spent:
    """What one vote took."""

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


def _total(votes: Sequence[Vote]) -> Usage | None:
    total = votes[0].usage
    for vote in votes[1:]:
        total = total + vote.usage if total is not None and vote.usage is not None else None
    return total


def _with_reminder(messages: Sequence[Message], reply: str) -> list[Message]:
    said: list[Message] = [{"role": "assistant", "content": reply}] if reply.strip() else []
    return [*messages, *said, {"role": "user", "content": _AGAIN}]
