"""Faults of a question and its gold: is the answer in the evidence, not in the question, not all over?"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from PIL import Image, ImageChops

from evals.demo.check_recordings import OPAQUE, Trajectories
from evals.question import EvalQuestion
from evals.scoring.answer import parse_answer
from evals.scoring.eval_function import CHECKERS, parse_eval_function
from evals.scoring.evaluate import matcher
from evals.scoring.phrases import PhraseOptions, normalize, phrases

LARGEST_SHARE = 0.2
"""What stands in more of the haystack's states than this is no evidence for anything."""
PHRASES = ("norm_phrase_set_match", "norm_phrase_set_match_ordered")
PLAIN = PhraseOptions()
NUMBERS = re.compile(r"(?<=\t)\[\d+\] |(?<=\(')\d+(?=')")


def question_faults(
    root: Path, question: EvalQuestion, gold: dict[str, Any], haystack: Trajectories
) -> Iterator[str]:
    """What is wrong with one question. `gold` is its entry of gold.json, `haystack` its trajectories."""
    if not OPAQUE.fullmatch(question.id):
        yield "the id says something; use a hash"
    if not gold.get("note"):
        yield "the gold has no note"
    spans = list(span_faults(gold["evidence"], haystack))
    yield from spans
    if not gold["evidence"]:
        yield "the gold has no evidence"
    elif not spans:
        yield from evidence_faults(question, gold, haystack)
    yield from answer_faults(question)
    if question.image is not None:
        yield from crop_faults(root, question.image, gold, haystack)


def span_faults(evidence: Sequence[Sequence[dict[str, Any]]], haystack: Trajectories) -> Iterator[str]:
    for span in (span for piece in evidence for span in piece):
        name, start, end = span["trajectory_id"], span["start_state_index"], span["end_state_index"]
        if name not in haystack:
            yield f"a span names {name}, which is not in the haystack"
        elif not 0 <= start <= end < len(haystack[name]["states"]):
            yield f"the span {start}-{end} is not within the {len(haystack[name]['states'])} states of {name}"


def evidence_faults(question: EvalQuestion, gold: dict[str, Any], haystack: Trajectories) -> Iterator[str]:
    """Marks of the answer that the gold lacks, or that too many states have.

    The marks are the phrases of the answer; where the answer is worked out (derived, multiple choice,
    free text), they are the strings that the gold gives as `raw`. Pixels have none.
    """
    evidence = " \n".join(gold_texts(gold["evidence"], haystack))
    texts = [text_of(state) for row in haystack.values() for state in row["states"]]
    name = parse_eval_function(question.eval_function).name
    if gold.get("visual"):
        # A name that the page lists among others is no leak: which one it is, only the picture tells.
        readable = name in PHRASES and question.image is None and not gold.get("names_in_text")
        if readable and matcher(parse_eval_function(question.eval_function))(evidence, question.answer):
            yield "it is said to need pixels, but the gold's text has the answer"
        return
    if name in PHRASES and not gold.get("derived"):
        wanted = [re.compile(rf"\b{re.escape(phrase)}\b") for phrase in phrases(question.answer, PLAIN)]
        evidence, texts = normalize(evidence, PLAIN), [normalized(text) for text in texts]
    else:
        wanted = [re.compile(re.escape(raw)) for raw in gold.get("raw", ())]
    if not wanted:
        yield "nothing in the gold can be looked for: give it raw strings"
        return
    for pattern in wanted:
        if not pattern.search(evidence):
            yield f"the gold's states do not have {pattern.pattern!r}"
    share = sum(all(pattern.search(text) for pattern in wanted) for text in texts) / len(texts)
    if share > LARGEST_SHARE:
        yield f"{share:.0%} of the haystack's states have what its answer rests on"


def answer_faults(question: EvalQuestion) -> Iterator[str]:
    function = parse_eval_function(question.eval_function)
    if function.name in CHECKERS:
        return
    boxed = parse_answer(f"So it must be this. \\boxed{{{question.answer}}}")
    if not matcher(function)(boxed, question.answer):
        yield f"{function.name} does not accept the answer itself"
    asked = normalize(question.question, PLAIN)
    if function.name in PHRASES:
        for phrase in phrases(question.answer, PLAIN):
            if re.search(rf"\b{re.escape(phrase)}\b", asked):
                yield f"the question itself says {phrase!r}"


def crop_faults(root: Path, image: Path, gold: dict[str, Any], haystack: Trajectories) -> Iterator[str]:
    """The image must be what the gold's `crop` says: a box of a state's screenshot, perhaps enlarged."""
    crop = gold.get("crop")
    if crop is None:
        yield "it has an image, but its gold does not say from which state it was cropped"
        return
    state = haystack[crop["trajectory_id"]]["states"][crop["state_index"]]
    with Image.open(root / state["screenshot"]) as screenshot, Image.open(image) as shown:
        cut = screenshot.convert("RGB").crop(tuple(crop["box"])).resize(shown.size, Image.Resampling.NEAREST)
        if ImageChops.difference(cut, shown.convert("RGB")).getbbox() is not None:
            yield f"{image.name} is not the crop that its gold names"


def gold_texts(evidence: Sequence[Sequence[dict[str, Any]]], haystack: Trajectories) -> Iterator[str]:
    for span in (span for piece in evidence for span in piece):
        states = haystack[span["trajectory_id"]]["states"]
        for state in states[span["start_state_index"] : span["end_state_index"] + 1]:
            yield text_of(state)


def text_of(state: dict[str, Any]) -> str:
    """All that a search by words can find of a state; numbers of elements are no words."""
    parts = (state["url"], state["action"], state["thought"], state["accessibility_tree"])
    return NUMBERS.sub("", "\n".join(part for part in parts if part))


@lru_cache(maxsize=4096)
def normalized(text: str) -> str:
    return normalize(text, PLAIN)
