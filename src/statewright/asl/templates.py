"""Payload templates: JSON with paths (`key.$`) or JSONata (`{% ... %}`) inside, compiled to closures.

Also builds the service's texts for failures of paths and expressions. Independent of the state types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from statewright.asl.program import Evaluate
from statewright.errors import INTRINSIC_FAILURE, RUNTIME, EvaluationFailure, ExecutionFailure
from statewright.payload import MOST_CHARACTERS, Json, dump_json, size_of, too_large
from statewright.query.intrinsics import compile_intrinsic
from statewright.query.jsonata import JsonataError, UnsupportedResult, compile_expression
from statewright.query.jsonpath import PathNotFound, compile_path
from statewright.query.scope import UNDEFINED, Scope

_INPUT_SHOWN_CHARACTERS = 2_000
"""Longest input that a failure quotes in full; causes are limited to 32,768 characters."""


def is_expression(value: Json) -> bool:
    """True if a string is a JSONata expression: `{%` and `%}` at its very ends."""
    return isinstance(value, str) and value.startswith("{%") and value.endswith("%}") and len(value) >= 4


# ------------------------------------------------------------------ vast results

_MANY_SIGNS: Final = 64
_LENGTHY: Final = 200


def _measured(evaluate: Evaluate, *texts: str) -> Evaluate:
    """Refuse results with too long a JSON text, where the source could make one: it names data often, or scans it.

    What an expression makes shares the structure of its data: a hundred copies of a large input cost nothing until
    they are written.
    """
    many = any(".." in text and "$" in text for text in texts)
    if not many and sum(map(len, texts)) > _LENGTHY:
        many = sum(text.count("$") + text.count(",") for text in texts) > _MANY_SIGNS
    if not many:
        return evaluate

    def measured(scope: Scope) -> Json:
        value = evaluate(scope)
        if isinstance(value, dict | list) and size_of(value) > MOST_CHARACTERS:
            raise too_large()
        return value

    return measured


def _texts_of(template: Json) -> list[str]:
    """Every string of a template."""
    found: list[str] = []
    pending = [template]
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, dict):
            pending.extend(part.values())
        elif isinstance(part, list):
            pending.extend(part)
    return found


# ------------------------------------------------------------------ JSONPath


def compile_path_field(text: str, reads: set[str]) -> Evaluate:
    """A path in a field of its own (InputPath, OutputPath, TimeoutSecondsPath ...)."""
    path = compile_path(text)
    reads.update(path.variables)
    read = path.read

    def evaluate(scope: Scope) -> Json:
        try:
            return read(scope)
        except PathNotFound as missing:
            raise ExecutionFailure(RUNTIME, f"Invalid path '{text}' : {missing.detail}") from None

    return _measured(evaluate, text)


def compile_template(template: Json, reads: set[str]) -> Evaluate:
    """A JSONPath payload template: Parameters, ResultSelector, ItemSelector, Assign, BatchInput.

    Constant parts are shared between evaluations, never copied.
    """
    evaluate = _template(template, reads)
    return _measured(evaluate, *_texts_of(template)) if evaluate is not None else _constant(template)


def compile_dynamic(key: str, text: str, reads: set[str]) -> Evaluate:
    """The value of one `key.$` member, of ErrorPath or of CausePath: a path or an intrinsic call."""
    if not text.startswith("$"):
        intrinsic = compile_intrinsic(text)
        reads.update(intrinsic.variables)
        return _worded_intrinsic(intrinsic.evaluate, text)
    path = compile_path(text)
    reads.update(path.variables)
    read = path.read

    def evaluate(scope: Scope) -> Json:
        try:
            return read(scope)
        except PathNotFound as missing:
            if missing.index_out_of_range:
                return None
            raise _not_found(text, key, scope) from None

    return evaluate


def _worded_intrinsic(intrinsic: Callable[[Scope], Json], text: str) -> Evaluate:
    def evaluate(scope: Scope) -> Json:
        try:
            return intrinsic(scope)
        except PathNotFound as missing:
            shown = _input_text(scope)
            problem = f"The JsonPath argument for the field '{missing.text}' could not be found in the input '{shown}'"
            raise ExecutionFailure(RUNTIME, f"The function '{text}' had the following error: {problem}") from None
        except ExecutionFailure as failure:
            if failure.error != INTRINSIC_FAILURE:
                raise
            cause = f"The function '{text}' had the following error: {failure.cause}"
            raise ExecutionFailure(failure.error, cause) from None

    return evaluate


def _not_found(path: str, key: str, scope: Scope) -> ExecutionFailure:
    what = f"specified for the field '{key}' could not be found in the input '{_input_text(scope)}'"
    return ExecutionFailure(RUNTIME, f"The JSONPath '{path}' {what}")


def _input_text(scope: Scope) -> str:
    shown = dump_json(scope.data)
    return shown if len(shown) <= _INPUT_SHOWN_CHARACTERS else shown[:_INPUT_SHOWN_CHARACTERS] + "..."


def _template(template: Json, reads: set[str]) -> Evaluate | None:
    if isinstance(template, dict):
        members: list[tuple[str, Json, Evaluate | None]] = []
        for key, value in template.items():
            if key.endswith(".$"):
                members.append((key[:-2], None, compile_dynamic(key, value, reads)))
            else:
                members.append((key, value, _template(value, reads)))
        return _object(members)
    if isinstance(template, list):
        return _array([(item, _template(item, reads)) for item in template])
    return None


def _constant(value: Json) -> Evaluate:
    return lambda _scope: value


def _object(members: list[tuple[str, Json, Evaluate | None]]) -> Evaluate | None:
    if all(evaluate is None for _, _, evaluate in members):
        return None
    if len(members) == 1:
        name, _, only = members[0]
        assert only is not None
        return lambda scope: {name: only(scope)}
    pairs = [(name, evaluate or _constant(value)) for name, value, evaluate in members]
    return lambda scope: {name: evaluate(scope) for name, evaluate in pairs}


def _array(items: list[tuple[Json, Evaluate | None]]) -> Evaluate | None:
    if all(evaluate is None for _, evaluate in items):
        return None
    parts = [evaluate or _constant(value) for value, evaluate in items]
    return lambda scope: [evaluate(scope) for evaluate in parts]


# ------------------------------------------------------------------ JSONata


def compile_jsonata(value: Json, field: str, reads: set[str]) -> Evaluate:
    """A JSON value with expressions at any depth: Arguments, Output, Assign, Items ...

    `field` is the place that failures name, slash-separated from the state.
    """
    evaluate = _jsonata(value, field, reads)
    return _measured(evaluate, *_texts_of(value)) if evaluate is not None else _constant(value)


def compile_jsonata_typed(value: Json, field: str, expected: str, reads: set[str]) -> Evaluate:
    """A field whose expression must return one type: `array`, `boolean`, `number`, `object` or `string`."""
    evaluate = compile_jsonata(value, field, reads)
    shown = expression_text(value) if is_expression(value) else None

    def typed(scope: Scope) -> Json:
        result = evaluate(scope)
        if type_name(result) != expected:
            raise unexpected_type(shown or "", field, expected, result)
        return result

    return typed


def unexpected_type(text: str, field: str, expected: str, result: Json) -> EvaluationFailure:
    """The failure of an expression that returned a value of the wrong type."""
    found = type_name(result)
    what = (
        f"returned an unexpected result type. Expected '{expected}', but was '{found}' for value: {dump_json(result)}"
    )
    return _failed(text, field, what)


def expression_text(value: str) -> str:
    """The text between the delimiters, trimmed."""
    return value[2:-2].strip()


def type_name(value: Json) -> str:
    """The JSON type of a value, as failures name it."""
    return _TYPE_NAMES.get(type(value), "object")


_TYPE_NAMES: dict[type, str] = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    type(None): "null",
}


def _jsonata(value: Json, field: str, reads: set[str]) -> Evaluate | None:
    if isinstance(value, dict):
        return _object([(key, item, _jsonata(item, f"{field}/{key}", reads)) for key, item in value.items()])
    if isinstance(value, list):
        return _array([(item, _jsonata(item, f"{field}[{index}]", reads)) for index, item in enumerate(value)])
    if is_expression(value):
        return _expression(value, field, reads)
    return None


def _expression(source: str, field: str, reads: set[str]) -> Evaluate:
    text = expression_text(source)
    expression = compile_expression(text)
    reads.update(expression.variables)
    run = expression.evaluate

    def evaluate(scope: Scope) -> Json:
        try:
            result = run(scope)
        except UnsupportedResult:
            raise _failed(text, field, "returned an unsupported result type.") from None
        except JsonataError as problem:
            raise _failed(text, field, f"threw an error during evaluation. {problem}") from None
        if result is UNDEFINED:
            raise _failed(text, field, "returned nothing (undefined).")
        return result

    return evaluate


def _failed(text: str, field: str, what: str) -> EvaluationFailure:
    return EvaluationFailure(f"The JSONata expression '{text}' specified for the field '{field}' {what}", field)
