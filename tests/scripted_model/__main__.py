"""Start the server; the first line on standard output is {"port": N, "url": "http://HOST:N"}."""

import argparse
import asyncio
import json
import socket
from pathlib import Path

import uvicorn

from tests.scripted_model import modes
from tests.scripted_model.server import ScriptedModel


def main() -> None:
    """Serve until ended, at most --max-seconds long."""
    parser = argparse.ArgumentParser(
        "python -m tests.scripted_model", epilog=modes.__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--mode", default="ok", help="where a path names none")
    parser.add_argument("--delay", type=float, default=0.005, help="seconds between two events of a stream")
    parser.add_argument("--log", type=Path, help="folder that receives requests.jsonl")
    parser.add_argument("--max-seconds", type=float, default=7200.0)
    options = parser.parse_args()
    log = None
    if options.log:
        options.log.mkdir(parents=True, exist_ok=True)
        log = options.log / "requests.jsonl"
    with socket.create_server((options.host, options.port), backlog=256) as listening:
        port = listening.getsockname()[1]
        print(json.dumps({"port": port, "url": f"http://{options.host}:{port}"}), flush=True)
        model = ScriptedModel(mode=options.mode, delay=options.delay, log=log)
        asyncio.run(_serve(model, listening, options.max_seconds))


async def _serve(model: ScriptedModel, listening: socket.socket, seconds: float) -> None:
    settings = uvicorn.Config(
        model.app(), log_level="critical", access_log=False, ws="none", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(settings)
    asyncio.get_running_loop().call_later(seconds, setattr, server, "should_exit", True)
    await server.serve(sockets=[listening])


if __name__ == "__main__":
    main()
