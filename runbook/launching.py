"""How an agent's command is started where it needs files in its HOME or a way to its model."""

import json
from dataclasses import replace

from runbook.agents.protocol import Invocation

MODEL_FOLDER = "/run/model"
SOCKET = "model.sock"
PORT = 8399
"""Loopback port inside the sandbox; each sandbox has a network of its own, so one number serves all."""


def base_url(prefix: str) -> str:
    """Where an agent inside reaches the line with that route prefix."""
    return f"http://127.0.0.1:{PORT}{prefix}"


def launched(invocation: Invocation, *, python: str, helpers: str, socket: str | None) -> Invocation:
    """What starts `invocation`: itself, or `helpers/launch` where that has a task.

    The order for `launch` goes before the standard input: a prompt may be longer than an argument or an
    environment variable can be.
    """
    if socket is None and not invocation.home_files:
        return invocation
    task: dict[str, object] = {
        "home": dict(invocation.home_files),
        "port": PORT,
        "stdin": bool(invocation.stdin),
    }
    if socket is not None:
        task["socket"] = socket
    order = json.dumps(task).encode()
    return replace(
        invocation,
        argv=(python, "-I", "-S", f"{helpers}/launch", "--", *invocation.argv),
        stdin=b"%d\n%b%b" % (len(order), order, invocation.stdin),
        home_files={},
    )
