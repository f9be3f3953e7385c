"""Identity sources of authorizers, and the ARN of the method that a request calls.

Owns the two grammars of sources (`$request.header.X` of HTTP APIs, `method.request.header.X` of REST APIs) and which
values of a request they read.

Source: API Gateway developer guide, "Identity sources" and "Choosing a type of Lambda authorizer".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from statewright.apis.calls import CallContext, Request
from statewright.apis.errors import bad_request
from statewright.payload import Json, dump_json

HEADER: Final = "header"
QUERY: Final = "querystring"
CONTEXT: Final = "context"
STAGE_VARIABLES: Final = "stageVariables"
_HTTP: Final = re.compile(
    r"\$request\.(?P<part>header|querystring)\.(?P<name>[^\s,]+)|\$(?P<other>context|stageVariables)\.(?P<path>[^\s,]+)"
)
_REST: Final = re.compile(
    r"method\.request\.(?P<part>header|querystring)\.(?P<name>[^\s,]+)|(?P<other>context|stageVariables)\.(?P<path>[^\s,]+)"
)
_KEPT: Final = re.compile("[/*?%]")


@dataclass(frozen=True, slots=True)
class IdentitySource:
    """A place of a request: its kind is one of the four above."""

    kind: str
    name: str

    def values(self, request: Request, context: CallContext) -> list[str]:
        """All values there that are not empty: a header may be repeated."""
        if self.kind == HEADER:
            lower = self.name.lower()
            found = [value for name, value in request.headers if name.lower() == lower]
        elif self.kind == QUERY:
            found = request.query.get(self.name, [])
        elif self.kind == STAGE_VARIABLES:
            found = [context.stage_variables.get(self.name, "")]
        else:
            found = [_of_context(self.name, context)]
        return [one for one in found if one]


def http_sources(given: Iterable[str]) -> tuple[IdentitySource, ...]:
    """The identity sources of an HTTP API's authorizer. Raises: ApiError (`BadRequestException`)."""
    return tuple(_source(_HTTP, one, "$request.header.NAME") for one in given)


def rest_sources(given: str | None) -> tuple[IdentitySource, ...]:
    """Those of a REST API's authorizer, separated by commas. Raises: ApiError (`BadRequestException`)."""
    parts = [one.strip() for one in (given or "").split(",")]
    return tuple(_source(_REST, one, "method.request.header.NAME") for one in parts if one)


def _source(grammar: re.Pattern[str], given: str, example: str) -> IdentitySource:
    found = grammar.fullmatch(given)
    if found is None:
        raise bad_request(f"Invalid identity source specified: {given[:100]}. Use a source such as {example}")
    return IdentitySource(found["part"] or found["other"], found["name"] or found["path"])


def _of_context(path: str, context: CallContext) -> str:
    value: Json = {**context.shown(), "routeKey": context.resource_path}
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return "" if value is None else value if isinstance(value, str) else dump_json(value)


def method_arn(request: Request, context: CallContext, *, is_rest: bool) -> str:
    """The ARN of the method that a request calls.

    Its path is the one that the router sees, so that no statement is evaded by another spelling: escapes are undone,
    and REST APIs ignore slashes at the end. What has a meaning in ARNs or in paths stays escaped.
    """
    path = request.path.rstrip("/") if is_rest else request.path
    if "%" in path or "*" in path or "?" in path:
        path = "/".join(_KEPT.sub(lambda found: f"%{ord(found[0]):02X}", unquote(one)) for one in path.split("/"))
    where = f"{context.api_id}/{context.stage}/{request.method}/{path.removeprefix('/')}"
    return f"arn:aws:execute-api:{context.region}:{context.account}:{where}"
