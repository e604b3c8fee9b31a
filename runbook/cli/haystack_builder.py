"""The program that builds ahead: `python -m runbook.cli.haystack_builder STORE [CAP_BYTES]`.

It says that it has started, then reads one JSON job a line and answers each with a line: a haystack to build,
within CAP_BYTES of disk, or `{"parts": [slug, ...]}`, trajectories whose parts of an index are to be made.
"""

import sys
from pathlib import Path
from typing import Any

import orjson

from manifests.errors import StoreError
from manifests.index_parts import index_part
from manifests.store import Store
from runbook.cli.build_ahead import HaystackJob, step_back
from runbook.cli.haystacks import TOKENISER, Haystacks


def main() -> None:
    """Do the jobs of standard input."""
    store, cap = Store.open(Path(sys.argv[1])), int((*sys.argv, "0")[2])
    haystacks = Haystacks(store, lambda _: None, cap_bytes=cap, processes=1)
    if cap:
        step_back()
    _say("ready")
    for line in sys.stdin.buffer:
        try:
            _do(orjson.loads(line), store, haystacks)
        except (StoreError, OSError, ValueError) as error:
            _say(str(error))
        else:
            _say("built")


def _do(job: dict[str, Any], store: Store, haystacks: Haystacks) -> None:
    if "parts" not in job:
        haystacks.build(HaystackJob(**{**job, "slugs": tuple(job["slugs"])}))
        return
    for slug in job["parts"]:
        index_part(store.get(slug), TOKENISER)


def _say(answer: str) -> None:
    sys.stdout.write(f"{' '.join(answer.split())}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
