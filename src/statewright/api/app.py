"""The ASGI application: one request from its head to its answer.

Plain ASGI, because every call of every workflow goes through here. In this order: web pages are refused, the request
is routed, its signature verified, its body read by its protocol, its members validated; then its operation runs.
Every failure becomes an error of the service.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Final, Protocol

import orjson

from statewright import chance
from statewright.api import auth, auth_v2, guard, streaming, time_scale
from statewright.api.apigatewayv2 import door
from statewright.api.calls.forwarding import Forwarding
from statewright.api.errors import internal_error
from statewright.api.operations import App, Call, find, perform, waits_for_events
from statewright.api.protocols.json10 import JsonWire
from statewright.api.protocols.multipart_form import is_form
from statewright.api.protocols.query import FORM_TYPE, QueryWire
from statewright.api.protocols.wire import Answer, Disconnected, Incoming, Message, Receive
from statewright.api.routing import (
    UNSIGNED_FORM,
    Route,
    bucket_in_host,
    form_route,
    linked_account,
    linked_service,
    route,
    signing_service,
)
from statewright.api.service import BODY_BYTES, GLOBAL, JSON, ONE, Service
from statewright.api.services import BY_NAME
from statewright.api.status import health
from statewright.api.status.prometheus import CONTENT_TYPE as METRICS_TYPE
from statewright.api.status.prometheus import CallCounters, Sample, render
from statewright.api.wires import wire_of
from statewright.errors import ApiError, StoreError, shortage
from statewright.payload import Json, JsonObject

Send = Callable[[Message], Awaitable[None]]
Sampler = Callable[[], Awaitable[Iterable[Sample]]]


class Pages(Protocol):
    """An application that answers for pages in browsers."""

    async def __call__(self, scope: Message, receive: Receive, send: Send, /) -> None:
        """Answer one request."""

    def drain(self) -> None:
        """End all answers that go on."""


log = logging.getLogger("statewright.api")

WATCH: Final = "statewright.watch"
"""Key in a request's scope under which the HTTP server puts a `Watch`, to report that the caller has disconnected."""
Watch = Callable[[Callable[[], None] | None], None]
GATHER: Final = "statewright.gather"
"""Key in a request's scope under which the HTTP server puts a function that reads a long body in larger pieces."""
PAGES: Final = frozenset({"/health", "/metrics"})
GLOBAL_ENDPOINT: Final = "us-east-1"
"""The region that calls to services without regions are signed for. Source: endpoints of botocore."""
AVAILABLE: Final = frozenset({"ok", "ready"})
"""Words of `/health` for a server that answers calls; with all others its status is 503."""
SHUTTING_DOWN: Final = "The server is shutting down; try again."
WARN_SECONDS: Final = 1.0
"""Shortest time between two warnings about a store that does not answer."""


