"""Hot swaps: a resource of a stack is changed past its stack, whose rows stay as they are.

The next operation of the stack compares its template with these rows, as the service does: a template that asks for
what was swapped is an update, and one that did not change leaves the swap in place.

Source: Cloud Control API reference, UpdateResource; RFC 6902 for patches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from statewright.errors import ApiError
from statewright.payload import Json
from statewright.stacks.index import GONE
from statewright.stacks.records import Made, ResourceEntry, StackEntry
from statewright.stacks.resources import ResourceFailed, fixed_changes
from statewright.stacks.stacks import Stacks

_OPERATIONS: Final = ("add", "replace", "remove", "test")


async def found_resource(stacks: Stacks, type_: str, identifier: str) -> tuple[StackEntry, ResourceEntry]:
    """A resource by its type and physical id, with its stack. Raises: ApiError (`ResourceNotFoundException`)."""
    async for stack in stacks.walk():
        if stack.status == GONE:
            continue
        for row in await stacks.resources(stack):
            if row.now is not None and row.now.type == type_ and row.now.ref == identifier:
                return stack, row
    raise ApiError(
        "ResourceNotFoundException", f"No stack of this server has made a resource of type {type_} with identifier "
        f"'{identifier}'.",
    )  # fmt: skip


async def swap(stacks: Stacks, type_: str, identifier: str, patch: Sequence[Mapping[str, Json]]) -> Made:
    """Change a resource by a JSON patch of its properties; returns what it is now. Raises: ApiError."""
    stack, row = await found_resource(stacks, type_, identifier)
    before = row.now
    assert before is not None
    if stack.operation is not None:
        raise ApiError(
            "ConcurrentOperationException", f"The stack {stack.name} has an operation under way: wait for its end."
        )
    if before.lost:
        raise ApiError("UnsupportedActionException", f"{identifier} is a placeholder: {before.lost}")
    target = replace(before, resolved=patched(before.resolved, patch))
    fixed = fixed_changes(before, target)
    if fixed:
        raise ApiError(
            "NotUpdatableException",
            f"Properties that cannot be changed in place: {', '.join(fixed)}. Deploy the stack.",
        )
    try:
        return await stacks.remake(stack, row.id, target, before)
    except ResourceFailed as failed:
        raise ApiError("InvalidRequestException", str(failed)) from None


def patched(properties: Json, patch: Sequence[Mapping[str, Json]]) -> Json:
    """Properties after a JSON patch: `add`, `replace`, `remove` and `test`. Raises: ApiError."""
    found = properties
    for one in patch:
        verb, path = one.get("op"), one.get("path")
        if verb not in _OPERATIONS or not isinstance(path, str) or not path.startswith("/"):
            raise _invalid(f"'{verb}' at '{path}' is none of {', '.join(_OPERATIONS)} at a path that begins with /.")
        steps = [step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/")]
        found = _changed(found, steps, str(verb), one.get("value"), path)
    return found


def _changed(value: Json, steps: Sequence[str], verb: str, given: Json, path: str) -> Json:
    """A value with a change at a path; values are shared, never changed in place. Raises: ApiError."""
    step, rest = steps[0], steps[1:]
    if isinstance(value, list):
        return _changed_list(value, step, rest, verb, given, path)
    if not isinstance(value, dict) or (step not in value and (rest or verb != "add")):
        raise _invalid(f"The path '{path}' leads to nothing.")
    if rest:
        return {**value, step: _changed(value[step], rest, verb, given, path)}
    if verb == "test" and value[step] != given:
        raise _invalid(f"The value at '{path}' is another one.")
    if verb == "remove":
        return {name: part for name, part in value.items() if name != step}
    return {**value, step: given}


def _changed_list(value: list[Json], step: str, rest: Sequence[str], verb: str, given: Json, path: str) -> Json:
    at = len(value) if step == "-" else int(step) if step.isdecimal() else -1
    if not 0 <= at <= len(value) - (verb != "add" or bool(rest)):
        raise _invalid(f"The path '{path}' leads to nothing.")
    if rest:
        return [*value[:at], _changed(value[at], rest, verb, given, path), *value[at + 1 :]]
    if verb == "test" and value[at] != given:
        raise _invalid(f"The value at '{path}' is another one.")
    if verb == "remove":
        return [*value[:at], *value[at + 1 :]]
    return [*value[:at], given, *value[at if verb == "add" else at + 1 :]]


def _invalid(text: str) -> ApiError:
    return ApiError("InvalidRequestException", text)
