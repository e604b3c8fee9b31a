"""The content of a message: plain text, or a list of typed blocks."""

from typing import Any

_TEXTS = frozenset({"text", "input_text", "output_text"})
_PICTURES = frozenset({"image", "input_image"})


def kind_of(record: dict[str, Any]) -> str:
    """The type of a line or block, "" where it has none."""
    return text_of(record.get("type"))


def text_of(value: Any) -> str:
    """The value, where it is text."""
    return value if isinstance(value, str) else ""


def block_list(content: Any) -> list[dict[str, Any]]:
    """The blocks of a content, text being one; what is neither text nor a block is left out."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, dict):
        return [content]
    if not isinstance(content, list):
        return []
    return [
        {"type": "text", "text": one} if isinstance(one, str) else one
        for one in content
        if isinstance(one, (str, dict))
    ]


def block_texts(blocks: list[dict[str, Any]]) -> list[str]:
    """The texts of blocks, with a remark for those that are neither text nor picture."""
    return [_shown(block) for block in blocks if kind_of(block) not in _PICTURES]


def note_of(block: dict[str, Any]) -> str:
    """A remark in the place of a block that cannot be shown."""
    told = (block.get("type"), block.get("title"), block.get("tool_name"), block.get("url"))
    return f"[{' '.join(text for text in told if isinstance(text, str))}]"


def _shown(block: dict[str, Any]) -> str:
    if kind_of(block) in _TEXTS:
        return text_of(block.get("text"))
    return note_of(block)
