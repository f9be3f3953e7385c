"""The event that a function receives for a request: payload formats 1.0 and 2.0.

Owns their members. Source: API Gateway developer guide, "Create AWS Lambda proxy integrations"; recorded events.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

from statewright.apis.calls import CallContext, Request
from statewright.payload import JsonObject

_NOT_PASSED: Final = frozenset({
    "connection", "content-length", "content-md5", "expect", "max-forwards", "proxy-authenticate", "server", "te",
    "trailer", "transfer-encoding", "upgrade", "www-authenticate",
})  # fmt: skip
"""Headers that an event of a REST API does not have."""
_HOP_BY_HOP: Final = frozenset({
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "transfer-encoding",
    "upgrade",
})  # fmt: skip
_TEXT: Final = ("text/", "application/json", "application/javascript", "application/xml")
_IDENTITY: Final = (
    "accessKey", "accountId", "caller", "cognitoAuthenticationProvider", "cognitoAuthenticationType",
    "cognitoIdentityId", "cognitoIdentityPoolId", "principalOrgId", "sourceIp", "user", "userAgent", "userArn",
)  # fmt: skip


def forwarded(request: Request, trace: str) -> list[tuple[str, str]]:
    """The headers that a gateway adds to a request."""
    before = request.header("x-forwarded-for")
    port = request.host.rpartition(":")[2] if ":" in request.host else "80"
    return [
        ("X-Amzn-Trace-Id", trace),
        ("X-Forwarded-For", f"{before}, {request.source_ip}" if before else request.source_ip),
        ("X-Forwarded-Port", port if port.isdigit() else "80"),
        ("X-Forwarded-Proto", "http"),
    ]


def trace_id(context: CallContext) -> str:
    """The trace header of a request that has none."""
    return f"Root=1-{context.time_ms // 1000:08x}-{context.request_id.replace('-', '')[:24]}"


def event_1(request: Request, context: CallContext, *, version: bool = False, with_body: bool = True) -> JsonObject:
    """The event in format 1.0; that of an HTTP API names its `version`, that of an authorizer has no body."""
    headers: dict[str, str] = {}
    multi: dict[str, list[str]] = {}
    spelling: dict[str, str] = {}
    added = forwarded(request, request.header("x-amzn-trace-id") or trace_id(context))
    replaced = {name.lower() for name, _ in added}
    for name, value in (*((n, v) for n, v in request.headers if n.lower() not in replaced), *added):
        lower = name.lower()
        if lower in _NOT_PASSED:
            continue
        shown = spelling.setdefault(lower, name)
        headers[shown] = value
        multi.setdefault(shown, []).append(value)
    query = request.query
    event: JsonObject = {
        "resource": context.resource_path, "path": request.path, "httpMethod": request.method, "headers": headers,
        "multiValueHeaders": multi,
        "queryStringParameters": {name: values[-1] for name, values in query.items()} or None,
        "multiValueQueryStringParameters": query or None,
        "pathParameters": dict(context.path_parameters) or None,
        "stageVariables": dict(context.stage_variables) or None,
        "requestContext": _request_context(context),
    }  # fmt: skip
    if with_body:
        event["body"], event["isBase64Encoded"] = _body(request, context.binary_types)
    return {"version": "1.0", **event} if version else event


def add_headers(event: JsonObject, mapped: Mapping[str, str]) -> None:
    """Add headers that an integration maps to an event in format 1.0; the client's are not replaced (recorded)."""
    sent = {name.lower() for name in event["headers"]}
    for name, value in mapped.items():
        if name.lower() not in sent:
            event["headers"][name] = value
            event["multiValueHeaders"][name] = [value]


