"""Read the order, write the files, start the forwarder, become the agent."""

from __future__ import annotations

import os
import signal
import sys

from .files import write_files
from .forwarder import listen, start_forwarder
from .order import OrderError, leave_rest, read_order

FAILED, CANNOT_RUN, NOT_FOUND = 125, 126, 127
USAGE = "usage: launch -- ARGV...   (standard input begins with the order)"


class LaunchError(Exception):
    """One clear line of what is wrong with what the order asks for, or the place."""


def main(line: list[str]) -> int:
    """Become the command after `--`; returns an exit code only where that fails."""
    try:
        argv = _command(line)
        order = read_order()
        _prepare(order)
        leave_rest(order.get("stdin") is not False)
    except (LaunchError, OrderError, OSError, ValueError) as error:
        return _say(str(error), FAILED)
    # Python ignores these two, and what is ignored stays ignored in the command.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)
    except FileNotFoundError:
        return _say("there is no program %r here" % argv[0], NOT_FOUND)
    except (OSError, ValueError) as error:
        return _say("cannot run %r: %s" % (argv[0], error), CANNOT_RUN)


def _command(line: list[str]) -> list[str]:
    if line[:1] != ["--"] or len(line) < 2:
        raise LaunchError(USAGE)
    return line[1:]


def _prepare(order: dict[str, object]) -> None:
    files = order.get("home", {})
    if not isinstance(files, dict):
        raise LaunchError("the order: home is not an object of path to text")
    if files:
        write_files(os.environ.get("HOME", ""), {str(path): str(text) for path, text in files.items()})
    path, port = order.get("socket"), order.get("port")
    if path is None:
        return
    if not isinstance(path, str) or not isinstance(port, int):
        raise LaunchError("the order: socket goes with a port, a path with a number")
    try:
        listener = listen(port)
    except OSError as error:
        raise LaunchError("cannot listen at 127.0.0.1:%d: %s" % (port, error.strerror)) from None
    start_forwarder(listener, path)


def _say(text: str, code: int) -> int:
    sys.stderr.write("launch: %s\n" % text)
    return code
