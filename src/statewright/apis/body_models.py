"""Models of request bodies: JSON schemas, draft 4, as far as templates use them.

A schema with other keywords is checked by those that are known here. A reference is one within the schema, or the
address of another model of the API. A schema comes from the author of an API and a body from its callers: patterns
match in linear time, and a check that takes many steps ends without a fit.

Source: JSON Schema Validation, draft 4; API Gateway developer guide, "Data models for REST APIs".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from statewright.apis.errors import bad_request
from statewright.payload import Json, JsonMapping, JsonTextError, parse_json
from statewright.query.linear_regex import LinearRegex, RegexSyntaxError, compile_regex

MOST_DEPTH: Final = 64
MOST_STEPS: Final = 50_000
"""Applications of a schema to a value, and steps of a pattern on a text, that one body may take, besides one a byte."""
LONG_BODY: Final = 65_536
"""Bytes of a body whose check takes too long for an event loop."""
_ADDRESS: Final = re.compile(r"https://apigateway\.amazonaws\.com/restapis/[^/]+/models/([^/#]+)")
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,), "array": (list,), "string": (str,), "boolean": (bool,), "null": (type(None),),
    "integer": (int,), "number": (int, float),
}  # fmt: skip


def check_schema(text: str) -> None:
    """Refuse the schema of a model that is no JSON, or has a pattern that cannot be checked. Raises: ApiError."""
    try:
        schema = parse_json(text)
    except JsonTextError as problem:
        raise bad_request(f"Invalid model schema specified: {problem}") from None
    for pattern in _patterns(schema):
        try:
            _compiled(pattern)
        except RegexSyntaxError as problem:
            raise bad_request(f"Invalid model schema specified: the pattern {pattern[:100]}: {problem}") from None


def model_address(api_id: str, name: str) -> str:
    """The address by which a schema refers to a model."""
    return f"https://apigateway.amazonaws.com/restapis/{api_id}/models/{name}"


def fits(schema: JsonMapping, body: bytes, models: Mapping[str, JsonMapping]) -> bool:
    """True if a body is JSON that fits a schema; no body fits one that is malformed.

    `models` are the schemas that it may refer to, by name.
    """
    try:
        return _Check(schema, models, MOST_STEPS + len(body)).fits(schema, parse_json(body), 0)
    except (JsonTextError, RegexSyntaxError, _TooLong, TypeError, AttributeError):
        return False


class _TooLong(Exception):
    """A check has taken more than its steps."""


@dataclass(slots=True)
class _Check:
    """The check of one body."""

    root: JsonMapping
    models: Mapping[str, JsonMapping]
    left: int

    def spend(self, steps: int) -> None:
        """Count steps. Raises: _TooLong."""
        self.left -= steps
        if self.left < 0:
            raise _TooLong

    def fits(self, schema: Json, value: Json, depth: int) -> bool:
        """True if a value fits a schema. Raises: _TooLong."""
        self.spend(1)
        if not isinstance(schema, Mapping) or depth > MOST_DEPTH:
            return depth <= MOST_DEPTH
        named = schema.get("$ref")
        if isinstance(named, str):
            return self._referred(named, value, depth + 1)
        if "type" in schema and not _is_of(schema["type"], value):
            return False
        if "enum" in schema and value not in schema["enum"]:
            return False
        if not all(self.fits(one, value, depth + 1) for one in schema.get("allOf", ())):
            return False
        if "anyOf" in schema and not any(self.fits(one, value, depth + 1) for one in schema["anyOf"]):
            return False
        if "oneOf" in schema and sum(self.fits(one, value, depth + 1) for one in schema["oneOf"]) != 1:
            return False
        if isinstance(value, dict):
            return self._object(schema, value, depth)
        if isinstance(value, list):
            counted = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
            return counted and all(self.fits(schema.get("items"), one, depth + 1) for one in value)
        return self._scalar(schema, value)

    def _referred(self, named: str, value: Json, depth: int) -> bool:
        model = _ADDRESS.fullmatch(named)
        if model is not None:
            before, self.root = self.root, self.models.get(model[1], {})
            try:
                return self.fits(self.root, value, depth)
            finally:
                self.root = before
        found: Json = self.root
        for part in named.split("/")[1:]:
            found = found.get(part) if isinstance(found, Mapping) else None
        return self.fits(found, value, depth)

    def _object(self, schema: JsonMapping, value: dict[str, Json], depth: int) -> bool:
        if any(name not in value for name in schema.get("required", ()) if isinstance(name, str)):
            return False
        known = schema.get("properties") or {}
        rest = schema.get("additionalProperties", True)
        for name, one in value.items():
            if name in known:
                if not self.fits(known[name], one, depth + 1):
                    return False
            elif rest is False or (isinstance(rest, Mapping) and not self.fits(rest, one, depth + 1)):
                return False
        return True

    def _scalar(self, schema: JsonMapping, value: Json) -> bool:
        if isinstance(value, str):
            if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
                return False
            pattern = schema.get("pattern")
            return not isinstance(pattern, str) or _compiled(pattern).find(value, spend=self.spend) is not None
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))
        return True


def _is_of(kind: Json, value: Json) -> bool:
    kinds = kind if isinstance(kind, list) else [kind]
    return any(
        isinstance(value, _TYPES.get(one, (object,))) and (one == "boolean" or not isinstance(value, bool))
        for one in kinds
    )


@lru_cache(maxsize=1_000)
def _compiled(pattern: str) -> LinearRegex:
    """Raises: RegexSyntaxError."""
    return compile_regex(pattern)


def _patterns(schema: Json) -> Iterator[str]:
    pending = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, Mapping):
            if isinstance(part.get("pattern"), str):
                yield part["pattern"]
            pending.extend(part.values())
        elif isinstance(part, list):
            pending.extend(part)
