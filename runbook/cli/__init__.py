"""The command line: the one place that imports everything; nothing imports it."""

import os
import sys


def main() -> None:
    """Entry point of the `runbook` command."""
    os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")  # a missing git is said where git is needed
    try:
        _main()
    except KeyboardInterrupt:  # before anything could be said about it
        sys.exit(130)


def _main() -> None:
    from runbook.cli.streams import open_closed

    open_closed()
    from runbook.cli.ending import see_to_the_end
    from runbook.cli.failures import FAILURE, INTERRUPTED, said_plainly
    from runbook.cli.interrupts import heed_interrupts

    heed_interrupts()
    code = FAILURE
    try:
        code = said_plainly(_run)
    finally:
        see_to_the_end(code)
    if code == INTERRUPTED:
        # Everything is released by now, but a thread may still wait for a model's answer nobody wants.
        os._exit(INTERRUPTED)
    sys.exit(code)


def _run() -> int:
    from runbook.cli.app import app
    from runbook.cli.failures import refuse_surroundings
    from runbook.cli.home import fix_places

    refuse_surroundings(sys.argv[1:])
    fix_places()
    try:
        app()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0