@dataclass(slots=True)
class Api:
    """The application. `sampler` returns further figures for `/metrics`; while `draining`, new calls are refused, and
    `refusal` says why.

    `standing` is the word for `/health` about what the server is, which is available while that is one of `AVAILABLE`.
    `origins` are those of web pages that may call. `body_bytes` is the longest body for any service when the limits on
    payloads are lifted. `store_state` says for `/health` what a check of the store has found, `bucket_state` if its
    bucket can be used, `invented` which services moto has played. `pages` answers unsigned requests at `/console`.
    `about` returns further members of `/health`: those of a node.
    """

    app: App
    origins: frozenset[str] = frozenset()
    body_bytes: int | None = None
    sampler: Sampler | None = None
    store_state: Callable[[], str] | None = None
    invented: Callable[[], list[str]] | None = None
    pages: Pages | None = None
    standing: Callable[[], str] | None = None
    bucket_state: Callable[[], str] | None = None
    about: Callable[[], JsonObject] | None = None
    counters: CallCounters = field(default_factory=CallCounters)
    draining: bool = False
    refusal: str = SHUTTING_DOWN
    _warned_at: float = -1e9
    _unwarned: int = 0
    _polls: set[asyncio.Future[Json] | _Poll] = field(default_factory=set)
    _forwardings: dict[str, Forwarding] = field(default_factory=dict)

    def drain(self) -> None:
        """Refuse new calls, and end all long polls."""
        self.draining, self.standing = True, None
        for poll in self._polls:
            poll.cancel()
        if self.pages is not None:
            self.pages.drain()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        handling = _Handling(scope, _new_id(), time.perf_counter())
        if door.leads_to_api(scope["path"], headers.get("host", "")):
            status = await door.answer(
                self.app, scope, headers, receive, send,
                request_id=handling.request_id, origins=self.origins, draining=self.draining,
            )  # fmt: skip
            self.counters.note("execute-api", "request", str(status), time.perf_counter() - handling.started)
            return
        if self.pages is not None and _is_for_pages(scope, headers):
            await self.pages(scope, receive, send)
            return
        if self.pages is not None and _is_visitor(scope, headers):
            await _send(send, _nothing, Answer(302, b"", headers=((b"location", b"/console"),)), handling)
            return
        try:
            is_verified = self._is_verified(scope, headers)
            guard.refuse_web_pages(headers, self.origins, is_page=scope["path"] in PAGES, is_verified=is_verified)
            answer = await self._page(scope, headers)
            if answer is None and scope["path"] == time_scale.PATH and "authorization" not in headers:
                answer = await self._time_scale(scope, headers, receive)
            if answer is None:
                path = scope["path"]
                query = scope["query_string"].decode("latin-1")
                handling.where = route(scope["method"], path, query, headers)
                raw_path = scope.get("raw_path", path.encode()).decode("latin-1")
                service = BY_NAME.get(handling.where.service)
                if service is not None:
                    handling.id_headers, handling.headers = service.id_headers, service.headers
                limit = self.body_bytes or (BODY_BYTES if service is None else service.body_bytes)
                incoming = Incoming(scope["method"], raw_path, query, headers, receive, limit,
                                    gather=scope.get(GATHER))  # fmt: skip
                handling.incoming = incoming
                answer = await self._call(handling, incoming)
                if not isinstance(answer.body, bytes) and scope["method"] != "HEAD":
                    await streaming.prepare(answer.body)
                self._note(handling, "OK")
            await _send(send, receive, answer, handling)
        except ApiError as error:
            await self._refuse(send, handling, error)
        except StoreError as problem:
            self._warn_of_store(handling, problem)
            await self._refuse(send, handling, ApiError("ServiceUnavailable", "The store does not answer; try again."))
        except Disconnected:
            self._note(handling, "Disconnected")
        except Exception as problem:
            lacking = shortage(problem)
            if lacking is not None:
                self._warn_of_store(handling, lacking)
                text = "The server has too little memory, file descriptors, threads or disk space; try again."
                await self._refuse(send, handling, ApiError("ServiceUnavailable", text))
                return
            log.exception("request %s: %s %s failed", handling.request_id, handling.where.service, handling.operation)
            await self._refuse(send, handling, internal_error(handling.request_id))

    async def _forward(self, app: App, service: str, incoming: Incoming) -> Answer:
        """Forward a request to a service that is not served here. Raises: ApiError."""
        forwarding = self._forwardings.get(app.account)
        if forwarding is None:
            forwarding = Forwarding(app.config, app.integrations.blocking, app.integrations.volatile)
            self._forwardings[app.account] = forwarding
        return await forwarding.call(service, incoming)

    async def _call(self, handling: _Handling, incoming: Incoming) -> Answer:
        where = handling.where
        if self.draining:
            raise self._refused()
        key = await self._verify(where, incoming)
        if where == UNSIGNED_FORM and signing_service(incoming.query, incoming.headers) is None:
            where = handling.where = form_route(where, incoming.query, await incoming.body())
        service = BY_NAME.get(where.service)
        app = self.app
        if app.config.accounts:
            app = await self._app_of_account(app, key, incoming)
        if service is None:
            if app.regions is not None and where.region:
                app.regions.check(where.region)
            return await self._forward(app, where.service, incoming)
        if where.region not in ("", app.config.region):
            app = await self._app_of(app, where, service, incoming)
        wire = wire_of(service, where.protocol)
        handling.operation, request = await wire.read(incoming)
        if key is None and self.app.config.credentials and handling.operation not in service.open_operations:
            raise ApiError("MissingAuthenticationTokenException", "Missing Authentication Token")
        call = Call(
            where.service, handling.operation, handling.request_id,
            incoming.headers, key, incoming.raw_path, incoming.query, size=incoming.size,
        )  # fmt: skip
        running = perform(app, call, request)
        if waits_for_events(where.service, handling.operation):
            running = self._while_connected(running, incoming.receive, handling.scope.get(WATCH))
        return wire.answer(handling.operation, await running, handling.request_id)

    async def _app_of_account(self, app: App, key: str | None, incoming: Incoming) -> App:
        """The application of the signer's account, or that of the resource in a link. Raises: ApiError, StoreError."""
        if key is not None:
            return await app.of_signer(key, incoming.headers, incoming.query)
        if app.accounts is None or linked_service(incoming.query, incoming.headers) is None:
            return app
        return app.accounts.running(linked_account(incoming.query)) or app

    async def _app_of(self, app: App, where: Route, service: Service, incoming: Incoming) -> App:
        """The application for a call that is for a region other than the default one. Raises: ApiError, StoreError."""
        regions, region = app.regions, where.region
        if regions is None:
            raise ApiError("InvalidSignatureException", f"This server has one region: {app.config.region}.")
        if service.regions == GLOBAL:
            # SDKs sign for the region of the service's one endpoint, whichever region they are set to.
            if region != GLOBAL_ENDPOINT:
                regions.check(region)
            return app
        if service.regions == ONE:
            raise ApiError(
                "InvalidSignatureException",
                f"{service.title} has one region here, {app.config.region}; this call is signed for '{region[:100]}'.",
                status=403,
            )
        if where.service == linked_service(incoming.query, incoming.headers):
            # The link is not signed, so it begins no region.
            return regions.running(region) or app
        return await regions.app_of(region)

    def _is_verified(self, scope: Message, headers: Mapping[str, str]) -> bool:
        """True if a request names a signer, so that `_verify` refuses it unless a configured key signed it."""
        if not self.app.config.credentials or scope["path"] in PAGES or scope["path"] == time_scale.PATH:
            return False
        return signing_service(scope["query_string"].decode("latin-1"), headers) is not None

    async def _verify(self, where: Route, incoming: Incoming) -> str | None:
        """The access key of the request's signer. The operation that reads a streamed body checks its hash."""
        config = self.app.config
        if not config.credentials:
            return None
        if where.service == linked_service(incoming.query, incoming.headers):
            return None
        if (
            where.service == "s3"
            and is_form(incoming.method, incoming.headers)
            and not incoming.query
            and "authorization" not in incoming.headers
        ):
            # Its fields are signed, not its head: the operation verifies them.
            return None
        service = BY_NAME.get(where.service)
        body = None if service is not None and service.streams else await incoming.body()
        signed = auth.Request(incoming.method, incoming.raw_path, incoming.query, incoming.headers, body)
        secrets = self.app.secrets(incoming.headers, incoming.query)
        if where.service == "s3" and auth_v2.is_presigned(incoming.query, incoming.headers):
            return auth_v2.verify(signed, secrets, time.time())
        return auth.verify(signed, secrets, time.time())

    async def _while_connected(self, running: Awaitable[Json], receive: Receive, watch: Watch | None) -> Json:
        """Await a long poll; cancel it when the caller disconnects or the server drains.

        Raises: Disconnected, ApiError.
        """
        if watch is not None:
            return await self._watched(running, watch)
        work = asyncio.ensure_future(running)
        gone = asyncio.ensure_future(receive())
        self._polls.add(work)
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise Disconnected
            if work.cancelled():
                raise self._refused()
            return work.result()
        finally:
            self._polls.discard(work)
            for task in (work, gone):
                task.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)

    async def _watched(self, running: Awaitable[Json], watch: Watch) -> Json:
        """As `_while_connected`, without a task besides the request's own: ten thousand calls may wait."""
        poll = _Poll(asyncio.current_task())
        self._polls.add(poll)
        watch(poll.gone)
        try:
            return await running
        except asyncio.CancelledError:
            if poll.task is None or not (poll.is_gone or poll.is_cancelled):
                raise
            poll.task.uncancel()
            raise Disconnected if poll.is_gone else self._refused() from None
        finally:
            watch(None)
            self._polls.discard(poll)

    async def _page(self, scope: Message, headers: dict[str, str]) -> Answer | None:
        """Answer Statewright's own pages; `None` for every other request. A signed request is meant for a service."""
        path = scope["path"]
        if path not in PAGES or scope["method"] not in ("GET", "HEAD") or "authorization" in headers:
            return None
        if path == "/health":
            status = self._status()
            found = health.document(self.app, status, self.store_state, self.bucket_state, self.invented)
            if self.about is not None:
                found.update(self.about())
            return Answer(200 if status in AVAILABLE else 503, orjson.dumps(found))
        samples = list(await self.sampler()) if self.sampler is not None else []
        samples.append(Sample("statewright_api_polls", "gauge", "Calls that wait for something.", len(self._polls)))
        return Answer(200, render(self.counters, samples), METRICS_TYPE)

    async def _time_scale(self, scope: Message, headers: dict[str, str], receive: Receive) -> Answer | None:
        """Show or set the time scale; `None` for other methods."""
        pauses = self.app.clock.pauses
        if scope["method"] == "GET":
            return time_scale.show(pauses)
        if scope["method"] != "PUT":
            return None
        if self.draining:
            raise self._refused()
        if self.app.config.credentials:
            reason = "With credentials configured, only statewright.toml sets the scale."
            raise ApiError("AccessDeniedException", reason, status=403)
        incoming = Incoming("PUT", scope["path"], "", headers, receive, time_scale.LONGEST_BODY)
        return time_scale.set_scale(pauses, await incoming.body())

    def _refused(self) -> ApiError:
        return ApiError("ServiceUnavailable", self.refusal)

    def _status(self) -> str:
        """The word for `/health`."""
        if self.standing is not None:
            return self.standing()
        return "draining" if self.draining else "ok"

    def _warn_of_store(self, handling: _Handling, problem: StoreError) -> None:
        """Log an error of the store or the machine, at most once a second: the log may be on the disk that is full."""
        now = time.monotonic()
        if now - self._warned_at < WARN_SECONDS:
            self._unwarned += 1
            return
        more = f"; {self._unwarned} other calls since the last warning" if self._unwarned else ""
        self._warned_at, self._unwarned = now, 0
        log.warning("%s %s was answered with 503: %s%s", handling.where.service, handling.operation, problem, more)

    async def _refuse(self, send: Send, handling: _Handling, error: ApiError) -> None:
        where = handling.where
        service = BY_NAME.get(where.service)
        if service is not None and service.precedence is not None and handling.incoming is not None:
            error = await import_module(service.precedence).first_error(self.app, handling.incoming, error)
        self._note(handling, error.code)
        if service is not None:
            wire = wire_of(service, where.protocol)
        else:
            kind = handling.incoming.headers.get("content-type", "") if handling.incoming is not None else ""
            wire = _NO_SERVICE_BY_FORM if kind.startswith(FORM_TYPE) else _NO_SERVICE
        answer = wire.refusal(error, handling.request_id, handling.scope["path"])
        try:
            if handling.incoming is not None and not await handling.incoming.drop_rest():
                answer = replace(answer, headers=(*answer.headers, (b"connection", b"close")))
        except Disconnected:
            return
        await _send(send, _nothing, answer, handling)

    def _note(self, handling: _Handling, code: str) -> None:
        seconds = time.perf_counter() - handling.started
        service, operation = handling.where.service, handling.operation
        # Names come from callers: only existing ones get counters of their own.
        known = find(service, operation) is not None
        service = service if service in BY_NAME or not service else "foreign"
        self.counters.note(service or "none", operation if known else "other", code, seconds)
        if log.isEnabledFor(logging.DEBUG):
            log.debug(
                "%s %s: %s", service, operation[:100], code,
                extra={"request_id": handling.request_id, "code": code, "milliseconds": round(seconds * 1000, 3)},
            )  # fmt: skip


