"""Which of a run's settings say what is measured and how, and not what answers."""

from evals.runs.config import RunConfig

_QUESTIONS = frozenset({"data", "tier", "limit", "sample", "question_ids", "seed"})
_SCORES = frozenset(
    {
        *("reader", "judge", "repeats", "votes", "profile", "upstream"),
        *("token_counter", "tokenizer", "preprocessor"),
    }
)
MEASURED_ALIKE = _QUESTIONS | _SCORES
"""Where these differ between two runs, a difference of their figures need not be their memories'."""

KEEPING = frozenset({"store", "gates", "concurrency", "views_gb"})
"""Where things lie, and how many at once: no figure of an answer depends on it."""


def unequal(one: RunConfig, other: RunConfig, *, without: frozenset[str] = KEEPING) -> list[str]:
    """The settings that two runs do not have alike, in the order of the model."""
    names = (name for name in RunConfig.model_fields if name not in without)
    return [name for name in names if getattr(one, name) != getattr(other, name)]
