"""The request of `http:invoke`, from its parameters and its connection: checking, merging, encoding. Sends nothing.

Source: developer guide, "Call HTTPS APIs in Step Functions workflows". Causes are our own: the service's
wording was never recorded.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from statewright.config import Connection
from statewright.errors import RUNTIME, ExecutionFailure
from statewright.payload import Json, JsonMapping, JsonObject, dump_json

METHODS: Final = ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD")
KEY_HEADER: Final = "Idempotency-Key"
RANGE: Final = "bytes=0-262144"
JSON_TYPE: Final = "application/json; charset=UTF-8"
FORM_TYPE: Final = "application/x-www-form-urlencoded"

FORBIDDEN: Final = frozenset({
    "a-im", "accept-charset", "accept-datetime", "accept-encoding", "authorization", "cache-control", "connection",
    "content-encoding", "content-md5", "date", "expect", "forwarded", "from", "host", "http2-settings", "if-match",
    "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "max-forwards", "origin", "pragma",
    "proxy-authorization", "referer", "server", "te", "trailer", "transfer-encoding", "upgrade", "via", "warning",
})  # fmt: skip
FORBIDDEN_PREFIXES: Final = ("x-forwarded-", "x-amz-", "x-amzn-")

_PARAMETERS: Final = frozenset({
    "ApiEndpoint", "Method", "InvocationConfig", "Authentication", "Headers", "QueryParameters", "RequestBody",
    "Transform",
})  # fmt: skip
_ARRAY_FORMATS: Final = ("INDICES", "REPEAT", "COMMAS", "BRACKETS")
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it is sent."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Response:
    """A response; `body` is cut one byte after the limit."""

    status: int
    reason: str
    headers: Mapping[str, list[str]]
    body: bytes


class NoAnswer(Exception):
    """There was no answer: refused, unknown host, TLS, timeout, disconnected. Names the type and text of `cause`."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"{type(cause).__name__}: {cause}")
        self.cause = cause


