"""A system in this process, and the longest time that one request keeps its event loop from everything else.

Counts the CPU time of the loop's thread in each callback, so a busy machine changes nothing. The limit is in units of a
piece of reference work that is measured in the same run, so a slow machine changes little.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import orjson

from statewright.api import operations
from statewright.api.app import Api
from statewright.assembly import System, assemble
from statewright.clock import RealClock
from statewright.config import Config
from statewright.stores.memory.store import MemoryStore

SIGNED = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/{}/aws4_request, SignedHeaders=host, Signature=0"
MOST_REFERENCES = 4
"""The longest hold, in pieces of the reference work: about 100 ms."""


def reference_seconds() -> float:
    """CPU time of a piece of work that resembles parsing: about 25 ms."""
    best = 1e9
    gc.collect()
    gc.disable()
    for _ in range(5):
        started = time.thread_time()
        orjson.loads(b"[" + b'{"a":[]},' * 50_000 + b"1]")
        {str(number): number for number in range(50_000)}
        best = min(best, time.thread_time() - started)
    gc.enable()
    return best


@dataclass(frozen=True)
class Held:
    """An answer, and how long the loop was held for it at most, in pieces of the reference work."""

    status: int
    body: bytes
    references: float


class Holding:
    """Sends requests to a system of its own and watches its event loop."""

    def __init__(self, data: Path) -> None:
        self._runner = asyncio.Runner()
        self._longest = 0.0
        self._system, self._api = self._runner.run(self._start(data))
        self._reference = reference_seconds()
        # As a server does: what there is before the first request is not collected again before each.
        gc.freeze()

    async def _start(self, data: Path) -> tuple[System, Api]:
        operations.load_all()
        store = MemoryStore()
        await store.open("attack")
        system = assemble(Config(), RealClock(), store, data, lambda: "http://127.0.0.1:1")
        await system.start()
        return system, Api(system.app)

    def close(self) -> None:
        """Stop the system."""
        self._runner.run(self._system.stop())
        self._runner.close()

    def ask(self, method: str, path: str, body: bytes, headers: Mapping[str, str], query: str = "") -> Held:
        """Send one request, its body in pieces as they come from a socket."""
        given = {"host": "127.0.0.1:4566", "content-length": str(len(body)), **headers}
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        }  # fmt: skip
        with mock.patch.object(asyncio.Handle, "_run", self._watched(asyncio.Handle._run)):
            sent = self._runner.run(self._exchange(scope, body))
        text = b"".join(message.get("body", b"") for message in sent[1:])
        return Held(sent[0]["status"], text, self._longest / self._reference)

    def json(self, target: str, body: bytes) -> Held:
        """Call an operation of a JSON service by its target."""
        return self.ask("POST", "/", body, {"x-amz-target": target, "content-type": "application/x-amz-json-1.0"})

    def form(self, service: str, text: str) -> Held:
        """Call an operation by the query protocol."""
        kind = "application/x-www-form-urlencoded"
        return self.ask("POST", "/", text.encode(), {"authorization": SIGNED.format(service), "content-type": kind})

    def signed(self, service: str, method: str, path: str, body: bytes, query: str = "", **headers: str) -> Held:
        """Call an operation by its path."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask(method, path, body, {"authorization": SIGNED.format(service), **named}, query)

    async def _exchange(self, scope: dict[str, Any], body: bytes) -> list[dict[str, Any]]:
        pieces = self._pieces(body)
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(0)
            for piece in pieces:
                return piece
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: Any) -> None:
            sent.append(message)

        gc.collect()
        # What was done before this turn of the loop is not the request's.
        await asyncio.sleep(0)
        self._longest = 0.0
        await self._api(scope, receive, send)
        return sent

    def _pieces(self, body: bytes) -> Iterator[dict[str, Any]]:
        size = 65_536
        for place in range(0, len(body) or 1, size):
            more = place + size < len(body)
            yield {"type": "http.request", "body": body[place : place + size], "more_body": more}

    def _watched(self, run: Any) -> Any:
        def watched(handle: asyncio.Handle) -> None:
            started = time.thread_time()
            run(handle)
            self._longest = max(self._longest, time.thread_time() - started)

        return watched
