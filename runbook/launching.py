"""How an agent's command is started where it needs files in its HOME or a way to its model."""

import json

from runbook.agents.protocol import Invocation

MODEL_FOLDER = "/run/model"
SOCKET = "model.sock"
PORT = 8399
"""Loopback port inside the sandbox; each sandbox has a network of its own, so one number serves all."""


def base_url(prefix: str) -> str:
    """Where an agent inside reaches the line with that route prefix."""
    return f"http://127.0.0.1:{PORT}{prefix}"


def launched(
    invocation: Invocation, *, python: str, helpers: str, socket: str | None
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The command and environment that start `invocation`, through `helpers/launch` where that has a task."""
    env = dict(invocation.env)
    if socket is None and not invocation.home_files:
        return invocation.argv, env
    task: dict[str, object] = {"home": dict(invocation.home_files), "port": PORT}
    if socket is not None:
        task["socket"] = socket
    env["LAUNCH"] = json.dumps(task)
    return (python, "-I", "-S", f"{helpers}/launch", "--", *invocation.argv), env
