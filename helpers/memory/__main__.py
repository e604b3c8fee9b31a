"""Start the `memory` command.

The launcher in a workspace is a shell script of two lines that names this file by an absolute path (naming
the folder works too, and is some milliseconds slower):

    #!/bin/sh
    MEMORY_WORKSPACE=<workspace> exec <python> -I -S -B <helpers>/memory/__main__.py "$@"

`-I -S` keep the caller's environment and site-packages out and halve the start. Without MEMORY_WORKSPACE
the current folder is the workspace. MEMORY_MAX_BYTES sets the default cap of an output (12,000 bytes; at most
63,000) and MEMORY_TIME_LIMIT lowers the ten seconds that a verb may run.
"""

import gc
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))

if __name__ == "__main__":
    gc.disable()  # what a verb makes is needed to its end, and that is near: looking for rubbish takes time
    sys.path = [os.path.dirname(_HERE), *(entry for entry in sys.path if entry != _HERE)]
    from memory.program import main  # type: ignore[import-not-found]

    # No interpreter shutdown: everything has been written, and it would cost a tenth of the whole call.
    os._exit(main(sys.argv[1:]))
