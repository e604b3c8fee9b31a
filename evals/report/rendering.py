"""From content to HTML. Whatever comes from data is made visible and escaped in one place, and stays text."""

import base64
import hashlib
import os
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from evals.report.content import Content, Page
from evals.report.formats import FORMATS
from evals.report.frontier_drawing import draw
from evals.report.overview import STAGES, kind_of
from evals.report.texts import Clean, Excerpt, Texts
from runbook.outcomes import Outcome

_FRONTIER_SIZES = ((860, 380), (340, 380))
_BETWEEN_TAGS = re.compile(r">[ ]*\n\s*<")
_EMBEDDED = "data:"
_FILES = "data: file: 'self'"


class Renderer:
    """Renders the pages of one report."""

    def __init__(self, texts: Texts, *, beside: Path | None, version: str) -> None:
        """`beside`: the folder that links to a run's files start from; None makes none."""
        self._beside = None if texts.redacted else beside
        self._script = _asset("script.js")
        self._style = _asset("style.css")
        self._templates = Environment(
            loader=PackageLoader("evals.report"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=_inert(texts),
        )
        self._templates.filters |= FORMATS
        self._templates.filters["short"] = lambda text, most: _ellipsed(texts.excerpt(text, most))
        self._templates.globals |= {
            "kind_of": _kind_of,
            "link": self._link,
            "version": version,
            "stages": STAGES,
        }

    def report(self, content: Content) -> str:
        """The whole report as one file that needs nothing beside it."""
        return self._rendered("report.html.j2", content, _EMBEDDED, whole=False)

    def index(self, content: Content) -> str:
        """The head of a report in a folder, with a link to each question's file."""
        return self._rendered("report.html.j2", content, _EMBEDDED, whole=True)

    def question(self, content: Content, page: Page) -> str:
        """One question's file in such a folder."""
        return self._rendered("question_page.html.j2", content, _FILES, whole=True, page=page)

    def _rendered(self, template: str, content: Content, images: str, *, whole: bool, **more: Any) -> str:
        drawings = [draw(content.frontier, *size) for size in _FRONTIER_SIZES] if content.frontier else []
        text = self._templates.get_template(template).render(
            content=content,
            drawings=drawings,
            policy=Markup(self._policy(images)),
            script=Markup(self._script),
            style=Markup(self._style),
            whole=whole,
            **more,
        )
        # Between tags there is no text of anybody's, only how the templates are laid out.
        return _BETWEEN_TAGS.sub("><", text.encode("utf-8", "replace").decode())

    def _policy(self, images: str) -> str:
        """What the page may do: show its own pictures, run its own script, and reach nothing."""
        digest = base64.b64encode(hashlib.sha256(self._script.encode()).digest()).decode()
        return (
            f"default-src 'none'; img-src {images}; style-src 'unsafe-inline'; "
            f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
        )

    def _link(self, content: Content, letter: str, place: str) -> str:
        """The address of a file of a run; `place` is made of names of ours, never of data."""
        if self._beside is None:
            return ""
        run = next(run for run in content.runs if run.letter == letter)
        return quote(os.path.relpath(run.folder.path.resolve() / place, self._beside))


def _ellipsed(excerpt: Excerpt) -> Clean:
    return Clean(f"{excerpt.text}…") if excerpt.left_out else excerpt.text


def _inert(texts: Texts) -> Callable[[Any], Any]:
    """What every value goes through on its way into a page; only our own markup goes as it is."""

    def finalize(value: Any) -> Any:
        return value if isinstance(value, Markup) else texts.clean(str(value))

    return finalize


def _kind_of(outcome: str) -> str:
    return kind_of(Outcome(outcome)) if outcome in Outcome.__members__.values() else "open"


def _asset(name: str) -> str:
    return files("evals.report").joinpath("templates", name).read_text("utf-8")
