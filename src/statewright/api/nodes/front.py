"""The application of a node's port: chooses, by the head of a request alone, what answers it.

Operations of Step Functions on executions go to the worker, calls of other nodes to `NodeCalls`, a node's own pages
(`/health`, `/metrics`) to themselves. Everything else is the home's: in this process, or by `HomeProxy`. The choice
decides only where the way is short: the worker and the home both send a call on that another has to answer (`around`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

import orjson

from statewright.api.apigatewayv2.door import NAMES, leads_to_api
from statewright.api.app import PAGES, Send
from statewright.api.nodes.peers import Directory
from statewright.api.nodes.proxy import HomeProxy
from statewright.api.nodes.rules import RULES, Rule
from statewright.api.nodes.serving import PREFIX, NodeCalls
from statewright.api.nodes.signing import HEADERS, Refused, Signed, Verifier
from statewright.api.protocols.wire import Message, Receive
from statewright.api.routing import signing_scope
from statewright.api.standby import Application
from statewright.config import Config

_TARGET: Final = b"AWSStepFunctions."
_AT_WORKER: Final = frozenset(_TARGET + name.encode() for name, rule in RULES.items() if rule is not Rule.HOME)
_LOOKED_AT: Final = HEADERS | {b"authorization", b"host", b"x-amz-security-token", b"x-amz-target"}

log = logging.getLogger("statewright.nodes")


class NodeFront:
    """The application of a node's port. `home` returns the application of the home while this process has that; the
    proxy asks the same.
    """

    def __init__(
        self,
        config: Config,
        directory: Directory,
        verifier: Verifier,
        *,
        worker: Application,
        home: Callable[[], Application | None],
        proxy: HomeProxy,
        calls: NodeCalls,
        pages: Application,
    ) -> None:
        self._config = config
        self._directory = directory
        self._verifier = verifier
        self._worker = worker
        self._home = home
        self._proxy = proxy
        self._calls = calls
        self._pages = pages

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Have the right application answer a request."""
        path: str = scope["path"]
        if path.startswith(PREFIX):
            await self._calls(scope, receive, send)
            return
        found = {name: value for name, value in scope["headers"] if name in _LOOKED_AT}
        if not HEADERS.isdisjoint(found):
            await self._passed_on(scope, receive, send)
            return
        if path in PAGES and b"authorization" not in found and scope["method"] in ("GET", "HEAD"):
            await self._pages(scope, receive, send)
            return
        if found.get(b"x-amz-target") in _AT_WORKER and self._is_for_worker(path, found):
            await self._worker(scope, receive, send)
            return
        home = self._own_home()
        await (self._proxy if home is None else home)(scope, receive, send)

    def _own_home(self) -> Application | None:
        return self._home() if self._directory.is_home() else None

    def _is_for_worker(self, path: str, headers: dict[bytes, bytes]) -> bool:
        """True for a call in the default region of the default account, as far as its head says."""
        if b"x-amz-security-token" in headers or path != "/":
            # The home knows temporary credentials.
            return False
        if leads_to_api(path, headers.get(b"host", b"").decode("latin-1")):
            return False
        authorization = headers.get(b"authorization")
        if authorization is None:
            return True
        text = authorization.decode("latin-1")
        region, service = signing_scope("", {"authorization": text})
        config = self._config
        if service != "states" or region not in ("", config.region):
            return False
        if not config.accounts:
            return True
        key = text.partition("Credential=")[2].partition("/")[0]
        return config.accounts.get(key, config.account) == config.account

    async def _passed_on(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request that says that another node has passed it on."""
        raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
        query: bytes = scope["query_string"]
        target = (b"%b?%b" % (raw_path, query) if query else raw_path).decode("latin-1")
        try:
            signed = self._verifier.check(scope["method"], target, scope["headers"], is_mark=True)
        except Refused as problem:
            log.warning("a request that says that a node has passed it on was refused: %s", problem)
            await _send(send, 403, "AccessDeniedException", f"Only nodes pass requests on: {problem}.", ())
            return
        home = self._own_home()
        if home is None:
            moved = (self._verifier.moved(signed.signature),)
            await _send(send, 503, "ServiceUnavailable", "This node does not have the home.", moved)
            return
        await home(_unmarked(scope, signed), receive, send)

    def drain(self) -> None:
        """Refuse new calls, and end those that wait."""
        self._worker.drain()
        self._proxy.drain()
        home = self._home()
        if home is not None:
            home.drain()


def _unmarked(scope: Message, signed: Signed) -> Message:
    """The request as its client sent it."""
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    names: list[bytes] = scope.get(NAMES) or []
    if len(names) == len(headers):
        scope[NAMES] = [name for name, (lower, _) in zip(names, headers, strict=True) if lower not in HEADERS]
    scope["headers"] = [one for one in headers if one[0] not in HEADERS]
    if signed.client is not None:
        scope["client"] = signed.client
    return scope


async def _send(send: Send, status: int, code: str, text: str, further: tuple[tuple[bytes, bytes], ...]) -> None:
    body = orjson.dumps({"__type": code, "message": text})
    head = [(b"content-type", b"application/x-amz-json-1.0"), (b"content-length", b"%d" % len(body)), *further]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})
