"""Patch operations: changes of a resource's settings by the paths of its members.

Owns what a path may lead to: members of the resource's shape in the service's model, with values of their types. So no
patch leaves settings that answers and stages cannot read.

Source: API Gateway REST API reference, "Patch Operations"; texts are recorded, but for those of values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from statewright.apis.errors import bad_request
from statewright.errors import ApiError
from statewright.integrations.endpoints.service_models import Model, model_of
from statewright.payload import Json, JsonMapping, JsonObject

_OPERATIONS: Final = ("add", "remove", "replace")
_KEPT: Final = frozenset({"authorizationType", "deploymentId", "enabled", "name", "type", "value"})
"""Members that a resource cannot be without."""
_WHOLE: Final = re.compile(r"-?[0-9]{1,9}")
_DECIMAL: Final = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")


def patched(settings: JsonMapping, operations: Sequence[JsonMapping], allowed: Sequence[str], shape: str) -> JsonObject:
    """Settings after patch operations. `allowed` are the members that may change, of a shape. Raises: ApiError.

    Values are texts: `true` and `false` for a truth value, digits for a number.
    """
    found: JsonObject = {**settings}
    for one in operations or ():
        path = one.get("path") or ""
        names = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]
        if not names or not names[0]:
            raise _no_path(path)
        op = one.get("op")
        possible = () if op not in _OPERATIONS else [name for name in allowed if op != "remove" or name not in _KEPT]
        if names[0] not in possible:
            listed = ", ".join(f"/{name}" for name in possible)
            raise bad_request(f"Invalid patch path  '{path}' specified for op '{op}'. Must be one of: [{listed}]")
        _apply(found, _shapes()[shape], names, one)
    return found


@cache
def _shapes() -> Model:
    model = model_of("apigateway")
    assert model is not None, "botocore has no model of API Gateway"
    shapes: Model = model["shapes"]
    return shapes


def _apply(holder: JsonObject, shape: Model, names: Sequence[str], one: JsonMapping) -> None:
    """Apply an operation to a structure or a map, which may be changed. Raises: ApiError."""
    name, rest = names[0], names[1:]
    inner = _inner(shape, name)
    if inner is None:
        raise _no_path(one["path"])
    before, kind = holder.get(name), inner["type"]
    if kind == "list":
        if len(rest) > 1 or _shapes()[inner["member"]["shape"]]["type"] != "string":
            raise _no_path(one["path"])
        listed = before if isinstance(before, list) else []
        if not rest and one["op"] == "remove" and one.get("value") is None:
            holder.pop(name, None)
        else:
            holder[name] = _listed(listed, rest, one)
    elif kind in ("structure", "map"):
        if rest:
            holder[name] = part = dict(before) if isinstance(before, dict) else {}
            _apply(part, inner, rest, one)
        elif one["op"] == "remove":
            holder.pop(name, None)
        else:
            raise _no_path(one["path"])
    elif rest:
        raise _no_path(one["path"])
    elif one["op"] == "remove":
        holder.pop(name, None)
    else:
        holder[name] = _typed(inner, one)


def _inner(shape: Model, name: str) -> Model | None:
    """The shape of a member of a structure or of a value of a map; `None` for a member that there is not."""
    member = shape["value"] if shape["type"] == "map" else shape["members"].get(name)
    found: Model | None = None if member is None else _shapes()[member["shape"]]
    return found


def _listed(before: list[Json], rest: Sequence[str], one: JsonMapping) -> list[Json]:
    """A list of texts: a member is its own name in the path, or the value."""
    value = one.get("value")
    named = rest[0] if rest else value
    if named is None:
        raise _no_value(one)
    others = [part for part in before if part != named]
    if one["op"] == "remove":
        return others
    if one["op"] == "replace" and rest and value is not None:
        return [value if part == named else part for part in before] if named in before else [*before, value]
    return [value] if one["op"] == "replace" and not rest else [*others, named]


def _typed(shape: Model, one: JsonMapping) -> Json:
    """The value of an operation, of the type of its member. Raises: ApiError."""
    value, kind = one.get("value"), shape["type"]
    if value is None:
        raise _no_value(one)
    if kind == "boolean" and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if kind in ("integer", "long") and _WHOLE.fullmatch(value):
        return int(value)
    if kind in ("double", "float") and _DECIMAL.fullmatch(value):
        return float(value)
    if kind != "string" or value not in shape.get("enum", (value,)):
        raise _no_value(one, shape.get("enum", ("true", "false") if kind == "boolean" else ()))
    return value


def _no_path(path: str) -> ApiError:
    return bad_request(f"Invalid patch path {path}")


def _no_value(one: JsonMapping, allowed: Sequence[str] = ()) -> ApiError:
    given = str(one.get("value"))[:100]
    words = f" Must be one of: [{', '.join(allowed)}]" if allowed else ""
    return bad_request(f"Invalid patch value '{given}' specified for op '{one['op']}' and path '{one['path']}'.{words}")
