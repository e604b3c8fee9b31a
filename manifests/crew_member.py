"""What a process of a crew runs. Apart from the crew itself, for it has to start quickly."""

import gc
import os
import sys
from contextlib import closing, suppress
from pathlib import Path

from .channel import Channel
from .errors import DataError, StoreError
from .files import explained
from .line_worker import LineWorker, Result, Task
from .store import Store


def serve() -> None:
    """The work of one member: `python -c ... <socket> <file> <store> <data root>`."""
    gc.disable()  # parsed lines make no cycles
    number, path, store, data_root = sys.argv[1:]
    channel = Channel(int(number))
    with (
        Store.open(Path(store)).writer(Path(data_root)) as writer,
        closing(LineWorker(Path(path), writer)) as worker,
        # Nobody hears us any more: the one who asked has gone.
        suppress(EOFError, BrokenPipeError, ConnectionResetError),
    ):
        while True:
            channel.send(_answer(worker, channel.receive(), store))
    os._exit(0)  # everything is closed: the interpreter would only take everything apart, and is waited for


def _answer(worker: LineWorker, task: Task, store: str) -> Result | Exception:
    try:
        return worker.do(task)
    except (DataError, StoreError) as error:
        return error
    except OSError as error:
        return explained(error, f"cannot write to the store {store}")
    except Exception:  # a defect of ours must reach the user whole, from whatever process it happens in
        import traceback  # not needed otherwise, and slow to import

        return RuntimeError(f"byte {task.offset}: {traceback.format_exc()}")
