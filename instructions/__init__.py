"""Jinja2 templates of every prompt, and the functions that render them.

Texts that come from outside (questions, recordings, answers) stand between marker lines they cannot forge:
the marker is a digest of the texts themselves, so the same input always gives the same prompt.
"""

import hashlib
from dataclasses import dataclass
from typing import Literal

from instructions.templating import TEMPLATES, environment, marker_for, render

JudgeKind = Literal["abstention", "gotchas"]


@dataclass(frozen=True, slots=True)
class InstructionOptions:
    """What the agent is told. The first four switches are ablations."""

    workflow: bool = True
    """How to work; without it only the task and what to hand in."""
    manifests: bool = True
    """The overview files of the haystack."""
    summaries: bool = False
    """The two long summaries of the haystack, which the overview files replace."""
    helper: bool = True
    """The `memory` command; without it plain files and the JSON to write."""
    candidates: bool = True
    """Candidates are part of the prompt."""
    images: bool = True
    """The agent can look at pictures."""
    budget: int = 20
    """The largest number of distinct states in the evidence."""
    seconds: int | None = None
    """Wall time of the attempt; None says nothing about time."""


@dataclass(frozen=True, slots=True)
class ReaderFrame:
    """The texts around context and question in a reader's message."""

    context_heading: str
    empty_context: str
    question_heading: str


def agent_instruction(options: InstructionOptions) -> str:
    """The instruction of an attempt, without its question: the content of INSTRUCTION.md."""
    return render("agent_instruction.md.j2", options=options)


def agent_prompt(
    instruction: str,
    helper_usage: str | None,
    question: str,
    image: str | None,
    candidates: str | None,
    *,
    overview: str | None = None,
) -> str:
    """The complete prompt of an agent, so that no turn goes into reading files or help.

    Args:
        instruction: from `agent_instruction`.
        helper_usage: the usage text of the `memory` command; None where there is no helper.
        question: the question's text.
        image: name of the question's picture in the workspace.
        candidates: the machine-ranked candidates, as text.
        overview: the haystack's orientation, as text.
    """
    texts = (question, candidates or "", overview or "")
    return render(
        "agent_prompt.md.j2",
        instruction=instruction,
        helper_usage=helper_usage,
        question=question,
        image=image,
        candidates=candidates,
        overview=overview,
        marker=marker_for(*texts),
    )


def reader_system(domain: str) -> str:
    """The reader's system prompt for a domain; an unknown domain gets the default one."""
    return render("reader_system.md.j2", domain=domain)


def reader_frame() -> ReaderFrame:
    """The texts around the memory context and the question."""
    module = environment().get_template("reader_frame.j2").module
    return ReaderFrame(**{name: str(getattr(module, name)) for name in ReaderFrame.__slots__})


def judge_messages(
    kind: JudgeKind, question: str, reference: str, response: str, parsed: str
) -> list[dict[str, str]]:
    """Chat messages that ask a judge for `{"label": 0 | 1, "reason": str}`.

    Args:
        kind: which rubric.
        question, reference: the question and the reference answer.
        response, parsed: the reader's full response and the answer parsed from it; neither is trusted.
    """
    user = render(
        "judge_user.md.j2",
        question=question,
        reference=reference,
        response=response,
        parsed=parsed,
        marker=marker_for(question, reference, response, parsed),
    )
    return [
        {"role": "system", "content": render(f"judge_{kind}.md.j2")},
        {"role": "user", "content": user},
    ]


def prompt_digests() -> dict[str, str]:
    """SHA-256 of every template's source, by file name: what a run records about its prompts."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(TEMPLATES.glob("*.j2"))
    }
