"""Faults of recorded trajectories: form of trees and actions, convention, screenshots."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from PIL import Image, UnidentifiedImageError

from evals.demo.browser import HOST, VIEWPORT

Trajectories: TypeAlias = Mapping[str, dict[str, Any]]
"""Rows of trajectories.jsonl by trajectory id."""

OPAQUE = re.compile(r"[0-9a-f]{8,16}")
ON_ELEMENT = re.compile(r"(?:click|fill|select_option|press)\('(\d+)'.*", re.DOTALL)
ELSEWHERE = re.compile(r"goto\('.*'\)|go_back\(\)|scroll\(0, -?\d+\)|send_msg_to_user\(.*\)", re.DOTALL)


def recording_faults(root: Path, rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    if len({row["id"] for row in rows}) != len(rows):
        yield "trajectories.jsonl: ids occur twice"
    named = set()
    for row in rows:
        if not OPAQUE.fullmatch(row["id"]):
            yield f"trajectory {row['id']}: the id says something; use a hash"
        for index, state in enumerate(row["states"]):
            named.add(root / state["screenshot"])
            place = f"trajectory {row['id']}, state {index}"
            last = index == len(row["states"]) - 1
            yield from (f"{place}: {fault}" for fault in state_faults(root, state, last=last))
    for file in sorted(set((root / "screenshots").rglob("*.png")) - named):
        yield f"{file.relative_to(root)}: no state names this screenshot"


def state_faults(root: Path, state: dict[str, Any], *, last: bool) -> Iterator[str]:
    tree, action = state["accessibility_tree"], state["action"]
    if not tree.startswith("RootWebArea "):
        yield "the tree does not begin with RootWebArea"
    if not state["url"].startswith(f"{HOST}/"):
        yield f"the url is not below {HOST}"
    if last != (action is None or action.startswith("send_msg_to_user(")):
        yield "an action of None or send_msg_to_user must come last, and only there"
    elif action is not None:
        element = ON_ELEMENT.fullmatch(action)
        if element and f"[{element[1]}] " not in tree:
            yield f"{action}: the tree has no element [{element[1]}]"
        elif not element and not ELSEWHERE.fullmatch(action):
            yield f"{action}: no action of the recorder"
    yield from screenshot_faults(root / state["screenshot"])


def screenshot_faults(path: Path) -> Iterator[str]:
    try:
        with Image.open(path, formats=("PNG",)) as image:
            if image.size != VIEWPORT:
                yield f"the screenshot has {image.size} pixels, not {VIEWPORT}"
            image.verify()
    except (OSError, UnidentifiedImageError, SyntaxError) as error:
        yield f"the screenshot cannot be read: {error}"
