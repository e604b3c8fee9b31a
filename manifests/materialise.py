"""One trajectory to its folder: every file that the store keeps of it."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import orjson

from .entry import entry_record
from .files import make_folder, seal_folder, write_new
from .images import Image
from .linking import Linker
from .model import Convention, State, Trajectory
from .slugs import slug_of
from .state_files import about_file, annotated_actions, state_file
from .summaries import concise_piece, full_piece
from .tables import state_rows


@dataclass(frozen=True, slots=True)
class Canonical:
    """A trajectory as it is kept: the bytes of trajectory.json, their digest, and the folder's name."""

    trajectory: Trajectory
    convention: Convention
    images: Mapping[int, Image]
    record: bytes
    digest: str
    slug: str


def canonical(trajectory: Trajectory, convention: Convention, images: Mapping[int, Image]) -> Canonical:
    """The canonical form of a trajectory. Everything that is written of it follows from these bytes."""
    record = orjson.dumps(
        {
            "id": trajectory.id,
            "domain": trajectory.domain,
            "goal": trajectory.goal,
            "outcome": trajectory.outcome,
            "start_url": trajectory.start_url,
            "action_convention": convention,
            "states": [
                {
                    "state_index": state.index,
                    "step": state.step,
                    "url": state.url,
                    "action": state.action or None,
                    "thought": state.thought or None,
                    "accessibility_tree": state.text,
                    "screenshot": f"screenshots/{screenshot_name(state.index, image)}" if image else None,
                    "screenshot_sha256": image.sha256 if image else None,
                }
                for state in trajectory.states
                for image in (images.get(state.index),)
            ],
        }
    )
    digest = hashlib.sha256(record).hexdigest()
    return Canonical(trajectory, convention, images, record, digest, slug_of(trajectory.id, digest))


def recorded(record: bytes, images: Mapping[int, Image]) -> Canonical:
    """Read back the bytes of trajectory.json. Raises ValueError, TypeError or KeyError for what is none."""
    raw = orjson.loads(record)
    states = [
        State(
            index=state["state_index"],
            step=state["step"],
            url=state["url"],
            action=state["action"] or "",
            thought=state["thought"] or "",
            text=state["accessibility_tree"],
            screenshot=state["screenshot"],
        )
        for state in raw["states"]
    ]
    trajectory = Trajectory(raw["id"], raw["domain"], raw["goal"], raw["start_url"], raw["outcome"], states)
    return canonical(trajectory, Convention(raw["action_convention"]), images)


def texts(kept: Canonical) -> Iterator[tuple[str, str, bytes]]:
    """Every text file that follows from the record, as (folder, name, content); the entry's own left out."""
    trajectory, slug = kept.trajectory, kept.slug
    actions = annotated_actions(trajectory, kept.convention)
    yield "", "trajectory.json", kept.record
    yield "", "about.txt", about_file(trajectory, kept.convention)
    for state in trajectory.states:
        yield "states", f"{state.index:04d}.txt", state_file(state, actions[state.index])
    yield "parts", "states.tsv", state_rows(slug, trajectory, actions)
    yield "parts", "summary_concise.md", concise_piece(slug, trajectory)
    yield "parts", "summary_full.md", full_piece(slug, trajectory, actions)


def write_folder(folder: Path, kept: Canonical, images: Path) -> None:
    """Write the folder of a trajectory; `images` is where the store keeps its pictures."""
    top = make_folder(os.fspath(folder))
    folders = {"": top, **{name: make_folder(name, top) for name in ("states", "screenshots", "parts")}}
    size = 0
    for place, name, content in texts(kept):
        write_new(name, content, folders[place])
        size += len(content)
    linker = Linker()
    beside, stored = f"{folder}/screenshots", os.fspath(images)
    lengths: dict[str, int] = {}  # of pictures: a trajectory shows the same one many times
    for picture in pictures(kept.images):
        source = f"{stored}/{picture.source}"
        linker.link(source, f"{beside}/{picture.name}")
        if picture.source not in lengths:
            lengths[picture.source] = os.stat(source).st_size  # noqa: PTH116 - hot loop
        size += lengths[picture.source]
    record = entry_record(kept.trajectory, kept.digest, kept.convention, kept.images, size)
    write_new("entry.json", record, folders["parts"])
    for fd in reversed(folders.values()):
        seal_folder(fd)


class Picture(NamedTuple):
    """A file of a trajectory's screenshots: its name in the store's images and its name beside the states."""

    source: str
    name: str
    sha256: str
    small: bool


def pictures(images: Mapping[int, Image]) -> Iterator[Picture]:
    """Every picture of a trajectory."""
    for index, image in images.items():
        yield Picture(image.name, screenshot_name(index, image), image.sha256, small=False)
        if image.agent:
            name = f"{index:04d}.agent.{image.agent.extension}"
            yield Picture(image.agent_name, name, image.agent.sha256, small=True)


def screenshot_name(index: int, image: Image) -> str:
    """The name of a state's original screenshot."""
    return f"{index:04d}.{image.extension}"
