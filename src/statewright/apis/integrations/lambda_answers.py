"""The answer of a function, as the response to the client: payload formats 1.0 and 2.0.

Owns which answers are responses. Source: developer guide, "Lambda function response for format 2.0"; recorded answers
of REST APIs and function URLs.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from statewright.apis.calls import CallContext, IntegrationFailed, Request, Response
from statewright.apis.integrations.lambda_events import is_binary_type
from statewright.payload import Json, JsonObject, JsonTextError, dump_json, parse_json

MALFORMED: Final = "MALFORMED"
_MEMBERS: Final = frozenset({"statusCode", "headers", "multiValueHeaders", "body", "isBase64Encoded"})
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
MOST_HEADERS: Final = 1_000
_JSON: Final = "application/json"


def malformed(why: str) -> IntegrationFailed:
    """An answer that is no response."""
    return IntegrationFailed(MALFORMED, why)


def answer_of_rest(payload: bytes, request: Request, context: CallContext) -> Response:
    """The response of a REST API's proxy integration. Raises: IntegrationFailed."""
    given = _parsed(payload)
    if not isinstance(given, dict) or not given or not given.keys() <= _MEMBERS:
        raise malformed("the function did not answer an object with statusCode, headers and body")
    headers = _joined_headers(given.get("headers"), given.get("multiValueHeaders"))
    body = text_of_body(given.get("body"))
    if given.get("isBase64Encoded") is True and is_binary_type(request.header("accept"), context.binary_types):
        body = _decoded(body, "INTEGRATION_FAILURE_500")
    return _response(_status(given.get("statusCode", 200)), headers, body)


def answer_of_http(payload: bytes, version: str) -> Response:
    """The response of an HTTP API or of a function's URL. Raises: IntegrationFailed."""
    given = _parsed(payload)
    if version == "2.0" and not (isinstance(given, dict) and "statusCode" in given):
        body = given.encode() if isinstance(given, str) else dump_json(given).encode()
        return Response(200, [("content-type", _JSON)], body)
    if not isinstance(given, dict) or "statusCode" not in given:
        raise malformed("the function did not answer an object with statusCode")
    multi = given.get("multiValueHeaders") if version != "2.0" else None
    headers = _joined_headers(given.get("headers"), multi)
    cookies = given.get("cookies") if version == "2.0" else None
    if isinstance(cookies, list):
        headers += [("set-cookie", _value(one)) for one in cookies]
    body = text_of_body(given.get("body"))
    if given.get("isBase64Encoded") is True:
        body = _decoded(body, MALFORMED)
    return _response(_status(given["statusCode"]), headers, body)


def _response(status: int, headers: list[tuple[str, str]], body: bytes) -> Response:
    if not any(name.lower() == "content-type" for name, _ in headers):
        headers.append(("Content-Type", _JSON))
    return Response(status, headers, body)


def _parsed(payload: bytes) -> Json:
    try:
        return parse_json(payload)
    except JsonTextError as problem:
        raise malformed(f"the function's answer is no JSON: {problem}") from None


def _status(given: Json) -> int:
    if isinstance(given, str) and given.isascii() and given.isdigit():
        given = int(given[:5])
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if isinstance(given, bool) or not isinstance(given, int) or not 200 <= given <= 599:
        raise malformed(f"statusCode is {str(given)[:40]}")
    return given


def text_of_body(given: Json) -> bytes:
    """The body that a function gave; values that are no text are written as JSON."""
    if given is None:
        return b""
    return given.encode("utf-8", "replace") if isinstance(given, str) else dump_json(given).encode()


def _decoded(body: bytes, kind: str) -> bytes:
    try:
        return base64.b64decode(body, validate=True)
    except binascii.Error:
        raise IntegrationFailed(kind, "the body is no base64") from None


def _joined_headers(single: Json, multi: Json) -> list[tuple[str, str]]:
    """Headers of both members; a header in both has the values of the list first, under its spelling there."""
    for given in (single, multi):
        if given is not None and not isinstance(given, dict):
            raise malformed("headers is no object")
    if len(single or ()) + sum(len(one) for one in (multi or {}).values() if isinstance(one, list)) > MOST_HEADERS:
        raise malformed(f"there are more than {MOST_HEADERS} headers")
    found: dict[str, tuple[str, list[str]]] = {}
    listed: JsonObject = multi or {}
    for name, values in listed.items():
        if not isinstance(values, list):
            raise malformed(f"multiValueHeaders.{name[:80]} is no list")
        found[name.lower()] = name, [_value(one) for one in values]
    for name, value in (single or {}).items():
        if value is not None:
            found.setdefault(name.lower(), (name, []))[1].append(_value(value))
    return [(_checked(name), value) for name, values in found.values() for value in values]


def _checked(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise malformed("a name of a header has characters that HTTP does not allow")
    return name


def _value(given: Json) -> str:
    if isinstance(given, str):
        text = given
    elif isinstance(given, (dict, list)):
        raise malformed("a value of a header is no text")
    else:
        text = "true" if given is True else "false" if given is False else str(given)
    if _CONTROLS.search(text):
        raise malformed("a value of a header has characters that HTTP does not allow")
    return text
