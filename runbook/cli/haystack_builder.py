"""The program that builds haystacks ahead: `python -m runbook.cli.haystack_builder STORE CAP_BYTES`."""

import sys
from pathlib import Path

import orjson

from manifests.errors import StoreError
from manifests.store import Store
from runbook.cli.build_ahead import HaystackJob, step_back
from runbook.cli.haystacks import Haystacks


def main() -> None:
    """Build one haystack for each line of standard input, and answer each with a line."""
    step_back()
    root, cap = Path(sys.argv[1]), int(sys.argv[2])
    haystacks = Haystacks(Store.open(root), lambda _: None, cap_bytes=cap, processes=1)
    for line in sys.stdin.buffer:
        job = orjson.loads(line)
        try:
            haystacks.build(HaystackJob(**{**job, "slugs": tuple(job["slugs"])}))
        except (StoreError, OSError) as error:
            answer = str(error)
        else:
            answer = "built"
        sys.stdout.write(f"{' '.join(answer.split())}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
