"""The gateway of a run: a thread with an event loop that serves one socket per attempt."""

import asyncio
import contextlib
import logging
import secrets
import socket
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from runbook.gateway import sockets
from runbook.gateway.budgets import Spending
from runbook.gateway.cassette import CassetteReader, CassetteWriter
from runbook.gateway.describing import Rules
from runbook.gateway.keys import Key, read_key
from runbook.gateway.lanes import Lane
from runbook.gateway.line import Line
from runbook.gateway.prices import Prices, refuse_unpriced
from runbook.gateway.provider import Provider
from runbook.gateway.recorder import Recorder
from runbook.gateway.retries import Patience
from runbook.gateway.settings import Budget, GatewayError, GatewaySettings, LineOrder, ProviderSettings

if TYPE_CHECKING:
    import uvicorn

    from runbook.gateway.app import Answerer

T = TypeVar("T")
_log = logging.getLogger(__name__)
_MOST_FAULTS = 20


class LoopFaults:
    """What the event loop reports, once each: an agent could have it said thousands of times."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def note(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log a report that is new."""
        said = f"{context.get('message')}: {context.get('exception')!r}"[:300]
        if len(self._said) < _MOST_FAULTS and said not in self._said:
            self._said.add(said)
            _log.error("the gateway's loop: %s", said)


