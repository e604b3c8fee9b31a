"""The content of a message: plain text, or a list of typed blocks."""

from typing import Any

_TEXTS = frozenset({"text", "input_text", "output_text"})
_PICTURES = frozenset({"image", "input_image"})


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
    texts = [_shown(block) for block in blocks if block.get("type") not in _PICTURES]
    return [text for text in texts if text is not None]


def note_of(block: dict[str, Any]) -> str:
    """A remark in the place of a block that cannot be shown."""
    told = (block.get("type"), block.get("title"), block.get("tool_name"), block.get("url"))
    return f"[{' '.join(text for text in told if isinstance(text, str))}]"


def _shown(block: dict[str, Any]) -> str:
    if block.get("type") in _TEXTS:
        text = block.get("text")
        return text if isinstance(text, str) else ""
    return note_of(block)
