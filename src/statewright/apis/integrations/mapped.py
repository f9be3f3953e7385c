"""Values of a request that parameters of HTTP APIs name: `$request.header.X`, `$context.X`, `${…}` within texts.

Source: API Gateway developer guide, "Transform API requests and responses for HTTP APIs" and "Integration subtype
reference".
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from statewright.apis.calls import CallContext, Request
from statewright.errors import ExecutionFailure
from statewright.payload import Json, JsonTextError, dump_json, parse_json
from statewright.query.jsonpath import PathNotFound, PathSyntaxError, compile_path

_EMBEDDED: Final = re.compile(r"\$\{([^}]+)\}")
_SOURCE: Final = re.compile(
    r"\$?(request\.(header|querystring|path)\.(?P<name>[^\s]+)|request\.path|request\.body(?P<path>.*)"
    r"|context\.(?P<context>[A-Za-z0-9_.-]+)|stageVariables\.(?P<variable>[A-Za-z0-9_]+))"
)


def mapped(text: str, request: Request, context: CallContext) -> str | None:
    """The value of a mapping: a source, a text with sources in `${}`, or the text itself.

    `None` if its source is missing.
    """
    if text.startswith("$") and not text.startswith("${"):
        return _value(text, request, context)
    if "${" not in text:
        return text
    return _EMBEDDED.sub(lambda found: _value("$" + found[1].removeprefix("$"), request, context) or "", text)


def _value(source: str, request: Request, context: CallContext) -> str | None:
    found = _SOURCE.fullmatch(source)
    if found is None:
        return None
    if found["variable"]:
        return context.stage_variables.get(found["variable"])
    if found["context"]:
        return _in_context(found["context"].split("."), context)
    if source.startswith("$request.body"):
        return _in_body(found["path"], request)
    if found["name"] is None:
        return request.path
    kind, name = source.split(".")[1], found["name"]
    if kind == "header":
        values = [value for key, value in request.headers if key.lower() == name.lower()]
    elif kind == "querystring":
        values = request.query.get(name, [])
    else:
        values = [unquote(context.path_parameters[name])] if name in context.path_parameters else []
    return ",".join(values) if values else None


def _in_context(names: list[str], context: CallContext) -> str | None:
    value: Json = {**context.shown(), "routeKey": context.resource_path, "http": {"method": context.http_method}}
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return None if value is None else value if isinstance(value, str) else dump_json(value)


def _in_body(path: str, request: Request) -> str | None:
    if not path:
        return request.body.decode("utf-8", "replace") if request.body else None
    return in_json(path, request.body)


def in_json(path: str, body: bytes) -> str | None:
    """The value at a JSONPath without its `$`, as text; `None` if the body is no JSON or has none."""
    try:
        found = compile_path("$" + path).find(parse_json(body))
    except (JsonTextError, PathNotFound, PathSyntaxError, ExecutionFailure):
        return None
    return None if found is None else found if isinstance(found, str) else dump_json(found)
