"""The frame of every verb: find it, parse its line, run it under a time limit, write one capped page."""

from __future__ import annotations

import os

from .arguments import HELP, Arguments, Verb, parse
from .failure import FOUND, TIME_LIMIT, WRONG, HelperError, NoIndexError
from .haystack import Workspace
from .page import DEFAULT_BYTES, Page, clean, clip, quote
from .registry import MODULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 10.0


def main(line: list[str]) -> int:
    """Run one command line; the exit code: 0 found, 1 nothing found, 2 a mistake, 3 the time limit."""
    verb = None
    try:
        name = line[0] if line else "help"
        if name in (*HELP, "help"):
            return _help(line[1:])
        verb = load(name)
        if any(item in HELP for item in line[1:]):
            _write(1, verb.help().encode())
            return FOUND
        arguments = parse(verb, line[1:])
        page = Page(_page_bytes(arguments))
        return guard(lambda: _run(verb, arguments, page), _seconds(), verb.instead)
    except HelperError as failure:
        complain(failure, verb)
        return failure.code
    except KeyboardInterrupt:
        return 130


def load(name: str) -> Verb:
    """The verb of that name; HelperError names the nearest ones otherwise."""
    module = MODULES.get(name)
    if module is None:
        raise HelperError(f"no verb {quote(name)}; {_nearest(name)}")
    package = __import__(f"{__package__}.{module}", fromlist=["VERBS"])
    verbs: dict[str, Verb] = package.VERBS
    return verbs[name]


def guard(work: Callable[[], int], seconds: float, instead: str) -> int:
    """Run `work()` -> exit code in a child process, and kill it with all it started when the time is over.

    The HelperError then says what to try `instead`.
    A signal handler would not do: the caller's regular expression can keep the interpreter inside C code.
    """
    if not hasattr(os, "fork"):
        return work()
    from select import select

    alive, held = os.pipe()
    # The child waits for a word: Ctrl-C may come before its number is known, and who would end it then?
    listening, word = os.pipe()
    try:
        child = os.fork()
    except OSError:  # no more processes are allowed: better without a limit than not at all
        return work()
    if child == 0:
        os.setpgid(0, 0)
        os.close(alive)
        os.close(word)
        os._exit(work() if os.read(listening, 1) else 130)
    try:
        os.close(held)
        os.write(word, b"!")
        ended = bool(select([alive], [], [], seconds)[0])
    except KeyboardInterrupt:
        _kill(child)
        raise
    if not ended:
        _kill(child)
        raise HelperError(f"stopped after {seconds:g} s; try {instead}", TIME_LIMIT)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        killed = f"the verb was killed by signal {os.WTERMSIG(status)} (out of memory?)"
        raise HelperError(f"{killed}; try {instead}")
    return os.WEXITSTATUS(status)


def complain(failure: HelperError, verb: Verb | None) -> None:
    """Write a failure to stderr: one line, and where it helps the usage."""
    text = f"memory: {clip(clean(failure.text), 1500)}\n"
    if failure.code == WRONG:
        text += f"usage: memory {verb.usage if verb else 'VERB ...  (memory --help lists the verbs)'}\n"
    _write(2, text.encode("utf-8", "replace"))


def usage() -> str:
    """The text that describes all verbs."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "usage.txt")
    with open(path, encoding="utf-8") as file:
        return file.read()


def _run(verb: Verb, arguments: Arguments, page: Page) -> int:
    workspace = Workspace(os.environ.get("MEMORY_WORKSPACE") or ".")
    try:
        try:
            code = verb.run(arguments, workspace, page)
        except NoIndexError as failure:  # found out in the middle: the files hold the same
            if workspace.index_problem:
                raise
            workspace.index_problem = failure.text
            page = Page(page.limit)
            code = verb.run(arguments, workspace, page)
        _write(1, page.bytes())
    except HelperError as failure:
        _write(1, page.bytes())
        complain(failure, verb)
        code = failure.code
    except (OSError, MemoryError, RecursionError) as error:
        complain(HelperError(f"cannot do that: {type(error).__name__}: {error}"), None)
        code = WRONG
    except KeyboardInterrupt:
        code = 130
    return code


def _help(names: list[str]) -> int:
    names = [name for name in names if name not in HELP]
    text = load(names[0]).help() if names else usage()
    _write(1, text.encode())
    return FOUND


def _nearest(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name[:40], MODULES, n=3, cutoff=0.5)
    return "nearest: " + ", ".join(near) if near else "verbs: " + ", ".join(MODULES)


def _page_bytes(arguments: Arguments) -> int:
    default = os.environ.get("MEMORY_MAX_BYTES", "")
    return arguments.number("max-bytes", int(default) if default.isdigit() else DEFAULT_BYTES)


def _seconds() -> float:
    try:
        return max(0.1, min(SECONDS, float(os.environ.get("MEMORY_TIME_LIMIT", SECONDS))))
    except ValueError:
        return SECONDS


def _kill(child: int) -> None:
    try:
        os.killpg(child, 9)
    except OSError:  # it has not made its group yet, or has just ended
        os.kill(child, 9)
    os.waitpid(child, 0)


def _write(descriptor: int, raw: bytes) -> None:
    """Write all of it; a reader that has gone (| head) is no error."""
    try:
        while raw:
            raw = raw[os.write(descriptor, raw) :]
    except BrokenPipeError:
        pass
    except OSError as error:
        if descriptor != 2:
            _write(2, f"memory: cannot write the output: {error.strerror}\n".encode())
