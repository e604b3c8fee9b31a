"""A program that holds a sandbox, to be interrupted or killed: BACKEND WORKSPACE HAYSTACK MARKER SECONDS."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from sandbox.protocol import Limits, Mount, Sandbox, SandboxSpec


@contextlib.contextmanager
def open_backend(name: str) -> Iterator[Sandbox]:
    if name == "docker":
        from sandbox.docker_engine import DockerSandbox, connect
        from sandbox.image import ensure_image
        from sandbox.reaper import Owner

        engine = connect()
        with Owner.open() as owner, DockerSandbox(engine, ensure_image(engine, {}, None), owner) as sandbox:
            yield sandbox
    elif name == "bubblewrap":
        from sandbox.bubblewrap import BubblewrapSandbox

        yield BubblewrapSandbox()
    else:
        from sandbox.process import ProcessSandbox

        yield ProcessSandbox()


def main(name: str, workspace: str, haystack: str, marker: str, seconds: str) -> int:
    mounts = (Mount(Path(haystack), "haystack"),)
    spec = SandboxSpec(
        Path(workspace), Limits(wall_seconds=float(seconds)), mounts=mounts, labels={"run": "driven"}
    )
    with open_backend(name) as backend:
        running = backend.start(spec)
        try:
            script = f"touch made; setsid sleep {marker} & echo up; sleep {marker}"
            for chunk in running.exec(["sh", "-c", script]):
                sys.stdout.buffer.write(chunk.data)
                sys.stdout.flush()
        except KeyboardInterrupt:
            return 130
        finally:
            running.collect()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
