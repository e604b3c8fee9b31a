"""One session as a trajectory: its name, its goal, and the facts that its first state begins with."""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath, PurePosixPath, PureWindowsPath

from ..model import Trajectory
from .conversation import Conversation, folder_url
from .texts import Scrubber

_GOAL = 2000  # characters; the request stands whole in the state where it was made
_PROJECT = 20  # characters of a project's name in an id
_TAIL = 8  # characters of a session's id in an id
_NO_GOAL = "(no request was recorded)"
_UNFIT = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class Source:
    """Who recorded: the agent's name and version, the session, and the subagent if it was one."""

    domain: str  # claude-code, codex
    agent: str  # as people call it
    version: str
    session: str
    subagent: str = ""


@dataclass(frozen=True, slots=True)
class Recording:
    """A trajectory, and the marks of the first and last message in it, by which repetitions are known."""

    trajectory: Trajectory
    first: int
    last: int


def recorded(
    source: Source, conversation: Conversation, goal: str, title: str, scrubber: Scrubber
) -> Trajectory | None:
    """The trajectory of a conversation; None where the agent did nothing and nobody asked for anything."""
    if not conversation.acted and not goal:
        return None
    states = conversation.states(_head(source, conversation, title), scrubber)
    # All that is scrubbed here stands in the states too.
    folder = scrubber.scrub_again(conversation.folder)
    return Trajectory(
        id=scrubber.scrub_again(_name(source, folder, conversation.began)),
        domain=source.domain,
        goal=_shortened(scrubber.scrub_again(goal or title)) or _NO_GOAL,
        start_url=folder_url(folder),
        outcome=None,
        states=states,
    )


def mark(message: str) -> int:
    """A number for a message that stays the same in other processes."""
    return int.from_bytes(hashlib.blake2b(message.encode("utf-8", "replace"), digest_size=8).digest())


def without_blocks(text: str, tag: str) -> str:
    """`text` without its `<tag>...</tag>` parts."""
    begin, end = f"<{tag}>", f"</{tag}>"
    kept: list[str] = []
    while begin in text and end in text:
        before, _, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not closed:
            break
        kept.append(before)
        text = after
    return "".join([*kept, text]).strip()


def _name(source: Source, folder: str, began: datetime | None) -> str:
    """An id that sorts by project and date, and that few letters tell apart: shop-2026-11-29-9f3c01aa."""
    parts = [
        _UNFIT.sub("-", _project(folder))[:_PROJECT].strip("-") or source.domain,
        began.date().isoformat() if began else "undated",
        _UNFIT.sub("", source.session)[-_TAIL:],
        _UNFIT.sub("", source.subagent)[:_TAIL],
    ]
    return "-".join(part for part in parts if part)


def _project(folder: str) -> str:
    path: PurePath = PureWindowsPath(folder) if "\\" in folder else PurePosixPath(folder)
    return path.name


def _head(source: Source, conversation: Conversation, title: str) -> str:
    began = conversation.began
    facts = {
        "Session": f"{source.agent} {source.version}".rstrip() + f", {source.session}",
        "Subagent": source.subagent,
        "Began": f"{began:%Y-%m-%d %H:%M} UTC, {began:%A}" if began else "",
        "Folder": conversation.folder,
        "Git branch": conversation.branch,
        "Title": title,
    }
    return "\n".join(f"{name}: {value}" for name, value in facts.items() if value)


def _shortened(text: str) -> str:
    return text if len(text) <= _GOAL else text[: _GOAL - 1] + "…"
