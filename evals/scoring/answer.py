"""What a reader's response answers: the text of its last box, and whether that says unknown."""

_OPENING = "\\boxed{"


def parse_answer(response: str) -> str:
    """The text after the last `\\boxed{` up to its balancing brace, or to the end where none balances.

    Without a box, or with an empty one, it is the whole response. Always trimmed.
    """
    _, found, rest = response.rpartition(_OPENING)
    boxed = _balanced(rest).strip() if found else ""
    return boxed or response.strip()


def _balanced(text: str) -> str:
    depth = 1
    for position, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return text[:position]
    return text


def is_unknown(answer: str) -> bool:
    """Whether a parsed answer declines to answer. Only the bare word does, in any case."""
    return answer.lower() == "unknown"
