"""The matchers and the answer parser agree with every recorded output of the public functions."""

import pytest

from evals.scoring.answer import is_unknown, parse_answer
from evals.scoring.eval_function import EvalFunctionError
from evals.scoring.evaluate import check_eval_function, matcher

pytestmark = pytest.mark.needs("shared")


def test_every_match_vector(vectors):
    rows = vectors("match")
    assert len(rows) == 1299
    wrong = []
    for row in rows:
        try:
            got = matcher(check_eval_function(row["eval_function"]))(row["prediction"], row["gold"])
        except EvalFunctionError:
            got = "error"
        if got != row.get("result", "error"):
            wrong.append((row, got))
    assert wrong == []


def test_every_boxed_vector(vectors):
    rows = vectors("boxed")
    assert len(rows) == 24
    wrong = [
        row
        for row in rows
        if (parse_answer(row["response"]), is_unknown(parse_answer(row["response"])))
        != (row["parsed"], row["is_unknown"])
    ]
    assert wrong == []
