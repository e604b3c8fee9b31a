"""From a question and a response to a verdict, wherever no judge model is needed."""

from collections.abc import Callable
from typing import TypeAlias

from evals.question import EvalQuestion
from evals.scoring.answer import is_unknown, parse_answer
from evals.scoring.choices import choice_options, mc_choice_match, mc_choice_set_match
from evals.scoring.eval_function import CHECKERS, EvalFunction, EvalFunctionError, parse_eval_function
from evals.scoring.phrases import norm_phrase_set_match, norm_phrase_set_match_ordered, phrase_options
from evals.verdict import Verdict

Matcher: TypeAlias = Callable[[str, str], bool]
"""(parsed answer or other text, gold) -> whether it matches."""


def matcher(function: EvalFunction) -> Matcher:
    """The deterministic evaluator that the function names, with its options checked.

    Raises EvalFunctionError for wrong options and for evaluators that only a judge model can carry out.
    """
    if function.name in CHECKERS:
        raise EvalFunctionError(f"{function.name} needs a judge model")
    if function.name in _PHRASES:
        phrase_match, for_phrases = _PHRASES[function.name], phrase_options(function.options)
        return lambda prediction, gold: phrase_match(prediction, gold, for_phrases)
    choice_match = _CHOICES[function.name]
    for_choices = choice_options(function.options, strips=choice_match is mc_choice_match)
    return lambda prediction, gold: choice_match(prediction, gold, for_choices)


_PHRASES = {
    "norm_phrase_set_match": norm_phrase_set_match,
    "norm_phrase_set_match_ordered": norm_phrase_set_match_ordered,
}
_CHOICES = {"mc_choice_match": mc_choice_match, "mc_choice_set_match": mc_choice_set_match}


def check_eval_function(text: str) -> EvalFunction:
    """Parse an `eval_function` and check its options; raises EvalFunctionError."""
    function = parse_eval_function(text)
    if not function.needs_model:
        matcher(function)
    return function


def score(question: EvalQuestion, response: str) -> Verdict | None:
    """The verdict on a response; None where only a judge model can tell.

    A judge model is not needed for an unknown, nor where gold or response is empty: both score 0.
    Raises EvalFunctionError for a question whose `eval_function` is not valid.
    """
    function = parse_eval_function(question.eval_function)
    answer = parse_answer(response)
    unknown = is_unknown(answer)
    if not function.needs_model:
        matched = matcher(function)(answer, question.answer)
        reason = "the answer matches the gold" if matched else "the answer does not match the gold"
    elif unknown:
        matched, reason = None, ""
    elif function.require_non_empty and not (response.strip() and question.answer.strip()):
        matched, reason = False, "the response or the gold is empty"
    else:
        return None
    return Verdict(
        score=1 if matched and not unknown else 0,
        label=None if matched is None else 1 if matched else 0,
        unknown=unknown,
        parsed_answer=answer,
        evaluator=function.name,
        reason="the response says that it does not know" if unknown else reason,
    )
