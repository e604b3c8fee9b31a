"""How every prompt is rendered: one environment, and markers that no text can forge."""

import functools
import hashlib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

TEMPLATES = Path(__file__).parent / "templates"


@functools.cache
def environment() -> Environment:
    """The one environment; a variable that a template needs and nobody gives is an error."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(name: str, **values: object) -> str:
    """A template, by file name, with its variables."""
    return environment().get_template(name).render(**values)


def marker_for(*texts: str) -> str:
    """A word that stands in none of the texts, the same for the same texts."""
    digest = hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()
    while any(digest[:12] in text for text in texts):
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return digest[:12]
