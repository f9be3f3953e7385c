"""The gateway's own answers of REST APIs, by type, as the API has set them or as they are from the start.

Source: API Gateway developer guide, "Gateway response types"; recorded defaults.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from statewright.apis.authorizers.verdicts import Refusal
from statewright.apis.calls import CallContext, Request, Response
from statewright.payload import Json, JsonMapping, dump_json

_NAMES: Final = {
    "ACCESS_DENIED": "AccessDeniedException", "AUTHORIZER_CONFIGURATION_ERROR": "AuthorizerConfigurationException",
    "AUTHORIZER_FAILURE": "AuthorizerFailureException", "EXPIRED_TOKEN": "ExpiredTokenException",
    "INVALID_API_KEY": "ForbiddenException", "INVALID_SIGNATURE": "InvalidSignatureException",
    "MISSING_AUTHENTICATION_TOKEN": "MissingAuthenticationTokenException", "UNAUTHORIZED": "UnauthorizedException",
    "BAD_REQUEST_BODY": "BadRequestException", "BAD_REQUEST_PARAMETERS": "BadRequestException",
    "THROTTLED": "TooManyRequestsException", "QUOTA_EXCEEDED": "LimitExceededException",
    "REQUEST_TOO_LARGE": "RequestTooLongException", "UNSUPPORTED_MEDIA_TYPE": "UnsupportedMediaTypeException",
}  # fmt: skip
"""Values of `x-amzn-ErrorType`."""
STATUSES: Final = {
    "ACCESS_DENIED": 403, "API_CONFIGURATION_ERROR": 500, "AUTHORIZER_CONFIGURATION_ERROR": 500,
    "AUTHORIZER_FAILURE": 500, "BAD_REQUEST_BODY": 400, "BAD_REQUEST_PARAMETERS": 400, "DEFAULT_4XX": None,
    "DEFAULT_5XX": None, "EXPIRED_TOKEN": 403, "INTEGRATION_FAILURE": 504, "INTEGRATION_TIMEOUT": 504,
    "INVALID_API_KEY": 403, "INVALID_SIGNATURE": 403, "MISSING_AUTHENTICATION_TOKEN": 403, "QUOTA_EXCEEDED": 429,
    "REQUEST_TOO_LARGE": 413, "RESOURCE_NOT_FOUND": 404, "THROTTLED": 429, "UNAUTHORIZED": 401,
    "UNSUPPORTED_MEDIA_TYPE": 415, "WAF_FILTERED": 403,
}  # fmt: skip
_MESSAGES: Final = {
    "ACCESS_DENIED": "User is not authorized to access this resource", "BAD_REQUEST_BODY": "Invalid request body",
    "INTEGRATION_TIMEOUT": "Endpoint request timed out", "INVALID_API_KEY": "Forbidden",
    "MISSING_AUTHENTICATION_TOKEN": "Missing Authentication Token", "QUOTA_EXCEEDED": "Limit Exceeded",
    "REQUEST_TOO_LARGE": "Request Entity Too Large", "RESOURCE_NOT_FOUND": "Not Found",
    "THROTTLED": "Too Many Requests", "UNAUTHORIZED": "Unauthorized",
    "UNSUPPORTED_MEDIA_TYPE": "Unsupported Media Type",
}  # fmt: skip
_SPACED: Final = frozenset({"BAD_REQUEST_BODY", "BAD_REQUEST_PARAMETERS"})
"""Types whose body has a blank after the colon, as has that of `Internal server error` (recorded)."""
_SILENT: Final = frozenset({"AUTHORIZER_CONFIGURATION_ERROR", "AUTHORIZER_FAILURE"})
"""Types whose message is null. Source: reports of users of the service."""
TEMPLATE: Final = '{"message":$context.error.messageString}'
_JSON: Final = "application/json"
_PLACE: Final = re.compile(
    r"\$(?:\{context\.([A-Za-z0-9_.]+)\}|context\.([A-Za-z0-9_.]+)|stageVariables\.([A-Za-z0-9_]+))"
)


class GatewayResponses:
    """The gateway responses of a stage."""

    def __init__(self, given: Mapping[str, JsonMapping]) -> None:
        """`given` are those that the API has set, by type."""
        self._given = given

    def refused(self, refusal: Refusal, request: Request, context: CallContext) -> Response:
        """The answer to a request that an authorizer does not let in."""
        return self.response(refusal.kind, request, context, refusal.message, name=refusal.name)

    def response(
        self, kind: str, request: Request, context: CallContext, message: str | None = None, *, name: str | None = None
    ) -> Response:
        """The answer of a type. A type that is not known is an error of integration (500, or 502 for `MALFORMED`).

        `name` is the value of `x-amzn-ErrorType`, if it is not that of the type.
        """
        status = STATUSES.get(kind) or (502 if kind == "MALFORMED" else 500)
        own_text = "Internal server error" if status >= 500 else "Forbidden"
        text = None if kind in _SILENT else message or _MESSAGES.get(kind) or own_text
        if context.trace is not None:
            context.trace.refused(kind, text or "")
        given = self._given.get(kind) or self._given.get("DEFAULT_4XX" if status < 500 else "DEFAULT_5XX") or {}
        values = {**context.shown(), "error": {"message": text, "messageString": dump_json(text), "responseType": kind}}
        templates = given.get("responseTemplates") or {}
        accepts = request.header("accept") or _JSON
        kind_of_body, template = next(
            ((name, one) for name, one in templates.items() if name in accepts),
            next(iter(templates.items()), (_JSON, TEMPLATE)) if _JSON not in templates else (_JSON, templates[_JSON]),
        )
        usual = _NAMES.get(kind, "InternalServerErrorException" if status >= 500 else kind)
        headers = [("x-amzn-ErrorType", name or usual)]
        for parameter, source in (given.get("responseParameters") or {}).items():
            value = _parameter(source, request, context, values)
            if parameter.startswith("gatewayresponse.header.") and value is not None:
                headers.append((parameter.removeprefix("gatewayresponse.header."), value))
        headers.append(("Content-Type", kind_of_body))
        own = given.get("statusCode")
        body = _PLACE.sub(lambda found: _in(values, context, found), template)
        if template == TEMPLATE and (kind in _SPACED or text == "Internal server error"):
            body = f'{{"message": {dump_json(text)}}}'
        return Response(int(own) if own else status, headers, body.encode())


def _in(values: JsonMapping, context: CallContext, found: re.Match[str]) -> str:
    if found[3]:
        return context.stage_variables.get(found[3], "")
    value = _walked(values, found[1] or found[2])
    return "" if value is None else value if isinstance(value, str) else dump_json(value)


def _walked(values: JsonMapping, path: str) -> Json:
    value: Json = values
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _parameter(source: str, request: Request, context: CallContext, values: JsonMapping) -> str | None:
    if source.startswith("'") and source.endswith("'"):
        return source[1:-1]
    if source.startswith("context."):
        value = _walked(values, source.removeprefix("context."))
        return None if value is None else value if isinstance(value, str) else dump_json(value)
    if source.startswith("stageVariables."):
        return context.stage_variables.get(source.removeprefix("stageVariables."))
    return method_request(source, request, context)


def method_request(source: str, request: Request, context: CallContext) -> str | None:
    """The value of `method.request.header.X`, `querystring.X` or `path.X`; the last one of a header."""
    _, _, rest = source.partition("method.request.")
    kind, _, name = rest.partition(".")
    if kind == "header":
        return request.header(name.lower())
    if kind == "querystring":
        values = request.query.get(name)
        return values[-1] if values else None
    return context.path_parameters.get(name) if kind == "path" else None
