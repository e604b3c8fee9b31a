"""What a connection of an agent may take: so many at a time, and so many bytes of a request's head."""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_CONNECTIONS = 96
"""Open at one time on one socket; one more is closed at once. Agents hold a handful."""
LARGEST_HEAD = 64 * 2**10
"""Bytes of a request line with its headers; trailers and chunk sizes have as many again."""


class HeadTooLargeError(Exception):
    """Stops the parser."""


class BoundedConnection(HttpToolsProtocol):
    """The server's protocol with these bounds: the parser alone would collect a head without end."""

    _fruitless = 0
    """Bytes since the parser last found the end of a head or a piece of a body."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or close it where there are too many."""
        if len(self.connections) >= MOST_CONNECTIONS:
            self.transport = transport
            transport.abort()
        else:
            super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Parse what arrived, unless it leads nowhere."""
        if self.transport.is_closing():
            return
        self._fruitless += len(data)
        super().data_received(data)
        if self._fruitless > LARGEST_HEAD and not self.transport.is_closing():
            self.send_400_response("The request's head is too large.")

    def on_headers_complete(self) -> None:
        """The head is whole; it may still be too large where it came in one piece."""
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > LARGEST_HEAD:
            raise HeadTooLargeError
        self._fruitless = 0
        super().on_headers_complete()

    def on_chunk_header(self) -> None:
        """A chunk of a body starts."""
        self._fruitless = 0

    def on_body(self, body: bytes) -> None:
        """A piece of a body arrived."""
        self._fruitless = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request ended."""
        self._fruitless = 0
        super().on_message_complete()
