"""Requests and responses of REST integrations that are no proxies: parameters, templates, conversions of bodies.

Owns what an integration is sent and what a client gets back of its answer. Where it is sent belongs to `aws.py` and
`backends.py`. Templates are rendered on the loop if they are quick, otherwise by another process.

Source: API Gateway developer guide, "Mapping template transformations", "Parameter mapping", "Content type
conversions", "Method request behavior for payloads without mapping templates"; recorded answers.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

from statewright.apis.calls import CallContext, Integration, IntegrationFailed, IntegrationResponse, Request, Response
from statewright.apis.gateway_responses import method_request
from statewright.apis.integrations.lambda_events import forwarded, is_binary_type, trace_id
from statewright.apis.integrations.mapped import in_json
from statewright.apis.templates.failures import BodyIsNotJson, RenderingFailed, TemplateSyntaxError
from statewright.apis.templates.rendering import Inputs, Rendered
from statewright.apis.templates.template import LONG_TEMPLATE, compile_template, render_here
from statewright.payload import Json, dump_json
from statewright.query.linear_regex import LinearRegex, compile_regex

JSON_TYPE: Final = "application/json"
CONFIGURATION: Final = "API_CONFIGURATION_ERROR"
_NO_HEADERS: Final = frozenset({"content-length", "transfer-encoding"})
"""Headers that no integration may map (recorded)."""
FORBIDDEN: Final = _NO_HEADERS | {"authorization", "connection", "expect", "proxy-authenticate", "te"}
"""Headers that no AWS integration and no function's proxy may map (recorded)."""
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PLACE: Final = re.compile(r"\{([A-Za-z0-9._:-]+)\+?\}")
_FLAGS: Final = re.compile(r"\(\?([is]{1,2})\)")
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


LONG_BODY: Final = 262_144
"""Characters of a body whose parsing alone takes an event loop some milliseconds."""

Run = Callable[..., Awaitable[Rendered | RenderingFailed]]


@dataclass(slots=True)
class Outgoing:
    """A request to a backend: mapped headers by the names as mapped, values of the query and the path, the body."""

    headers: dict[str, str]
    query: dict[str, str]
    path: dict[str, str]
    body: bytes


class Mappings:
    """Maps requests and responses."""

    def __init__(self, run: Run, run_elsewhere: Run) -> None:
        """Both call a function with its arguments: on the loop unless that takes long, or never there."""
        self._run = run
        self._run_elsewhere = run_elsewhere

    async def outgoing(
        self, integration: Integration, request: Request, context: CallContext, forbidden: frozenset[str] = _NO_HEADERS
    ) -> Outgoing:
        """The request that an integration gets. Raises: IntegrationFailed.

        The overrides that its template makes are left in the context.
        """
        kinds = mapped_parameters(integration, request, context, forbidden)
        body = await self._body(integration, request, context)
        sent = Outgoing(kinds["header"], kinds["querystring"], kinds["path"], body)
        for kind, values in context.request_override.items():
            for name, value in (values or {}).items():
                if value is not None and kind in kinds:
                    kinds[kind][name] = _joined(value)
        for name, value in sent.headers.items():
            _check_header(name, value)
            if name.lower() in forbidden:
                raise IntegrationFailed(CONFIGURATION, f"the header {name} cannot be mapped")
        return sent

    async def _body(self, integration: Integration, request: Request, context: CallContext) -> bytes:
        body = _converted_request(integration, request, context)
        kind = _media_type(request.header("content-type"))
        template = next((text for name, text in integration.templates.items() if _media_type(name) == kind), None)
        if template is None:
            if integration.passthrough == "NEVER" or (
                integration.passthrough == "WHEN_NO_TEMPLATES" and integration.templates
            ):
                raise IntegrationFailed("UNSUPPORTED_MEDIA_TYPE", f"no template for {kind}")
            return body
        text = body.decode("utf-8", "replace")
        made = await self._rendered(template, text, request, context, is_request=True)
        if not made and template:
            # A template that gives nothing gives an empty object (recorded).
            made = "{}"
        return made.encode("utf-8", "replace")

    async def _rendered(self, text: str, body: str, request: Request, context: CallContext, *, is_request: bool) -> str:
        uses_parameters = uses_context = len(text) > LONG_TEMPLATE
        is_long = uses_context or len(body) > LONG_BODY
        if not uses_context:
            try:
                template = compile_template(text)
            except TemplateSyntaxError as error:
                raise IntegrationFailed(CONFIGURATION, f"the mapping template: {error}") from None
            uses_parameters, uses_context = template.uses_parameters, template.uses_context
        inputs = Inputs(
            body,
            _parameters(request, context) if uses_parameters else {},
            context.shown() if uses_context else {},
            dict(context.stage_variables),
        )
        result = await (self._run_elsewhere if is_long else self._run)(render_here, text, inputs)
        if isinstance(result, BodyIsNotJson) and is_request:
            raise IntegrationFailed("BAD_REQUEST_BODY", f"Could not parse request body into json: {result}")
        if isinstance(result, RenderingFailed):
            raise IntegrationFailed(CONFIGURATION, f"the mapping template: {result}")
        if uses_context:
            context.request_override, context.response_override = result.request_override, result.response_override
        return result.text

    async def response(
        self,
        integration: Integration,
        request: Request,
        context: CallContext,
        answer: Response,
        matched: str | None,
    ) -> Response:
        """The client's response, from the answer of a backend. Raises: IntegrationFailed.

        `matched` is the text that selection patterns are compared with; without one, the default response counts.
        """
        chosen = _chosen(integration.responses, matched)
        headers: dict[str, str] = {}
        for target, source in chosen.parameters.items():
            name = target.removeprefix("method.response.header.")
            value = _response_value(source, answer, request, context)
            if value is not None:
                headers[name] = value
        body = _converted_response(chosen, request, context, answer)
        kind, template = _response_template(chosen.templates, request)
        if template is not None:
            text = await self._rendered(template, body.decode("utf-8", "replace"), request, context, is_request=False)
            body = text.encode("utf-8", "replace")
        override = context.response_override
        for name, value in (override.get("header") or {}).items():
            if value is not None:
                headers[name] = _joined(value)
        if not any(name.lower() == "content-type" for name in headers):
            headers["Content-Type"] = kind
        for name, value in headers.items():
            _check_header(name, value)
        return Response(_status(override.get("status"), chosen.status), list(headers.items()), body)


