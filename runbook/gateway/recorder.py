"""Writing an attempt's record: `model_calls.jsonl` and `model_bodies.jsonl`."""

import logging
import os
from pathlib import Path

from runbook.gateway.bodies import CALLS, BodyLog, cut_torn_line, load_calls, write_whole
from runbook.gateway.describing import Rules, describe, describe_unread
from runbook.gateway.exchange import Exchange
from runbook.gateway.keys import KeyMask
from runbook.gateway.parts import Splitter, digest_of
from runbook.gateway.records import ModelCall

_log = logging.getLogger(__name__)


class Recorder:
    """Used by one thread at a time. Each call is one write to each file; `close` makes them durable."""

    def __init__(self, folder: Path, provider: str, rules: Rules, key: str) -> None:
        """Continues the files that a folder has, as after a restart of the gateway.

        Raises:
            OSError: the folder cannot be written to.
            ValueError: what it holds is no such record.
        """
        self.earlier = load_calls(folder)
        """What the folder's record held before."""
        self._provider = provider
        self._rules = rules
        self._mask = KeyMask(key)
        self._closed = False
        self._splitter = Splitter()
        self._seen_results = {result.id for call in self.earlier for result in call.tool_results}
        self._bodies = BodyLog(folder)
        self._calls = os.open(folder / CALLS, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        cut_torn_line(self._calls)

    def record(self, exchange: Exchange) -> ModelCall:
        """Describe an exchange that is over, and write it down."""
        call = self._describe(exchange)
        call.tool_results = [result for result in call.tool_results if result.id not in self._seen_results]
        self._seen_results.update(result.id for result in call.tool_results)
        parts = self._request_parts(call, exchange)
        body = b"".join(exchange.chunks)
        if body:
            call.response = digest_of(body)
            parts[call.response] = body
        results = {
            digest_of(result.text.encode("utf-8")): (call.number, position)
            for position, result in enumerate(call.tool_results)
        }
        self._bodies.add(parts, results)
        write_whole(self._calls, call.model_dump_json(exclude_defaults=True).encode() + b"\n")
        return call

    def _describe(self, exchange: Exchange) -> ModelCall:
        try:
            return describe(exchange, self._provider, self._rules, self._mask)
        except (
            Exception
        ) as error:  # what a provider sends may surprise us, and the call took place all the same
            _log.warning("call %d could not be described: %s", exchange.number, type(error).__name__)
            return describe_unread(exchange, self._provider, error)

    def _request_parts(self, call: ModelCall, exchange: Exchange) -> dict[str, bytes]:
        if not exchange.body:
            return {}
        if exchange.request is not None and exchange.exact:
            try:
                root, parts = self._splitter.split(exchange.request)
            except (RecursionError, TypeError, ValueError):
                pass  # no writer of JSON takes it, as where it is nested too deep: kept as it came
            else:
                call.request = [root]
                return parts
        call.request, call.request_is_json = [digest_of(exchange.body)], False
        return {call.request[0]: exchange.body}

    def close(self) -> None:
        """Flush both files to the disk. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self._bodies.close()
        os.fsync(self._calls)
        os.close(self._calls)
