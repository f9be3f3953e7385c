"""The ASGI application: one request from its head to its answer.

Plain ASGI, because every call of every workflow goes through here. In this order: web pages are refused, the request
is routed, its body read, its signature verified, its members validated; then its operation runs. Whatever goes wrong
becomes the service's own error.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from statewright import __version__
from statewright.api import auth, guard, shapes
from statewright.api.errors import internal_error, status_of
from statewright.api.metrics import CONTENT_TYPE as METRICS_TYPE
from statewright.api.metrics import CallCounters, Sample, render
from statewright.api.operations import App, Call, find, perform, registered, waits_for_events
from statewright.api.protocols import json10
from statewright.api.routing import SERVICES, Route, route
from statewright.errors import ApiError, StoreError
from statewright.payload import Json

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Sampler = Callable[[], Awaitable[Iterable[Sample]]]

log = logging.getLogger("statewright.api")

_JSON: Final = b"application/json"


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes out."""

    status: int
    body: bytes
    content_type: bytes = json10.CONTENT_TYPE


class Disconnected(Exception):
    """The caller has gone before the answer."""


@dataclass(slots=True)
class Api:
    """The application. `sampler` gives further figures for `/metrics`; `draining` turns new calls away."""

    app: App
    own_origins: frozenset[str] = frozenset()
    body_bytes: int = guard.BODY_BYTES
    sampler: Sampler | None = None
    counters: CallCounters = field(default_factory=CallCounters)
    draining: bool = False
    _polls: set[asyncio.Future[Json]] = field(default_factory=set)

    def drain(self) -> None:
        """Turn new calls away, and end those that wait for something to happen."""
        self.draining = True
        for poll in self._polls:
            poll.cancel()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        request_id = _new_id()
        started = time.perf_counter()
        where = Route("", "")
        try:
            guard.refuse_web_pages(headers, self.own_origins)
            answer = await self._page(scope) if scope["method"] in ("GET", "HEAD") else None
            if answer is None:
                where = route(scope["path"], scope["query_string"].decode("latin-1"), headers)
                answer = await self._call(where, scope, headers, receive, request_id)
                self._note(where, "OK", started, request_id)
        except ApiError as error:
            answer = self._refusal(error, where, started, request_id)
        except StoreError as problem:
            log.warning("the store did not answer %s %s: %s", where.service, where.operation, problem)
            unavailable = ApiError("ServiceUnavailable", "The store does not answer; try again.")
            answer = self._refusal(unavailable, where, started, request_id)
        except Disconnected:
            self._note(where, "Disconnected", started, request_id)
            return
        except Exception:
            log.exception("request %s: %s %s failed", request_id, where.service, where.operation)
            answer = self._refusal(internal_error(request_id), where, started, request_id)
        await _send(send, answer, request_id, head_only=scope["method"] == "HEAD")

    async def _call(
        self, where: Route, scope: Message, headers: Mapping[str, str], receive: Receive, request_id: str
    ) -> Answer:
        service, name = where.service, where.operation
        if scope["method"] != "POST":
            raise ApiError("MethodNotAllowed", f"{scope['method'][:20]} is not a method of this service; POST is.")
        if self.draining:
            raise _shutting_down()
        guard.refuse_length(headers.get("content-length"), self.body_bytes)
        body = await _read_body(receive, self.body_bytes)
        config = self.app.config
        key = None
        if config.credentials:
            signed = auth.Request(
                scope["method"],
                scope.get("raw_path", scope["path"].encode()).decode("latin-1"),
                scope["query_string"].decode("latin-1"),
                headers,
                body,
            )
            key = auth.verify(signed, config.credentials, time.time())
        request = json10.read_request(headers.get("content-type", ""), body)
        running = perform(self.app, Call(service, name, request_id, headers, key), request)
        result = await (self._while_connected(running, receive) if waits_for_events(service, name) else running)
        return Answer(200, json10.write_answer(shapes.writer(service, name)(result)))

    async def _while_connected(self, running: Awaitable[Json], receive: Receive) -> Json:
        """Await an operation that may wait long; give it up when its caller goes, or the server does.

        Raises: Disconnected, ApiError.
        """
        work = asyncio.ensure_future(running)
        gone = asyncio.ensure_future(receive())
        self._polls.add(work)
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise Disconnected
            if work.cancelled():
                raise _shutting_down()
            return work.result()
        finally:
            self._polls.discard(work)
            for task in (work, gone):
                task.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)

    async def _page(self, scope: Message) -> Answer | None:
        """Our own pages; `None` for every other address."""
        path = scope["path"]
        if path == "/health":
            state = {"status": "draining" if self.draining else "ok", "version": __version__}
            services = {name: len(registered(name)) for name in sorted(SERVICES)}
            return Answer(503 if self.draining else 200, orjson.dumps({**state, "operations": services}), _JSON)
        if path == "/metrics":
            samples = list(await self.sampler()) if self.sampler is not None else []
            samples.append(Sample("statewright_api_polls", "gauge", "Calls that wait for something.", len(self._polls)))
            return Answer(200, render(self.counters, samples), METRICS_TYPE)
        return None

    def _refusal(self, error: ApiError, where: Route, started: float, request_id: str) -> Answer:
        self._note(where, error.code, started, request_id)
        return Answer(status_of(error.code), json10.write_error(error))

    def _note(self, where: Route, code: str, started: float, request_id: str) -> None:
        seconds = time.perf_counter() - started
        # Names come from callers: only those that exist are counted apart.
        known = find(where.service, where.operation) is not None
        self.counters.note(where.service or "none", where.operation if known else "other", code, seconds)
        if log.isEnabledFor(logging.DEBUG):
            log.debug(
                "%s %s: %s", where.service, where.operation[:100], code,
                extra={"request_id": request_id, "code": code, "milliseconds": round(seconds * 1000, 3)},
            )  # fmt: skip


async def _read_body(receive: Receive, limit: int) -> bytes:
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        body: bytes = message.get("body", b"")
        if len(body) > limit:
            raise guard.too_long(limit)
        return body
    parts = []
    size = 0
    while True:
        if message["type"] == "http.disconnect":
            raise Disconnected
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise guard.too_long(limit)
        parts.append(part)
        if not message.get("more_body"):
            return b"".join(parts)
        message = await receive()


def _new_id() -> str:
    """A random UUID (version 4), made without the cost of `uuid`, which every request would pay."""
    text = os.urandom(16).hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"


def _shutting_down() -> ApiError:
    return ApiError("ServiceUnavailable", "The server is shutting down; try again.")


async def _send(send: Send, answer: Answer, request_id: str, *, head_only: bool) -> None:
    await send(
        {
            "type": "http.response.start",
            "status": answer.status,
            "headers": [
                (b"content-type", answer.content_type),
                (b"content-length", str(len(answer.body)).encode()),
                (b"x-amzn-requestid", request_id.encode()),
            ],
        }
    )
    await send({"type": "http.response.body", "body": b"" if head_only else answer.body})