class Gateway:
    """Use as a context manager; what it holds is given back on every way out.

    Its methods may be called from any thread.
    """

    def __init__(self, settings: GatewaySettings) -> None:
        """Raises GatewayError where the settings contradict each other or a price table cannot be read."""
        if settings.record and settings.replay:
            raise GatewayError("a run is either recorded or replayed, not both")
        self._settings = settings
        self._rules = Rules(Prices.read(settings.prices), settings.mismatch)
        self._run_spending = Spending(settings.run_budget, "run's")
        self._providers: dict[str, Provider] = {}
        self._lines: dict[Line, uvicorn.Server] = {}
        self._servers: dict[asyncio.Task[None], uvicorn.Server] = {}
        self._lock = threading.Lock()
        self._port: int | None = None

    def __enter__(self) -> Self:
        sockets.raise_file_limit()
        self._root = sockets.SocketRoot.make(self._settings.sockets)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="gateway-writer")
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(LoopFaults().note)
        self._thread = threading.Thread(target=self._loop.run_forever, name="gateway", daemon=True)
        self._thread.start()
        try:
            self._call(self._start())
        except BaseException:
            self._tear_down()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def _start(self) -> None:
        # The HTTP libraries take a second to import, and most commands never open a gateway.
        import uvicorn

        from runbook.gateway.app import App
        from runbook.gateway.connections import MOST_CONNECTIONS, BoundedConnection

        self._answerer = self._make_answerer()
        self._app = App(self._answerer, self._settings.hosted_tools)
        self._config = uvicorn.Config(
            self._app,
            http=BoundedConnection,
            backlog=MOST_CONNECTIONS,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=600,
            timeout_graceful_shutdown=1,
        )

    def _make_answerer(self) -> "Answerer":
        from runbook.gateway.answering import Recording, Replay, Upstream

        settings = self._settings
        if settings.replay:
            return Replay(CassetteReader(settings.replay))
        upstream = Upstream(settings.connect_seconds, settings.silence_seconds)
        if settings.record:
            return Recording(upstream, CassetteWriter(settings.record), self._writer)
        return upstream

    def open_line(self, order: LineOrder) -> Line:
        """Connect an attempt: a socket of its own, and a record in `order.folder`.

        Raises:
            GatewayError: no provider or key, a budget that cannot be kept, a folder or socket that cannot be
                made; nothing is left behind.
        """
        if not order.model:
            raise GatewayError("an agent that speaks to a model needs the name of one")
        provider = self._provider(order)
        budget = order.budget or self._settings.attempt_budget
        self._check_money(order, budget)
        with contextlib.ExitStack() as undo:
            try:
                recorder = Recorder(order.folder, provider.name, self._rules, provider.key)
            except OSError as error:
                raise GatewayError(f"no record can be written to {order.folder}: {error}") from None
            except (ValueError, KeyError):
                raise GatewayError(
                    f"the record of model calls in {order.folder} is damaged; move the folder away"
                ) from None
            undo.callback(recorder.close)
            directory = order.directory or self._root.path / secrets.token_hex(5)
            undo.callback(sockets.remove, directory)
            listener = sockets.bind(directory)
            undo.callback(listener.close)
            line = Line(
                order,
                provider=provider,
                directory=directory,
                allowed_models=frozenset({order.model, *order.models, *self._settings.allowed_models}),
                recorder=recorder,
                prices=self._rules.prices,
                spending=(Spending(budget, "attempt's"), self._run_spending),
                patience=Patience(self._settings.retry_seconds),
                release=self._release,
            )
            self._call(self._serve(line, listener))
            undo.pop_all()
        return line

    def listen_tcp(self) -> int:
        """Serve all lines on a loopback port as well; returns the port, the same one every time."""
        with self._lock:
            if self._port is None:
                listener = sockets.bind_loopback()
                self._call(self._add_server(listener))
                self._port = listener.getsockname()[1]
            return self._port

    def close(self) -> None:
        """Close all lines and stop; a second call does nothing.

        Raises:
            GatewayError: a record could not be written; everything is given back all the same.
        """
        if self._loop.is_closed():
            return
        with contextlib.ExitStack() as afterwards:
            afterwards.callback(self._tear_down)
            afterwards.callback(lambda: self._call(self._stop()))
            for line in list(self._lines):
                afterwards.callback(line.close)

    def _tear_down(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._writer.shutdown()
        self._root.close()

    def _provider(self, order: LineOrder) -> Provider:
        settings = self._settings.providers
        if order.provider and order.provider not in settings:
            raise GatewayError(f"no provider {order.provider}; there are {', '.join(settings) or 'none'}")
        speakers = [name for name, provider in settings.items() if order.wire in provider.wires]
        name = order.provider or next(iter(speakers), "")
        if name not in speakers:
            raise GatewayError(f"{name or 'no provider'} speaks {order.wire}; add one that does")
        with self._lock:
            if name not in self._providers:
                chosen = settings[name]
                self._providers[name] = Provider(
                    name, chosen, self._key(name, chosen), Lane(chosen.concurrency)
                )
            return self._providers[name]

    def _key(self, name: str, provider: ProviderSettings) -> Key:
        return Key() if self._settings.replay else read_key(name, provider)

    def _check_money(self, order: LineOrder, budget: Budget) -> None:
        """A budget in money needs prices, unless one in tokens bounds the spend as well."""
        budgets = {"gateway.attempt_budget": budget, "gateway.run_budget": self._settings.run_budget}
        models = (order.model, *order.models, *self._settings.allowed_models)
        refuse_unpriced(budgets, self._rules.prices, models)

    async def _serve(self, line: Line, listener: socket.socket) -> None:
        self._app.lines[line.prefix] = line
        self._lines[line] = await self._add_server(listener)

    async def _add_server(self, listener: socket.socket) -> "uvicorn.Server":
        import uvicorn

        server = uvicorn.Server(self._config)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        self._servers[task] = server
        task.add_done_callback(lambda task: self._servers.pop(task, None))
        return server

    def _release(self, line: Line) -> None:
        sockets.remove(line.directory)
        self._call(self._end(line))

    async def _end(self, line: Line) -> None:
        self._app.lines.pop(line.prefix, None)
        self._lines.pop(line).should_exit = True
        await line.finish()

    async def _stop(self) -> None:
        for server in self._servers.values():
            server.should_exit = True
        await asyncio.gather(*self._servers, return_exceptions=True)
        await self._answerer.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for other in others:
            other.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.get_running_loop().shutdown_default_executor()

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` on the gateway's loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()