class Client(Protocol):
    """Sends requests: `http_client.HttpClient`, whose library is slow to load."""

    def send(self, request: Request, body_bytes: int, seconds: float = ...) -> Response:
        """See `HttpClient.send`."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """The checked parameters of an HTTP Task. `connection` is the ARN or name that they give."""

    method: str
    endpoint: str
    connection: str | None
    headers: Mapping[str, str]
    query: tuple[tuple[str, str], ...]
    body: Json = None
    url_encoded: bool = False
    array_format: str = "INDICES"


def read_parameters(given: Json) -> Parameters:
    """Check the parameters of a state.

    Raises: ExecutionFailure (`States.Runtime`).
    """
    given = _members(given, _PARAMETERS)
    method = given["Method"]
    if method not in METHODS:
        raise _bad(f"The Method must be one of [{', '.join(METHODS)}], but was {method}")
    transform = _object(given, "Transform")
    encoding = transform.get("RequestBodyEncoding", "NONE")
    if encoding not in ("NONE", "URL_ENCODED"):
        raise _bad(f"Transform.RequestBodyEncoding must be NONE or URL_ENCODED, but was {dump_json(encoding)}")
    array_format = _object(transform, "RequestEncodingOptions").get("ArrayFormat", "INDICES")
    if array_format not in _ARRAY_FORMATS:
        raise _bad(f"ArrayFormat must be one of [{', '.join(_ARRAY_FORMATS)}], but was {dump_json(array_format)}")
    return Parameters(
        method,
        given["ApiEndpoint"],
        _connection_of(given),
        dict(_headers(_object(given, "Headers"))),
        tuple(_query(given.get("QueryParameters"))),
        given.get("RequestBody"),
        encoding == "URL_ENCODED",
        array_format,
    )


def _members(given: Json, known: Collection[str]) -> JsonObject:
    if not isinstance(given, dict):
        raise _bad("The parameters must be an object")
    foreign = [name for name in given if name not in known]
    if foreign:
        raise _bad(", ".join(f'The field "{name}" is not supported by Step Functions' for name in foreign))
    for name in ("ApiEndpoint", "Method"):
        if not isinstance(given.get(name), str) or not given[name]:
            raise _bad(f'The field "{name}" is required and must be a string')
    return given


def build_request(parameters: Parameters, connection: Connection | None, region: str) -> Request:
    """The request of checked parameters; the connection's values take precedence over the state's.

    Raises: ExecutionFailure (`States.Runtime`).
    """
    added = connection if connection is not None else Connection("")
    headers = {"User-Agent": f"Amazon|StepFunctions|HttpInvoke|{region}", "Range": RANGE}
    body, content_type = _body(parameters, added)
    if content_type is not None:
        headers["Content-Type"] = content_type
    for source in (parameters.headers, added.headers, _authorisation(added)):
        for name, value in source.items():
            _put(headers, name, value)
    pairs = [pair for pair in parameters.query if pair[0] not in added.query]
    pairs += added.query.items()
    return Request(parameters.method, _url(parameters.endpoint, pairs), headers, body)


def with_key(request: Request, key: str) -> Request:
    """The request with a key that is the same at each repetition, unless the state or its connection gives one.

    The header is that of the IETF's draft "The Idempotency-Key HTTP Header Field"; the service sends none.
    """
    if any(name.lower() == KEY_HEADER.lower() for name in request.headers):
        return request
    return replace(request, headers={**request.headers, KEY_HEADER: key})


def with_authorisation(request: Request, header: str) -> Request:
    """The request with an Authorization header."""
    headers = dict(request.headers)
    _put(headers, "Authorization", header)
    return replace(request, headers=headers)


def without_secrets(parameters: Parameters, region: str) -> Request:
    """The request as it may be shown: without what the connection adds."""
    return build_request(parameters, None, region)


_GATEWAY: Final = frozenset({
    "ApiEndpoint", "Method", "Headers", "Stage", "Path", "QueryParameters", "RequestBody", "AllowNullValues",
    "AuthType",
})  # fmt: skip


def gateway_request(given: Json, base: str, region: str) -> Request:
    """The request of `apigateway:invoke`. `base` replaces the endpoint that the parameters name.

    Source: developer guide, "Create API Gateway REST APIs with Step Functions". Calls are not signed.

    Raises: ExecutionFailure (`States.Runtime`).
    """
    given = _members(given, _GATEWAY)
    parts = [str(given.get(name) or "").strip("/") for name in ("Stage", "Path")]
    parameters = Parameters(
        given["Method"],
        "/".join([base, *(part for part in parts if part)]),
        None,
        dict(_headers(_object(given, "Headers"))),
        tuple(_query(given.get("QueryParameters"))),
        given.get("RequestBody"),
    )
    request = build_request(parameters, None, region)
    headers = {name: value for name, value in request.headers.items() if name not in ("Range", "User-Agent")}
    return replace(request, headers={"User-Agent": "Amazon|StepFunctions", **headers})


def _bad(reason: str) -> ExecutionFailure:
    return ExecutionFailure(RUNTIME, reason)


def _object(given: JsonMapping, name: str) -> JsonMapping:
    value = given.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _bad(f"The field '{name}' must be an object")
    return value


def _connection_of(given: JsonMapping) -> str | None:
    for name in ("InvocationConfig", "Authentication"):
        arn = _object(given, name).get("ConnectionArn")
        if arn is not None:
            if not isinstance(arn, str):
                raise _bad(f"{name}.ConnectionArn must be a string")
            return arn
    return None


def _headers(given: JsonMapping) -> Iterator[tuple[str, str]]:
    for name, value in given.items():
        lower = name.lower()
        if lower in FORBIDDEN or lower.startswith(FORBIDDEN_PREFIXES):
            raise _bad(f"The header '{name}' must not be set in the Headers of an HTTP Task")
        if not _TOKEN.fullmatch(name):
            raise _bad(f"The header name {dump_json(name)} is not a header name")
        text = ", ".join(_text(item) for item in value) if isinstance(value, list) else _text(value)
        if "\r" in text or "\n" in text:
            raise _bad(f"The value of the header '{name}' holds a line break")
        yield name, text


def _query(given: Json) -> Iterator[tuple[str, str]]:
    """Query parameters from a text, a list of texts or of objects, or an object whose values may be lists."""
    if given is None:
        return
    if isinstance(given, str):
        yield from parse_qsl(given.removeprefix("?"), keep_blank_values=True)
    elif isinstance(given, dict):
        for name, value in given.items():
            for item in value if isinstance(value, list) else [value]:
                yield name, _text(item)
    elif isinstance(given, list):
        for item in given:
            yield from _query(item)
    else:
        raise _bad("The field 'QueryParameters' must be a string, an array or an object")


def _text(value: Json) -> str:
    return value if isinstance(value, str) else dump_json(value)


def _authorisation(connection: Connection) -> dict[str, str]:
    if connection.auth == "basic":
        word = base64.b64encode(f"{connection.user}:{connection.password}".encode()).decode()
        return {"Authorization": f"Basic {word}"}
    if connection.auth == "api-key":
        return {connection.header: connection.value}
    return {}


def _put(headers: dict[str, str], name: str, value: str) -> None:
    for known in [known for known in headers if known.lower() == name.lower()]:
        del headers[known]
    headers[name] = value


def _body(parameters: Parameters, connection: Connection) -> tuple[bytes | None, str | None]:
    """Body and content type. A connection's members win over the state's."""
    body = parameters.body
    if connection.body:
        if body is None:
            body = {}
        if not isinstance(body, dict):
            raise _bad("The connection adds members to the request body, so RequestBody must be an object")
        body = {**body, **connection.body}
    if body is None:
        return None, None
    chosen = next((value for name, value in parameters.headers.items() if name.lower() == "content-type"), "")
    if parameters.url_encoded:
        if not isinstance(body, dict):
            raise _bad("RequestBodyEncoding URL_ENCODED needs a RequestBody that is an object")
        pairs = list(_form(body, parameters.array_format))
        return urlencode(pairs).encode(), FORM_TYPE
    if isinstance(body, str) and chosen and "json" not in chosen.lower():
        return body.encode(), None
    return dump_json(body).encode(), JSON_TYPE


def _form(body: JsonMapping, array_format: str) -> Iterator[tuple[str, str]]:
    """Members as form fields: `a[b]` for objects inside, arrays as `array_format` says."""
    pending: list[tuple[str, Json]] = list(body.items())[::-1]
    while pending:
        name, value = pending.pop()
        if isinstance(value, dict):
            pending += [(f"{name}[{key}]", item) for key, item in list(value.items())[::-1]]
        elif isinstance(value, list):
            if array_format == "COMMAS":
                yield name, ",".join(_text(item) for item in value)
                continue
            suffix = {"INDICES": "[{}]", "BRACKETS": "[]", "REPEAT": ""}[array_format]
            pending += [(name + suffix.format(index), item) for index, item in reversed(list(enumerate(value)))]
        else:
            yield name, _text(value)


def _url(endpoint: str, pairs: list[tuple[str, str]]) -> str:
    try:
        parts = urlsplit(endpoint)
        port = parts.port
    except ValueError as problem:
        raise _bad(f"ApiEndpoint {endpoint} is not an address: {problem}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise _bad(f"ApiEndpoint must be an address that starts with https:// or http://, but was {endpoint}")
    if parts.username is not None:
        raise _bad("ApiEndpoint must not hold a user or password: use a connection")
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    query = "&".join(part for part in (parts.query, urlencode(pairs, quote_via=quote)) if part)
    query = quote(query, safe="=&%:@!$'()*+,;/?~-._")
    return urlunsplit((parts.scheme, parts.netloc, path, query, ""))
