"""The command line: the one place that imports everything; nothing imports it."""

import os
import sys


def main() -> None:
    """Entry point of the `runbook` command."""
    from runbook.cli.app import app
    from runbook.cli.failures import INTERRUPTED, interrupt_on_terminate

    interrupt_on_terminate()
    try:
        app()
    except SystemExit as end:
        if end.code != INTERRUPTED:
            raise
        # Everything is released by now, but a thread may still wait for a model's answer nobody wants.
        sys.stdout.flush()
        os._exit(INTERRUPTED)
