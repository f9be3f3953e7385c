"""JSONPath: a path text compiled to a function of a `Scope`, in the dialect of Jayway JsonPath.

`$` is the state's data, `$$` the context object, `$name` a variable. A definite path (names and single indexes, a
function or a union of names at the end) gives the value or raises `PathNotFound`; any other path gives a list, which is
empty if nothing matches, even if a parent is missing. One exception is reported of the service: a slice directly on a
root that is not an array fails.

Nearly every path in use has only names and indexes; those are closures of a few instructions, and all others are
compiled, too. The grammar is in `jsonpath_parser`, steps in `jsonpath_steps`, filters in `jsonpath_filters`, the
functions and the list of what no recording confirms in `jsonpath_functions`. Writing is `refpath`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, NoReturn

from statewright.payload import Json
from statewright.query.comparison import kind_of
from statewright.query.fence import FENCE
from statewright.query.jsonpath_filters import MAX_VISITS, MISSING, Run
from statewright.query.jsonpath_functions import PathFunctionError
from statewright.query.jsonpath_parser import PathSyntaxError, parse_path
from statewright.query.jsonpath_steps import compile_steps
from statewright.query.jsonpath_tree import (
    Call,
    Index,
    Name,
    Names,
    ParsedPath,
    Root,
    Slice,
    Step,
    is_definite,
    plain_keys,
)
from statewright.query.scope import Scope

__all__ = ["JsonPath", "PathNotFound", "PathSyntaxError", "compile_path"]

CACHED_PATHS: Final = 4096
LONGEST_CACHED: Final = 512

_Readers = tuple[Callable[[Json], Json], Callable[[Scope], Json]]


class PathNotFound(Exception):
    """A definite path found nothing.

    `detail` is Jayway's wording, without the path text that callers put before it. `index_out_of_range` tells an
    array index past the end, which a payload template turns into null, from a missing member.
    """

    def __init__(self, text: str, detail: str, *, index_out_of_range: bool = False) -> None:
        super().__init__(f"{text}: {detail}")
        self.text = text
        self.detail = detail
        self.index_out_of_range = index_out_of_range


class JsonPath:
    """A compiled path.

    `read(scope)`, the same as calling the path, evaluates it; hot callers keep the bound `read`. `find(value)`
    evaluates against a bare value that stands for the root. Both raise `PathNotFound`, and `ExecutionFailure`
    (States.Runtime) when a path visits too much.
    """

    __slots__ = (
        "definite",
        "find",
        "is_reference",
        "read",
        "root",
        "steps",
        "text",
        "unconfirmed",
        "unquoted",
        "uses_context",
        "variable",
        "variables",
    )

    find: Callable[[Json], Json]
    read: Callable[[Scope], Json]

    def __init__(self, text: str, parsed: ParsedPath) -> None:
        path = parsed.path
        self.text = text
        self.root: Root = path.root
        self.variable = path.variable
        self.steps = path.steps
        self.definite = is_definite(path.steps)
        self.is_reference = all(isinstance(s, Index) or (isinstance(s, Name) and s.plain) for s in path.steps)
        """True if it is a Reference Path with any root: one node, without `@ , : ? *`, `..` or functions."""
        self.variables = parsed.variables
        """Every variable that it reads, also inside filters."""
        self.uses_context = parsed.uses_context
        self.unconfirmed = parsed.features
        """Names in `jsonpath_functions.UNCONFIRMED` that it uses: no recording of the service confirms them."""
        self.unquoted = parsed.unquoted
        """Words without quotes that its filters compare with, read as texts."""
        keys = plain_keys(path.steps)
        if keys is not None:
            self.find, self.read = _plain_readers(self, keys)
        else:
            self.find, self.read = _general_readers(self)

    def __call__(self, scope: Scope) -> Json:
        """Evaluate; see `read`."""
        return self.read(scope)

    def __repr__(self) -> str:
        return f"JsonPath({self.text!r})"


def compile_path(text: str) -> JsonPath:
    """Compile a path that starts with `$`, `$$` or `$name`. Texts of usual length are compiled once per process.

    Raises: `PathSyntaxError`.
    """
    return _compile_once(text) if len(text) <= LONGEST_CACHED else JsonPath(text, parse_path(text))


@lru_cache(maxsize=CACHED_PATHS)
def _compile_once(text: str) -> JsonPath:
    return JsonPath(text, parse_path(text))


# Names and indexes only


def _plain_readers(
    path: JsonPath, keys: tuple[str | int, ...]
) -> tuple[Callable[[Json], Json], Callable[[Scope], Json]]:
    def fail(value: Json) -> NoReturn:
        raise _not_found(path.text, path.steps, value)

    names = tuple(key for key in keys if isinstance(key, str))
    find = _find_names(names, fail) if len(names) == len(keys) else _find_keys(keys, fail)
    if path.root == "data" and len(names) == len(keys) <= 3:
        return find, _read_data_names(names, fail)
    return find, _from_root(path, find)


def _read_data_names(names: tuple[str, ...], fail: Callable[[Json], NoReturn]) -> Callable[[Scope], Json]:
    """Up to three names from `$`. Subscripting by a name raises for every value but an object that has it."""
    if not names:
        return lambda scope: scope.data
    if len(names) == 1:
        (only,) = names

        def read_one(scope: Scope) -> Json:
            try:
                return scope.data[only]
            except (KeyError, TypeError):
                fail(scope.data)

        return read_one
    if len(names) == 2:
        first, second = names

        def read_two(scope: Scope) -> Json:
            try:
                return scope.data[first][second]
            except (KeyError, TypeError):
                fail(scope.data)

        return read_two
    outer, middle, inner = names

    def read_three(scope: Scope) -> Json:
        try:
            return scope.data[outer][middle][inner]
        except (KeyError, TypeError):
            fail(scope.data)

    return read_three


def _find_names(names: tuple[str, ...], fail: Callable[[Json], NoReturn]) -> Callable[[Json], Json]:
    def find(value: Json) -> Json:
        found = value
        try:
            for name in names:
                found = found[name]
        except (KeyError, TypeError):
            fail(value)
        return found

    return find


def _find_keys(keys: tuple[str | int, ...], fail: Callable[[Json], NoReturn]) -> Callable[[Json], Json]:
    def find(value: Json) -> Json:
        found = value
        try:
            for key in keys:
                # An index would also subscript a string.
                if key.__class__ is int and found.__class__ is not list:
                    fail(value)
                found = found[key]
        except (KeyError, TypeError, IndexError):
            fail(value)
        return found

    return find


def _from_root(path: JsonPath, find: Callable[[Json], Json]) -> Callable[[Scope], Json]:
    if path.root == "data":
        return lambda scope: find(scope.data)
    if path.root == "context":
        return lambda scope: find(scope.context)
    return lambda scope: find(_variable(path, scope))


def _variable(path: JsonPath, scope: Scope) -> Json:
    try:
        return scope.variables[path.variable or ""]
    except KeyError:
        raise PathNotFound(path.text, f"The variable '${path.variable}' is not assigned") from None


# Everything else


def _general_readers(path: JsonPath) -> _Readers:
    read_steps = compile_steps(path.steps)
    text, steps = path.text, path.steps
    first = steps[0]

    def evaluate(root: Json, scope: Scope | None) -> Json:
        if first.__class__ is Slice and not isinstance(root, list):
            raise _not_an_array(text, _fragment(first), root)
        allowance = FENCE.allowance
        most = MAX_VISITS if allowance is None else allowance.visits
        run = Run(text, root, scope, most)
        try:
            found = read_steps(root, run)
        except PathFunctionError as error:
            raise PathNotFound(text, f"No results for path: {_normalised(steps)}: {error}") from None
        finally:
            FENCE.visited += most - run.left
            if allowance is not None:
                allowance.visits = run.left
        if found is MISSING:
            raise _not_found(text, steps, root)
        return found

    def read(scope: Scope) -> Json:
        if path.root == "data":
            return evaluate(scope.data, scope)
        return evaluate(scope.context if path.root == "context" else _variable(path, scope), scope)

    return lambda value: evaluate(value, None), read


# Explanations of missing values


def _not_found(text: str, steps: tuple[Step, ...], root: Json) -> PathNotFound:
    """Walk again to the step that fails, and return the error in the dialect's words."""
    value = root
    last = len(steps) - (2 if isinstance(steps[-1], Call) else 1)
    for at, step in enumerate(steps):
        if isinstance(step, Index):
            if not isinstance(value, list):
                return _not_an_array(text, _fragment(step), value)
            if not -len(value) <= step.index < len(value):
                detail = f"No results for path: {_normalised(steps)}"
                return PathNotFound(text, detail, index_out_of_range=True)
            value = value[step.index]
            continue
        if not isinstance(value, dict) or not isinstance(step, Name):
            return PathNotFound(text, f"Property {_fragment(step)} not found in path {_normalised(steps[:at])}")
        if step.name not in value:
            reason = "No results for path: " if at == last else "Missing property in path "
            return PathNotFound(text, reason + _normalised(steps[: at + 1]))
        value = value[step.name]
    raise AssertionError(f"{text} has a value")


def _not_an_array(text: str, fragment: str, value: Json) -> PathNotFound:
    detail = f"Filter: {fragment} can only be applied to arrays. Current context is: {kind_of(value)}"
    return PathNotFound(text, detail)


def _normalised(steps: tuple[Step, ...]) -> str:
    return "$" + "".join(_fragment(step) for step in steps)


def _fragment(step: Step) -> str:
    """A step as in Jayway's messages."""
    if isinstance(step, Name):
        return f"['{step.name}']"
    if isinstance(step, Index):
        return f"[{step.index}]"
    if isinstance(step, Names):
        return "[" + ",".join(f"'{name}'" for name in step.names) + "]"
    if isinstance(step, Slice):
        return f"[{'' if step.start is None else step.start}:{'' if step.stop is None else step.stop}]"
    return f".{step.name}()" if isinstance(step, Call) else "[...]"
