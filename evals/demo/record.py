"""Record the demonstration anew: `python -m evals.demo.record --out DIR [--only ID ...]`.

Performs the scripts in headless Chromium against the help desk and writes DIR/trajectories.jsonl and
DIR/screenshots/. Needs Debian's chromium and the extra `record`.
"""

import argparse
import io
import os
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from PIL import Image

from evals.demo.app.server import DeskServer, serving
from evals.demo.app.web import COOKIE
from evals.demo.app.world import open_world
from evals.demo.browser import HOST, BrowserMissingError, Tab, View, chromium, tab
from evals.demo.script import Script, Step, load_scripts

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DOMAIN = "helpdesk"
COLOURS = 64


@dataclass(frozen=True, slots=True)
class Recording:
    """One trajectory and the screenshots it names, by path below the data root."""

    row: dict[str, Any]
    screenshots: dict[str, bytes]


def record(only: Collection[str] | None = None) -> Iterator[Recording]:
    """Perform the scripts and yield their recordings in order.

    A day's scripts share one world, so those before a wanted one are performed as well, but not yielded.
    `only` names trajectory ids; None means all. Raises BrowserMissingError; KeyError for an unknown id.
    """
    scripts = load_scripts()
    wanted = {script.trajectory_id for script in scripts} if only is None else set(only)
    if unknown := wanted - {script.trajectory_id for script in scripts}:
        raise KeyError(f"no script has the trajectory id {', '.join(sorted(unknown))}")
    for day, group in groupby(scripts, key=lambda script: script.day):
        due = list(group)
        while due and due[-1].trajectory_id not in wanted:
            due.pop()
        if not due:
            continue
        with serving(open_world(day)) as server, chromium(server.port) as browser:
            for script in due:
                recording = perform(script, server, browser)
                if script.trajectory_id in wanted:
                    yield recording


def perform(script: Script, server: DeskServer, browser: "Browser") -> Recording:
    """Run one script in a window of its own and keep what it saw and did. Time only moves forward."""
    world = server.desk.world
    world.now = max(world.now, world.now.replace(hour=script.at.hour, minute=script.at.minute))
    with tab(browser, session_of(script, server)) as window:
        window.open(script.start)
        states, screenshots = [], {}
        for index, step in enumerate(script.steps):
            view = window.look()
            number = view.number_of(step.role, step.name) if step.role else None
            path = f"screenshots/{script.trajectory_id}/{index}.png"
            screenshots[path] = shrink(window.screenshot())
            states.append(state(index, view, step, number, path))
            act(window, step, number)
    row = {
        "id": script.trajectory_id,
        "domain": DOMAIN,
        "goal": script.goal,
        "start_url": HOST + script.start,
        "outcome": script.outcome,
        "states": states,
    }
    return Recording(row, screenshots)


def session_of(script: Script, server: DeskServer) -> tuple[str, str] | None:
    """The cookie of a user who was logged in before the recording began."""
    if not script.user:
        return None
    desk = server.desk
    header = desk.log_in(desk.world.users[script.user])[1]
    return COOKIE, header.partition(";")[0].removeprefix(f"{COOKIE}=")


def state(index: int, view: View, step: Step, number: int | None, screenshot: str) -> dict[str, Any]:
    return {
        "state_index": index,
        "url": view.url,
        "action": action(step, number),
        "thought": step.thought or None,
        "accessibility_tree": view.tree,
        "screenshot": screenshot,
    }


def action(step: Step, number: int | None) -> str | None:
    """The step in the words of the recording; None for an agent that stopped."""
    target = repr(str(number))
    match step.verb:
        case "click":
            return f"click({target})"
        case "fill":
            return f"fill({target}, {step.value!r})"
        case "select":
            return f"select_option({target}, {step.value!r})"
        case "press":
            return f"press({target}, {step.value!r})"
        case "goto":
            return f"goto({HOST + step.value!r})"
        case "back":
            return "go_back()"
        case "scroll":
            return f"scroll(0, {int(step.value)})"
        case "say":
            return f"send_msg_to_user({step.value!r})"
        case "stop":
            return None


def act(window: Tab, step: Step, number: int | None) -> None:
    on_element: dict[str, Callable[[int, str], None]] = {
        "click": lambda element, _: window.click(element),
        "fill": window.fill,
        "select": window.select,
        "press": window.press,
    }
    if number is not None:
        on_element[step.verb](number, step.value)
    elif step.verb == "goto":
        window.open(step.value)
    elif step.verb == "back":
        window.back()
    elif step.verb == "scroll":
        window.scroll(int(step.value))


def shrink(png: bytes) -> bytes:
    """The same picture in its commonest colours, at half the size. Flat colours stay exact."""
    with Image.open(io.BytesIO(png)) as image:
        pixels = np.asarray(image.convert("RGB"), dtype=np.int32)
    packed, places, counts = np.unique(pixels @ (65536, 256, 1), return_inverse=True, return_counts=True)
    colours = np.stack([packed >> 16, packed >> 8 & 255, packed & 255], axis=1)
    kept = colours[np.argsort(-counts, kind="stable")[:COLOURS]]
    nearest = ((colours[:, None, :] - kept[None, :, :]) ** 2).sum(axis=2).argmin(axis=1).astype(np.uint8)
    picture = Image.fromarray(nearest[places].reshape(pixels.shape[:2]))
    picture.putpalette(kept.astype(np.uint8).tobytes())
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    return out.getvalue()


def write(recordings: Iterator[Recording], out: Path) -> None:
    """Write a data root's trajectories and screenshots; trajectories.jsonl appears when all is there."""
    out.mkdir(parents=True, exist_ok=True)
    part = out / "trajectories.jsonl.part"
    with part.open("wb") as file:
        for recording in recordings:
            for path, png in recording.screenshots.items():
                target = out / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(png)
            file.write(orjson.dumps(recording.row, option=orjson.OPT_APPEND_NEWLINE))
            row = recording.row
            print(f"{row['id']}  {len(row['states']):2} states  {row['outcome']}  {row['goal'][:70]}")
        file.flush()
        os.fsync(file.fileno())
    part.replace(out / "trajectories.jsonl")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evals.demo.record", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="data root to write into")
    parser.add_argument("--only", nargs="+", metavar="ID", help="trajectory ids; all by default")
    options = parser.parse_args()
    try:
        write(record(options.only), options.out)
    except (BrowserMissingError, KeyError) as error:
        print(error.args[0], file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
