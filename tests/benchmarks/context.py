"""How long a memory context of 20 states takes to render. Target: 20 ms; the floor is reading their files.

Run: python tests/benchmarks/context.py
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from manifests.model import Convention, State, Trajectory
from manifests.store import Entry, Store
from runbook.evidence import Evidence, Span
from runbook.rendering import render_context

TRAJECTORIES, STATES, LINES = 20, 28, 400  # the mean length of a public recording; states of about 25 KB
ROUNDS = 20


def build(root: Path) -> list[Entry]:
    """Twenty trajectories of usual size."""
    store = Store.open(root / "store")
    entries = []
    for number in range(TRAJECTORIES):
        trajectory = Trajectory(f"trip-{number}", "web", "Find the order", "https://example.test", "success")
        for index in range(STATES):
            tree = "".join(
                f"\t[{line}] link 'Item {number} {index} {line} of the list', clickable\n"
                for line in range(LINES)
            )
            action = f"click('{index}')"
            trajectory.states.append(
                State(index, index, f"https://example.test/{index}", action, "", tree, None)
            )
        entries.append(store.add(trajectory, root, convention=Convention.SOURCE))
    return entries


def quickest(work: Callable[[], object]) -> float:
    """The shortest of some rounds, in milliseconds."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best * 1000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        entries = build(Path(folder))
        by_id = {entry.id: entry for entry in entries}
        one_each = [Span(trajectory_id=entry.id, start_state_index=9, end_state_index=9) for entry in entries]
        together = [Span(trajectory_id=entries[0].id, start_state_index=3, end_state_index=22)]
        for label, spans in (("20 states of 20 trajectories", one_each), ("20 states of one", together)):
            evidence = Evidence(memory_markdown="# Note", trajectory_spans=tuple(spans))
            paths = [by_id[span.trajectory_id].state_path(i) for span in spans for i in span.states]
            floor = quickest(lambda paths=paths: [path.read_text(encoding="utf-8") for path in paths])
            rendered = quickest(lambda evidence=evidence: render_context(evidence, by_id))
            print(
                f"{label}: {rendered:.1f} ms, reading them alone {floor:.1f} ms, ratio {rendered / floor:.1f}"
            )


if __name__ == "__main__":
    main()
