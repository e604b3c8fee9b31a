"""How busy the machine is: a latency measured while programs wait for a processor says more of them."""

import os

BUSY = 1.5
"""Programs per processor that run or wait to run, above which latencies are no longer trusted."""


def load_per_cpu() -> float:
    """The load average of the last minute for each processor that this process may use."""
    return os.getloadavg()[0] / _processors()


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux tells
        return os.cpu_count() or 1