def _request_context(context: CallContext) -> JsonObject:
    found: JsonObject = {
        "accountId": context.account, "apiId": context.api_id, "deploymentId": context.deployment_id,
        "domainName": context.domain_name, "domainPrefix": context.domain_name.partition(".")[0],
        "extendedRequestId": context.extended_request_id, "httpMethod": context.http_method,
        "identity": {name: context.identity.get(name) for name in _IDENTITY}, "path": context.path,
        "protocol": context.protocol, "requestId": context.request_id, "requestTime": context.request_time,
        "requestTimeEpoch": context.time_ms, "resourceId": context.resource_id, "resourcePath": context.resource_path,
        "stage": context.stage,
    }  # fmt: skip
    if "apiKey" in context.identity:
        found["identity"].update(apiKey=context.identity["apiKey"], apiKeyId=context.identity.get("apiKeyId"))
    if context.authorizer is not None:
        found["authorizer"] = context.authorizer
    return found


def event_2(request: Request, context: CallContext, *, with_body: bool = True) -> JsonObject:
    """The event in format 2.0, of HTTP APIs and of the URLs of functions; members without a value are left out.

    That of an authorizer has no body.
    """
    headers: dict[str, str] = {}
    cookies: list[str] = []
    for name, value in request.headers:
        lower = name.lower()
        if lower == "cookie":
            cookies += [one.strip() for one in value.split(";") if one.strip()]
        elif lower not in _HOP_BY_HOP:
            headers[lower] = f"{headers[lower]},{value}" if lower in headers else value
    for name, value in forwarded(request, headers.get("x-amzn-trace-id") or trace_id(context)):
        headers[name.lower()] = value
    event: JsonObject = {
        "version": "2.0", "routeKey": context.resource_path, "rawPath": context.path,
        "rawQueryString": request.query_string,
    }  # fmt: skip
    if cookies:
        event["cookies"] = cookies
    event["headers"] = headers
    if request.query_string:
        event["queryStringParameters"] = {name: ",".join(values) for name, values in request.query.items()}
    event["requestContext"] = _http_context(request, context)
    if context.path_parameters:
        event["pathParameters"] = {name: unquote(value) for name, value in context.path_parameters.items()}
    if context.stage_variables:
        event["stageVariables"] = dict(context.stage_variables)
    if not with_body:
        return event
    body, is_binary = _body_2(request)
    if body is not None:
        event["body"] = body
    event["isBase64Encoded"] = is_binary
    return event


def _http_context(request: Request, context: CallContext) -> JsonObject:
    found: JsonObject = {"accountId": context.account, "apiId": context.api_id}
    if context.authorizer_2 is not None:
        found["authorizer"] = context.authorizer_2
    found |= {
        "domainName": context.domain_name, "domainPrefix": context.domain_name.partition(".")[0],
        "http": {
            "method": request.method, "path": context.path, "protocol": context.protocol,
            "sourceIp": request.source_ip, "userAgent": request.header("user-agent") or "",
        },
        "requestId": context.request_id, "routeKey": context.resource_path, "stage": context.stage,
        "time": context.request_time, "timeEpoch": context.time_ms,
    }  # fmt: skip
    return found


def is_binary_type(content_type: str | None, binary_types: tuple[str, ...]) -> bool:
    """True if one of an API's binary media types is meant by a header."""
    if not binary_types or content_type is None:
        return False
    kind = content_type.partition(";")[0].strip().lower()
    start = kind.partition("/")[0] + "/*"
    return any(one in ("*/*", kind, start) for one in binary_types)


def _body(request: Request, binary_types: tuple[str, ...]) -> tuple[str | None, bool]:
    if not request.body:
        return None, False
    if is_binary_type(request.header("content-type"), binary_types):
        return base64.b64encode(request.body).decode(), True
    return request.body.decode("utf-8", "replace"), False


def _body_2(request: Request) -> tuple[str | None, bool]:
    if not request.body:
        return None, False
    kind = (request.header("content-type") or "").lower()
    if kind.startswith(_TEXT) or "+json" in kind or "+xml" in kind:
        try:
            return request.body.decode(), False
        except UnicodeDecodeError:
            pass
    return base64.b64encode(request.body).decode(), True