@dataclass(slots=True, eq=False)
class _Poll:
    """A long poll that waits in the task of its request."""

    task: asyncio.Task[None] | None
    is_gone: bool = False
    is_cancelled: bool = False

    def gone(self) -> None:
        """Called when the caller has disconnected."""
        self.is_gone = True
        self._end()

    def cancel(self) -> None:
        """Called when the server drains."""
        self.is_cancelled = True
        self._end()

    def _end(self) -> None:
        if self.task is not None:
            self.task.cancel()


@dataclass(slots=True)
class _Handling:
    """A request in progress."""

    scope: Message
    request_id: str
    started: float
    where: Route = field(default_factory=lambda: Route("", JSON))
    operation: str = ""
    incoming: Incoming | None = None
    id_headers: tuple[bytes, ...] = (b"x-amzn-requestid",)
    headers: tuple[tuple[bytes, bytes], ...] = ()


_NO_SERVICE: Final = JsonWire("")
_NO_SERVICE_BY_FORM: Final = QueryWire("unknown")
"""Write refusals for requests to services that are not served here."""


def _is_visitor(scope: Message, headers: Mapping[str, str]) -> bool:
    """True for a browser that a user has pointed at the server's address itself. Programs do not accept HTML by name; a
    signed request, or one to a bucket's host, is for S3.
    """
    return (
        scope["path"] == "/"
        and not scope["query_string"]
        and scope["method"] in ("GET", "HEAD")
        and "text/html" in headers.get("accept", "")
        and "authorization" not in headers
        and headers.get("sec-fetch-mode", "navigate") == "navigate"
        and bucket_in_host(headers.get("host", "")) is None
    )


