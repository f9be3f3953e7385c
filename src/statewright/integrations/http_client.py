"""Sends requests over HTTP by the library `urllib3`: pooled connections, TLS, proxies, a deadline and a limit of size.

Owns the rules that all outgoing HTTP requests share. Redirects are not followed, no answer is retried, and bodies are
not decompressed: the caller interprets the answer. Requests on behalf of callers reach no link-local address
(`link_local.py`). Proxies are those of the environment (`HTTPS_PROXY`,
`HTTP_PROXY`, `NO_PROXY`); loopback never goes through one.

A connection is reused while its other end has not closed it. If it turns out to be closed, before anything of the
answer has come, an idempotent request is sent again on another one; any other request fails, since the server may have
acted on it. Source: RFC 9112, section 9.3.1.
"""

from __future__ import annotations

import io
import os
import socket
import ssl
import time
from collections.abc import Mapping
from functools import cached_property
from http.client import HTTPException, HTTPResponse
from typing import Any, Final
from urllib.parse import SplitResult, unquote, urlsplit

from urllib3 import BaseHTTPResponse, HTTPConnectionPool, HTTPSConnectionPool, PoolManager, ProxyManager, Timeout
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, LocationValueError
from urllib3.exceptions import TimeoutError as PoolTimeoutError
from urllib3.util import SKIP_HEADER, make_headers

from statewright.integrations.http_requests import NoAnswer, Request, Response
from statewright.integrations.link_local import Addresses

LONGEST_SECONDS: Final = 60.0
"""Source: developer guide: an HTTP Task ends after 60 seconds, even if its TimeoutSeconds is longer."""
MOST_HOSTS: Final = 64
"""Hosts whose connections are kept; further ones replace the least recently used."""
MOST_KEPT: Final = 32
"""Idle connections that are kept for a host."""
_PIECE_BYTES: Final = 65_536
_IDEMPOTENT: Final = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"})
"""Source: RFC 9110, section 9.2.2."""
_PORTS: Final = {"http": 80, "https": 443}


class HttpClient:
    """Sends requests from any thread; each call blocks. Without `addresses`, to any address."""

    def __init__(self, addresses: Addresses | None = None) -> None:
        self._addresses = addresses
        self._direct = PoolManager(MOST_HOSTS, maxsize=MOST_KEPT)
        self._direct.pool_classes_by_scheme = _POOLS if addresses is None else _checking(addresses)
        self._proxies: dict[str, ProxyManager] = {}

    def send(self, request: Request, body_bytes: int, seconds: float = LONGEST_SECONDS) -> Response:
        """Send a request and read the answer up to one byte over `body_bytes`, all within `seconds`.

        Raises: NoAnswer; ValueError for a value that cannot be part of a request's head.
        """
        deadline = time.monotonic() + seconds
        parts = urlsplit(request.url)
        try:
            if self._addresses is not None:
                self._addresses.check_host(unquote(parts.hostname or ""), parts.port or _PORTS[parts.scheme])
            pool, target = self._pool_for(parts)
            answer = _opened(pool, target, request, deadline)
            if answer.status < 200:
                # Another answer would follow on this connection, or another protocol.
                answer.close()
                raise HTTPException(f"the answer begins with the status {answer.status}")
            body = _read(answer, body_bytes, deadline)
        except LocationValueError:
            raise
        except (HTTPError, HTTPException, OSError) as problem:
            raise NoAnswer(_origin(problem)) from None
        return Response(answer.status, answer.reason or "", _by_name(answer), body)

    def _pool_for(self, parts: SplitResult) -> tuple[HTTPConnectionPool, str]:
        """The connection pool for a URL, and the target in the request's first line."""
        host = parts.hostname or ""
        port = parts.port or _PORTS[parts.scheme]
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        context = {"ssl_context": self._context} if parts.scheme == "https" else {}
        proxy = _proxy_for(parts.scheme, host)
        if proxy is None:
            return self._direct.connection_from_host(host, port, parts.scheme, context), target
        manager = self._proxies.get(proxy)
        if manager is None:
            manager = self._proxies[proxy] = _through(proxy)
        if parts.scheme == "http":
            target = f"http://{parts.netloc.rpartition('@')[2]}{target}"
        return manager.connection_from_host(host, port, parts.scheme, context), target

    @cached_property
    def _context(self) -> ssl.SSLContext:
        """Made once: reading the authorities' certificates takes longer than a handshake."""
        return ssl.create_default_context()


class _Reading(io.RawIOBase):
    """The bytes of an answer, all within the time limit that the socket has at the beginning.

    The limit of a socket is for one read: an answer that comes byte by byte would never end.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._bytes = sock.makefile("rb", buffering=0)
        self._deadline = time.monotonic() + (sock.gettimeout() or LONGEST_SECONDS)

    def readable(self) -> bool:
        """True: it is only read."""
        return True

    def readinto(self, buffer: memoryview, /) -> int | None:  # type: ignore[override]
        """Read what is there. Raises: TimeoutError."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(left)
        return self._bytes.readinto(buffer)

    def close(self) -> None:
        """Close this side of the socket."""
        self._bytes.close()
        super().close()


