"""What a process of a crew runs. Apart from the crew itself, for it has to start quickly."""

import sys
from contextlib import closing, suppress
from multiprocessing.connection import Connection
from pathlib import Path

from .allocator import prepare_for_bulk_work
from .errors import DataError, StoreError
from .files import explained
from .line_worker import LineWorker, Result, Task
from .store import Store


def serve() -> None:
    """The work of one member: `python -c ... <socket> <file> <store> <data root>`."""
    prepare_for_bulk_work()
    number, path, store, data_root = sys.argv[1:]
    connection: Connection[Result | Exception, Task] = Connection(int(number))
    with (
        Store.open(Path(store)).writer(Path(data_root)) as writer,
        closing(LineWorker(Path(path), writer)) as worker,
        # Nobody hears us any more: the one who asked has gone.
        suppress(EOFError, BrokenPipeError, ConnectionResetError),
    ):
        while True:
            connection.send(_answer(worker, connection.recv(), store))


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
