"""What every served operation of Lambda refuses, made from the service's model: (operation, request, what it says)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from botocore.loaders import Loader

from statewright.api.operations import registered

MODEL = Loader().load_service_model("lambda", "service-2")
SHAPES: dict[str, Any] = MODEL["shapes"]
ARN = "arn:aws:lambda:us-east-1:000000000000:"
LONGEST_IN_HEAD = 20_000
"""Of a text in a path, query or header: servers bound a request's head."""

Case = tuple[str, dict[str, Any], str]
"""Operation, request, message."""

GOOD = (
    "abc", "1", "$LATEST", "lambda:InvokeFunction", f"{ARN}function:abc", f"{ARN}layer:abc:1",
    "arn:aws:iam::000000000000:role/abc", "arn:aws:sqs:us-east-1:000000000000:abc", "000000000000", "o-abcdefghij",
    "subnet-1", "sg-1", "host:9092", "/mnt/abc", "us-east-1", f"{ARN}code-signing-config:csc-0123456789abcdef0",
    "arn:aws:elasticfilesystem:us-east-1:000000000000:access-point/fsap-0123456789abcdef0",
    f"{ARN}capacity-provider:abc", f"{ARN}runtime/abcdefghijklmnopqrstuvwxyz",
    "00000000-0000-4000-8000-000000000000", "",
)  # fmt: skip
"""For each pattern of the model one of these fits."""
BAD = ("a b", "a\tb!", "", "kind:of a?", "\u00e9\n")
"""For each pattern that refuses anything one of these does not fit."""

WRONG: dict[str, tuple[Any, str]] = {
    "string": (5, "NUMBER_VALUE can not be converted to a String"),
    "boolean": (5, "NUMBER_VALUE can not be converted to a Boolean"),
    "integer": ("5", "STRING_VALUE can not be converted to an Integer"),
    "long": ("5", "STRING_VALUE can not be converted to a Long"),
    "timestamp": ("5", "STRING_VALUE can not be converted to a Timestamp"),
    "double": ("5", "STRING_VALUE can not be converted to a Float"),
    "blob": (5, "NUMBER_VALUE can not be converted to a String"),
    "list": ("5", "Expected list or null"),
    "map": ("5", "Expected map or null"),
    "structure": ("5", "Expected null"),
}
"""A value of another JSON type, by the model's type, and what the service's parser says of it."""


def served() -> list[str]:
    return registered("lambda")


def input_of(operation: str) -> dict[str, Any]:
    found: dict[str, Any] = SHAPES[MODEL["operations"][operation]["input"]["shape"]]
    return found


def pattern_of(shape: dict[str, Any]) -> re.Pattern[str] | None:
    try:
        return re.compile(shape["pattern"], re.ASCII) if "pattern" in shape else None
    except re.error:
        return None  # Java's, such as \p{L}.


def sample(name: str) -> Any:
    """A value that fits a shape."""
    shape = SHAPES[name]
    kind = shape["type"]
    if kind == "structure":
        return {member: sample(shape["members"][member]["shape"]) for member in shape.get("required", ())}
    if kind == "list":
        return [sample(shape["member"]["shape"])] * max(1, shape.get("min", 0))
    if kind == "map":
        return {sample(shape["key"]["shape"]): sample(shape["value"]["shape"])}
    if kind in ("integer", "long", "double", "timestamp"):
        return max(1, shape.get("min", 0))
    if kind in ("boolean", "blob"):
        return True if kind == "boolean" else b"abc"
    if "enum" in shape:
        return shape["enum"][0]
    return next(one for one in GOOD if not broken(shape, one))


def broken(shape: dict[str, Any], value: Any) -> list[str]:
    """What the service asks of a value that does not fit, in its order."""
    most, least, said = shape.get("max"), shape.get("min"), []
    if isinstance(value, (int, float)):
        if most is not None and value > most:
            said.append(f"Member must have value less than or equal to {most}")
        if least is not None and value < least:
            said.append(f"Member must have value greater than or equal to {least}")
        return said
    if most is not None and len(value) > most:
        said.append(f"Member must have length less than or equal to {most}")
    if least is not None and len(value) < least:
        said.append(f"Member must have length greater than or equal to {least}")
    if isinstance(value, str):
        pattern = pattern_of(shape)
        if pattern is not None and not pattern.fullmatch(value):
            said.append(f"Member must satisfy regular expression pattern: {shape['pattern']}")
        if "enum" in shape and value not in shape["enum"]:
            said.append(f"Member must satisfy enum value set: [{', '.join(listed(shape['enum']))}]")
    return said


def listed(values: list[str]) -> list[str]:
    """The values of an enum in the order in which the service lists them (recorded for one)."""
    positions = ["LATEST", "AT_TIMESTAMP", "TRIM_HORIZON"]
    return positions if set(values) == set(positions) else values


