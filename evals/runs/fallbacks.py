"""The questions whose score rests on a fall-back: what a reader or judge did not say in the proper way."""

from collections.abc import Iterable, Iterator

from evals.runs.results import Chain, QuestionResult


def touched_by_fallbacks(results: Iterable[QuestionResult]) -> dict[str, list[str]]:
    """Question ids by reason.

    `bad_request`: a refused request counts as an empty response. `reasoning`: a reply without content counts
    as its reasoning. `nothing_left`: the first item of the context alone was over the budget, which left the
    empty context. `lenient_verdict`: the judge's reply is no verdict, or another one, by strict reading.
    """
    touched: dict[str, list[str]] = {}
    for result in results:
        for reason in {reason for chain in result.chains for reason in _reasons(chain)}:
            touched.setdefault(reason, []).append(result.question_id)
    return dict(sorted(touched.items()))


def _reasons(chain: Chain) -> Iterator[str]:
    reading = chain.reading.reading if chain.reading else None
    if reading is not None:
        if reading.fallback:
            yield reading.fallback
        if reading.cut.original_items and not reading.cut.final_items:
            yield "nothing_left"
    verdict = chain.verdict.verdict if chain.verdict else None
    yield from {vote.fallback for vote in verdict.votes if vote.fallback} if verdict else ()
