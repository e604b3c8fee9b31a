"""Sandbox images that nobody needs any more: each change of what goes in makes a new one."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from docker import DockerClient
from docker.errors import APIError, DockerException, NotFound

from sandbox.image import LABEL, LABEL_VALUE, REPOSITORY
from sandbox.protocol import SandboxError

FRESH = timedelta(hours=1)
"""A younger image may be about to be used by the process that built it."""
_CONFLICT = 409


@dataclass(frozen=True, slots=True)
class StaleImage:
    """An image of ours that no container uses. `size` is in bytes, layers shared with others included."""

    id: str
    tags: tuple[str, ...]
    size: int


def stale_images(
    engine: DockerClient, keep: Collection[str], *, fresh: timedelta = FRESH
) -> list[StaleImage]:
    """The sandbox images that are not in use, not young, and not among the tags to `keep`.

    Raises:
        SandboxError: the engine does not answer.
    """
    try:
        images = engine.api.images(filters={"label": f"{LABEL}={LABEL_VALUE}"})
        used = {str(one.get("ImageID")) for one in engine.api.containers(all=True)}
    except DockerException as error:
        raise SandboxError(f"the docker engine does not list images: {error}") from error
    last = (datetime.now(UTC) - fresh).timestamp()
    found = []
    for image in images:
        tags = tuple(tag for tag in image.get("RepoTags") or () if tag != "<none>:<none>")
        ours = all(tag.startswith(f"{REPOSITORY}:") for tag in tags)
        if ours and image["Id"] not in used and image["Created"] < last and not {*keep}.intersection(tags):
            found.append(StaleImage(image["Id"], tags, int(image.get("Size", 0))))
    return found


def remove_image(engine: DockerClient, image: StaleImage) -> bool:
    """Remove an image; False where it came into use meanwhile.

    Raises:
        SandboxError: the engine fails.
    """
    try:
        for name in image.tags or (image.id,):
            engine.api.remove_image(name)
    except NotFound:
        return True
    except APIError as error:
        if error.status_code == _CONFLICT:
            return False
        raise SandboxError(f"cannot remove the image {image.id[:19]}: {error.explanation}") from error
    return True
