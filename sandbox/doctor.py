"""Is this machine fit to hold sandboxes? Each check says what it saw and, where it fails, the mend."""

import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from docker import DockerClient
from docker.errors import ContainerError, ImageNotFound
from docker.types import Mount as EngineMount

from sandbox.docker_engine import connect
from sandbox.docker_exec import ENGINE_ERRORS
from sandbox.image import base_image_name, find_image
from sandbox.image_leftovers import stale_images
from sandbox.protocol import MIB, SandboxError
from sandbox.reaper import Owner, find_leftovers

_CANARY = "/canary"
_LEAST_FREE_BYTES = 2048 * MIB


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; `mend` is what to do about it, "" when all is well."""

    name: str
    ok: bool
    detail: str
    mend: str = ""


def docker_checks(
    folders: Mapping[str, Path], base_image: str | None, workspaces: Path | None = None
) -> list[Check]:
    """Engine, image, canary bind mount, disk space, leftovers. Builds, pulls and removes nothing.

    `workspaces` is where workspaces will be made (default: the system's folder for temporary files).
    """
    try:
        engine = connect(seconds=10)
    except SandboxError as error:
        return [Check("docker engine", ok=False, detail=_without_mend(error), mend=error.mend)]
    folder = workspaces or Path(tempfile.gettempdir())
    try:
        return [
            _guarded("docker engine", lambda: _engine(engine)),
            _guarded("docker image", lambda: _image(engine, folders, base_image)),
            _guarded("docker bind mount", lambda: _bind_mount(engine, folders, base_image, folder)),
            _guarded("docker disk", lambda: _disk(engine, folder)),
            _guarded("docker leftovers", lambda: _leftovers(engine, folders, base_image)),
        ]
    finally:
        engine.close()


def can_bind_mount(engine: DockerClient, image: str, folder: Path | None = None) -> bool:
    """Whether the engine shares this host's file system: a container must read a canary made in `folder`.

    Raises:
        SandboxError: the engine fails otherwise.
    """
    with tempfile.TemporaryDirectory(dir=folder) as made, Owner.open() as owner:
        canary = Path(made) / "canary"
        token = secrets.token_hex(16)
        canary.write_text(token)
        Path(made).chmod(0o755)
        try:
            engine.containers.run(
                image,
                entrypoint=["grep", "-qx", token],
                command=[f"{_CANARY}/{canary.name}"],
                mounts=[EngineMount(_CANARY, made, type="bind", read_only=True)],
                network_mode="none",
                labels=owner.labels,
                use_config_proxy=False,
                remove=True,
            )
        except ContainerError:
            return False
        except ENGINE_ERRORS as error:
            if "bind source path does not exist" in str(error):
                return False
            raise SandboxError(f"the docker engine cannot run a container: {error}") from error
    return True


def _without_mend(error: SandboxError) -> str:
    return str(error).removesuffix(f" ({error.mend})")


def _guarded(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except (SandboxError, *ENGINE_ERRORS) as error:
        return Check(name, ok=False, detail=str(error), mend="look at the log of the docker engine")


def _engine(engine: DockerClient) -> Check:
    info = engine.info()
    detail = (
        f"{info.get('ServerVersion')}, {info.get('NCPU')} CPUs, {info.get('MemTotal', 0) // MIB} MiB,"
        f" cgroup version {info.get('CgroupVersion', '1')}, {info.get('Driver')}"
    )
    unenforced = [name for name in ("MemoryLimit", "PidsLimit", "CpuCfsQuota") if info.get(name) is False]
    if unenforced:
        return Check(
            "docker engine",
            ok=False,
            detail=f"{detail}; cannot enforce {', '.join(unenforced)}",
            mend="give the engine the memory, pids and cpu control groups (rootless: delegate them)",
        )
    return Check("docker engine", ok=True, detail=detail)


def _image(engine: DockerClient, folders: Mapping[str, Path], base_image: str | None) -> Check:
    base = base_image_name(base_image)
    if tag := find_image(engine, folders, base_image):
        return Check("docker image", ok=True, detail=f"{tag} from {base}")
    if _has_image(engine, base):
        return Check("docker image", ok=True, detail=f"not built yet; {base} is there to build it from")
    return Check(
        "docker image",
        ok=False,
        detail=f"neither the sandbox image nor its base {base} is there",
        mend=f"docker pull {base}, or name another with --base-image IMAGE or RUNBOOK_BASE_IMAGE=IMAGE",
    )


def _bind_mount(
    engine: DockerClient, folders: Mapping[str, Path], base_image: str | None, folder: Path
) -> Check:
    name = "docker bind mount"
    image = find_image(engine, folders, base_image) or base_image_name(base_image)
    if not _has_image(engine, image):
        return Check(name, ok=False, detail="not tried: no image to start", mend="see docker image")
    if can_bind_mount(engine, image, folder):
        return Check(name, ok=True, detail=f"a container reads what this host writes in {folder}")
    return Check(
        name,
        ok=False,
        detail=f"a container does not see {folder} of this host",
        mend="use an engine on this host, set TMPDIR to a folder it shares, or choose --sandbox bubblewrap",
    )


def _disk(engine: DockerClient, folder: Path) -> Check:
    """Free space where workspaces lie and, if it can be seen from here, where the engine keeps containers."""
    places = {folder}
    root = Path(str(engine.info().get("DockerRootDir", "")))
    if root.is_absolute() and os.access(root, os.F_OK):
        places.add(root)
    free = {place: shutil.disk_usage(place).free for place in sorted(places)}
    detail = ", ".join(f"{size // MIB} MiB free at {place}" for place, size in free.items())
    ok = min(free.values()) >= _LEAST_FREE_BYTES
    mend = "" if ok else f"free {_LEAST_FREE_BYTES // MIB} MiB: docker system prune, runbook store gc"
    return Check("docker disk", ok, detail, mend)


def _leftovers(engine: DockerClient, folders: Mapping[str, Path], base_image: str | None) -> Check:
    """Containers of dead processes are a fault; outdated images only take room."""
    name, mend = "docker leftovers", "runbook sandbox gc"
    current = find_image(engine, folders, base_image)
    images = stale_images(engine, [current] if current else [])
    outdated = f"outdated images: {len(images)} ({mend} removes them)" if images else ""
    left = len(find_leftovers(engine))
    if not left:
        return Check(name, ok=True, detail=outdated or "none")
    containers = f"containers of dead processes: {left}"
    return Check(name, ok=False, detail="; ".join(filter(None, [containers, outdated])), mend=mend)


def _has_image(engine: DockerClient, name: str) -> bool:
    try:
        engine.images.get(name)
    except ImageNotFound:
        return False
    return True
