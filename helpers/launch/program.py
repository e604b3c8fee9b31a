"""Read the order, write the files, start the forwarder, become the agent."""

from __future__ import annotations

import json
import os
import signal
import sys

from .files import write_files
from .forwarder import listen, start_forwarder

ORDER = "LAUNCH"
FAILED, CANNOT_RUN, NOT_FOUND = 125, 126, 127
USAGE = "usage: launch -- ARGV...   (LAUNCH holds the order as JSON)"


class LaunchError(Exception):
    """One clear line of what is wrong with the order or the place."""


def main(line: list[str]) -> int:
    """Become the command after `--`; returns an exit code only where that fails."""
    environment = dict(os.environ)
    try:
        argv = _command(line)
        _prepare(_order(environment.pop(ORDER, "{}")), environment)
    except (LaunchError, OSError, ValueError) as error:
        return _say(str(error), FAILED)
    # Python ignores these two, and what is ignored stays ignored in the command.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    try:
        os.execvpe(argv[0], argv, environment)
    except FileNotFoundError:
        return _say("there is no program %r here" % argv[0], NOT_FOUND)
    except (OSError, ValueError) as error:
        return _say("cannot run %r: %s" % (argv[0], error), CANNOT_RUN)


def _command(line: list[str]) -> list[str]:
    if line[:1] != ["--"] or len(line) < 2:
        raise LaunchError(USAGE)
    return line[1:]


def _order(text: str) -> dict[str, object]:
    try:
        order = json.loads(text)
    except ValueError as error:
        raise LaunchError("LAUNCH is not JSON: %s" % error) from None
    if not isinstance(order, dict):
        raise LaunchError("LAUNCH is not a JSON object")
    return order


def _prepare(order: dict[str, object], environment: dict[str, str]) -> None:
    files = order.get("home", {})
    if not isinstance(files, dict):
        raise LaunchError("LAUNCH: home is not an object of path to text")
    if files:
        write_files(environment.get("HOME", ""), {str(path): str(text) for path, text in files.items()})
    path, port = order.get("socket"), order.get("port")
    if path is None:
        return
    if not isinstance(path, str) or not isinstance(port, int):
        raise LaunchError("LAUNCH: socket goes with a port, a path with a number")
    try:
        listener = listen(port)
    except OSError as error:
        raise LaunchError("cannot listen at 127.0.0.1:%d: %s" % (port, error.strerror)) from None
    start_forwarder(listener, path)


def _say(text: str, code: int) -> int:
    sys.stderr.write("launch: %s\n" % text)
    return code
