"""The image of the docker back end, built once per content."""

import hashlib
import io
import os
import tarfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from docker import DockerClient
from docker.errors import APIError, BuildError, DockerException, ImageNotFound

from sandbox.accounts import Account
from sandbox.protocol import SandboxError

REPOSITORY = "agent-runbook-sandbox"
LABEL, LABEL_VALUE = "agent-runbook.image", "sandbox"
DEFAULT_BASE = "debian:bookworm-slim"
BASE_VARIABLE = "RUNBOOK_BASE_IMAGE"
PYTHON = "/opt/python3"
INIT = "/opt/init.py"
HELPERS = "/opt/helpers"

_HERE = Path(__file__).parent
_DOCKERFILE = _HERE / "image" / "Dockerfile"
_INIT_SOURCE = _HERE / "init.py"
_LEFT_OUT = {"__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"}


def base_image_name(chosen: str | None) -> str:
    """The base image: as chosen on the command line, else RUNBOOK_BASE_IMAGE, else Debian."""
    return chosen or os.environ.get(BASE_VARIABLE) or DEFAULT_BASE


def ensure_image(
    engine: DockerClient,
    folders: Mapping[str, Path],
    base_image: str | None,
    progress: Callable[[str], None] | None = None,
    *,
    account: Account | None = None,
) -> str:
    """Return the tag of an image that holds `folders` at /opt/helpers/<name>; build it if there is none.

    The tag is a digest of everything that goes in: Dockerfile, init, folders, account names and the id of the
    base image. Two processes may build it at once; both end with the same content under the same tag.

    Raises:
        SandboxError: the base image is missing and cannot be pulled, or the build fails.
    """
    base = base_image_name(base_image)
    try:
        base_id = _base_id(engine, base, progress)
        files = dict(_context_files(folders, account or Account.of_caller()))
        tag = f"{REPOSITORY}:{_digest(files, base_id)}"
        if not _exists(engine, tag):
            _build(engine, tag, files, base, progress)
    except DockerException as error:
        raise SandboxError(f"the docker engine cannot provide the sandbox image: {error}") from error
    return tag


def find_image(
    engine: DockerClient,
    folders: Mapping[str, Path],
    base_image: str | None,
    *,
    account: Account | None = None,
) -> str | None:
    """The tag that `ensure_image` would return, if that image exists; pulls and builds nothing."""
    try:
        base_id = str(engine.images.get(base_image_name(base_image)).id)
    except ImageNotFound:
        return None
    files = dict(_context_files(folders, account or Account.of_caller()))
    tag = f"{REPOSITORY}:{_digest(files, base_id)}"
    return tag if _exists(engine, tag) else None


def _base_id(engine: DockerClient, base: str, progress: Callable[[str], None] | None) -> str:
    try:
        image = engine.images.get(base)
    except ImageNotFound:
        if progress:
            progress(f"pulling {base}")
        try:
            image = engine.images.pull(*_name_and_tag(base))
        except APIError as error:
            raise SandboxError(
                f"the base image {base} is missing and cannot be pulled: {error.explanation}",
                mend="name one that is there with --base-image IMAGE or RUNBOOK_BASE_IMAGE=IMAGE",
            ) from error
    volumes = image.attrs.get("Config", {}).get("Volumes")
    if volumes:
        raise SandboxError(
            f"the base image {base} declares volumes ({', '.join(sorted(volumes))}), which stay writable",
            mend="choose another with --base-image IMAGE or RUNBOOK_BASE_IMAGE=IMAGE",
        )
    return str(image.id)


def _name_and_tag(image: str) -> tuple[str, str | None]:
    """Split so that a name without tag means :latest, as everywhere, and not every tag there is."""
    last = image.rpartition("/")[2]
    return (image, None) if "@" in last or ":" in last else (image, "latest")


def _context_files(folders: Mapping[str, Path], account: Account) -> Iterator[tuple[str, bytes]]:
    """Everything that goes into the image, by its path in the build context."""
    yield "Dockerfile", _DOCKERFILE.read_bytes()
    yield f"root{INIT}", _INIT_SOURCE.read_bytes()
    yield "root/etc/passwd", account.passwd.encode("ascii")
    yield "root/etc/group", account.group.encode("ascii")
    for name, folder in sorted(folders.items()):
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder)
            if path.is_file() and not _LEFT_OUT.intersection(inside.parts) and path.suffix != ".pyc":
                yield f"root{HELPERS}/{name}/{inside.as_posix()}", path.read_bytes()


def _digest(files: Mapping[str, bytes], base_id: str) -> str:
    sha = hashlib.sha256(base_id.encode())
    for name, data in sorted(files.items()):
        sha.update(f"\0{name}\0{len(data)}\0".encode())
        sha.update(data)
    return sha.hexdigest()[:24]


def _exists(engine: DockerClient, tag: str) -> bool:
    try:
        engine.images.get(tag)
    except ImageNotFound:
        return False
    return True


def _build(
    engine: DockerClient,
    tag: str,
    files: Mapping[str, bytes],
    base: str,
    progress: Callable[[str], None] | None,
) -> None:
    if progress:
        progress(f"building the sandbox image from {base}")
    try:
        engine.images.build(
            fileobj=_tar(files),
            custom_context=True,
            tag=tag,
            buildargs={"BASE_IMAGE": base},
            labels={LABEL: LABEL_VALUE},
            rm=True,
            forcerm=True,
        )
    except BuildError as error:
        said = "".join(str(line.get("stream") or line.get("error") or "") for line in error.build_log)
        raise SandboxError(
            f"the sandbox image cannot be built from {base}: {error.msg}\n{said[-2000:].strip()}",
            mend="use a base with python3, ripgrep and ca-certificates (or apt-get and a network):"
            " --base-image IMAGE or RUNBOOK_BASE_IMAGE=IMAGE",
        ) from error


def _tar(files: Mapping[str, bytes]) -> io.BytesIO:
    """A build context whose bytes depend on nothing but names and contents."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        helpers = tarfile.TarInfo(f"root{HELPERS}")
        helpers.type, helpers.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(helpers)
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    packed.seek(0)
    return packed
