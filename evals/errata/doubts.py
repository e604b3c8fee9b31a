"""The suspects of a run: official scores that a person would want to look at."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from evals.question import EvalQuestion
from evals.runs.results import QuestionResult
from evals.scoring.suspects import Suspect, suspects


@dataclass(frozen=True, slots=True)
class Doubt:
    """A score and why it is doubtful; the official score stays."""

    question_id: str
    score: int
    gold: str
    answer: str
    """As parsed from the response."""
    suspects: tuple[Suspect, ...]


def doubts_of(results: Iterable[QuestionResult], questions: Mapping[str, EvalQuestion]) -> list[Doubt]:
    """The doubtful scores among some results, in their order."""
    found = []
    for result in results:
        question = questions.get(result.question_id)
        if question is None or result.score is None or result.reading is None:
            continue
        if result.reading.reading is None:
            continue
        reading = result.reading.reading
        kinds = suspects(question, reading.response)
        if kinds:
            found.append(
                Doubt(result.question_id, result.score, question.answer, reading.parsed_answer, kinds)
            )
    return found