class _Timed(HTTPResponse):
    """An answer whose head has a time limit, too."""

    def __init__(self, sock: socket.socket, debuglevel: int = 0, method: str | None = None, url: str | None = None):
        super().__init__(sock, debuglevel, method, url)
        self.fp.close()
        self.fp = io.BufferedReader(_Reading(sock))


class _ClosedMeanwhile(ConnectionResetError):
    """A connection that had answered before was closed, and gave nothing of the next answer."""


class _Counted(HTTPConnection):
    """A connection that knows if it has answered before."""

    response_class = _Timed
    _answers = 0

    def connect(self) -> None:
        self._answers = 0
        super().connect()

    def send(self, data: Any) -> None:
        try:
            super().send(data)
        except ConnectionError as problem:
            raise self._classified(problem) from None

    def getresponse(self) -> BaseHTTPResponse:  # type: ignore[override]
        try:
            answer = super().getresponse()
        except ConnectionError as problem:
            raise self._classified(problem) from None
        self._answers += 1
        return answer

    def _classified(self, problem: ConnectionError) -> ConnectionError:
        return _ClosedMeanwhile(*problem.args) if self._answers else problem


class _Plain(_Counted):
    pass


class _Secure(_Counted, HTTPSConnection):
    pass


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _Plain


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _Secure


_POOLS: Final[dict[str, type[HTTPConnectionPool]]] = {"http": _PlainPool, "https": _SecurePool}


def _checking(addresses: Addresses) -> dict[str, type[HTTPConnectionPool]]:
    """Pools whose connections check the address that they have reached, before anything is sent.

    A name that was checked may resolve to another address by then.
    """

    def check(reached: socket.socket, host: str) -> socket.socket:
        try:
            addresses.check(reached.getpeername()[0], host)
        except OSError:
            reached.close()
            raise
        return reached

    class Plain(_Plain):
        def _new_conn(self) -> socket.socket:
            return check(super()._new_conn(), self.host)

    class Secure(_Secure):
        def _new_conn(self) -> socket.socket:
            return check(super()._new_conn(), self.host)

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": PlainPool, "https": SecurePool}


def _opened(pool: HTTPConnectionPool, target: str, request: Request, deadline: float) -> BaseHTTPResponse:
    """Send a request and read the head of its answer. Each connection that was closed meanwhile leaves the pool."""
    may_repeat = request.method.upper() in _IDEMPOTENT
    for attempt in range(MOST_KEPT + 1):
        left = deadline - time.monotonic()
        try:
            return pool.urlopen(
                request.method, target, request.body, _headed(request.headers), retries=False, redirect=False,
                assert_same_host=False, timeout=Timeout(total=max(left, 0.001)), preload_content=False,
                decode_content=False,
            )  # fmt: skip
        except HTTPError as problem:
            is_stale = isinstance(_origin(problem), _ClosedMeanwhile)
            if not (is_stale and may_repeat and attempt < MOST_KEPT):
                raise
    raise AssertionError("the last attempt returns or raises")


def _proxy_for(scheme: str, host: str) -> str | None:
    if not any(name.lower() == f"{scheme}_proxy" for name in os.environ) or _is_loopback(host):
        return None
    from urllib.request import getproxies_environment, proxy_bypass

    return None if proxy_bypass(host) else getproxies_environment().get(scheme)


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def _through(proxy: str) -> ProxyManager:
    address = proxy if "://" in proxy else f"http://{proxy}"
    user = urlsplit(address).netloc.rpartition("@")[0]
    headers = make_headers(proxy_basic_auth=unquote(user)) if user else None
    manager = ProxyManager(address, MOST_HOSTS, maxsize=MOST_KEPT, proxy_headers=headers)
    manager.pool_classes_by_scheme = _POOLS
    return manager


def _headed(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers as given; without a User-Agent among them, the library's own is not sent either."""
    given = dict(headers)
    if not any(name.lower() == "user-agent" for name in given):
        given["User-Agent"] = SKIP_HEADER
    return given


def _read(answer: BaseHTTPResponse, limit: int, deadline: float) -> bytes:
    """The body, up to one byte over the limit. A body that is not read to its end closes its connection."""
    parts: list[bytes] = []
    size = 0
    try:
        while size <= limit:
            _set_timeout(answer, deadline)
            part = answer.read1(min(_PIECE_BYTES, limit + 1 - size))
            if not part:
                return b"".join(parts)
            parts.append(part)
            size += len(part)
        answer.close()
        return b"".join(parts)
    except BaseException:
        answer.close()
        raise
    finally:
        answer.release_conn()


def _set_timeout(answer: BaseHTTPResponse, deadline: float) -> None:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    sock = getattr(answer.connection, "sock", None)
    if sock is not None:
        sock.settimeout(left)


def _origin(problem: Exception) -> BaseException:
    """The error that the library wraps: of the socket, of TLS or of the protocol."""
    found: BaseException = problem
    while isinstance(found, HTTPError):
        inner = found.__cause__ or next((one for one in found.args if isinstance(one, BaseException)), None)
        if inner is None:
            return TimeoutError("timed out") if isinstance(found, PoolTimeoutError) else found
        found = inner
    return found


def _by_name(answer: BaseHTTPResponse) -> dict[str, list[str]]:
    """Values by header name; names that differ only in case are merged, and keep the first spelling."""
    found: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    for name, value in answer.headers.items():
        found.setdefault(names.setdefault(name.lower(), name), []).append(value)
    return found
