"""Service models compiled to validators of requests and writers of answers, each on first use.

A validator answers as the service does: every violated constraint in one `ValidationException`, and for a value of the
wrong JSON type the parser's `SerializationException`. Members that the model does not have are ignored. No shape is
restated here: all of it comes from the model.

Source: texts observed on the service and on its siblings, which share the same framework.
"""

from __future__ import annotations

import base64
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Final

from statewright.api.models import load_model
from statewright.errors import ApiError
from statewright.integrations.endpoints.service_models import Model
from statewright.payload import Json, JsonObject

Problems = list[tuple[str, str, str]]
"""Violated constraints: the value as shown, its path, and the constraint."""
Check = Callable[[Json, str, Problems], Json]
"""Reads one value: returns it as operations see it, and notes violated constraints."""
Write = Callable[[Json], Json]

LIFTED_BY_OPEN: Final = frozenset({"SensitiveData", "SensitiveDataJobInput", "Definition"})
"""Shapes of inputs, outputs and definitions: their length is unlimited under the profile `open`."""

_LISTED: Final[dict[str, tuple[str, ...]]] = {
    "ExecutionStatus": ("SUCCEEDED", "TIMED_OUT", "PENDING_REDRIVE", "ABORTED", "FAILED", "RUNNING"),
    "StateValue": ("INSUFFICIENT_DATA", "ALARM", "OK"),
    "FilterRuleName": ("prefix", "suffix", "Prefix", "Suffix"),
    "EventSourcePosition": ("LATEST", "AT_TIMESTAMP", "TRIM_HORIZON"),
}
"""The values of an enum as the service lists and accepts them, if they differ from the model's. Source: observed."""

_PATTERNS: Final = {"LogGroupIdentifier": r"[\w#+=/:,.@-]*(:\*)?"}
"""Patterns of texts that the service takes beyond its model, here ARNs of log groups as it lists them (observed)."""

_INTEGERS: Final = {"integer": ("an Integer", 2**31), "long": ("a Long", 2**63), "short": ("a Short", 2**15)}
_NULL: Final = "Member must not be null"
MOST_PROBLEMS: Final = 1_000
"""Violations that are reported, and elements that are read of a list that is too long."""
LONGEST_SHOWN: Final = 10_000
"""Characters of a list or a map that are quoted."""
_LATEST_SECONDS: Final = 253_402_300_800
"""The year 10,000."""


class WrongType(Exception):
    """A value of another JSON type than the model's; the text is that of the service's parser."""


Refusal = Callable[[Problems], ApiError | None]
"""The error of a service for violated constraints; `None` if its operations check them later, in their own order."""

_REFUSALS: dict[str, Refusal] = {}


def refuse_with(service: str, refusal: Refusal) -> None:
    """Register the error that a service raises for violated constraints instead of `ValidationException`."""
    _REFUSALS[service] = refusal


Reader = Callable[[Json], JsonObject]
"""Checks a request, and returns its members that the model has."""

_READERS: dict[str, Callable[[str], Reader]] = {}


def read_with(service: str, reader: Callable[[str], Reader]) -> None:
    """Register a service's own check of requests: `reader` returns the check of an operation, by name."""
    _READERS[service] = reader


_KEPT: dict[str, frozenset[str]] = {}


def keep_as_is(service: str, names: frozenset[str]) -> None:
    """Pass values of some shapes through unchanged, in requests and answers: their service checks them itself."""
    _KEPT[service] = names


class Validator:
    """Checks the requests of one operation."""

    def __init__(self, check: Check, refusal: Refusal | None = None) -> None:
        self._check = check
        self._refusal = refusal or _validation_error

    def __call__(self, request: Json) -> JsonObject:
        """The request without members that the model does not have.

        Raises: ApiError (`ValidationException` or `SerializationException`).
        """
        problems: Problems = []
        try:
            known: JsonObject = self._check(request, "", problems)
        except WrongType as wrong:
            raise ApiError("SerializationException", str(wrong)) from None
        if problems:
            refused = self._refusal(problems)
            if refused is not None:
                raise refused
        return known


def _validation_error(problems: Problems) -> ApiError:
    return ApiError("ValidationException", problem_text(problems))


