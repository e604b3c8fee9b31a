"""Installed tool chains: one folder each, made once, mounted read-only.

    <root>/<name>-<version>-<digest>/
        chain.json   what it is (`ToolChain`)
        tools/       what is mounted

The digest covers the recipe, the files it brings and the platform, so that another recipe is another folder.
"""

import hashlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from runbook.agents.catalogue import FoundAdapter
from runbook.agents.target import Target

RECORD = "chain.json"
TOOLS_FOLDER = "tools"


class ToolChain(BaseModel):
    """What lies in a folder of tools."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    version: str
    """As the program itself says."""
    digest: str
    """Of recipe and platform."""
    recipe: str
    """Digest of the recipe alone."""
    machine: str
    python: str | None
    """Version of Python that its packages are for; None where it uses none of the sandbox's."""
    packages: dict[str, str]
    """Every package that was installed, and its version."""
    bytes: int
    seconds: float
    """How long the installation took."""
    installed_at: datetime
    adapter_file: str = ""
    """The file of an adapter of the user's own, absolute; "" for one that has a name."""

    def fits(self, target: Target) -> bool:
        """Whether it can run there."""
        return self.machine == target.machine and self.python in (None, target.python_version)


def recipe_digest(found: FoundAdapter, version: str) -> str:
    """Of everything that decides what is installed, the platform aside."""
    install = found.adapter.install.model_dump(exclude={"version"})
    sha = hashlib.sha256(orjson.dumps([version, install], option=orjson.OPT_SORT_KEYS))
    for name, data in sorted(found.files.items()):
        sha.update(f"\0{name}\0{len(data)}\0".encode() + data)
    return sha.hexdigest()


def chain_digest(found: FoundAdapter, version: str, target: Target) -> str:
    """Of the recipe and what it is made for: 12 hex digits, the end of the folder's name."""
    python = target.python_version if needs_python(found) else ""
    text = f"{recipe_digest(found, version)} {target.machine} {python}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def chain_folder(root: Path, found: FoundAdapter, version: str, target: Target) -> Path:
    """Where that tool chain is, or will be."""
    return root / f"{found.adapter.name}-{version}-{chain_digest(found, version, target)}"


def needs_python(found: FoundAdapter) -> bool:
    """Whether its packages are for one version of Python."""
    return bool(found.adapter.install.pypi)


def installed(root: Path, name: str | None = None) -> Iterator[tuple[Path, ToolChain]]:
    """The folders of all tool chains, of one agent where `name` is given; oldest first."""
    found = []
    for record in root.glob(f"*/{RECORD}"):
        try:
            chain = ToolChain.model_validate_json(record.read_bytes())
        except (OSError, ValidationError):
            continue  # being removed, or of another version of this program: to be installed again
        if name in (None, chain.name):
            found.append((record.parent, chain))
    yield from sorted(found, key=lambda one: one[1].installed_at)


def find_installed(root: Path, found: FoundAdapter, version: str) -> list[tuple[Path, ToolChain]]:
    """The tool chains of exactly this recipe and version, whatever they are made for; oldest first."""
    recipe = recipe_digest(found, version)
    return [one for one in installed(root, found.adapter.name) if one[1].recipe == recipe]
