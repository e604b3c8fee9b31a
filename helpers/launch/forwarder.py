"""Forward connections from a loopback port to a unix socket, byte for byte as they come.

One process and one thread, however many streams: processes and threads count against the sandbox's limit.
Each client gets a connection of its own, so that a gateway that was restarted is found again.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import struct
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterator

PIECE = 64 * 1024
BACKLOG = 128
PATIENCE = 3.0  # how long a client waits for a gateway that is being restarted
AGAIN = 0.1
LINGER = 2.0  # how long a client that was answered early may go on sending
UNREACHABLE = b'{"error": {"message": "the model gateway is not there", "type": "bad_gateway", "code": 502}}'
BAD_GATEWAY = (
    b"HTTP/1.1 502 Bad Gateway\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(UNREACHABLE), UNREACHABLE)
)


def listen(port: int) -> socket.socket:
    """A listening socket at 127.0.0.1:`port` (0: any that is free). Raises OSError where it is in use."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def start_forwarder(listener: socket.socket, path: str) -> None:
    """Leave a process behind that forwards from `listener` to the unix socket `path`.

    It is nobody's child (the agent would not expect one), in a session of its own (a signal to the agent's
    group is not for it), and holds none of the caller's streams.
    """
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        listener.close()
        return
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        _let_go(listener.fileno())
        Forwarder(listener, path).run()
    finally:
        os._exit(1)


def _let_go(kept: int) -> None:
    """Close every descriptor but one, and give nothing for the three that others may expect."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        if int(name) > 2 and int(name) != kept:
            with contextlib.suppress(OSError):
                os.close(int(name))
    os.chdir("/")


class Side:
    """One of the two ends of a connection, and what is still to be sent to it."""

    def __init__(self, link: socket.socket) -> None:
        link.setblocking(False)
        self.link = link
        self.pending = b""
        self.ended = False  # it sends no more
        self.told = False  # it was told that nothing more comes
        self.failed = False
        self.hung_up = False  # it took no more before it had ended: what it says is an early answer

    def read(self, across: Side | None) -> None:
        """Take one piece for the other side; where that takes nothing any more, throw it away."""
        try:
            data = self.link.recv(PIECE)
        except BlockingIOError:
            return
        except OSError:
            data, self.failed = b"", True
        if not data:
            self.ended = True
        elif across is not None and not across.told:
            across.pending += data

    def send(self) -> None:
        """Send what the socket takes at once."""
        try:
            sent = self.link.send(self.pending) if self.pending else 0
        except BlockingIOError:
            return
        except OSError:
            self.pending, self.told, self.failed = b"", True, True
            self.hung_up = not self.ended
        else:
            self.pending = self.pending[sent:]

    def tell_end(self) -> None:
        """Nothing more comes; it may still answer."""
        self.told = True
        try:
            self.link.shutdown(socket.SHUT_WR)
        except OSError:
            self.failed = True


class Pair:
    """A client and its connection to the gateway; nothing is read from one that the other has not taken."""

    def __init__(self, client: socket.socket) -> None:
        self.client = Side(client)
        self.gateway: Side | None = None
        self.until = time.monotonic() + PATIENCE  # for the gateway to be there, later for the client to go

    def is_over(self) -> bool:
        """Whether nobody waits for anything any more."""
        if self.client.failed or all(side.ended and side.told for side, _ in self.sides()):
            return True
        gateway = self.gateway
        return (
            gateway is not None and gateway.failed and gateway.ended and self.client.told and self._is_late()
        )

    def _is_late(self) -> bool:
        """Whether the client sent to a gateway that was gone, as a new request on an old connection does."""
        return self.gateway is None or not self.gateway.hung_up or time.monotonic() >= self.until

    def sides(self) -> Iterator[tuple[Side, Side | None]]:
        """Each side with the one across."""
        yield self.client, self.gateway
        if self.gateway is not None:
            yield self.gateway, self.client


class Forwarder:
    """The loop over all connections."""

    def __init__(self, listener: socket.socket, path: str) -> None:
        listener.setblocking(False)
        self._listener = listener
        self._path = path
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._waiting: list[Pair] = []
        self._leaving: list[Pair] = []

    def run(self) -> None:
        """Forward for ever."""
        while True:
            for key, events in self._selector.select(AGAIN if self._waiting or self._leaving else None):
                if key.fileobj is self._listener:
                    self._accept()
                else:
                    self._serve(key.data, key.fd, events)
            for pair in list(self._waiting):
                self._connect(pair)
            for pair in list(self._leaving):
                self._watch(pair)

    def _accept(self) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError:
            time.sleep(0.01)  # gone again, or out of descriptors
            return
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._waiting.append(Pair(client))

    def _connect(self, pair: Pair) -> None:
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        link.setblocking(False)
        try:
            link.connect(self._path)
        except OSError:  # not there, not listening, or its queue is full
            link.close()
            if time.monotonic() < pair.until:
                return
            pair.client.pending = BAD_GATEWAY
        else:
            pair.gateway = Side(link)
        self._waiting.remove(pair)
        self._watch(pair)

    def _serve(self, pair: Pair, descriptor: int, events: int) -> None:
        for side, across in pair.sides():
            if side.link.fileno() != descriptor:
                continue
            if events & selectors.EVENT_READ:
                side.read(across)
            if events & selectors.EVENT_WRITE:
                side.send()
            if across is not None:
                across.send()
        self._watch(pair)

    def _watch(self, pair: Pair) -> None:
        """Ask for what each side can do next; a pair with nothing left to do is closed."""
        for side, across in pair.sides():
            if (across is None or across.ended) and not side.pending and not side.told:
                side.tell_end()
        if pair.is_over():
            self._close(pair)
            return
        gateway = pair.gateway
        if gateway is not None and gateway.hung_up and gateway.ended and pair not in self._leaving:
            pair.until = time.monotonic() + LINGER
            self._leaving.append(pair)
        for side, across in pair.sides():
            wanted = selectors.EVENT_WRITE if side.pending else 0
            if not side.ended and not (across is not None and across.pending):
                wanted |= selectors.EVENT_READ
            self._ask(pair, side, wanted)

    def _ask(self, pair: Pair, side: Side, wanted: int) -> None:
        known = side.link.fileno() in self._selector.get_map()
        if wanted and known:
            self._selector.modify(side.link, wanted, pair)
        elif wanted:
            self._selector.register(side.link, wanted, pair)
        elif known:
            self._selector.unregister(side.link)

    def _close(self, pair: Pair) -> None:
        if pair in self._leaving:
            self._leaving.remove(pair)
        if not pair.client.ended:  # it must not wait for an answer to what it sends from now on
            reset = struct.pack("ii", 1, 0)
            pair.client.link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        for side, _ in pair.sides():
            self._ask(pair, side, 0)
            side.link.close()
