"""Models of request bodies: JSON schemas, draft 4, as far as templates use them.

A schema with other keywords is checked by those that are known here. Source: JSON Schema Validation, draft 4.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from statewright.payload import Json, JsonMapping, JsonTextError, parse_json

MOST_DEPTH: Final = 64
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,), "array": (list,), "string": (str,), "boolean": (bool,), "null": (type(None),),
    "integer": (int,), "number": (int, float),
}  # fmt: skip


def fits(schema: JsonMapping, body: bytes) -> bool:
    """True if a body is JSON that fits a schema."""
    try:
        value = parse_json(body)
    except JsonTextError:
        return False
    return _fits(schema, value, schema, 0)


def _fits(schema: Json, value: Json, root: JsonMapping, depth: int) -> bool:
    if not isinstance(schema, Mapping) or depth > MOST_DEPTH:
        return depth <= MOST_DEPTH
    named = schema.get("$ref")
    if isinstance(named, str):
        found: Json = root
        for part in named.removeprefix("#/").split("/"):
            found = found.get(part) if isinstance(found, Mapping) else None
        return _fits(found, value, root, depth + 1)
    if "type" in schema and not _is_of(schema["type"], value):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if not all(_fits(one, value, root, depth + 1) for one in schema.get("allOf", ())):
        return False
    if "anyOf" in schema and not any(_fits(one, value, root, depth + 1) for one in schema["anyOf"]):
        return False
    if "oneOf" in schema and sum(_fits(one, value, root, depth + 1) for one in schema["oneOf"]) != 1:
        return False
    if isinstance(value, dict):
        return _object_fits(schema, value, root, depth)
    if isinstance(value, list):
        counted = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
        return counted and all(_fits(schema.get("items"), one, root, depth + 1) for one in value)
    return _scalar_fits(schema, value)


def _is_of(kind: Json, value: Json) -> bool:
    kinds = kind if isinstance(kind, list) else [kind]
    return any(
        isinstance(value, _TYPES.get(one, (object,))) and (one == "boolean" or not isinstance(value, bool))
        for one in kinds
    )


def _object_fits(schema: JsonMapping, value: dict[str, Json], root: JsonMapping, depth: int) -> bool:
    if any(name not in value for name in schema.get("required", ()) if isinstance(name, str)):
        return False
    known = schema.get("properties") or {}
    rest = schema.get("additionalProperties", True)
    for name, one in value.items():
        if name in known:
            if not _fits(known[name], one, root, depth + 1):
                return False
        elif rest is False or (isinstance(rest, Mapping) and not _fits(rest, one, root, depth + 1)):
            return False
    return True


def _scalar_fits(schema: JsonMapping, value: Json) -> bool:
    if isinstance(value, str):
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
            return False
        pattern = schema.get("pattern")
        return not isinstance(pattern, str) or _search(pattern, value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))
    return True


def _search(pattern: str, value: str) -> bool:
    try:
        return re.search(pattern, value) is not None
    except re.error:
        return True