def problem_text(problems: Problems) -> str:
    """The service's sentence for violated constraints."""
    count = len(problems)
    said = "; ".join(f"Value{shown} at '{path}' failed to satisfy constraint: {what}" for shown, path, what in problems)
    return f"{count} validation error{'' if count == 1 else 's'} detected: {said}"


def operation_names(service: str) -> frozenset[str]:
    """Every operation that the service has."""
    model = load_model(service)
    return frozenset(model["operations"]) if model else frozenset()


@cache
def validator(service: str, operation: str, *, lift_sizes: bool = False) -> Reader:
    """Compile the validator of an operation's requests; `lift_sizes` accepts inputs and definitions of any length."""
    if service in _READERS:
        return _READERS[service](operation)
    model = load_model(service)
    assert model is not None, service
    shape = model["operations"][operation].get("input")
    kept = _KEPT.get(service, frozenset())
    compiler = _Compiler(model, LIFTED_BY_OPEN if lift_sizes else frozenset(), kept)
    return Validator(compiler.check(shape["shape"]) if shape else _no_input, _REFUSALS.get(service))


@cache
def writer(service: str, operation: str) -> Write:
    """Compile the writer of an operation's answer as JSON values of the wire: milliseconds become epoch seconds."""
    model = load_model(service)
    assert model is not None, service
    shape = model["operations"][operation].get("output")
    writers = _Writers(model, _KEPT.get(service, frozenset()))
    return (writers.write(shape["shape"]) if shape else None) or _without_none


