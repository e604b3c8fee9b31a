"""Builders of recordings in LongMemEval-V2 form: one record, one data root, one picture."""

import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from PIL import Image

Record = dict[str, Any]


def state(text: str = "RootWebArea 'Orders'", **fields: Any) -> Record:
    """A state in modern form."""
    return {
        "url": "http://shop.example/",
        "action": None,
        "thought": None,
        "accessibility_tree": text,
        **fields,
    }


def record(trajectory_id: str = "t1", *states: Record, **fields: Any) -> Record:
    """A trajectory in modern form; two plain states where none are given."""
    return {
        "id": trajectory_id,
        "domain": "web",
        "goal": "Export the orders",
        "start_url": "http://shop.example/start",
        "outcome": "success",
        "states": list(states) or [state(action="click('12')"), state("RootWebArea 'Exported'")],
        **fields,
    }


def write_root(root: Path, records: Iterable[Record | bytes]) -> Path:
    """A data root with these records, or raw lines, in trajectories.jsonl."""
    root.mkdir(parents=True, exist_ok=True)
    lines = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in records]
    (root / "trajectories.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
    return root


def picture(width: int = 20, height: int = 10, kind: str = "PNG", colour: int = 0) -> bytes:
    """A picture of one colour."""
    target = io.BytesIO()
    Image.new("RGB", (width, height), (colour, 120, 200)).save(target, kind)
    return target.getvalue()


def put(path: Path, content: bytes) -> Path:
    """Write a file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its content."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
