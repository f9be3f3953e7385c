"""The door of the data plane: requests to APIs, from the head that the port has read to the bytes of the response.

Owns the addresses of APIs (a host of their own, or a path of this server's), and which pages of browsers may call them.
An API's host is its own origin: every request to it goes to that API alone, even if it is signed for a service.
Responses at a path of the server's own origin are sandboxed, so that a page among them has no rights of the server.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from statewright.api import guard
from statewright.api.operations import App
from statewright.api.protocols.wire import Disconnected, Incoming, Message, Receive
from statewright.errors import ApiError, StoreError, shortage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from statewright.apis.calls import Request, Response
    from statewright.apis.data_plane import DataPlane

log = logging.getLogger("statewright.apis")

PATH: Final = "/_apis/"
_HOST: Final = re.compile(
    r"(?P<id>[a-z0-9]+)\.execute-api\.(?:[a-z0-9-]+\.)?(?:localhost|amazonaws\.com)\.?(?::[0-9]+)?", re.IGNORECASE
)
_BODILESS: Final = (204, 304)
NAMES: Final = "statewright.header_names"
"""Key in a request's scope under which the HTTP server puts the names of headers as they were sent."""


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a request: the API's id (empty if the host names none), and the path from the stage on."""

    id: str
    path: str
    is_own_origin: bool


def leads_to_api(path: str, host: str) -> bool:
    """True if a request is for an API, and not for the operations of this server."""
    return path.startswith(PATH) or ".execute-api." in host.lower()


def address_of(raw_path: str, host: str) -> Address:
    """The address of a request that leads to an API."""
    if ".execute-api." in host:
        found = _HOST.fullmatch(host)
        return Address(found["id"].lower() if found else "", raw_path, is_own_origin=True)
    api_id, slash, rest = raw_path[len(PATH) :].partition("/")
    return Address(api_id, slash + rest or "/", is_own_origin=False)


async def answer(
    app: App,
    scope: Message,
    headers: Mapping[str, str],
    receive: Receive,
    send: Callable[[Message], Awaitable[None]],
    *,
    request_id: str,
    origins: frozenset[str],
    draining: bool,
) -> int:
    """Answer a request to an API; returns the status. `headers` have names in lower case."""
    from statewright.apis.http_apis import refusal

    raw_path = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
    where = address_of(raw_path, headers.get("host", "").lower())
    incoming = Incoming(
        scope["method"], raw_path, scope["query_string"].decode("latin-1"), headers, receive, _longest()
    )
    try:
        response = await _answered(app, where, scope, incoming, request_id, origins, draining)
    except Disconnected:
        return 0
    except ApiError as error:
        too_long = error.code == "RequestEntityTooLarge"
        text = "Request Entity Too Large" if too_long else error.message
        response = refusal(413 if too_long else error.status or 403, text)
    except StoreError as problem:
        log.warning("a request to the API %s was answered with 503: %s", where.id, problem)
        response = refusal(503, "Service Unavailable")
    except Exception as problem:
        if shortage(problem) is None:
            log.exception("request %s to the API %s failed", request_id, where.id)
        response = refusal(500, "Internal Server Error")
    try:
        if not await incoming.drop_rest():
            response.headers.append(("connection", "close"))
        await _send(send, scope["method"], response, where, request_id)
    except Disconnected:
        return 0
    return response.status


async def _answered(
    app: App,
    where: Address,
    scope: Message,
    incoming: Incoming,
    request_id: str,
    origins: frozenset[str],
    draining: bool,
) -> Response:
    from statewright.apis.calls import Request
    from statewright.apis.http_apis import NOT_FOUND, refusal

    if draining:
        return refusal(503, "Service Unavailable")
    listed: list[tuple[bytes, bytes]] = scope["headers"]
    names: list[bytes] | None = scope.get(NAMES)
    shown = [name for name, _ in listed] if names is None or len(names) != len(listed) else names
    headers = tuple(
        (name.decode("latin-1"), value.decode("latin-1")) for name, (_, value) in zip(shown, listed, strict=True)
    )
    client = scope.get("client")
    request = Request(
        incoming.method, where.path, where.path, incoming.query, headers, b"", client[0] if client else "127.0.0.1",
        incoming.headers.get("host", ""), f"HTTP/{scope.get('http_version', '1.1')}",
    )  # fmt: skip
    if sum(name == b"host" for name, _ in listed) > 1:
        return refusal(400, "Bad Request")
    plane = _plane_of(app, where.id)
    _refuse_pages(incoming.headers, origins, plane, where, request)
    if plane is None:
        return refusal(*NOT_FOUND)
    request.body = await incoming.body()
    return await plane.answer(where.id, request, request_id)


def _plane_of(app: App, id: str) -> DataPlane | None:
    """The data plane of the region and account that has an API: its callers name neither."""
    plane = app.services.data_plane
    if plane.knows(id):
        return plane
    others = [app.regions.running(name) for name in app.regions.names()] if app.regions is not None else []
    if app.accounts is not None:
        others += app.accounts.apps()
    planes = [other.services.data_plane for other in others if other is not None]
    return next((one for one in planes if one.knows(id)), None)


def _refuse_pages(
    headers: Mapping[str, str], origins: frozenset[str], plane: DataPlane | None, where: Address, request: Request
) -> None:
    """Refuse pages of other origins, but for those that the API lets in. Raises: ApiError."""
    if "origin" not in headers and "sec-fetch-site" not in headers and "accept-language" not in headers:
        return
    if (
        headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") in ("document", None)
        and (where.is_own_origin and request.method == "GET" and "origin" not in headers)
    ):
        # A browser follows a link, for instance one that approves: the page of the link cannot read the answer.
        return
    origin = headers.get("origin", "")
    if origin and plane is not None and guard.is_origin(origin):
        shared = plane.shares_with(where.id, request, origin)
        if shared == "named" or (shared == "everyone" and guard.is_loopback_origin(origin)):
            return
    guard.refuse_web_pages(headers, origins, is_page=where.is_own_origin)


async def _send(
    send: Callable[[Message], Awaitable[None]], method: str, response: Response, where: Address, request_id: str
) -> None:
    body = response.body
    headers = [(_bytes(name), _bytes(value)) for name, value in response.headers]
    if not any(name == "x-amz-apigw-id" for name, _ in response.headers):
        # Answers of REST APIs name the request's id themselves.
        headers.append((b"apigw-requestid", request_id.encode()))
    if not where.is_own_origin:
        headers = [one for one in headers if one[0].lower() not in _SANDBOX]
        headers += guard.HARMLESS
    if response.status in _BODILESS:
        body = b""
    else:
        headers.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else body})


_BLANKS: Final = {code: " " for code in (*range(32), 127) if code != 9}
_SANDBOX: Final = frozenset(name for name, _ in guard.HARMLESS)


def _bytes(value: str) -> bytes:
    """A part of a header. Controls, which would end it, become blanks: a value may be mapped from a query."""
    value = value.translate(_BLANKS)
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        return value.encode()


def _longest() -> int:
    from statewright.apis.data_plane import BODY_BYTES

    return BODY_BYTES
