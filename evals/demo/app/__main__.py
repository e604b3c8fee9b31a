"""Open the help desk in your own browser: `python -m evals.demo.app [--day monday] [--port 8000]`."""

import argparse
import contextlib

from evals.demo.app.server import DeskServer
from evals.demo.app.world import DAYS, open_world


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m evals.demo.app", description=__doc__)
    parser.add_argument("--day", choices=DAYS, default=DAYS[0])
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    world = open_world(options.day)
    server = DeskServer(world, options.port)
    print(f"Quillbrook Desk, {world.now:%A %d %B %Y}: http://127.0.0.1:{server.port}/")
    print("Log in as mira.okafor / grinder-burr-71 (agent) or ines.halloran / tamper-level-12 (admin).")
    with contextlib.suppress(KeyboardInterrupt), server:
        server.serve_forever()


if __name__ == "__main__":
    main()
