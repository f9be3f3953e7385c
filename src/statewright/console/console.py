"""The console as an application of its own at `/console`: its page, and the reads below `/console/api/`.

Owns what the page may load, and that answers are never stored. `sign_in` decides on callers; every read is one function
of `reads`.
"""

from __future__ import annotations

import asyncio
import gzip
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl

from statewright import chance
from statewright.api.errors import status_of
from statewright.api.operations import App
from statewright.api.protocols.wire import Disconnected, Incoming, Message, Receive
from statewright.api.streaming import Send, close
from statewright.background import in_thread
from statewright.console.asked import Answer as Reply
from statewright.console.asked import Asked, Caller, File, Lines
from statewright.console.assets import PAGE, assets
from statewright.console.project import ProjectBoard
from statewright.console.signing_in.sign_in import HOW, SIGN_IN, SignIn
from statewright.errors import ApiError, StoreError, shortage
from statewright.payload import Json, JsonObject, JsonTextError, dump_json, parse_json

log = logging.getLogger("statewright.console")

PATH: Final = "/console"
_API: Final = "/console/api/"
_SVG: Final = "/console/svg/"
_OPENING: Final = "/console/api/session"
_PACKED_BYTES: Final = 1_000
_LONG_BYTES: Final = 100_000
_LONGEST_QUERY: Final = 8_000
_LONGEST_KEY_BODY: Final = 2_000
_LONGEST_BODY: Final = 32 * 1024 * 1024
"""A posted document may hold a history that is looked at."""
_UNAVAILABLE: Final = ApiError("ServiceUnavailable", "The store does not answer; try again.")
_FAILED: Final = ApiError("InternalError", "The server failed to answer; its log says why.")
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
_SAFE: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_LINES: Final = (*_SAFE, (b"content-type", b"application/x-ndjson"), (b"cache-control", b"no-store"))
"""Headers of an answer that goes on."""


