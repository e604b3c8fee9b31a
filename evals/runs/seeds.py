"""Seeds of single model calls: the same for the same run seed, question and repeat, else different."""

import hashlib

import orjson

_NUMBERS = 2**31  # providers take signed 32-bit numbers at least


def derived_seed(run_seed: int, question_id: str, stage: str, *repeats: int) -> int:
    """A number of 0..2**31 - 1.

    Args:
        repeats: which repeat of each stage, the agent's first.
    """
    named = orjson.dumps([run_seed, question_id, stage, *repeats])
    return int.from_bytes(hashlib.sha256(named).digest()[:8]) % _NUMBERS