class _Compiler:
    """Compiles the shapes of one model."""

    def __init__(self, model: Model, lifted: frozenset[str], kept: frozenset[str] = frozenset()) -> None:
        self._shapes = model["shapes"]
        self._lifted = lifted
        self._done: dict[str, Check] = dict.fromkeys(kept, _as_is)

    def check(self, name: str) -> Check:
        """The check of a shape by name. A recursive shape is compiled once."""
        done = self._done.get(name)
        if done is None:
            # A placeholder while the shape is compiled, for members of the same shape.
            self._done[name] = lambda value, path, problems: self._done[name](value, path, problems)
            done = self._done[name] = self._compile(name, self._shapes[name])
        return done

    def _compile(self, name: str, shape: Model) -> Check:
        kind = shape["type"]
        if kind == "structure":
            return self._structure(shape)
        if kind == "list":
            return self._list(name, shape)
        if kind == "map":
            return self._map(shape)
        convert = converter(kind)
        rules = self._rules(name, shape)
        if not rules:
            return lambda value, _path, _problems: convert(value)
        hidden = bool(shape.get("sensitive"))

        def scalar(value: Json, path: str, problems: Problems) -> Json:
            value = convert(value)
            for broken, what in rules:
                if broken(value):
                    problems.append(("" if hidden else f" '{shown(value)}'", path, what))
            return value

        return scalar

    def _structure(self, shape: Model) -> Check:
        required = frozenset(shape.get("required", ()))
        members = [
            (name, name[:1].lower() + name[1:], name in required, self.check(of["shape"]))
            for name, of in shape["members"].items()
        ]

        def structure(value: Json, path: str, problems: Problems) -> Json:
            if not isinstance(value, dict):
                raise WrongType(
                    "Expected null" if not isinstance(value, list) else "Start of list found where not expected"
                )
            known = {}
            for name, shown_name, is_required, check in members:
                found = value.get(name)
                if found is not None:
                    known[name] = check(found, f"{path}.{shown_name}" if path else shown_name, problems)
                elif is_required:
                    problems.append((" null", f"{path}.{shown_name}" if path else shown_name, _NULL))
            return known

        return structure

    def _list(self, name: str, shape: Model) -> Check:
        item_name = shape["member"]["shape"]
        item_shape = self._shapes[item_name]
        is_scalar = item_shape["type"] not in ("structure", "list", "map")
        item = self.check(item_name)
        rules = self._rules(name, shape)
        # A list of plain values is reported as a whole, with every constraint of its items.
        item_rules = self._rules(item_name, item_shape) if is_scalar else []
        convert = converter(item_shape["type"]) if is_scalar else None
        every = ", ".join([*(what for _, what in item_rules), _NULL])
        hidden = bool(item_shape.get("sensitive") or shape.get("sensitive"))
        most_read = max(shape["max"], MOST_PROBLEMS) if "max" in shape else sys.maxsize

        def listed(value: Json, path: str, problems: Problems) -> Json:
            if not isinstance(value, list):
                raise WrongType("Expected list or null")
            for broken, what in rules:
                if broken(value):
                    problems.append(("" if hidden else f" '{shown(value)}'", path, what))
            if convert is None:
                found: list[Json] = []
                if len(value) > most_read:
                    # Its length is a violation, and its elements cost time.
                    return found
                for number, element in enumerate(value, 1):
                    if len(problems) >= MOST_PROBLEMS:
                        break
                    if element is None:
                        problems.append((" null", f"{path}.{number}.member", _NULL))
                    else:
                        found.append(item(element, f"{path}.{number}.member", problems))
                return found
            converted = [None if element is None else convert(element) for element in value]
            if any(element is None or any(broken(element) for broken, _ in item_rules) for element in converted):
                what = f"Member must satisfy constraint: [{every}]"
                problems.append(("" if hidden else f" '{shown(value)}'", path, what))
            return converted

        return listed

    def _map(self, shape: Model) -> Check:
        key, value_check = self.check(shape["key"]["shape"]), self.check(shape["value"]["shape"])

        def mapped(value: Json, path: str, problems: Problems) -> Json:
            if not isinstance(value, dict):
                raise WrongType("Expected map or null")
            found = {}
            for name, element in value.items():
                if len(problems) >= MOST_PROBLEMS:
                    break
                if element is not None:
                    found[key(name, path, problems)] = value_check(element, f"{path}.{name}.member", problems)
            return found

        return mapped

    def _rules(self, name: str, shape: Model) -> list[tuple[Callable[[Json], bool], str]]:
        """Constraints as (is broken, the service's text), in the service's sequence."""
        rules: list[tuple[Callable[[Json], bool], str]] = []
        most, least = shape.get("max"), shape.get("min")
        if shape["type"] in ("integer", "long", "short", "float", "double"):
            if most is not None:
                rules.append((lambda value: value > most, f"Member must have value less than or equal to {most}"))
            if least is not None:
                rules.append((lambda value: value < least, f"Member must have value greater than or equal to {least}"))
            return rules
        if most is not None and name not in self._lifted:
            rules.append((lambda value: length(value) > most, f"Member must have length less than or equal to {most}"))
        if least:
            rules.append(
                (lambda value: length(value) < least, f"Member must have length greater than or equal to {least}")
            )
        pattern = _pattern(_PATTERNS.get(name) or shape["pattern"]) if "pattern" in shape else None
        if pattern is not None:
            matches = pattern.fullmatch
            rules.append(
                (
                    lambda value: matches(value) is None,
                    f"Member must satisfy regular expression pattern: {shape['pattern']}",
                )
            )
        if "enum" in shape:
            values: Sequence[str] = _LISTED.get(name) or shape["enum"]
            allowed = frozenset(values)
            rules.append(
                (lambda value: value not in allowed, f"Member must satisfy enum value set: [{', '.join(values)}]")
            )
        return rules


class _Writers:
    """Compiles writers: `None` for a shape that is written unchanged."""

    def __init__(self, model: Model, kept: frozenset[str] = frozenset()) -> None:
        self._shapes = model["shapes"]
        self._open: set[str] = set(kept)

    def write(self, name: str) -> Write | None:
        """The writer of a shape; `None` if it contains neither an instant nor a blob."""
        shape = self._shapes[name]
        kind = shape["type"]
        if kind == "timestamp":
            return _seconds
        if kind == "blob":
            return _base64_text
        if name in self._open or kind not in ("structure", "list", "map"):
            return None
        self._open.add(name)
        try:
            if kind == "structure":
                return self._structure(shape)
            inner = self.write(shape["member" if kind == "list" else "value"]["shape"])
        finally:
            self._open.discard(name)
        if inner is None:
            return None
        if kind == "list":
            return lambda value: [inner(element) for element in value]
        return lambda value: {key: inner(element) for key, element in value.items()}

    def _structure(self, shape: Model) -> Write | None:
        members = {name: self.write(of["shape"]) for name, of in shape["members"].items()}
        special = [(name, write) for name, write in members.items() if write is not None]
        if not special:
            return None

        def structure(value: JsonObject) -> JsonObject:
            written = _without_none(value)
            for name, write in special:
                if name in written:
                    written[name] = write(written[name])
            return written

        return structure


