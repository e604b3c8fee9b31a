"""The scripted model server of a checkout, as a process of ours."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import runbook

_CHECKOUT = Path(runbook.__file__).resolve().parent.parent
_END_SECONDS = 5.0


class NoModelServerError(Exception):
    """There is no scripted model server; the message says how to come by one."""


@contextmanager
def scripted_model(*, log: Path | None = None, delay: float | None = None) -> Iterator[str]:
    """Start `python -m tests.scripted_model`; its URL, such as "http://127.0.0.1:40123", without "/v1".

    Args:
        log: a folder that receives requests.jsonl, one line a request.
        delay: seconds between two events of a stream.

    Raises:
        NoModelServerError: this is no checkout, or the server does not start.
    """
    if not (_CHECKOUT / "tests" / "scripted_model" / "__main__.py").is_file():
        raise NoModelServerError(
            "the scripted model server is part of the tests: use a checkout, or name a server with --server"
        )
    command = [sys.executable, "-m", "tests.scripted_model", "--port", "0"]
    command += ["--log", str(log)] if log else []
    command += ["--delay", str(delay)] if delay is not None else []
    with subprocess.Popen(
        command, cwd=_CHECKOUT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            yield _address(process)
        finally:
            process.terminate()
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _address(process: "subprocess.Popen[bytes]") -> str:
    assert process.stdout and process.stderr
    line = process.stdout.readline()
    if not line:
        said = process.stderr.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise NoModelServerError(f"the scripted model server does not start: {said}")
    return str(json.loads(line)["url"])
