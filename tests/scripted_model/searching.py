"""Mode `memory`: finds evidence as the workspace's instruction says, by what the printed results show.

Search the question's words, read the best state, submit: three commands, each made from the results of those
before it. No command holds $(..), a backtick or <(..), which one agent's shell refuses.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from tests.scripted_model.conversation import Conversation, Turn

MOST_SPANS = 6
_QUESTION = re.compile(r"<question (\w+)>\n(.*?)\n</question \1>", re.DOTALL)
_HIT = re.compile(r"^\s*\d+ (\S+):(\d+)  ", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*[A-Za-z0-9]|[A-Za-z0-9]")
_COMMON = frozenset(Path(__file__).with_name("common_words.txt").read_text(encoding="utf-8").split())


@dataclass(frozen=True)
class Hit:
    slug: str
    state: int

    def __str__(self) -> str:
        return f"{self.slug}:{self.state}"


def search_and_submit(said: Conversation) -> str:
    """The next command; "" once the evidence is handed in."""
    question = question_of(said.prompt)
    searches = _runs("./memory search", said)
    if not searches:
        return f"./memory search '{' '.join(key_words(question, 12))}' --limit 12"
    hits = [hit for turn in searches for hit in hits_of(turn.output)]
    if not hits and len(searches) == 1:
        return f"./memory search '{' '.join(key_words(question, 3))}' --limit 12"
    reads = _runs("./memory state", said)
    if hits and not reads:
        return f"./memory state {hits[0].slug} {hits[0].state} --max-bytes 6000"
    if _runs("./memory submit", said):
        return ""
    return _submit(question, hits, reads)


def question_of(prompt: str) -> str:
    """The question at the end of an agent's prompt, "" where there is none."""
    found = _QUESTION.findall(prompt)
    return found[-1][1] if found else ""


def key_words(text: str, most: int) -> list[str]:
    """The first words that are not common ones, each once; plain enough to stand in any shell's quotes."""
    words = dict.fromkeys(word for word in _WORD.findall(text) if word.lower() not in _COMMON)
    return list(words)[:most] or ["question"]


def hits_of(output: str) -> list[Hit]:
    """The states that a search printed, best first."""
    return [Hit(slug, int(state)) for slug, state in _HIT.findall(output)]


def _runs(command: str, said: Conversation) -> list[Turn]:
    """Earlier runs of a command that have come back."""
    return [turn for turn in said.turns if command in turn.command and turn.result is not None]


def _submit(question: str, hits: list[Hit], reads: list[Turn]) -> str:
    if not hits:
        note = _note("two searches found no state with the words of the question")
        return f"./memory submit --note '{note}' --status insufficient"
    shown = " ".join(key_words(reads[0].output if reads else "", 60))
    best = list(dict.fromkeys(hits))[:MOST_SPANS]
    note = _note(f"{best[0]} ranks first for: {' '.join(key_words(question, 12))}\n- it shows: {shown}")
    spans = " ".join(f"--span {hit}" for hit in best)
    return f"./memory submit --note '{note}' {spans} --status supported"


def _note(finding: str) -> str:
    return f"# Support Analysis\n- {finding}\n\n# Relevant Procedure and Hint Notes\nnone"