def _is_for_pages(scope: Message, headers: Mapping[str, str]) -> bool:
    """True for a request to the pages; a signed one at the same path is for a bucket of that name."""
    path = scope["path"]
    if not path.startswith("/console") or path[8:9] not in ("", "/"):
        return False
    return signing_service(scope["query_string"].decode("latin-1"), headers) is None


def _new_id() -> str:
    """A random UUID (version 4), made without the cost of `uuid`, which every request would pay."""
    text = chance.random_bytes(16).hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"


async def _nothing() -> Message:
    """A `receive` for short answers, for which nothing more is read."""
    return {"type": "http.disconnect"}


async def _send(send: Send, receive: Receive, answer: Answer, handling: _Handling) -> None:
    body, head_only = answer.body, handling.scope["method"] == "HEAD"
    request_id = handling.request_id.encode()
    headers = [(b"content-type", answer.content_type), *[(name, request_id) for name in handling.id_headers]]
    headers += handling.headers
    headers += answer.headers
    if isinstance(body, bytes):
        # The answer to HEAD says how long the body of GET would be.
        if not any(name == b"content-length" for name, _ in answer.headers):
            headers.append((b"content-length", str(len(body)).encode()))
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if head_only else body})
        return
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    if head_only:
        await streaming.close(body)
        await send({"type": "http.response.body", "body": b""})
    else:
        await streaming.send_pieces(send, receive, body)
