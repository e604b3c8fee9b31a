"""How quickly secrets are masked, on a line as long as an import takes, beside lower-casing the same text.

Run: python tests/benchmarks/mask_secrets.py [megabytes]
"""

import sys
import time
from collections.abc import Callable

from manifests.sessions.secrets import Masker

LOG = "2026-11-29 20:16:38 INFO deploy[4711]: step 12 of 40 done in 318 ms, retrying https://shop.example/health\n"
CODE = '    token = config.get("token_file")  # password: see the keyring, key=value pairs are fine\n'
LEAK = "export API_KEY=aZ3bY7cX1dW9eV5fU2gT8hS4iR6jQ0kP PASSWORD=tr0ub4dor&3\n"


def main() -> None:
    """Print MB/s for texts of several kinds, and how many times the floor that takes."""
    length = int(float(sys.argv[1] if len(sys.argv) > 1 else 64) * 2**20)
    for name, part in (
        ("plain", "x"),
        ("log", LOG),
        ("code", CODE),
        ("leaks", LEAK),
        ("url starts", "://a:"),
        ("key words", "token="),
    ):
        text = (part * (length // len(part) + 1))[:length]
        floor = seconds(text.lower)
        taken = seconds(lambda text=text: Masker().mask(text))
        speed, ratio = length / taken / 1e6, taken / floor
        print(f"{name:<12}{length / 2**20:>6.0f} MiB {speed:>7.1f} MB/s {ratio:>6.0f} x floor")


def seconds(task: Callable[[], object]) -> float:
    """The processor time of a task."""
    begun = time.process_time()
    task()
    return time.process_time() - begun


if __name__ == "__main__":
    main()
