"""What the gateway costs, against the same provider without it, in the same run.

    python tests/benchmarks/gateway.py

Three processes: a provider that streams chat completions, the gateway, and this one, which is the agents.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from pathlib import Path

from runbook.gateway import (
    Gateway,
    GatewaySettings,
    LineOrder,
    ProviderSettings,
    Wire,
    load_calls,
    load_request,
)
from runbook.gateway.settings import Budget

Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
EVENT = (
    b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","model":"m",'
    b'"choices":[{"index":0,"delta":{"content":"%06d words "}}]}\n\n'
)
END = (
    b'data: {"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":1000,"completion_tokens":100}}\n\ndata: [DONE]\n\n'
)


async def provide(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer requests on one connection: `events` chunks, `rate` per second (0: as fast as they go)."""
    while head := await read_head(reader):
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        asked = json.loads(await reader.readexactly(length))
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        due = time.monotonic()
        for number in range(asked["events"]):
            if asked["rate"]:
                due += 1 / asked["rate"]
                await asyncio.sleep(max(0.0, due - time.monotonic()))
            writer.write(chunk(EVENT % number))
            await writer.drain()
        writer.write(chunk(END) + b"0\r\n\r\n")
        await writer.drain()
    writer.close()


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def read_head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


def provider_process(pipe: Connection) -> None:
    async def serve() -> None:
        server = await asyncio.start_server(provide, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await asyncio.Event().wait()

    asyncio.run(serve())


def gateway_process(pipe: Connection, provider_port: int, folder: Path) -> None:
    provider = ProviderSettings(
        base_url=f"http://127.0.0.1:{provider_port}", wires=(Wire.OPENAI_CHAT,), concurrency=100
    )
    settings = GatewaySettings(providers={"bench": provider}, attempt_budget=Budget())
    with Gateway(settings) as gateway:
        line = gateway.open_line(LineOrder(folder, Wire.OPENAI_CHAT, "m"))
        pipe.send((str(line.socket), line.prefix))
        while pipe.recv() == "memory":
            pipe.send(resident_bytes())
        line.close()
        pipe.send("closed")


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Agent:
    """One keep-alive connection; the cheapest client that can be, so that it is not what is measured."""

    def __init__(self, connect: Connect, prefix: str) -> None:
        self._connect = connect
        self._prefix = prefix
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, **fields: object) -> float:
        """Send a request and read its answer; returns the seconds to the first byte of the body."""
        if self._streams is None:
            self._streams = await self._connect()
        reader, writer = self._streams
        body = json.dumps(
            {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}], **fields}
        )
        head = f"POST {self._prefix}/v1/chat/completions HTTP/1.1\r\nhost: x\r\n"
        head += f"content-length: {len(body)}\r\n\r\n"
        started = time.monotonic()
        writer.write((head + body).encode())
        await reader.readuntil(b"\r\n\r\n")
        data = await reader.read(65536)
        first = time.monotonic() - started
        while not data.endswith(b"0\r\n\r\n"):
            data = data[-8:] + await reader.read(65536)
        return first

    def close(self) -> None:
        if self._streams:
            self._streams[1].close()


async def first_bytes(connect: Connect, prefix: str, count: int) -> float:
    """Median seconds to the first byte, one stream at a time."""
    agent = Agent(connect, prefix)
    await agent.ask(events=5, rate=0)
    times = [await agent.ask(events=5, rate=0) for _ in range(count)]
    agent.close()
    return statistics.median(times)


async def throughput(connect: Connect, prefix: str, *, streams: int, events: int, rate: int) -> float:
    """Events per second of so many streams at once."""
    agents = [Agent(connect, prefix) for _ in range(streams)]
    await asyncio.gather(*(agent.ask(events=1, rate=0) for agent in agents))
    started = time.monotonic()
    await asyncio.gather(*(agent.ask(events=events, rate=rate) for agent in agents))
    seconds = time.monotonic() - started
    for agent in agents:
        agent.close()
    return streams * events / seconds


def conversation(turns: int) -> list[dict[str, object]]:
    """The requests of a conversation that resends itself: tools, a long prompt, and per turn a command and
    what it printed (2 kB, of which nothing repeats)."""
    tools = [
        {"type": "function", "function": {"name": f"tool{n}", "description": prose(n, 700), "parameters": {}}}
        for n in range(10)
    ]
    said = "".join(f"{number:06d} words " for number in range(40))  # as the provider streams it
    messages: list[dict[str, object]] = [{"role": "system", "content": prose(99, 8000)}]
    requests = []
    for turn in range(turns):
        requests.append(
            {
                "model": "m",
                "stream": True,
                "tools": tools,
                "messages": list(messages),
                "events": 40,
                "rate": 0,
            }
        )
        call = {
            "id": f"call_{turn}",
            "type": "function",
            "function": {
                "name": "tool1",
                "arguments": json.dumps(
                    {"command": f"rg -n 'phrase {turn}' haystack/trajectories | head -40"}
                ),
            },
        }
        messages.append({"role": "assistant", "content": said, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"call_{turn}", "content": prose(turn * 1000, 2000)})
    return requests


