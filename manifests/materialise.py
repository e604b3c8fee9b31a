"""One trajectory to its folder: every file that the store keeps of it."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson

from .entry import entry_record, folder_size
from .files import make_folder, seal_folder, write_new
from .images import Image
from .linking import Linker
from .model import Convention, Trajectory
from .new_lines import new_lines
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


def write_folder(folder: Path, kept: Canonical, images: Path) -> None:
    """Write the folder of a trajectory; `images` is where the store keeps its pictures."""
    actions = annotated_actions(kept.trajectory, kept.convention)
    top = make_folder(os.fspath(folder))
    write_new("trajectory.json", kept.record, top)
    write_new("about.txt", about_file(kept.trajectory, kept.convention), top)
    write_new("new_lines", new_lines([state.text for state in kept.trajectory.states]), top)
    states = make_folder("states", top)
    for state in kept.trajectory.states:
        write_new(f"{state.index:04d}.txt", state_file(state, actions[state.index]), states)
    seal_folder(states)
    _write_screenshots(folder, top, kept.images, images)
    parts = _write_parts(top, kept, actions)
    record = entry_record(kept.trajectory, kept.digest, kept.convention, kept.images, folder_size(folder))
    write_new("entry.json", record, parts)
    seal_folder(parts)
    seal_folder(top)


def _write_screenshots(path: Path, top: int, images: Mapping[int, Image], store: Path) -> None:
    folder = make_folder("screenshots", top)
    linker = Linker()
    for index, image in images.items():
        linker.link(f"{store}/{image.name}", f"{path}/screenshots/{screenshot_name(index, image)}")
        if image.agent_name:
            linker.link(f"{store}/{image.agent_name}", f"{path}/screenshots/{index:04d}.agent.{image.agent}")
    seal_folder(folder)


def _write_parts(top: int, kept: Canonical, actions: list[str]) -> int:
    parts = make_folder("parts", top)
    write_new("states.tsv", state_rows(kept.slug, kept.trajectory, actions), parts)
    write_new("summary_concise.md", concise_piece(kept.slug, kept.trajectory), parts)
    write_new("summary_full.md", full_piece(kept.slug, kept.trajectory, actions), parts)
    return parts


def screenshot_name(index: int, image: Image) -> str:
    """The name of a state's original screenshot."""
    return f"{index:04d}.{image.extension}"
