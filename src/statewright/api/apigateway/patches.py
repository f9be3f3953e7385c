"""Patch operations: changes of a resource's settings by the paths of its members.

Source: API Gateway REST API reference, "Patch Operations"; texts are recorded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from statewright.apis.errors import bad_request
from statewright.payload import Json, JsonMapping, JsonObject

_NUMBER: Final = re.compile(r"-?[0-9]{1,15}")


def patched(settings: JsonMapping, operations: Sequence[JsonMapping], allowed: Sequence[str]) -> JsonObject:
    """Settings after patch operations. `allowed` are the members that may change. Raises: ApiError.

    A value `true` or `false` stands for a truth value, digits for a number, where the member has one already.
    """
    found: JsonObject = {**settings}
    for one in operations or ():
        path = one.get("path") or ""
        names = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]
        if not names or not names[0]:
            raise bad_request(f"Invalid patch path {path}")
        if names[0] not in allowed:
            listed = ", ".join(f"/{name}" for name in allowed)
            raise bad_request(
                f"Invalid patch path  '{path}' specified for op '{one['op']}'. Must be one of: [{listed}]"
            )
        _apply(found, names, one["op"], one.get("value"))
    return found


def _apply(found: JsonObject, names: list[str], op: str, value: Json) -> None:
    holder = found
    for name in names[:-1]:
        inner = holder.get(name)
        if isinstance(inner, list):
            # A member of a list of texts is its own name.
            rest = [one for one in inner if one != names[-1]]
            holder[name] = rest if op == "remove" else [*rest, names[-1]]
            return
        holder[name] = inner = dict(inner) if isinstance(inner, dict) else {}
        holder = inner
    name, before = names[-1], holder.get(names[-1])
    if op == "remove":
        if isinstance(before, list) and value is not None:
            holder[name] = [one for one in before if one != value]
        else:
            holder.pop(name, None)
    elif isinstance(before, list) and op == "add":
        holder[name] = [*before, value]
    else:
        holder[name] = _typed(value, before)


def _typed(value: Json, before: Json) -> Json:
    if isinstance(before, bool):
        return str(value).lower() == "true"
    if isinstance(before, int) and _NUMBER.fullmatch(str(value)):
        return int(value)
    return value
