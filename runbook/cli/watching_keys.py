"""Keys that are pressed while something is shown; the terminal is left as it was found."""

import os
import select
import sys
import time
from types import TracebackType
from typing import Any


class Keys:
    """Tells keys one at a time and without an echo. Where there is no keyboard, it only waits."""

    def __init__(self) -> None:
        self._file: int | None = None
        self._before: Any = None

    def __enter__(self) -> "Keys":
        if (file := _keyboard()) is not None:
            import termios
            import tty

            self._before = termios.tcgetattr(file)
            tty.setcbreak(file, termios.TCSANOW)
            self._file = file
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            import termios

            termios.tcsetattr(self._file, termios.TCSADRAIN, self._before)
            self._file = None

    def pressed(self, seconds: float) -> str:
        """The keys that came, as soon as there are any; "" after so many seconds without."""
        if self._file is None:
            time.sleep(seconds)
            return ""
        if not select.select([self._file], [], [], seconds)[0]:
            return ""
        typed = os.read(self._file, 1024)
        if not typed:  # the other end has hung up
            raise KeyboardInterrupt
        return typed.decode("ascii", "replace")


def _keyboard() -> int | None:
    """The descriptor of a terminal that is ours to change: a job in the background would be stopped."""
    try:
        file = sys.stdin.fileno()
        ours = os.isatty(file) and os.tcgetpgrp(file) == os.getpgrp()
    except (OSError, ValueError):
        return None
    return file if ours else None
