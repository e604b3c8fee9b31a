"""Modes `reader` and `judge`: replies to the evaluation's own chat completions, made from what they hold."""

import json
import re

from tests.scripted_model.conversation import Conversation
from tests.scripted_model.searching import key_words

_OPTION = re.compile(r"^\s*\(?([A-H])[.):]\s+(.+)$", re.MULTILINE)
_PART = r"<{name} (\w+)>\n(.*?)\n</{name} \1>"
_ANSWER_CHARACTERS = 200


def read_answer(said: Conversation) -> str:
    """The option, or the line of the context, that fits best by its words; UNKNOWN without a context."""
    context, _, question = said.prompt.rpartition("# Question")
    lines = [line.strip() for line in context.split("\n") if line.strip(" -#")]
    if len(lines) < 3:
        return "The memory context is empty. \\boxed{UNKNOWN}"
    options = _OPTION.findall(question)
    if options:
        letter, _ = max(options, key=lambda option: _shared(option[1], context))
        return f"The context fits option {letter} best. \\boxed{{{letter}}}"
    best = max(lines, key=lambda line: _shared(question, line))
    plain = re.sub(r"[{}\\]", " ", best)[:_ANSWER_CHARACTERS].strip()
    return f"The context says so. \\boxed{{{plain}}}"


def judged(said: Conversation) -> str:
    """Label 1 where the parsed answer has at least half of the reference's words."""
    reference, answer = (_part(name, said.prompt) for name in ("reference", "parsed"))
    wanted = {word.lower() for word in key_words(reference, 200)}
    share = _shared(reference, answer) / max(1, len(wanted))
    reason = f"{share:.0%} of the reference's words are in the answer"
    return json.dumps({"label": int(share >= 0.5), "reason": reason})


def _part(name: str, prompt: str) -> str:
    found = re.search(_PART.format(name=name), prompt, re.DOTALL)
    return found[2] if found else ""


def _shared(words: str, text: str) -> int:
    """How many words two texts share."""
    return len(_lower(words) & _lower(text))


def _lower(text: str) -> set[str]:
    return {word.lower() for word in key_words(text, 5000)}
