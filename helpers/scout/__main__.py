"""Start scout: search the haystack for the workspace's question and hand in the best states, without a model.

    MEMORY_WORKSPACE=<workspace> <python> -I -S -B <helpers>/scout/__main__.py [--budget STATES]

The budget is 20 states unless given there or in SCOUT_BUDGET.
"""

import gc
import os
import sys
import types

_HELPERS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

if __name__ == "__main__":
    gc.disable()  # what it makes is needed to its end, and that is near
    # The folder of the helpers may have any name and no __init__.py; inside they are one package.
    package = types.ModuleType("helpers")
    package.__path__ = [_HELPERS]
    sys.modules["helpers"] = package
    from helpers.scout.program import main

    sys.exit(main(sys.argv[1:]))
