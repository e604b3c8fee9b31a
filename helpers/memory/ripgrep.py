"""Run rg over state files. Only a speed-up: `scanning` finds the same without it."""

from __future__ import annotations

import os

MOST_BYTES = 32 << 20  # of rg's output that is read; the rest is cut off

# No configuration and no ignore file counts, wherever it was planted; -a because a state is text by contract.
_OPTIONS = (
    "--no-config",
    "--no-ignore",
    "--no-messages",
    "-a",
    "--color=never",
    "--glob=[0-9]*.txt",
    "--max-depth=2",
)


class UnusableError(Exception):
    """There is no rg, or it does not understand the pattern."""


def files(pattern: list[str], folders: list[str]) -> list[str]:
    """The paths of all state files below these folders with a match, in no order.

    Args:
        pattern: rg's options for the pattern, ending with the pattern itself (see `pattern_options`).

    Raises:
        UnusableError: rg cannot be used.
    """
    return os.fsdecode(_output(["-l", *pattern, "--", *folders])).splitlines()


def lines(pattern: list[str], paths: list[str], per_file: int) -> list[tuple[str, int, int, str]]:
    """The first matching lines of each file: (path, line from 1, byte column from 1, text).

    Raises:
        UnusableError: rg cannot be used.
    """
    options = ["-n", "--column", "-H", "--null", "--no-heading", "-j1", f"-m{per_file}"]
    found = []
    for row in _output([*options, *pattern, "--", *paths]).split(b"\n"):
        path, _, rest = row.partition(b"\0")
        parts = rest.split(b":", 2)
        if len(parts) == 3 and parts[0].isdigit() and parts[1].isdigit():
            place = (int(parts[0]), int(parts[1]))
            found.append((os.fsdecode(path), *place, parts[2].decode("utf-8", "replace")))
    return found


def pattern_options(pattern: str, *, fixed: bool, any_case: bool) -> list[str]:
    """The options that make rg look for the pattern."""
    return [*(["-F"] if fixed else []), "-i" if any_case else "-s", "-e", pattern]


def _output(options: list[str]) -> bytes:
    """What rg prints, up to MOST_BYTES; it is killed when there is more."""
    environment = {name: value for name, value in os.environ.items() if name != "RIPGREP_CONFIG_PATH"}
    reading, writing = os.pipe()
    redirect = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, writing, 1),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    try:
        child = os.posix_spawnp("rg", ["rg", *_OPTIONS, *options], environment, file_actions=redirect)
    except (OSError, AttributeError, ValueError) as error:
        os.close(reading)
        raise UnusableError(str(error)) from None
    finally:
        os.close(writing)
    with open(reading, "rb", buffering=0) as pipe:
        parts = []
        room = MOST_BYTES
        while room > 0:
            part = pipe.read(min(room, 1 << 20))
            if not part:
                break
            parts.append(part)
            room -= len(part)
    if room <= 0:
        os.kill(child, 9)
    status = os.waitpid(child, 0)[1]
    # 1 is "no match"; 2 with output is a file that vanished or cannot be read, and the rest counts.
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) > 1 and not parts:
        raise UnusableError("rg does not take this pattern")
    return b"".join(parts)
