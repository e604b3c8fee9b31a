"""What a trace costs: `python -m tests.benchmarks.traces [CALLS]`.

A stream of two events a call (default 100,000 calls, hence 200,000 events), one line of 3 MB among them, is
made into a trace and then analysed. The floor is parsing its lines as JSON and nothing else. Memory is the
most that the process ever held beyond what it held before.
"""

import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import orjson

from evals.traces.addresses import Names
from evals.traces.attempt import read_attempt
from runbook.traces import ArrivalLog, read_trace, write_trace

BIG_LINE = 3_000_000


def main() -> None:
    """Print seconds, their ratio to the floor, and memory."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_stream(folder, calls)
        before = _peak()
        begun = time.perf_counter()
        with (folder / "stdout").open("rb") as file:
            for line in file:
                orjson.loads(line)
        floor = time.perf_counter() - begun
        begun = time.perf_counter()
        summary = write_trace(folder, stream="codex", agent="codex", started_at="2026-01-01T00:00:00+00:00")
        written = time.perf_counter() - begun
        begun = time.perf_counter()
        figures = read_attempt(read_trace(folder / "trace.jsonl"), Names({})).figures
        analysed = time.perf_counter() - begun
    print(f"events                 {summary.events:>10,}")
    print(f"floor: parse lines     {floor:>10.2f} s")
    print(f"write the trace        {written:>10.2f} s   {written / floor:.0f} x the floor")
    print(f"analyse the trace      {analysed:>10.2f} s   {figures.calls:,} calls")
    print(f"memory beyond the start{(_peak() - before) / 1024:>10.0f} MB")


def _write_stream(folder: Path, calls: int) -> None:
    with (folder / "stdout").open("wb") as file, ArrivalLog(folder / "stdout.times") as log:
        for number, record in enumerate(_records(calls)):
            file.write(orjson.dumps(record) + b"\n")
            log.note(file.tell(), number * 0.01)


def _records(calls: int) -> Iterator[dict[str, object]]:
    for number in range(calls):
        item: dict[str, object] = {
            "id": f"item_{number}",
            "type": "command_execution",
            "command": f"/bin/bash -lc \"rg -n 'thing {number}' haystack/trajectories | head\"",
        }
        yield {"type": "item.started", "item": item}
        output = "x" * BIG_LINE if number == calls // 2 else "some output\n" * 5
        yield {"type": "item.completed", "item": item | {"aggregated_output": output, "exit_code": 0}}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
