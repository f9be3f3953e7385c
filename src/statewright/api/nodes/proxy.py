"""The way of a whole HTTP request to the home's node, and of its answer back, both piece by piece.

1. Headers, path and query go on as they came, but for those of one connection: signatures cover them. The request is
   marked (`signing`), so that a node that is not the home says so (`moved`) and does not pass it on once more.
2. While no more of the body has been read than is kept (`KEPT_BYTES`), a request that has moved, or of which nothing
   was sent, is sent again to the home of then, for `OWNER_MS`. What was sent and not answered is not sent again.
3. `Expect: 100-continue` goes on: the body is asked for when the home asks for it.
4. If the client leaves, the connection to the home is closed, and the home ends a long poll. If the home breaks off in
   the middle of an answer, so does the connection of the client: it cannot take a part for the whole.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from statewright.api.apigatewayv2.door import NAMES
from statewright.api.app import GATHER, SHUTTING_DOWN, WATCH, Send
from statewright.api.nodes.client import NodeClient
from statewright.api.nodes.links import Link, NotSent, Unanswered
from statewright.api.nodes.peers import (
    LOOK_SECONDS,
    NO_OWNER,
    OWNER_MS,
    Directory,
    NoOwner,
    Peer,
    find_home,
    look_again,
    owner,
)
from statewright.api.nodes.signing import HEADERS, SIGNATURE, is_moved
from statewright.api.nodes.watched import Watched
from statewright.api.operations import waits_for_events
from statewright.api.protocols.wire import Disconnected, Message, Receive
from statewright.api.services import SERVICES
from statewright.api.standby import Application
from statewright.clock import Clock

KEPT_BYTES: Final = 1024 * 1024
"""The beginning of a body that is kept, so that the request can be sent again."""
UNANSWERED: Final = "The node that has this did not answer, so the call may have had its effect or not; try again."
_HOP: Final = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate", b"proxy-authorization", b"te",
        b"trailer", b"transfer-encoding", b"upgrade",
    }
)  # fmt: skip
"""Headers of one connection. Source: RFC 9110, section 7.6.1."""
_STREAM: Final = b"text/event-stream"
_TARGETS: Final = {one.target: one.name for one in SERVICES if one.target is not None}

Refusing = Callable[[str], Application]
"""Makes an application that refuses every request with a text, in the form of its service: `Api`, draining."""

log = logging.getLogger("statewright.nodes")


class HomeProxy:
    """Passes requests on to the home's node."""

    def __init__(
        self,
        directory: Directory,
        client: NodeClient,
        clock: Clock,
        refusing: Refusing,
        own_home: Callable[[], Application | None] = lambda: None,
    ) -> None:
        """`own_home` returns the application of the home once this process has that."""
        self._own_home = own_home
        self._directory = directory
        self._client = client
        self._clock = clock
        self._refusing = refusing
        self._under_way: set[_Passing] = set()
        self._is_draining = False
        self.passed_on = 0
        """Requests that the home's node has answered."""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass one request on, and its answer back."""
        passing = _Passing(scope, receive)
        if self._is_draining:
            await passing.answer_by(self._refusing(SHUTTING_DOWN), send)
            return
        self._under_way.add(passing)
        watch = scope.get(WATCH)
        if watch is not None:
            watch(lambda: passing.watched.end(Disconnected()))
        try:
            await passing.watched.result(self._pass(passing, send))
            return
        except _Ended:
            await send({"type": "http.response.body", "body": b""})
            return
        except _Here as found:
            application = found.application
        except _Refused as problem:
            application = self._refusing(problem.text)
        finally:
            if watch is not None:
                watch(None)
            self._under_way.discard(passing)
        await passing.answer_by(application, send)

    def drain(self) -> None:
        """Refuse new requests, and end those that wait for something or follow a stream."""
        self._is_draining = True
        for passing in self._under_way:
            if passing.follows:
                passing.watched.end(_Ended())
            elif not passing.is_answered and passing.waits_for_events:
                passing.watched.end(_Refused(SHUTTING_DOWN))

    async def _pass(self, passing: _Passing, send: Send) -> None:
        """Send a request until a home answers it. Raises: _Here, _Refused, Disconnected."""
        due_ms = self._clock.now_ms() + OWNER_MS
        while True:
            application = self._own_home()
            if application is not None:
                raise _Here(application)
            try:
                peer = await owner(self._directory, find_home, self._clock, due_ms)
            except NoOwner as problem:
                raise _Refused(problem.message) from None
            if self._directory.is_home() and self._own_home() is not None:
                continue
            if await self._passed(passing, peer, send):
                return
            left_ms = due_ms - self._clock.now_ms()
            if left_ms <= 0 or not passing.rewind():
                raise _Refused(NO_OWNER)
            await look_again(self._directory)
            if self._directory.home() == peer:
                await self._directory.wait_for_change(min(left_ms / 1000, LOOK_SECONDS))

    async def _passed(self, passing: _Passing, peer: Peer, send: Send) -> bool:
        """True if a node has answered; False if the request has moved, or was not sent.

        Raises: _Refused, Disconnected.
        """
        try:
            link = await self._client.links.take(peer.address)
        except NotSent:
            return False
        sending: asyncio.Task[None] | None = None
        try:
            mark = self._client.signer.mark(passing.scope["method"], passing.target.decode("latin-1"), passing.client)
            link.write_head(passing.scope["method"], passing.target, [*passing.headers, *mark])
            if passing.has_body:
                sending = asyncio.create_task(passing.send_body(link))
                sending.add_done_callback(passing.sent)
            await link.read_head()
            asked = next(value for name, value in mark if name == SIGNATURE)
            if link.status == 503 and is_moved(self._client.secret, asked, link.headers):
                return False
            passing.is_answered = True
            self.passed_on += 1
            await _answer(link, sending is not None and not sending.done(), passing, send)
            return True
        except NotSent:
            return False
        except Unanswered as problem:
            if passing.is_answered:
                log.warning("an answer of %s broke off: %s", peer.name, problem)
                raise Disconnected from problem
            raise _Refused(UNANSWERED) from problem
        finally:
            if sending is not None and not sending.done():
                # A part of the body is left: nothing else can follow on the connection.
                link.close()
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)
            self._client.links.give_back(link)


class _Refused(Exception):
    """A request that no home has answered."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class _Ended(Exception):
    """A stream that this node ends, in the place of the home."""