# ------------------------------------------------------------------ sources of values


def mapped_parameters(
    integration: Integration, request: Request, context: CallContext, forbidden: frozenset[str] = _NO_HEADERS
) -> dict[str, dict[str, str]]:
    """The parameters that an integration maps, by kind (`header`, `querystring`, `path`) and name.

    Raises: IntegrationFailed for a header that it may not map.
    """
    found: dict[str, dict[str, str]] = {"header": {}, "querystring": {}, "path": {}}
    for target, source in integration.parameters.items():
        kind, _, name = target.removeprefix("integration.request.").partition(".")
        if kind == "header" and name.lower() in forbidden:
            raise IntegrationFailed(CONFIGURATION, f"the header {name} cannot be mapped")
        value = request_value(source, request, context)
        if value is not None and kind in found:
            found[kind][name] = value
    return found


def request_value(source: str, request: Request, context: CallContext) -> str | None:
    """The value of a source of an integration request; `None` if it is missing. Raises: IntegrationFailed."""
    if not source.startswith("method.request."):
        return _common_value(source, context)
    kind, _, name = source.removeprefix("method.request.").partition(".")
    if kind in ("header", "querystring", "path"):
        return method_request(source, request, context)
    if kind == "multivalueheader":
        values = [value for key, value in request.headers if key.lower() == name.lower()]
        return ",".join(values) if values else None
    if kind == "multivaluequerystring":
        return ",".join(request.query[name]) if name in request.query else None
    if source == "method.request.body":
        return request.body.decode("utf-8", "replace")
    return in_json(source.removeprefix("method.request.body"), request.body) if kind.startswith("body") else None


def placed(text: str, values: Mapping[str, str]) -> str:
    """A path with values in place of `{name}`, escaped but for what they bring escaped. Raises: IntegrationFailed.

    Dots that would leave the path of the integration are refused.
    """

    def place(found: re.Match[str]) -> str:
        value = values.get(found[1])
        if value is None:
            raise IntegrationFailed(CONFIGURATION, f"the path has no parameter {found[1]}")
        if any(one in (".", "..") for one in unquote(value).replace("\\", "/").split("/")):
            raise IntegrationFailed("INTEGRATION_FAILURE", "the path would leave that of the integration")
        return quote(value, safe="/%:@!$&'()*+,;=~-._")

    return _PLACE.sub(place, text)


def _common_value(source: str, context: CallContext) -> str | None:
    if len(source) > 1 and source[0] == source[-1] == "'":
        return source[1:-1]
    root, _, path = source.partition(".")
    if root == "stageVariables":
        return context.stage_variables.get(path)
    value: Json = context.shown() if root == "context" else None
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return None if value is None else value if isinstance(value, str) else dump_json(value)


def _response_value(source: str, answer: Response, request: Request, context: CallContext) -> str | None:
    if source.startswith("method.request."):
        return request_value(source, request, context)
    if not source.startswith("integration.response."):
        return _common_value(source, context)
    kind, _, name = source.removeprefix("integration.response.").partition(".")
    if kind in ("header", "multivalueheader"):
        values = [value for key, value in answer.headers if key.lower() == name.lower()]
        return None if not values else values[-1] if kind == "header" else ",".join(values)
    if source == "integration.response.body":
        return answer.body.decode("utf-8", "replace")
    return in_json(source.removeprefix("integration.response.body"), answer.body) if kind.startswith("body") else None


