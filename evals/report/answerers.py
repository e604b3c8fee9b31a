"""Who read the contexts and who judged the answers, and what that took."""

from collections.abc import Sequence
from dataclasses import dataclass

from evals.report.formats import compact, counted, dollars, grouped
from evals.runs.answering_use import answering_use
from evals.runs.config import RunConfig
from evals.runs.results import QuestionResult


@dataclass(frozen=True, slots=True)
class Answerer:
    """The reader's or the judge's model, with the sums over a run."""

    role: str
    model: str
    calls: int
    entered: int | None
    """Tokens, read from a cache or not; None where nobody told."""
    written: int | None
    unknown: int
    """Answers of which not all tokens were told."""
    cost_usd: float | None

    @property
    def short(self) -> str:
        """In a few words, without the model's name."""
        if not self.calls:
            return f"{self.role} not asked"
        known = [one for one in (self.entered, self.written) if one is not None]
        told = f", {compact(sum(known))} tokens" if known else ", tokens not told"
        money = f", {dollars(self.cost_usd)}" if self.cost_usd is not None else ""
        return f"{self.role}: {counted(self.calls, 'call')}{told}{money}"

    @property
    def whole(self) -> str:
        """The model, and all that is known."""
        if not self.calls:
            return f"{self.model}, not asked"
        parts = [counted(self.calls, "call")]
        parts += [f"{grouped(self.entered)} tokens in"] if self.entered is not None else []
        parts += [f"{grouped(self.written)} out"] if self.written is not None else []
        parts += [f"{counted(self.unknown, 'answer')} not told in full"] if self.unknown else []
        parts.append("price unknown" if self.cost_usd is None else dollars(self.cost_usd))
        return f"{self.model}: {', '.join(parts)}"


def answerers(config: RunConfig, results: Sequence[QuestionResult]) -> list[Answerer]:
    """The reader, then the judge; none of those that the run does not have."""
    use = answering_use(config, results)
    found = []
    for role in ("reader", "judge"):
        took = use[f"{role}_use"]
        if took is None:
            continue
        tokens = took["tokens"]
        entered = [tokens[one] for one in ("fresh_input", "cache_read", "cache_write")]
        known = [one for one in entered if one is not None]
        found.append(
            Answerer(
                role=role,
                model=took["model"],
                calls=took["calls"],
                entered=sum(known) if known else None,
                written=tokens["output"],
                unknown=took["usage_unknown_calls"],
                cost_usd=took["cost_usd"],
            )
        )
    return found