class _Here(Exception):
    """A request whose home has come to this process meanwhile."""

    def __init__(self, application: Application) -> None:
        super().__init__()
        self.application = application


class _Passing:
    """A request on its way: its head, and its body with the kept beginning."""

    def __init__(self, scope: Message, receive: Receive) -> None:
        self.scope = scope
        self.watched = Watched()
        self.is_answered = False
        self.follows = False
        """True once an answer that does not end by itself has begun."""
        raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
        query: bytes = scope["query_string"]
        self.target = b"%b?%b" % (raw_path, query) if query else raw_path
        client = scope.get("client")
        self.client: tuple[str, int] | None = (client[0], client[1]) if client else None
        self._receive = receive
        self._kept: list[bytes] | None = []
        """The pieces that were read; `None` once they are too long to be kept."""
        self._kept_bytes = 0
        self._again = 0
        self._is_over = False
        self._has_ended = False
        """True once `receive_again` has given the body's end."""
        self._read_heads()

    def _read_heads(self) -> None:
        scope = self.scope
        names: list[bytes] = scope.get(NAMES) or []
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        if len(names) != len(headers):
            names = [name for name, _ in headers]
        named = {one.strip() for name, value in headers if name == b"connection" for one in value.lower().split(b",")}
        dropped = (_HOP | HEADERS | named) - {b"host", b"content-length", b"expect"}
        self.headers = [(names[at], value) for at, (name, value) in enumerate(headers) if name not in dropped]
        self._expects = any(name == b"expect" for name, _ in headers)
        self._is_chunked = any(name == b"transfer-encoding" for name, _ in headers)
        length = next((value for name, value in headers if name == b"content-length"), b"0")
        self.has_body = self._is_chunked or length.strip(b"0 ") != b""
        if self._is_chunked:
            self.headers = [one for one in self.headers if one[0].lower() != b"content-length"]
            self.headers.append((b"Transfer-Encoding", b"chunked"))

    @property
    def waits_for_events(self) -> bool:
        """True if the request is a long poll, as far as its head says."""
        target = next((value for name, value in self.scope["headers"] if name == b"x-amz-target"), b"")
        prefix, _, operation = target.decode("latin-1").rpartition(".")
        service = _TARGETS.get(prefix)
        return service is not None and waits_for_events(service, operation)

    async def answer_by(self, application: Application, send: Send) -> None:
        """Have an application of this process answer the request, with what was read of its body."""
        # The refusal of some services depends on the body.
        self.rewind()
        scope = {key: value for key, value in self.scope.items() if key != GATHER}
        await application(scope, self.receive_again, send)

    # ------------------------------------------------------------------ the body

    async def send_body(self, link: Link) -> None:
        """Send the body, once the home asks for it. Raises: Disconnected, Unanswered."""
        if self._expects:
            await link.may_send.wait()
        while pieces := await self._pieces():
            for piece in pieces:
                if self._is_chunked and piece:
                    link.write(b"%x\r\n" % len(piece))
                    link.write(piece)
                    link.write(b"\r\n")
                else:
                    link.write(piece)
            await link.drain()
        if self._is_chunked:
            link.write(b"0\r\n\r\n")
            await link.drain()

    def sent(self, sending: asyncio.Task[None]) -> None:
        """Called when `send_body` has ended. What was not taken shows in the answer, or that there is none."""
        problem = None if sending.cancelled() else sending.exception()
        if isinstance(problem, Disconnected):
            self.watched.end(problem)
        elif problem is not None and not isinstance(problem, Unanswered):
            log.error("passing a body on failed", exc_info=problem)

    async def _pieces(self) -> list[bytes]:
        """The next pieces of the body; none at its end. Raises: Disconnected."""
        if self._kept is not None and self._again < len(self._kept):
            again, self._again = self._kept[self._again :], len(self._kept)
            return again
        if self._is_over:
            return []
        # Piece by piece as it arrives: the larger pieces of `GATHER` would hold back a slow body.
        piece = await self._piece()
        while not piece and not self._is_over:
            piece = await self._piece()
        pieces = [piece] if piece else []
        if self._kept is not None:
            self._kept_bytes += sum(map(len, pieces))
            if self._kept_bytes > KEPT_BYTES:
                self._kept = None
            else:
                self._kept += pieces
                self._again = len(self._kept)
        return pieces

    async def _piece(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        self._is_over = not message.get("more_body")
        piece: bytes = message.get("body", b"")
        return piece

    def rewind(self) -> bool:
        """Begin the body again; False if its beginning was not kept."""
        self._again = 0
        return self._kept is not None

    async def receive_again(self) -> Message:
        """The body as it is left, then as the port gives it, for an application that answers after all."""
        if self._has_ended:
            return await self._receive()
        pieces = await self._pieces() if self.has_body else []
        self._has_ended = not pieces or (self._is_over and (self._kept is None or self._again == len(self._kept)))
        return {"type": "http.request", "body": b"".join(pieces), "more_body": not self._has_ended}


async def _answer(link: Link, is_cut: bool, passing: _Passing, send: Send) -> None:
    """Pass an answer back; `is_cut` if a part of the body was not taken. Raises: Unanswered, Disconnected."""
    head = _head_of(link, is_cut)
    passing.follows = any(name.lower() == b"content-type" and value.startswith(_STREAM) for name, value in head)
    await send({"type": "http.response.start", "status": link.status, "headers": head})
    is_over = False
    while not is_over:
        piece = await link.read_body()
        is_over = link.is_complete
        await send({"type": "http.response.body", "body": piece, "more_body": not is_over})


def _head_of(link: Link, is_cut: bool) -> list[tuple[bytes, bytes]]:
    """The headers of an answer, without those of its connection and the date, which this port's server writes."""
    head, dates = [], 0
    for name, value in link.headers:
        lower = name.lower()
        if lower == b"date" and not dates:
            dates = 1
        elif (lower == b"connection" and is_cut and b"close" in value.lower()) or lower not in _HOP:
            head.append((name, value))
    return head