def _parameters(request: Request, context: CallContext) -> dict[str, dict[str, str]]:
    """`$input.params()`: the last value of each parameter."""
    headers: dict[str, str] = {}
    spelling: dict[str, str] = {}
    added = forwarded(request, request.header("x-amzn-trace-id") or trace_id(context))
    replaced = {name.lower() for name, _ in added}
    for name, value in (*((n, v) for n, v in request.headers if n.lower() not in replaced), *added):
        headers[spelling.setdefault(name.lower(), name)] = value
    query = {name: values[-1] for name, values in request.query.items()}
    return {"path": dict(context.path_parameters), "querystring": query, "header": headers}


def _joined(value: Json) -> str:
    if isinstance(value, list):
        return ",".join(map(_joined, value))
    if isinstance(value, str | int | float | dict) or value is None:
        return value if isinstance(value, str) else dump_json(value)
    return ""


def _check_header(name: str, value: str) -> None:
    if _NAME.fullmatch(name) is None or _CONTROLS.search(value):
        raise IntegrationFailed(CONFIGURATION, "a header has characters that HTTP does not allow")


# ------------------------------------------------------------------ choices and conversions


def selection_pattern(text: str) -> LinearRegex:
    """A selection pattern, compiled; flags may stand before it, as in `(?s).*`. Raises: RegexSyntaxError."""
    flags = _FLAGS.match(text)
    given = flags[1] if flags is not None else ""
    pattern = text[flags.end() :] if flags is not None else text
    return compile_regex(pattern, ignore_case="i" in given, dot_all="s" in given)


def _media_type(header: str | None) -> str:
    return (header or JSON_TYPE).partition(";")[0].strip().lower()


def _chosen(responses: tuple[IntegrationResponse, ...], matched: str | None) -> IntegrationResponse:
    if matched is not None:
        for one in responses:
            if one.pattern is not None and one.pattern.fullmatch(matched):
                return one
    found = next((one for one in responses if one.pattern is None), None)
    if found is None:
        raise IntegrationFailed(CONFIGURATION, f"no integration response is for {(matched or '')[:100]!r}")
    return found


def _response_template(templates: Mapping[str, str], request: Request) -> tuple[str, str | None]:
    """The content type of a response and its template: by Accept, as JSON, or the first one."""
    if not templates:
        return JSON_TYPE, None
    accepted = _media_type((request.header("accept") or "").partition(",")[0] or None)
    for wanted in (accepted, JSON_TYPE):
        for name, text in templates.items():
            if _media_type(name) == wanted:
                return name, text
    return next(iter(templates.items()))


def _status(override: Json, otherwise: int) -> int:
    text = str(override) if isinstance(override, int | str) and not isinstance(override, bool) else ""
    if override is None or override == "":
        return otherwise
    if len(text) != 3 or not text.isdecimal() or not 200 <= int(text) <= 599:
        raise IntegrationFailed(CONFIGURATION, f"{text[:40]!r} is no status")
    return int(text)


def _converted_request(integration: Integration, request: Request, context: CallContext) -> bytes:
    is_binary = is_binary_type(request.header("content-type"), context.binary_types)
    if integration.content_handling == "CONVERT_TO_BINARY" and not is_binary:
        return _decoded(request.body)
    if is_binary:
        return _encoded(request.body) if integration.content_handling == "CONVERT_TO_TEXT" else request.body
    return _text(request.body)


def _converted_response(chosen: IntegrationResponse, request: Request, context: CallContext, answer: Response) -> bytes:
    given = next((value for name, value in answer.headers if name.lower() == "content-type"), None)
    is_binary = is_binary_type(given, context.binary_types)
    wanted = is_binary_type((request.header("accept") or "").partition(",")[0], context.binary_types)
    if chosen.content_handling is not None:
        wanted = chosen.content_handling == "CONVERT_TO_BINARY"
    if is_binary:
        return answer.body if wanted else _encoded(answer.body)
    return _decoded(answer.body) if wanted else _text(answer.body)


def _text(body: bytes) -> bytes:
    """A body that is taken for text: bytes that are no UTF-8 are replaced (recorded)."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return body.decode("utf-8", "replace").encode()
    return body


def _encoded(body: bytes) -> bytes:
    return base64.b64encode(body)


def _decoded(body: bytes) -> bytes:
    try:
        return base64.b64decode(body, validate=True)
    except binascii.Error:
        raise IntegrationFailed(CONFIGURATION, "the body is no base64") from None
