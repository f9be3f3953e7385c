"""The steps of a JSONPath, compiled to functions over plain Python data.

A definite stretch (names and single indexes) is walked from value to value; from the first indefinite step on, each
step turns a list of values into the next list. Deep scans keep their own stack, so the depth of a document costs no
recursion, and every step counts what it visits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from statewright.payload import Json
from statewright.query.jsonpath_filters import MISSING, Reader, Run, compile_condition
from statewright.query.jsonpath_functions import FUNCTIONS, PathFunctionError
from statewright.query.jsonpath_tree import (
    Call,
    Constant,
    Filter,
    Index,
    Indexes,
    Name,
    Names,
    Operand,
    Path,
    Scan,
    Slice,
    Step,
    is_definite,
)

Walk = Callable[[Json], Json]
"""Maps a value to the one that definite steps find, or `MISSING`."""
Expand = Callable[[list[Json], Run], list[Json]]
"""Maps the values found so far to those that one more step finds."""


def compile_steps(steps: tuple[Step, ...]) -> Reader:
    """Evaluate steps from a value.

    The reader returns `MISSING` if definite steps find nothing, and always a list for indefinite steps.
    It raises `PathFunctionError` if a function at the end has no result.
    """
    if steps and isinstance(steps[-1], Call):
        return _with_call(compile_steps(steps[:-1]), steps[-1])
    if is_definite(steps):
        walk = compile_walk(steps)
        return lambda value, run: walk(value)  # noqa: ARG005
    first = next(at for at, step in enumerate(steps) if not isinstance(step, Name | Index))
    walk = compile_walk(steps[:first])
    last = len(steps) - 1
    expansions = tuple(_expansion(step, at == last) for at, step in enumerate(steps) if at >= first)

    def gather(value: Json, run: Run) -> Json:
        found = walk(value)
        if found is MISSING:
            return []
        values = [found]
        for expand in expansions:
            if not values:
                return values
            run.spend(len(values))
            values = expand(values, run)
        return values

    return gather


def compile_walk(steps: tuple[Step, ...]) -> Walk:
    """Follow definite steps. A union of names, which only ends a path, gives one object with the members found."""
    if steps and isinstance(steps[-1], Names):
        walk, names = compile_walk(steps[:-1]), steps[-1].names
        return lambda value: _merged(walk(value), names)
    keys = tuple(
        step.name if isinstance(step, Name) else step.index for step in steps if isinstance(step, Name | Index)
    )
    if not keys:
        return lambda value: value
    if len(keys) == 1 and isinstance(keys[0], str):
        name = keys[0]
        return lambda value: value.get(name, MISSING) if isinstance(value, dict) else MISSING

    def walk_keys(value: Json) -> Json:
        for key in keys:
            if isinstance(value, dict):
                value = value.get(key, MISSING)
            elif isinstance(value, list) and isinstance(key, int) and -len(value) <= key < len(value):
                value = value[key]
            else:
                return MISSING
        return value

    return walk_keys


def _merged(value: Json, names: tuple[str, ...]) -> Json:
    return {name: value[name] for name in names if name in value} if isinstance(value, dict) else MISSING


# Functions, and paths inside filters


def _with_call(read: Reader, call: Call) -> Reader:
    apply = FUNCTIONS[call.name].apply
    arguments = tuple(_read_argument(argument) for argument in call.arguments)

    def called(value: Json, run: Run) -> Json:
        found = read(value, run)
        if found is MISSING:
            return MISSING
        given = [argument(value, run) for argument in arguments]
        if any(argument is MISSING for argument in given):
            raise PathFunctionError("an argument has no value")
        run.spend(len(found) if isinstance(found, list | dict) else 1)
        return apply(found, given)

    return called


def _read_argument(operand: Operand) -> Reader:
    if isinstance(operand, Path):
        return read_inner_path(operand)
    value = operand.value if isinstance(operand, Constant) else MISSING
    return lambda item, run: value  # noqa: ARG005


def read_inner_path(path: Path) -> Reader:
    """The reader of a path inside a filter or an argument.

    `@` is the item and `$` the document of the outer path; both `$$` and `$name` need a scope.
    """
    read = compile_steps(path.steps)
    if path.steps and isinstance(path.steps[-1], Call):
        read = _or_missing(read)
    if path.root == "current":
        return read

    def read_once(item: Json, run: Run) -> Json:  # noqa: ARG001
        # Values outside the filter are the same for every item.
        known = run.computed.get(id(path))
        if known is None:
            start = _start(path, run)
            known = run.computed[id(path)] = (path, MISSING if start is MISSING else read(start, run))
        return known[1]

    return read_once


def _or_missing(read: Reader) -> Reader:
    def guarded(item: Json, run: Run) -> Json:
        try:
            return read(item, run)
        except PathFunctionError:
            return MISSING

    return guarded


def _start(path: Path, run: Run) -> Json:
    if path.root == "data":
        return run.root
    if run.scope is None:
        return MISSING
    if path.root == "context":
        return run.scope.context
    return run.scope.variables.get(path.variable or "", MISSING)


# Indefinite steps


def _expansion(step: Step, last: bool) -> Expand:
    if isinstance(step, Name):
        return _expand_name(step.name)
    if isinstance(step, Index):
        return _expand_indexes((step.index,))
    if isinstance(step, Indexes):
        return _expand_indexes(step.indexes)
    if isinstance(step, Names):
        return _expand_merged(step.names) if last else _expand_names(step.names)
    if isinstance(step, Slice):
        return _expand_slice(step)
    if isinstance(step, Filter):
        return _expand_filter(step)
    if isinstance(step, Scan):
        return _expand_scan(step.step, last)
    return _expand_wildcard


def _expand_name(name: str) -> Expand:
    return lambda values, run: [  # noqa: ARG005
        value[name] for value in values if isinstance(value, dict) and name in value
    ]


def _expand_names(names: tuple[str, ...]) -> Expand:
    def expand(values: list[Json], run: Run) -> list[Json]:
        found: list[Json] = []
        for value in values:
            if isinstance(value, dict):
                run.spend(len(names))
                found.extend(value[name] for name in names if name in value)
        return found

    return expand


def _expand_merged(names: tuple[str, ...]) -> Expand:
    def expand(values: list[Json], run: Run) -> list[Json]:
        run.spend(len(values) * len(names))
        return [_merged(value, names) for value in values if isinstance(value, dict)]

    return expand


def _expand_indexes(indexes: tuple[int, ...]) -> Expand:
    def expand(values: list[Json], run: Run) -> list[Json]:
        found: list[Json] = []
        for value in values:
            if isinstance(value, list):
                run.spend(len(indexes))
                size = len(value)
                found.extend(value[index] for index in indexes if -size <= index < size)
        return found

    return expand


def _expand_slice(step: Slice) -> Expand:
    window = slice(step.start, step.stop)

    def expand(values: list[Json], run: Run) -> list[Json]:
        found: list[Json] = []
        for value in values:
            if isinstance(value, list):
                found.extend(value[window])
        run.spend(len(found))
        return found

    return expand


def _expand_wildcard(values: list[Json], run: Run) -> list[Json]:
    found: list[Json] = []
    for value in values:
        if isinstance(value, list):
            found.extend(value)
        elif isinstance(value, dict):
            found.extend(value.values())
    run.spend(len(found))
    return found


def _expand_filter(step: Filter) -> Expand:
    """Elements of an array that meet the condition; an object is tested itself, as in Jayway."""
    predicate = compile_condition(step.condition, read_inner_path)

    def expand(values: list[Json], run: Run) -> list[Json]:
        found: list[Json] = []
        for value in values:
            if isinstance(value, list):
                run.spend(len(value))
                found.extend([item for item in value if predicate(item, run)])
            elif isinstance(value, dict):
                run.spend(1)
                if predicate(value, run):
                    found.append(value)
        return found

    return expand


def _expand_scan(step: Step, last: bool) -> Expand:
    """The step at every depth, outer before inner and in document order.

    A filter visits each object of the document once, never scalars; other steps visit every object and array.
    """
    expand_here = _expansion(step, last)
    objects_only = isinstance(step, Filter | Name | Names)

    def expand(values: list[Json], run: Run) -> list[Json]:
        found: list[Json] = []
        for value in values:
            for container in _containers(value, run):
                if not objects_only or isinstance(container, dict):
                    found.extend(expand_here([container], run))
        return found

    if not isinstance(step, Name):
        return expand
    name = step.name

    def expand_name(values: list[Json], run: Run) -> list[Json]:
        return [
            container[name]
            for value in values
            for container in _containers(value, run)
            if isinstance(container, dict) and name in container
        ]

    return expand_name


def _containers(value: Json, run: Run) -> Iterator[Json]:
    """Every object and array of a value, itself included, outer first and in document order."""
    pending = [value]
    while pending:
        container = pending.pop()
        if isinstance(container, dict):
            children = list(container.values())
        elif isinstance(container, list):
            children = container
        else:
            continue
        yield container
        run.spend(len(children) + 1)
        pending.extend(child for child in reversed(children) if isinstance(child, dict | list))
