"""The end of the process, which no thread and no handler of a package's may hold up."""

import atexit
import os
import sys
import threading
from contextlib import suppress
from typing import Final

_PATIENCE_SECONDS: Final = 5.0


def see_to_the_end(code: int) -> None:
    """Have the process end with `code` within two times 5 s; Python's own end is to come next.

    Python waits for threads that are not daemons, then runs the handlers of `atexit`, however long either
    takes. Where it comes to nothing, the handlers are run all the same: they remove what is temporary.
    """
    at_handlers = threading.Event()
    atexit.register(at_handlers.set)  # the last that is registered is the first to be run
    threading.Thread(target=_end, args=(code, at_handlers), name="end", daemon=True).start()


def _end(code: int, at_handlers: threading.Event) -> None:
    if at_handlers.wait(_PATIENCE_SECONDS):
        threading.Event().wait(_PATIENCE_SECONDS)
    else:
        handlers = threading.Thread(target=atexit._run_exitfuncs, daemon=True)
        handlers.start()
        handlers.join(_PATIENCE_SECONDS)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # nobody reads it, or it was closed
            stream.flush()
    os._exit(code)