# ------------------------------------------------------------------ values


def length(value: Json) -> int:
    """The length as the service counts it: UTF-16 units of a text, bytes, or elements."""
    if not isinstance(value, str) or value.isascii():
        return len(value)
    return len(value) + sum(char > "\uffff" for char in value)


def shown(value: Json) -> str:
    """A value as the service quotes it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{_joined(shown(element) for element in value)}]"
    if isinstance(value, dict):
        return "{" + _joined(f"{key}={shown(element)}" for key, element in value.items()) + "}"
    return str(value)


def _joined(parts: Iterable[str]) -> str:
    """Texts with commas, cut where they become too long for a message."""
    kept, size = [], 0
    for part in parts:
        kept.append(part[:LONGEST_SHOWN])
        size += len(part) + 2
        if size > LONGEST_SHOWN:
            kept.append("...")
            break
    return ", ".join(kept)


def converter(kind: str) -> Callable[[Json], Json]:
    """The reader of plain values of a type of the model. Raises (the reader): WrongType."""
    if kind in _INTEGERS:
        words, bound = _INTEGERS[kind]
        return lambda value: _integer(value, words, bound)
    return _CONVERT.get(kind, _text)


def _text(value: Json) -> str:
    if isinstance(value, str):
        return value
    raise WrongType(_mistaken(value, "a String"))


def _integer(value: Json, words: str, bound: int) -> int:
    if (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and -bound <= value < bound
        and value == int(value)
    ):
        return int(value)
    raise WrongType(_mistaken(value, words))


def _number(value: Json) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    raise WrongType(_mistaken(value, "a Float"))


def _boolean(value: Json) -> bool:
    if isinstance(value, bool):
        return value
    raise WrongType(_mistaken(value, "a Boolean"))


def _instant_ms(value: Json) -> int:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _LATEST_SECONDS:
        return round(value * 1000)
    raise WrongType(_mistaken(value, "a Timestamp"))


def _bytes(value: Json) -> Json:
    if not isinstance(value, (str, int, float, list, dict)):
        # A protocol with binary values has decoded them already, or streams them in.
        return value
    try:
        return base64.b64decode(_text(value), validate=True)
    except ValueError:
        raise WrongType("A blob is not base64 text") from None


_CONVERT: Final[dict[str, Callable[[Json], Json]]] = {
    "float": _number,
    "double": _number,
    "boolean": _boolean,
    "timestamp": _instant_ms,
    "blob": _bytes,
}


def _mistaken(value: Json, wanted: str) -> str:
    """The text of the service's parser for a value of another type."""
    if isinstance(value, dict):
        return "Start of structure or map found where not expected."
    if isinstance(value, list):
        return "Start of list found where not expected"
    if isinstance(value, bool):
        return f"{'TRUE' if value else 'FALSE'}_VALUE can not be converted to {wanted}"
    return f"{'STRING' if isinstance(value, str) else 'NUMBER'}_VALUE can not be converted to {wanted}"


def _pattern(text: str) -> re.Pattern[str] | None:
    """A model's pattern, which is Java's, compiled for Python; `None` if Python does not know its syntax."""
    try:
        return re.compile(text.replace(r"\p{ASCII}", r"[\x00-\x7f]"), re.ASCII)
    except re.error:
        return None


def _as_is(value: Json, _path: str, _problems: Problems) -> Json:
    return value


def _no_input(_value: Json, _path: str, _problems: Problems) -> Json:
    return {}


def _seconds(instant_ms: int) -> float:
    return instant_ms / 1000


def _base64_text(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _without_none(value: JsonObject) -> JsonObject:
    return {name: element for name, element in value.items() if element is not None}