@dataclass(slots=True)
class ConsoleApp:
    """The ASGI application. `origins` are those of other web pages that may read, `place` is where the state lies,
    `project` has the findings of `statewright dev`.
    """

    app: App
    origins: frozenset[str] = frozenset()
    place: str = ""
    project: ProjectBoard | None = None
    draining: bool = False
    _sign_in: SignIn = field(init=False)
    _readers: dict[str, Callable[[str, Asked], Awaitable[Reply]]] = field(default_factory=dict)
    """The reads of each account."""
    _streams: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._sign_in = SignIn(self.app, self.origins)

    def drain(self) -> None:
        """End all answers that go on, and refuse new ones, since the server stops."""
        self.draining = True
        for stream in self._streams:
            stream.cancel()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        path = scope["path"]
        try:
            if scope["method"] not in ("GET", "HEAD", "POST"):
                raise ApiError("MethodNotAllowed", "The console answers GET, HEAD and POST.", status=405)
            if not path.startswith(_API):
                if scope["method"] == "POST":
                    raise ApiError("MethodNotAllowed", "Pages of the console answer GET and HEAD.", status=405)
                self._sign_in.guard_page(scope, headers)
                if path.startswith(_SVG):
                    await self._drawing(scope, headers, send)
                else:
                    await self._page(scope, headers, send)
                return
            if path == _OPENING:
                opened = await self._open(scope, headers, receive)
                await self._answer(scope, headers, send, 200, opened)
                return
            caller = self._sign_in.caller(scope, headers)
            reply = await self._reply(scope, headers, receive, caller)
            if isinstance(reply, Lines) and scope["method"] == "HEAD":
                # Its documents would be made for nothing, and a live one never ends.
                await close(reply.documents)
                await send({"type": "http.response.start", "status": 200, "headers": _LINES})
                await send({"type": "http.response.body", "body": b""})
            elif isinstance(reply, Lines):
                if self.draining:
                    await close(reply.documents)
                    raise ApiError("ServiceUnavailable", "The server is shutting down.")
                await self._stream(scope, receive, send, reply, caller)
            elif isinstance(reply, File):
                await self._file(scope, headers, send, reply)
            else:
                await self._answer(scope, headers, send, 200, reply)
        except Disconnected:
            log.debug("a reader of %r has disconnected", path[:200])
        except ApiError as error:
            await self._answer(scope, headers, send, status_of(error), {"error": error.code, "message": error.message})
        except StoreError as problem:
            log.warning("the console was answered with 503: %s", problem)
            refusal = {"error": _UNAVAILABLE.code, "message": _UNAVAILABLE.message}
            await self._answer(scope, headers, send, 503, refusal)
        except Exception as problem:
            if shortage(problem) is None:
                log.exception("the console's read %r failed", path[:200])
            await self._answer(scope, headers, send, 500, {"error": _FAILED.code, "message": _FAILED.message})

    async def _open(self, scope: Message, headers: Mapping[str, str], receive: Receive) -> JsonObject:
        """Sign in: swap the key of a link for a token."""
        if scope["method"] != "POST":
            raise ApiError("MethodNotAllowed", "session answers POST.", status=405)
        return await self._sign_in.open(scope, headers, await self._posted(scope, headers, receive, _LONGEST_KEY_BODY))

    async def _reply(self, scope: Message, headers: Mapping[str, str], receive: Receive, caller: Caller) -> Reply:
        query = scope["query_string"]
        if len(query) > _LONGEST_QUERY:
            raise ApiError("BadRequest", "The address is too long.", status=414)
        body = await self._posted(scope, headers, receive) if scope["method"] == "POST" else None
        read = await self._reader_of(caller.account)
        given = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))
        return await read(scope["path"].removeprefix(_API), Asked(given, caller, chance.uuid4(), body))

    async def _reader_of(self, account: str) -> Callable[[str, Asked], Awaitable[Reply]]:
        read = self._readers.get(account)
        if read is None:
            # Imported by the first read: a server that is not looked at does without.
            from statewright.console.reads import reader

            app = self.app
            if account and app.accounts is not None:
                app = await app.accounts.app_of(account)
            read = self._readers[account] = reader(app, self.place, self.project)
        return read

    async def _drawing(self, scope: Message, headers: Mapping[str, str], send: Send) -> None:
        """`/console/svg/ARN`: an execution on its graph, as the read `run/svg` makes it."""
        caller = self._sign_in.caller(scope, headers)
        read = await self._reader_of(caller.account)
        reply = await read("run/svg", Asked({"arn": scope["path"].removeprefix(_SVG)}, caller, chance.uuid4()))
        assert isinstance(reply, File)
        await self._file(scope, headers, send, reply)

    async def _file(self, scope: Message, headers: Mapping[str, str], send: Send, file: File) -> None:
        safe = [pair for pair in _SAFE if pair[0] != b"content-security-policy"]
        more = [
            (b"content-security-policy", file.policy.encode()), (b"content-type", file.type.encode()),
            (b"cache-control", b"no-cache" if file.tag else b"no-store"),
        ]  # fmt: skip
        if file.tag:
            more.append((b"etag", f'"{file.tag}"'.encode()))
            if headers.get("if-none-match") == f'"{file.tag}"':
                await _respond(scope, send, 304, more, b"", safe)
                return
        body = file.body
        if len(body) > _PACKED_BYTES and "gzip" in headers.get("accept-encoding", ""):
            body = await in_thread(self.app.clock, lambda: gzip.compress(file.body, 4))
            more += [(b"content-encoding", b"gzip"), (b"vary", b"accept-encoding")]
        await _respond(scope, send, 200, more, body, safe)

    async def _stream(self, scope: Message, receive: Receive, send: Send, reply: Lines, caller: Caller) -> None:
        """Send documents as they come, until they end, the page goes away, its session is over, or the server stops."""
        task = asyncio.current_task()
        assert task is not None
        watches = [asyncio.ensure_future(_end_after(_gone(receive), task))]
        if caller.session is not None:
            watches.append(asyncio.ensure_future(_end_after(self._sign_in.until_over(caller), task)))
        self._streams.add(task)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _LINES})
            async for document in reply.documents:
                line = dump_json(document).encode() + b"\n"
                await send({"type": "http.response.body", "body": line, "more_body": True})
        except asyncio.CancelledError:
            log.debug("the stream of %r has ended", scope["path"][:200])
            if any(watch.done() for watch in watches[1:]):
                line = dump_json({"error": SIGN_IN, "message": f"This sign-in has ended. {HOW}"}).encode() + b"\n"
                await send({"type": "http.response.body", "body": line, "more_body": True})
        except (ApiError, StoreError) as problem:
            # Its head has been sent, so that the last line says what happened.
            await self._last_line(send, problem if isinstance(problem, ApiError) else _UNAVAILABLE)
        except Disconnected:
            raise
        except Exception:
            log.exception("the console's stream %r failed", scope["path"][:200])
            await self._last_line(send, _FAILED)
        finally:
            self._streams.discard(task)
            for watch in watches:
                watch.cancel()
            await asyncio.gather(*watches, return_exceptions=True)
            await close(reply.documents)
        await send({"type": "http.response.body", "body": b""})

    async def _last_line(self, send: Send, error: ApiError) -> None:
        line = dump_json({"error": error.code, "message": error.message}).encode() + b"\n"
        await send({"type": "http.response.body", "body": line, "more_body": True})

    async def _page(self, scope: Message, headers: Mapping[str, str], send: Send) -> None:
        name = scope["path"].rpartition("/")[2] if scope["path"].startswith("/console/static/") else PAGE
        found = assets().get(name)
        if found is None:
            raise ApiError("NotFound", f"The console has no file {name[:100]}.", status=404)
        more = [(b"content-type", found.type), (b"etag", found.tag), (b"cache-control", b"no-cache")]
        if headers.get("if-none-match", "").encode() == found.tag:
            await _respond(scope, send, 304, more, b"")
            return
        body = found.body
        if "gzip" in headers.get("accept-encoding", ""):
            body = found.packed
            more += [(b"content-encoding", b"gzip"), (b"vary", b"accept-encoding")]
        await _respond(scope, send, 200, more, body)

    async def _answer(
        self, scope: Message, headers: Mapping[str, str], send: Send, status: int, document: Json
    ) -> None:
        body = dump_json(document).encode()
        more = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
        if status == 401:
            more.append((b"www-authenticate", b"Bearer"))
        if len(body) > _PACKED_BYTES and "gzip" in headers.get("accept-encoding", ""):
            body = await self._packed(body)
            more.append((b"content-encoding", b"gzip"))
        await _respond(scope, send, status, more, body)

    async def _packed(self, body: bytes) -> bytes:
        if len(body) <= _LONG_BYTES:
            return gzip.compress(body, 4)
        return await in_thread(self.app.clock, lambda: gzip.compress(body, 4))

    async def _posted(
        self, scope: Message, headers: Mapping[str, str], receive: Receive, longest: int = _LONGEST_BODY
    ) -> Json:
        """The posted JSON document. Raises: ApiError, Disconnected."""
        if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            # A form of another page can send no JSON without a preflight.
            raise ApiError("BadRequest", "The console's actions are posted as application/json.", status=415)
        body = await Incoming("POST", scope["path"], "", headers, receive, longest).body()
        try:
            document = (
                await in_thread(self.app.clock, lambda: parse_json(body))
                if len(body) > _LONG_BYTES
                else parse_json(body)
            )
        except JsonTextError as problem:
            raise ApiError("BadRequest", f"The request is not JSON: {problem}") from None
        if document is None:
            raise ApiError("BadRequest", "The request must be a JSON object.")
        return document


async def _gone(receive: Receive) -> None:
    """Return once the caller has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _end_after(happening: Awaitable[None], task: asyncio.Task[None]) -> None:
    await happening
    task.cancel()


async def _respond(
    scope: Message,
    send: Send,
    status: int,
    more: list[tuple[bytes, bytes]],
    body: bytes,
    safe: Iterable[tuple[bytes, bytes]] = _SAFE,
) -> None:
    headers = [*safe, *more, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
