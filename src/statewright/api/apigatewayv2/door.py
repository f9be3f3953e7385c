"""The door of the data plane: requests to APIs and URLs of functions, from the head that the port has read to the bytes
of the response.

Owns the addresses of both (a host of their own, or a path of this server's), and which pages of browsers may call them.
Such a host is its own origin: every request to it goes to that API or function alone, even one signed for a service.
Responses at a path of the server's own origin are sandboxed, so that a page among them has no rights of the server.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from statewright.api import guard
from statewright.api.operations import App
from statewright.api.protocols.wire import Disconnected, Incoming, Message, Receive
from statewright.errors import ApiError, StoreError, shortage
from statewright.limits import FUNCTION_REQUEST_BYTES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from statewright.apis.calls import Request, Response
    from statewright.apis.cors import Shared
    from statewright.apis.data_plane import DataPlane

log = logging.getLogger("statewright.apis")

PATH: Final = "/_apis/"
URLS_PATH: Final = "/_urls/"
_PATHS: Final = (PATH, URLS_PATH)
_HOST: Final = re.compile(
    r"(?P<id>[a-z0-9]+)\.execute-api\.(?:[a-z0-9-]+\.)?(?:localhost|amazonaws\.com)\.?(?::[0-9]+)?", re.IGNORECASE
)
_URL_HOST: Final = re.compile(
    r"(?P<id>[a-z0-9]+)\.lambda-url\.(?P<region>[a-z0-9-]+)\.(?:localhost|on\.aws)\.?(?::[0-9]+)?", re.IGNORECASE
)
_BODILESS: Final = (204, 304)
_URL_ID: Final = re.compile("[a-z2-7]{32}")
NAMES: Final = "statewright.header_names"
"""Key in a request's scope under which the HTTP server puts the names of headers as they were sent."""


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a request: the id of the API or of the function's URL, and the path from the stage on.

    The id is empty if the host names none. `region` is that in the host of a URL; empty if its path names it.
    """

    id: str
    path: str
    is_own_origin: bool
    is_url: bool = False
    region: str = ""


class Target(Protocol):
    """An API or the URL of a function."""

    def shares_with(self, request: Request, origin: str) -> Shared:
        """How far pages of an origin may call."""

    async def answer(self, request: Request, request_id: str) -> Response:
        """Answer a request."""


@dataclass(frozen=True, slots=True)
class _Api:
    """An API of a region."""

    id: str
    plane: DataPlane

    def shares_with(self, request: Request, origin: str) -> Shared:
        return self.plane.shares_with(self.id, request, origin)

    async def answer(self, request: Request, request_id: str) -> Response:
        return await self.plane.answer(self.id, request, request_id)


def leads_to_api(path: str, host: str) -> bool:
    """True if a request is for an API or the URL of a function, and not for the operations of this server."""
    if path.startswith(_PATHS):
        return True
    host = host.lower()
    return ".execute-api." in host or ".lambda-url." in host


def address_of(raw_path: str, host: str) -> Address:
    """The address of a request that leads to an API or to the URL of a function."""
    if ".execute-api." in host:
        found = _HOST.fullmatch(host)
        return Address(found["id"].lower() if found else "", raw_path, is_own_origin=True)
    if ".lambda-url." in host:
        found = _URL_HOST.fullmatch(host)
        url_id, region = (found["id"], found["region"]) if found else ("", "")
        return Address(url_id, raw_path, is_own_origin=True, is_url=True, region=region)
    is_url = raw_path.startswith(URLS_PATH)
    named, slash, rest = raw_path[len(URLS_PATH if is_url else PATH) :].partition("/")
    return Address(named, slash + rest or "/", is_own_origin=False, is_url=is_url)


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
    """Answer a request to an API or the URL of a function; returns the status. Names of `headers` are in lower case."""
    from statewright.apis.http_apis import refusal

    raw_path = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
    where = address_of(raw_path, headers.get("host", "").lower())
    longest = FUNCTION_REQUEST_BYTES if where.is_url else _longest()
    incoming = Incoming(scope["method"], raw_path, scope["query_string"].decode("latin-1"), headers, receive, longest)
    try:
        response = await _answered(app, where, scope, incoming, request_id, origins, draining)
    except Disconnected:
        return 0
    except ApiError as error:
        too_long = error.code == "RequestEntityTooLarge"
        text = "Request Entity Too Large" if too_long else error.message
        response = refusal(413 if too_long else error.status or 403, text)
    except StoreError as problem:
        log.warning("a request to %s was answered with 503: %s", where.id, problem)
        response = refusal(503, "Service Unavailable")
    except Exception as problem:
        if shortage(problem) is None:
            log.exception("request %s to %s failed", request_id, where.id)
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
        incoming.method, where.path, incoming.raw_path, incoming.query, headers, b"",
        client[0] if client else "127.0.0.1", incoming.headers.get("host", ""),
        f"HTTP/{scope.get('http_version', '1.1')}",
    )  # fmt: skip
    if sum(name == b"host" for name, _ in listed) > 1:
        return refusal(400, "Bad Request")
    target = await _url_of(app, where) if where.is_url else _api_of(app, where.id)
    _refuse_pages(incoming.headers, origins, target, where, request)
    if target is None:
        return _url_not_found() if where.is_url else refusal(*NOT_FOUND)
    request.body = await incoming.body()
    return await target.answer(request, request_id)


def _api_of(app: App, id: str) -> _Api | None:
    """An API by its id: its callers name neither the region nor the account that has it."""
    plane = app.services.data_plane
    if plane.knows(id):
        return _Api(id, plane)
    planes = (other.services.data_plane for other in _others(app))
    return next((_Api(id, one) for one in planes if one.knows(id)), None)


async def _url_of(app: App, where: Address) -> Target | None:
    """The URL of a function by its id, in the region that its host names. Raises: StoreError."""
    if _URL_ID.fullmatch(where.id):
        for one in (app, *_others(app)):
            if where.region in ("", one.config.region):
                found = await one.services.function_urls.find(where.id)
                if found is not None:
                    return found
    return None


def _others(app: App) -> Iterator[App]:
    """The applications of the other regions and accounts."""
    if app.regions is not None:
        yield from (one for name in app.regions.names() if (one := app.regions.running(name)) not in (None, app))
    if app.accounts is not None:
        yield from app.accounts.apps()


def _url_not_found() -> Response:
    from statewright.apis.function_urls import forbidden

    return forbidden()


def _refuse_pages(
    headers: Mapping[str, str], origins: frozenset[str], target: Target | None, where: Address, request: Request
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
    if origin and target is not None and guard.is_origin(origin):
        shared = target.shares_with(request, origin)
        if shared == "named" or (shared == "everyone" and guard.is_loopback_origin(origin)):
            return
    guard.refuse_web_pages(headers, origins, is_page=where.is_own_origin)


async def _send(
    send: Callable[[Message], Awaitable[None]], method: str, response: Response, where: Address, request_id: str
) -> None:
    if sum(len(name) + len(value) for name, value in response.headers) > _MOST_HEAD:
        from statewright.apis.http_apis import FAILED, refusal

        log.warning("a response of the API %s has headers of more than %s characters", where.id, _MOST_HEAD)
        response = refusal(*FAILED)
    body = response.body
    headers = [(_bytes(name), _bytes(value)) for name, value in response.headers]
    if where.is_url:
        headers.append((b"x-amzn-requestid", request_id.encode()))
    elif not any(name == "x-amz-apigw-id" for name, _ in response.headers):
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


_MOST_HEAD: Final = 65_536
"""Characters of a response's headers: longer ones are refused by HTTP clients, and slow to write."""
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
