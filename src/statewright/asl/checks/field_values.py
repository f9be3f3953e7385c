"""Checks of one field's value against its table entry: type, range, paths, templates, expressions.

`validate.py` decides which field belongs where. Collects the variables that values read, for `assignments.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeGuard

from statewright.asl.checks.fields import JSONATA, TEXT_CHARACTERS, Field, Language
from statewright.asl.findings import (
    BAD_JSONATA,
    NO_DOLLAR,
    NO_PATH,
    STATIC_RESULT,
    UNSUPPORTED_JSONATA,
    Findings,
    Path,
    has_placeholder,
    looks_like_call,
    looks_like_path,
)
from statewright.asl.timestamps import parse_timestamp
from statewright.payload import Json
from statewright.query.intrinsics import Intrinsic, IntrinsicSyntaxError, compile_intrinsic
from statewright.query.jsonata import JsonataSyntaxError, compile_expression
from statewright.query.jsonpath import JsonPath, PathSyntaxError, compile_path

_TIMESTAMP_MESSAGE = "String does not match RFC3339 timestamp"
_NOT_A_REFERENCE = "Value is not a Reference Path"

BASE_FIELDS: Final = frozenset({"input", "context"})
"""The members of `$states` that every JSONata field sees."""
RESULT_FIELDS: Final = BASE_FIELDS | {"result"}
ERROR_FIELDS: Final = BASE_FIELDS | {"errorOutput"}


@dataclass(frozen=True, slots=True)
class Where:
    """The query language in which a value is written, and the members of `$states` that it may read."""

    language: Language
    states_fields: frozenset[str] = BASE_FIELDS

    @property
    def jsonata(self) -> bool:
        """True if expressions are evaluated here."""
        return self.language == JSONATA


@dataclass(frozen=True, slots=True)
class VariableRead:
    """A variable that a value reads, and the place of the value."""

    name: str
    path: Path


class FieldValues:
    """Checks values one by one; keeps what they read in `reads`."""

    def __init__(self, findings: Findings, lints: Findings) -> None:
        self.findings = findings
        self.lints = lints
        self.reads: list[VariableRead] = []

    def check(self, field: Field, value: Json, path: Path, where: Where) -> None:
        """Report the faults of a field's value. The caller checks kinds that hold other fields."""
        if has_placeholder(value):
            return
        if where.jsonata and field.expression and isinstance(value, str) and self.expression_field(value, path, where):
            return
        checker = _CHECKERS.get(field.kind)
        if checker is not None:
            checker(self, field, value, path, where)

    def expression_field(self, value: str, path: Path, where: Where) -> bool:
        """Check a value that may be one expression. Returns True if it is one, or was meant as one."""
        if is_expression(value):
            self.expression(value, path, where)
            return True
        return self.one_sided(value, path)

    # -------------------------------------------------------------- plain values

    def boolean(self, _field: Field, value: Json, path: Path, _where: Where) -> None:
        """A literal true or false."""
        if not isinstance(value, bool):
            self.findings.schema("Value must be a boolean", path, _unquote(value, ("true", "false")))

    def string(self, field: Field, value: Json, path: Path, _where: Where) -> None:
        """A string, of bounded length in Fail states."""
        if not isinstance(value, str):
            self.findings.schema("Value must be a string", path)
            return
        limit = TEXT_CHARACTERS.get(str(path[-1])) if path else None
        if limit is not None and len(value) > limit:
            self.findings.schema(f"Maximum length is {limit}", path)
        self.path_in_plain_field(field, value, path)

    def number(self, field: Field, value: Json, path: Path, _where: Where) -> None:
        """A number in its range."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.findings.schema("Value must be a number", path, self.number_hint(field, value, path))
        else:
            self.range(field, value, path)

    def integer(self, field: Field, value: Json, path: Path, _where: Where) -> None:
        """A whole number in its range."""
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if isinstance(value, bool) or not whole:
            self.findings.schema("Value must be an integer", path, self.number_hint(field, value, path))
        else:
            self.range(field, value, path)

    def range(self, field: Field, value: int | float, path: Path) -> None:
        """The bounds of a number. Source: observed wording."""
        if field.minimum is not None and value < field.minimum:
            self.findings.schema(f"Minimum value is {field.minimum}", path)
        if field.maximum is not None and value > field.maximum:
            self.findings.schema(f"Maximum value is {field.maximum}", path)

    def number_hint(self, field: Field, value: Json, path: Path) -> str | None:
        """Say how to write a number that was written as text."""
        if isinstance(value, str):
            self.path_in_plain_field(field, value, path)
            if field.path_field is not None and looks_like_path(value):
                return f"write the path in {field.path_field}"
            if value.strip().lstrip("-").isdigit():
                return "write the number without quotes"
        return None

    def path_in_plain_field(self, field: Field, value: str, path: Path) -> None:
        """Warn of a path in a field that takes only literals."""
        if field.path_field is not None and looks_like_path(value):
            message = f"The value of the field '{path[-1]}' looks like a path, but is taken as it is"
            self.findings.warn(NO_PATH, message, path, f"use {field.path_field} to read the value at the path")

    def enumeration(self, field: Field, value: Json, path: Path, _where: Where) -> None:
        """One of a few words."""
        if not isinstance(value, str) or value not in field.choices:
            hint = self.findings.did_you_mean(value, field.choices)
            self.findings.schema(f"Value must be one of: [{', '.join(field.choices)}]", path, hint)

    def strings(self, _field: Field, value: Json, path: Path, _where: Where) -> None:
        """A list of strings."""
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.findings.schema("Value must be an array of strings", path)

    def timestamp(self, field: Field, value: Json, path: Path, _where: Where) -> None:
        """A literal instant."""
        if not isinstance(value, str) or parse_timestamp(value) is None:
            self.findings.schema(_TIMESTAMP_MESSAGE, path)
            if isinstance(value, str):
                self.path_in_plain_field(field, value, path)
                self.not_evaluated(value, path)

    def json_pointer(self, _field: Field, value: Json, path: Path, _where: Where) -> None:
        """A JSON pointer into a file of items."""
        if not isinstance(value, str) or (value and not value.startswith("/")):
            self.findings.schema("Value must be a JSON pointer", path, "a JSON pointer begins with '/'")

    # -------------------------------------------------------------- paths

    def path(self, field: Field, value: Json, path: Path, _where: Where) -> None:
        """Any path."""
        if value is None and field.nullable:
            return
        if isinstance(value, str) and value.startswith("$"):
            try:
                compiled = compile_path(value)
            except PathSyntaxError as problem:
                self.findings.schema("Value must be a valid JSONPath.", path, problem.message)
            else:
                self.note_path(compiled, path)
            return
        self.findings.schema("Value must be a valid JSONPath.", path, "a path begins with '$'")

    def reference(self, field: Field, value: Json, path: Path, _where: Where) -> None:
        """A path that names at most one place."""
        if value is None and field.nullable:
            return
        if not isinstance(value, str):
            self.findings.schema(_NOT_A_REFERENCE, path)
        elif not value.startswith("$"):
            self.findings.schema(f"{_NOT_A_REFERENCE}: Reference path didn't start with '$'", path)
        else:
            try:
                compiled = compile_path(value)
            except PathSyntaxError as problem:
                self.findings.schema(_NOT_A_REFERENCE, path, problem.message)
                return
            self.note(compiled.variables, path)
            root_allowed = (field.context or compiled.root != "context") and (
                field.variables or compiled.root != "variable"
            )
            if not compiled.is_reference or not root_allowed:
                self.findings.schema(_NOT_A_REFERENCE, path)

    def reference_or_call(self, field: Field, value: Json, path: Path, where: Where) -> None:
        """ErrorPath and CausePath: a reference path, or an intrinsic call that gives a text."""
        if not isinstance(value, str) or not value.startswith("States."):
            self.reference(field, value, path, where)
            return
        try:
            compiled = compile_intrinsic(value)
        except IntrinsicSyntaxError as problem:
            self.findings.schema(_not_a_call(str(path[-1])), path, problem.message)
        else:
            self.note_path(compiled, path)

    # -------------------------------------------------------------- templates

    def template_object(self, field: Field, value: Json, path: Path, where: Where) -> None:
        """A template that must be an object."""
        if not isinstance(value, dict) and not (where.jsonata and is_expression(value)):
            self.findings.schema("Value must be an object", path)
        else:
            self.template(field, value, path, where)

    def template(self, _field: Field, value: Json, path: Path, where: Where) -> None:
        """JSON with paths or expressions inside, walked without recursion."""
        visit = self.jsonata_text if where.jsonata else self.jsonpath_text
        pending: list[tuple[Json, Path]] = [(value, path)]
        while pending:
            item, at = pending.pop()
            if isinstance(item, dict):
                inner = self.jsonata_object(item, at) if where.jsonata else self.jsonpath_object(item, at)
                pending.extend(reversed(inner))
            elif isinstance(item, list):
                pending.extend((item[index], (*at, index)) for index in reversed(range(len(item))))
            elif isinstance(item, str) and not has_placeholder(item):
                visit(item, at, where)

    def jsonpath_object(self, item: dict[str, Json], at: Path) -> list[tuple[Json, Path]]:
        """Check the members that end in `.$`; return the others."""
        inner: list[tuple[Json, Path]] = []
        for key, value in item.items():
            if not key.endswith(".$"):
                inner.append((value, (*at, key)))
                if (looks_like_path(value) or looks_like_call(value)) and not has_placeholder(value):
                    message = (
                        f"The value of the field '{key}' looks like a path or an intrinsic call, but is taken as it is"
                    )
                    self.findings.warn(NO_DOLLAR, message, (*at, key), f"rename the field to '{key}.$' to evaluate it")
                continue
            if key[:-2] in item:
                message = f"There should only be one of the following fields: [{key[:-2]}, {key}]"
                self.findings.schema(message, at, "both set the same member of the result")
            self.dynamic(key, value, at)
        return inner

    def dynamic(self, key: str, value: Json, at: Path) -> None:
        """The value of a `key.$` member: a path or an intrinsic call. Source: observed, also for the location."""
        if has_placeholder(value):
            return
        problem: str | None = "the value must be a string that begins with '$' or 'States.'"
        if isinstance(value, str):
            try:
                compiled = compile_path(value) if value.startswith("$") else compile_intrinsic(value)
                self.note_path(compiled, (*at, key))
                problem = None
            except (PathSyntaxError, IntrinsicSyntaxError) as error:
                problem = error.message
        if problem is not None:
            self.findings.schema(_not_a_call(key), at, problem)

    def jsonpath_text(self, text: str, at: Path, _where: Where) -> None:
        """A string that JSONPath leaves as it is."""
        self.not_evaluated(text, at)

    def not_evaluated(self, text: str, at: Path) -> None:
        """Warn of a JSONata expression that is never evaluated."""
        if is_expression(text):
            message = "This looks like a JSONata expression, but the state's query language is JSONPath"
            self.lints.warn("NOT_EVALUATED", message, at, 'set "QueryLanguage": "JSONata" on the state')

    def literal(self, _field: Field, value: Json, path: Path, _where: Where) -> None:
        """The Result of a Pass state, which is never evaluated."""
        pending: list[tuple[Json, Path]] = [(value, path)]
        while pending:
            item, at = pending.pop()
            if isinstance(item, dict):
                pending.extend((item[key], (*at, key)) for key in reversed(list(item)))
            elif isinstance(item, list):
                pending.extend((item[index], (*at, index)) for index in reversed(range(len(item))))
            elif looks_like_path(item) or (at[-1:] != path[-1:] and str(at[-1]).endswith(".$")):
                message = "A path in the Result of a Pass state is not evaluated"
                self.findings.warn(STATIC_RESULT, message, at, "use Parameters, with keys that end in '.$'")

    # -------------------------------------------------------------- JSONata

    def jsonata_object(self, item: dict[str, Json], at: Path) -> list[tuple[Json, Path]]:
        """Return the members, with a warning for each that looks like JSONPath."""
        for key, value in item.items():
            if key.endswith(".$") and isinstance(value, str) and value.startswith(("$", "States.")):
                message = f"The field '{key}' is written in JSONPath, but the state's query language is JSONata"
                self.lints.warn("NOT_EVALUATED", message, (*at, key), "write '{% %}' around a JSONata expression")
        return [(value, (*at, key)) for key, value in item.items()]

    def jsonata_text(self, text: str, at: Path, where: Where) -> None:
        """A string that may be an expression."""
        if self.expression_field(text, at, where):
            return
        if "{%" in text and "%}" in text:
            message = "This string has text around its JSONata expression, so it is not evaluated"
            self.lints.warn("NOT_EVALUATED", message, at, "remove the text before '{%' and after '%}'")

    def one_sided(self, text: str, at: Path) -> bool:
        """True if one of the two delimiters is missing, which is an error."""
        opens, closes = text.startswith("{%"), text.endswith("%}")
        if opens == closes and not opens:
            return False
        missing = "end with '%}'" if opens else "begin with '{%'"
        self.findings.error(BAD_JSONATA, f"A JSONata expression must {missing}", at)
        return True

    def expression(self, source: str, at: Path, where: Where) -> None:
        """One expression with its delimiters. Source: observed codes, wording and location."""
        text = source[2:-2].strip()
        try:
            compiled = compile_expression(text)
        except JsonataSyntaxError as problem:
            self.findings.error(BAD_JSONATA, problem.message, at)
            return
        for message in compiled.problems:
            self.findings.error(UNSUPPORTED_JSONATA, str(message), at)
        for name in sorted(compiled.states_fields):
            # `$states` as a whole counts as all of its fields, and is allowed anywhere.
            if name not in where.states_fields and re.search(rf"\$states\s*\.\s*[`'\"]?{name}\b", text):
                hint = _STATES_HINTS.get(name)
                self.findings.error(UNSUPPORTED_JSONATA, f"Field '$states.{name}' does not exist.", at, hint)
        self.note(compiled.variables, at)

    def note_path(self, compiled: JsonPath | Intrinsic, path: Path) -> None:
        """Record what a path or an intrinsic call reads, and warn of what was assumed about it."""
        self.note(compiled.variables, path)
        if compiled.unquoted:
            shown = ", ".join(f"'{word}'" for word in dict.fromkeys(compiled.unquoted))
            message = f"A filter compares with a text without quotes, which is read as {shown}"
            self.lints.warn("UNQUOTED_TEXT", message, path, f"write {shown}, with the quotes")

    def note(self, names: Iterable[str], path: Path) -> None:
        """Record the variables that an expression reads."""
        self.reads.extend(VariableRead(name, path) for name in sorted(names))


def is_expression(value: Json) -> TypeGuard[str]:
    """True if a string is a JSONata expression: `{%` and `%}` at its very ends."""
    return isinstance(value, str) and len(value) >= 4 and value.startswith("{%") and value.endswith("%}")


def _not_a_call(key: str) -> str:
    return f"The value for the field '{key}' must be a valid JSONPath or a valid intrinsic function call"


def _unquote(value: Json, words: tuple[str, ...]) -> str | None:
    if isinstance(value, str) and value.lower() in words:
        return f"write {value.lower()} without quotes"
    return None


_STATES_HINTS: Final = {
    "result": "$states.result is available only in Output and Assign of a Task, Parallel or Map",
    "errorOutput": "$states.errorOutput is available only in Output and Assign of a catcher",
}

_Checker = Callable[[FieldValues, Field, Json, Path, Where], None]
_CHECKERS: Final[dict[str, _Checker]] = {
    "array of strings": FieldValues.strings,
    "boolean": FieldValues.boolean,
    "enumeration": FieldValues.enumeration,
    "integer": FieldValues.integer,
    "json pointer": FieldValues.json_pointer,
    "literal": FieldValues.literal,
    "number": FieldValues.number,
    "path": FieldValues.path,
    "reference": FieldValues.reference,
    "reference or call": FieldValues.reference_or_call,
    "string": FieldValues.string,
    "target": FieldValues.string,
    "template": FieldValues.template,
    "template object": FieldValues.template_object,
    "timestamp": FieldValues.timestamp,
}