WORDS = [
    "click",
    "button",
    "menu",
    "order",
    "status",
    "customer",
    "export",
    "table",
    "row",
    "column",
    "heading",
    "link",
    "search",
    "page",
    "next",
    "filter",
    "date",
]


def prose(seed: int, length: int) -> str:
    """Text of a page as an agent sees it: the words repeat, the lines do not."""
    lines: list[str] = []
    number = seed * 7919
    while sum(map(len, lines)) < length:
        number += 1
        picked = [WORDS[(number * step * step + step) % len(WORDS)] for step in range(3, 9)]
        lines.append(f"[a{number % 997}] {' '.join(picked)} {number * 2654435761 % 100000}\n")
    return "".join(lines)[:length]


async def record_size(connect: Connect, prefix: str, turns: int) -> int:
    """Run the conversation; returns the bytes of its final request."""
    agent = Agent(connect, prefix)
    requests = conversation(turns)
    for request in requests:
        await agent.ask(**request)
    agent.close()
    return len(json.dumps(requests[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1000, help="calls for the memory figure")
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        near, far = context.Pipe()
        provider = context.Process(target=provider_process, args=(far,), daemon=True)
        provider.start()
        port = near.recv()

        def gateway_at(folder: Path) -> tuple[Connection, multiprocessing.process.BaseProcess, Connect, str]:
            folder.mkdir()
            near, far = context.Pipe()
            process = context.Process(target=gateway_process, args=(far, port, folder), daemon=True)
            process.start()
            path, prefix = near.recv()
            return near, process, lambda: asyncio.open_unix_connection(path), prefix

        direct: Connect = lambda: asyncio.open_connection("127.0.0.1", port)  # noqa: E731
        pipe, process, connect, prefix = gateway_at(folder / "speed")
        measure_speed(direct, connect, prefix)
        measure_memory(pipe, connect, prefix, options.calls)
        pipe.send("close")
        pipe.recv()
        process.join()
        pipe, process, connect, prefix = gateway_at(folder / "size")
        final = asyncio.run(record_size(connect, prefix, 40))
        pipe.send("close")
        pipe.recv()
        process.join()
        report_size(folder / "size", final)
        provider.kill()


def measure_speed(direct: Connect, connect: Connect, prefix: str) -> None:
    pairs = [
        (asyncio.run(first_bytes(direct, "", 100)), asyncio.run(first_bytes(connect, prefix, 100)))
        for _ in range(3)
    ]
    without, through = (statistics.median(times) * 1000 for times in zip(*pairs, strict=True))
    later = through - without
    print(f"first byte: direct {without:.2f} ms, gateway {through:.2f} ms, later by {later:.2f} ms (<= 6)")
    for streams, events, rate, floor in ((16, 250, 50, 95), (64, 1500, 0, 20)):
        load = {"streams": streams, "events": events, "rate": rate}
        without = asyncio.run(throughput(direct, "", **load))
        through = asyncio.run(throughput(connect, prefix, **load))
        speed = f"at {rate}/s" if rate else "unthrottled"
        rates = f"direct {without:.0f}/s, gateway {through:.0f}/s, {through / without:.1%} (>= {floor} %)"
        print(f"{streams} streams {speed}: {rates}")


def measure_memory(pipe: Connection, connect: Connect, prefix: str, calls: int) -> None:
    async def ask(count: int) -> None:
        agent = Agent(connect, prefix)
        for _ in range(count):
            await agent.ask(events=40, rate=0)
        agent.close()

    sizes = []
    for _ in range(3):
        asyncio.run(ask(calls // 2))
        pipe.send("memory")
        sizes.append(pipe.recv() / 2**20)
    print(
        f"memory after {calls // 2}, {calls}, {calls * 3 // 2} calls: "
        + ", ".join(f"{size:.1f} MB" for size in sizes)
    )


def report_size(folder: Path, final: int) -> None:
    sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    calls = load_calls(folder)
    assert len(load_request(folder, calls[-1])["messages"]) == 79
    ratio = sum(sizes.values()) / final
    print(f"record of 40 turns: {sizes}, final request {final} bytes, ratio {ratio:.2f} (<= 1.5)")


if __name__ == "__main__":
    main()