def misfits(shape: dict[str, Any]) -> Iterator[Any]:
    """Values of the right type that a shape does not allow, each in another way."""
    kind, most, least = shape["type"], shape.get("max"), shape.get("min")
    if kind in ("integer", "long", "double"):
        yield from ([most + 1] if most is not None else [])
        yield from ([least - 1] if least is not None else [])
    elif kind == "list":
        item = sample(shape["member"]["shape"])
        yield from ([[item] * (most + 1)] if most is not None else [])
        yield from ([[item] * (least - 1)] if least else [])
    elif kind == "string":
        yield from (["x" * (most + 1)] if most is not None else [])
        yield from (["x" * (least - 1)] if least else [])
        yield from (["nonsense"] if "enum" in shape else [])
        pattern = pattern_of(shape)
        if pattern is not None:
            yield from [one for one in BAD if not pattern.fullmatch(one)][:1]


Step = str | int
Place = tuple[Step, ...]


def places(name: str, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """Every member at or below a shape: where it is in a request, and its own shape. List items are `0`."""
    shape = SHAPES[name]
    for member, of in shape["members"].items():
        here, inner = (*place, member), SHAPES[of["shape"]]
        yield here, of["shape"]
        if inner["type"] == "list":
            here, of = (*here, 0), inner["member"]
            inner = SHAPES[of["shape"]]
        if inner["type"] == "structure":
            yield from places(of["shape"], here)


def put(name: str, value: Any, place: Place, new: Any) -> Any:
    """A request of a shape, filled with what it requires, and with `new` at a place."""
    if not place:
        return new
    first, rest = place[0], place[1:]
    if isinstance(first, int):
        return [put(SHAPES[name]["member"]["shape"], sample(SHAPES[name]["member"]["shape"]), rest, new)]
    inner = SHAPES[name]["members"][first]["shape"]
    return {**value, first: put(inner, value.get(first, sample(inner)), rest, new)}


def path_of(place: Place) -> str:
    """A place as the service writes it."""
    return ".".join("1.member" if isinstance(step, int) else step[:1].lower() + step[1:] for step in place)


def shown(value: Any) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)


def refusal(*problems: str) -> str:
    count = len(problems)
    return f"{count} validation error{'' if count == 1 else 's'} detected: {'; '.join(problems)}"


def in_head(operation: str, place: Place) -> str | None:
    found: str | None = input_of(operation)["members"][place[0]].get("location")
    return found


def constraints() -> Iterator[Case]:
    """Too long, too short, out of range, off the pattern, outside the enum; at every depth."""
    for operation in served():
        top = MODEL["operations"][operation]["input"]["shape"]
        for place, shape_name in places(top):
            shape = SHAPES[shape_name]
            where = in_head(operation, place)
            if place == ("Runtime",):
                continue  # It has an error of its own: `test_lambda.py`.
            for value in misfits(shape):
                if where in ("uri", "header") and (value in ("", []) or len(str(value)) > LONGEST_IN_HEAD):
                    continue  # Another path, or no header at all.
                if where == "querystring" and value == []:
                    continue
                if shape["type"] == "list" and shape.get("max", 0) > 1000:
                    continue
                start = "Value" if shape.get("sensitive") else f"Value '{shown(value)}'"
                if shape["type"] == "list" and SHAPES[shape["member"]["shape"]]["type"] == "structure":
                    start = f"Value '{shown_structures(value)}'"
                problems = [f"{start} at '{path_of(place)}' failed to satisfy constraint: {one}"
                            for one in broken(shape, value)]  # fmt: skip
                yield operation, put(top, sample(top), place, value), refusal(*problems)


def shown_structures(value: list[Any]) -> str:
    return "[" + ", ".join("{" + ", ".join(f"{k}={v}" for k, v in one.items()) + "}" for one in value) + "]"


def missing() -> Iterator[Case]:
    """Each required member outside the path, missing; below the first level too."""
    for operation in served():
        top = MODEL["operations"][operation]["input"]["shape"]
        for place, _ in places(top):
            parent = top
            for step in place[:-1]:
                of = SHAPES[parent]
                parent = of["member"]["shape"] if isinstance(step, int) else of["members"][step]["shape"]
            if place[-1] not in SHAPES[parent].get("required", ()) or in_head(operation, place) == "uri":
                continue
            holder = {name: one for name, one in sample(parent).items() if name != place[-1]}
            request = put(top, sample(top), place[:-1], holder)
            said = f"Value null at '{path_of(place)}' failed to satisfy constraint: Member must not be null"
            yield operation, request, refusal(said)


def mistyped() -> Iterator[Case]:
    """Each member of a JSON body, of another JSON type."""
    for operation in served():
        top = MODEL["operations"][operation]["input"]["shape"]
        for place, shape_name in places(top):
            if in_head(operation, place) is None and SHAPES[top].get("payload") != place[0]:
                value, said = WRONG[SHAPES[shape_name]["type"]]
                yield operation, put(top, sample(top), place, value), said
