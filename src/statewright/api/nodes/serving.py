"""The calls that other nodes make at this one: `/_statewright/node/*`, signed, never for clients."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import parse_qs

import orjson

from statewright.api.app import WATCH, Send, Watch
from statewright.api.errors import internal_error, status_of
from statewright.api.nodes.apps import Apps
from statewright.api.nodes.around import PERFORM
from statewright.api.nodes.changes import CHANGES, decode_changes
from statewright.api.nodes.logs import LOGS, LogCalls
from statewright.api.nodes.messages import (
    DONE,
    HOME,
    MOVED,
    REFUSED,
    UNAVAILABLE,
    UNREADABLE,
    NodeCall,
    decode,
    encode_answer,
    encode_refusal,
    encode_unavailable,
)
from statewright.api.nodes.metrics import METRICS, add_points, decode_points
from statewright.api.nodes.notes import NOTE, decode_entries
from statewright.api.nodes.peers import Directory, time_limit
from statewright.api.nodes.signing import Refused, Verifier
from statewright.api.nodes.tasks import CANCEL, TASK, TasksAtHome
from statewright.api.nodes.watched import while_connected
from statewright.api.nodes.workers.copies import DROP, drop_copies
from statewright.api.nodes.workers.invocations import INVOKE, run_for_home
from statewright.api.nodes.workers.logs import SEND_LOGS
from statewright.api.operations import App, waits_for_events
from statewright.api.protocols.wire import Disconnected, Message, Receive
from statewright.clock import Clock
from statewright.engine.dispatch import ScheduledCall, decode_call
from statewright.engine.dispatch import encode_answer as encode_result
from statewright.errors import ApiError, ElsewhereError, StoreError, Unreadable, shortage
from statewright.payload import Json, JsonObject

PREFIX: Final = "/_statewright/node/"
LOOK: Final = "/_statewright/node/look"
"""Something is elsewhere now."""
HELLO: Final = "/_statewright/node/hello"
"""Asks a node who it is, and how it is."""
MOST_BYTES: Final = 72 * 1024 * 1024
"""Longest body of a call: that of a streamed member (`messages.MOST_BYTES`), and some room."""
_JSON: Final = b"application/json"

log = logging.getLogger("statewright.nodes")

Answer = tuple[int, bytes]


class NodeCalls:
    """Answers the calls of other nodes."""

    def __init__(
        self,
        apps: Apps,
        directory: Directory,
        verifier: Verifier,
        tasks: TasksAtHome,
        logs: LogCalls,
        clock: Clock,
        on_look: Callable[[], None] = lambda: None,
        hello: Callable[[], Awaitable[JsonObject]] | None = None,
    ) -> None:
        """`on_look` is called when another node says that something is elsewhere now; `hello` makes the answer to the
        question who this node is.
        """
        self._hello_of = hello
        self._on_look = on_look
        self._apps = apps
        self._directory = directory
        self._verifier = verifier
        self._tasks = tasks
        self._logs_of = logs
        self._clock = clock
        self._answers: dict[str, Callable[[bytes, str, Watch | None], Awaitable[Answer]]] = {
            PERFORM: self._perform,
            TASK: self._task,
            CANCEL: self._cancel,
            CHANGES: self._changes,
            NOTE: self._note,
            LOOK: self._look,
            METRICS: self._metrics,
            LOGS: self._logs,
            HELLO: self._hello,
            DROP: self._drop,
            SEND_LOGS: self._send_logs,
            INVOKE: self._invoke,
        }

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one call."""
        path, query = scope["path"], scope["query_string"].decode("latin-1")
        headers = scope["headers"]
        try:
            signed = self._verifier.check(scope["method"], f"{path}?{query}" if query else path, headers)
            body = await _body(headers, receive)
            if not signed.covers(body):
                raise Refused("its body is another than was signed")
            answer = self._answers.get(path)
            if answer is None:
                await _send(send, 404, b"{}")
                return
            status, text = await self._answered(answer(body, query, scope.get(WATCH)), path)
        except Refused as problem:
            log.warning("a call to %s was refused: %s", path[:100], problem)
            await _send(send, 403, encode_unavailable(problem), closes=True)
            return
        except Disconnected:
            return
        await _send(send, status, text)

    async def _answered(self, running: Awaitable[Answer], path: str) -> Answer:
        try:
            return await running
        except Disconnected:
            raise
        except Unreadable as problem:
            log.error("a call to %s cannot be read: %s", path, problem)
            return UNREADABLE, encode_unavailable(problem)
        except StoreError as problem:
            return UNAVAILABLE, encode_unavailable(problem)
        except Exception as problem:
            lacking = shortage(problem)
            if lacking is None:
                raise
            return UNAVAILABLE, encode_unavailable(lacking)

    # ------------------------------------------------------------------ operations

    async def _perform(self, body: bytes, _query: str, watch: Watch | None) -> Answer:
        asked = decode(body)
        app = await self._app_of(asked)
        if app is None:
            return MOVED, b"{}"
        try:
            return DONE, await encode_answer(await self._run(app, asked, watch))
        except ApiError as error:
            error.status = status_of(error, asked.service)
            return REFUSED, encode_refusal(error)
        except ElsewhereError:
            # The cell is coming or going: the directory and the engine do not change at the same instant.
            return MOVED, b"{}"
        except (Disconnected, StoreError):
            raise
        except Exception as problem:
            if shortage(problem) is not None:
                raise
            log.exception("request %s: %s %s failed", asked.request_id, asked.service, asked.operation)
            return REFUSED, encode_refusal(internal_error(asked.request_id))

    async def _run(self, app: App, asked: NodeCall, watch: Watch | None) -> Json:
        running = self._apps.perform(app, asked.call, asked.request)
        if not waits_for_events(asked.service, asked.operation):
            return await running
        try:
            with time_limit(self._clock, asked.timeout_ms):
                return await while_connected(running, watch)
        except TimeoutError:
            raise ApiError("ServiceUnavailable", "The call has waited too long.", status=503) from None

    async def _app_of(self, asked: NodeCall) -> App | None:
        """The application that a call is for; `None` if another node has it. Raises: ApiError, StoreError."""
        if asked.shard != HOME:
            return self._apps.at(asked.shard, self._directory)
        app = self._apps.at_home(self._directory)
        if app is None:
            return None
        if app.accounts is not None and asked.account != app.config.account:
            app = await app.accounts.app_of(asked.account)
        if app.regions is not None and asked.region != app.config.region:
            return await app.regions.app_of(asked.region)
        return app

    # ------------------------------------------------------------------ what workers send to the home

    async def _task(self, body: bytes, query: str, watch: Watch | None) -> Answer:
        if not self._tasks.is_here:
            return MOVED, b"{}"
        task = _task_of(body, query)
        return DONE, encode_result(task, await while_connected(self._tasks.call(task), watch))

    async def _cancel(self, body: bytes, query: str, _watch: Watch | None) -> Answer:
        if not self._tasks.is_here:
            return MOVED, b"{}"
        await self._tasks.cancel(_task_of(body, query))
        return DONE, b"{}"

    async def _changes(self, body: bytes, _query: str, _watch: Watch | None) -> Answer:
        home = self._apps.at_home(self._directory)
        if home is None:
            return MOVED, b"{}"
        for change in decode_changes(body):
            home.engine.status_changes.publish(change)
        return DONE, b"{}"

    async def _note(self, body: bytes, _query: str, _watch: Watch | None) -> Answer:
        home = self._apps.at_home(self._directory)
        if home is None:
            return MOVED, b"{}"
        return DONE, b"true" if await home.engine.note(decode_entries(body)) else b"false"

    async def _metrics(self, body: bytes, _query: str, _watch: Watch | None) -> Answer:
        home = self._apps.at_home(self._directory)
        if home is None:
            return MOVED, b"{}"
        add_points(home.services.metrics, decode_points(body))
        return DONE, b"{}"

    async def _logs(self, body: bytes, _query: str, _watch: Watch | None) -> Answer:
        return (DONE if self._logs_of.at_home.take(body) else MOVED), b"{}"

    async def _drop(self, _body: bytes, _query: str, _watch: Watch | None) -> Answer:
        drop_copies(self._apps)
        return DONE, b"{}"

    async def _send_logs(self, _body: bytes, _query: str, watch: Watch | None) -> Answer:
        await while_connected(self._logs_of.send(), watch)
        return DONE, b"{}"

    async def _invoke(self, body: bytes, _query: str, _watch: Watch | None) -> Answer:
        if self._apps.worker is None:
            return MOVED, b"{}"
        try:
            answer = await run_for_home(self._apps.worker, body)
            return (MOVED, b"{}") if answer is None else (DONE, answer)
        except ApiError as error:
            error.status = status_of(error, "lambda")
            return REFUSED, encode_refusal(error)

    async def _look(self, _body: bytes, _query: str, _watch: Watch | None) -> Answer:
        self._on_look()
        return DONE, b"{}"

    async def _hello(self, _body: bytes, _query: str, _watch: Watch | None) -> Answer:
        return DONE, orjson.dumps(await self._hello_of() if self._hello_of is not None else {})


def _task_of(body: bytes, query: str) -> ScheduledCall:
    outbox = parse_qs(query).get("outbox", ["0"])[0]
    return decode_call(body, int(outbox) if outbox.isdecimal() else 0)


async def _body(headers: list[tuple[bytes, bytes]], receive: Receive) -> bytes:
    """The whole body. Raises: Refused, Disconnected."""
    declared = next((value for name, value in headers if name == b"content-length"), b"")
    # Nodes declare it.
    if not declared.isdigit() or len(declared) > 18 or int(declared) > MOST_BYTES:
        raise Refused("its length is missing or too great")
    pieces = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        pieces.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(pieces)


async def _send(send: Send, status: int, body: bytes, *, closes: bool = False) -> None:
    headers = [(b"content-type", _JSON), (b"content-length", b"%d" % len(body))]
    if closes:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
