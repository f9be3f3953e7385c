"""JSONata with the `jsonatapy` library (tier 1): every expression that tier 0 does not evaluate.

Owns the calls of the library: the envelope around an expression, the data, the limits, and the translation of its
exceptions. The only module that uses the library.

The library's objects may only be used, and dropped, by the thread that made them, so compiled programs are kept per
thread. Data is passed in one of two ways. At first it is lent: the library reads Python's dicts where the expression
touches them, but converts a list each time. Data that is touched again on the same scope is converted once, into a
handle that all expressions of the scope share.
"""

from __future__ import annotations

import json
import math
import re
from _thread import _local, get_ident
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

from statewright.payload import Json
from statewright.query.jsonata.analysis import ADDED, BUILT_INS, Facts, analyse
from statewright.query.jsonata.errors import (
    RUNTIME_MESSAGES,
    JsonataError,
    JsonataMemory,
    JsonataStackOverflow,
    JsonataSyntaxError,
    JsonataTimeout,
    UnsupportedResult,
)
from statewright.query.jsonata.functions import DEFINITIONS, KEPT, Host
from statewright.query.jsonata.guards import MAX_SEQUENCE, MEMORY_SIGNAL, mangled, rewrite
from statewright.query.jsonata.loading import jsonatapy
from statewright.query.jsonata.parser import Node, parse
from statewright.query.scope import UNDEFINED, Scope

TIMEOUT_MS: Final = 1_000
"""Time limit of one evaluation. Source: the service's limit for JSONata."""

BRIEF_MS: Final = 25
"""Time limit of an evaluation on an event loop, which gives up there and repeats in another process. Ours."""
BRIEF_SEQUENCE: Final = 50_000
"""The longest sequence that an evaluation may make there. Ours."""

MAX_STACK_DEPTH: Final = 2_000

_MAX_PROGRAMS: Final = 4_096
_SHOWN: Final = 200
"""Characters of an expression in a message."""
_THREAD: Final = _local()
_NONE: Final[frozenset[str]] = frozenset()

_CODED: Final = re.compile(r"(?:[A-Z][A-Za-z ]*: )*([A-Z]\d{4}): (.*)", re.DOTALL)
_HOST: Final = re.compile(r"host function raised (\w+): (.*)", re.DOTALL)
_REGEX: Final = re.compile(r"Invalid regex: .*?(?:error: ([^\n]*))?$", re.DOTALL)
_ARGUMENT: Final = re.compile(r"Argument (\d+) must be (?:an array of )?(\w+)")
_OPERATOR: Final = re.compile(r"the (\S+) operator")

_CHECK: Final = (
    '$f__:=function($v){($t:=$type($v);$t="function"?true:$t="array"?$count($filter($v,$f__))>0'
    ':$t="object"?$count($each($v,$f__)[$])>0:false)};'
)
"""Finds a function in a result, which Python would see as None."""


REQUIREMENT: Final = "jsonatapy>=2.2.13,<2.3"
"""The package to install. On Python versions for which the library has no wheels, Statewright is installed without
it."""


@cache
def _is_installed() -> bool:
    try:
        return find_spec("jsonatapy") is not None
    except ValueError:  # a module of that name without an import specification
        return False


def require_library(text: str) -> None:
    """Check that the library is installed before an expression depends on it.

    Raises: JsonataSyntaxError, which names the expression and the package to install.
    """
    if not _is_installed():
        shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
        raise JsonataSyntaxError.of(
            "",
            f"The expression {shown} needs the library jsonatapy, which is not installed in this Python; "
            f"install it with: pip install '{REQUIREMENT}'",
        )


class Program:
    """One expression as the library runs it. Immutable; compiles on first use in each thread.

    Raises (construction): JsonataSyntaxError if the library refuses an expression that JSONata's grammar allows, or is
    missing.
    """

    __slots__ = ("divides", "facts", "hideable", "needs", "rewritten")

    def __init__(self, text: str, tree: Node, facts: Facts) -> None:
        require_library(text)
        self.facts = facts
        self.rewritten = rewrite(text, tree, facts)
        self.hideable = facts.free & (BUILT_INS | ADDED)
        self.needs = facts.states_fields | {"$" + name for name in facts.free - self.hideable}
        self.divides = any(node.kind == "binary" and node.value in ("/", "%") for node in tree.walk())
        try:
            self._compiled(_NONE)
        except JsonataError as error:
            if error.code[:1] not in ("T", "D"):  # those are JSONata's errors at run time, and will be raised then
                if isinstance(error, JsonataStackOverflow):
                    raise JsonataSyntaxError("S0500", 0) from None
                raise JsonataSyntaxError.of(error.code, error.message) from None

    def evaluate(self, scope: Scope, brief: bool = False) -> Json:
        """The value, or UNDEFINED; with `brief` in little time or not at all. Raises: JsonataError."""
        variables = scope.variables
        needs, hiding = self.needs, _NONE
        for name in self.hideable:
            if name in variables:
                hiding |= {name}
                needs |= {"$" + name}
        data = scope.handle
        if type(data) is not _Data:
            data = scope.handle = _Data(scope)
        drawn = scope.entropy.counter
        value = data.run(self._compiled(hiding, brief), needs, scope).get("r", UNDEFINED)
        facts = self.facts
        if facts.has_functions and (value is None or (facts.holds_functions and type(value) in (list, dict))):
            after, scope.entropy.counter = scope.entropy.counter, drawn
            if data.run(self._compiled(hiding, brief, check=True), needs, scope).get("f"):
                raise UnsupportedResult
            scope.entropy.counter = after
        if self.divides or type(value) is float:
            _require_finite(value)
        return value

    def _compiled(self, hiding: frozenset[str], brief: bool = False, check: bool = False) -> _Code:
        # The usual case, without a hidden built-in, makes no key of its own.
        key = (self, hiding, check) if hiding or check else self
        try:
            code: _Code = (_THREAD.brief if brief else _THREAD.whole)[key]
        except (AttributeError, KeyError):
            kept = "brief" if brief else "whole"
            programs: dict[object, _Code] = getattr(_THREAD, kept, None) or _Programs()
            if len(programs) > _MAX_PROGRAMS:
                programs.clear()
            code = programs[key] = _Code(self._envelope(hiding, check), self.facts, brief=brief)
            setattr(_THREAD, kept, programs)
        return code

    def _envelope(self, hiding: frozenset[str], check: bool) -> str:
        """The expression, preceded by its bindings, inside an object that distinguishes undefined from null.

        A newline follows the expression, which may end in a comment; every prelude precedes the variables, so that
        a variable named like a built-in hides it from the expression alone.
        """
        expression, prelude = self.rewritten
        facts = self.facts
        for name, definition in DEFINITIONS.items():
            if name in facts.free:
                kept = f"${KEPT[name]}:=${name};" if name in KEPT else ""
                prelude += f"{kept}${name}:={definition};"
        known = BUILT_INS | ADDED
        bound = sorted(name for name in facts.free if name not in known or name in hiding)
        variables = "".join(f"${mangled(name)}:=v.`{name}`;" for name in bound)
        if facts.states_fields:
            variables = "$states:=states;" + variables
        result = f'{_CHECK}{{"f":$f__(({expression}\n))}}' if check else f'{{"r":({expression}\n)}}'
        return f"({prelude}({variables}{result}))" if prelude else f"({variables}{result})"


class _Code:
    """A compiled envelope with the Python functions it calls; belongs to one thread."""

    __slots__ = ("calls", "compiled", "converted", "host", "lent")

    def __init__(self, text: str, facts: Facts, *, brief: bool = False) -> None:
        try:
            compiled = jsonatapy().compile(
                text,
                timeout=BRIEF_MS if brief else TIMEOUT_MS,
                max_stack_depth=MAX_STACK_DEPTH,
                max_sequence_length=BRIEF_SEQUENCE if brief else MAX_SEQUENCE,
            )
        except ValueError as error:
            raise _translate(error) from None
        self.calls = facts.calls
        self.host: Host | None = None
        if not facts.free.isdisjoint(DEFINITIONS):
            self.host = Host()
            for name, function in self.host.functions().items():
                if name in facts.free:
                    compiled.register(name + "__", function)
        # The library's own Python layer adds half to the time of a small evaluation.
        bare = getattr(compiled, "_expr", compiled)
        self.compiled = compiled
        self.lent: Callable[[Json], object] = bare.evaluate
        self.converted: Callable[[Any], Json] = bare.evaluate_with_data


class _Programs(dict[object, _Code]):
    """The compiled expressions of one thread."""

    __slots__ = ("thread",)

    def __init__(self) -> None:
        super().__init__()
        self.thread = get_ident()

    def __del__(self) -> None:
        # A forked child has only the thread that forked, and drops what belonged to the others; the library complains
        # of a drop in another thread than its own, on standard error.
        if get_ident() != self.thread:
            _OF_OTHER_THREADS.append(dict(self))


_OF_OTHER_THREADS: Final[list[dict[object, _Code]]] = []


class _Data:
    """One scope's data in the library's form."""

    __slots__ = ("handle", "handle_parts", "root", "states", "touched", "unusable")

    def __init__(self, scope: Scope) -> None:
        self.states: dict[str, Json] = {"input": scope.input}
        if scope.result is not UNDEFINED:
            self.states["result"] = scope.result
        if scope.error_output is not UNDEFINED:
            self.states["errorOutput"] = scope.error_output
        variables = scope.variables
        self.root: dict[str, Json] = {
            "states": self.states,
            "v": variables if type(variables) is dict else dict(variables),
            "now": scope.now_ms,
        }
        self.touched: frozenset[str] = frozenset()
        self.handle: Any = None
        self.handle_parts: frozenset[str] = frozenset()
        self.unusable = False

    def run(self, code: _Code, needs: frozenset[str], scope: Scope) -> Json:
        """The envelope's object. Raises: JsonataError."""
        if "context" in needs:
            self.states["context"] = scope.context
        if code.host is not None:
            code.host.entropy = scope.entropy
        try:
            if needs and needs <= self.touched and self.convert(needs):
                return code.converted(self.handle)
            self.touched |= needs
            return code.lent(self.root)
        except BaseException as error:
            raise _translate(error, code.calls) from None

    def convert(self, needs: frozenset[str]) -> bool:
        """Ensure a handle that has these parts; False if the data has values that the library cannot hold."""
        if self.unusable or needs <= self.handle_parts:
            return not self.unusable
        parts = self.handle_parts | needs
        variables: Mapping[str, Json] = self.root["v"]
        root = {
            "states": {name: value for name, value in self.states.items() if name in parts},
            "v": {name: value for name, value in variables.items() if "$" + name in parts},
            "now": self.root["now"],
        }
        try:
            data = jsonatapy().JsonataData(root)
        except Exception:  # if the touched parts are at fault, evaluating them will raise
            self.unusable = True
            return False
        self.handle = getattr(data, "_data", data)
        self.handle_parts = parts
        return True


def evaluate(text: str, data: Json, bindings: Mapping[str, Json] | None = None) -> Json:
    """The value of `text` with `data` (or nothing: UNDEFINED) as `$`: plain JSONata, without the service's rules.

    For checking against JSONata's own test suite. Raises: JsonataSyntaxError, JsonataError.
    """
    tree = parse(text)
    facts = replace(analyse(tree), bare=())
    expression, prelude = rewrite(text, tree, facts)
    bound = {mangled(name): value for name, value in (bindings or {}).items()} or None
    code = _Code(f"({prelude}({expression}\n))" if prelude else expression, facts)
    try:
        value = None if data is UNDEFINED else code.compiled.evaluate(data, bound)
        if value is None:
            answer = code.compiled.evaluate_json_or_none(None if data is UNDEFINED else json.dumps(data), bound)
            return UNDEFINED if answer is None else json.loads(answer)
    except BaseException as error:
        raise _translate(error) from None
    return value


def _translate(error: BaseException, calls: frozenset[str] = _NONE) -> JsonataError:
    """Translate an exception of the library into JSONata's terms; other exceptions pass through.

    `calls` are the functions the expression calls: if it is only one, an error without the name gets it.
    """
    if isinstance(error, MemoryError):
        return JsonataMemory()
    if isinstance(error, RecursionError):
        return JsonataStackOverflow()
    text = f"{type(error).__name__}: {error}" if isinstance(error, (OverflowError, UnicodeError)) else str(error)
    if not isinstance(error, Exception):
        if type(error).__name__ != "PanicException":
            raise error
        return JsonataError("", f"The expression could not be evaluated: {text}")
    raised = _HOST.fullmatch(text)
    if raised is not None:
        by_name = _LIMITS.get(raised[1])
        if by_name is not None:
            return by_name()
        text = raised[2]
    coded = _CODED.fullmatch(text)
    if coded is None:
        for sign, code, message in _UNCODED:
            if sign in text:
                return JsonataError(code, message)
        regex = _REGEX.search(text)
        if regex is not None:
            return JsonataError("", f"The regular expression is not supported: {regex[1] or text}")
        return JsonataError("", text)
    code, message = coded[1], coded[2]
    limit = _LIMITS.get(code) or (JsonataMemory if message == MEMORY_SIGNAL else None)
    if limit is not None:
        return limit()
    return JsonataError(code, RUNTIME_MESSAGES.get(code) or _reworded(code, message, calls))


def _reworded(code: str, message: str, calls: frozenset[str]) -> str:
    """The library's message in JSONata's words, as far as the library reports the values in it."""
    if code in ("T2001", "T2002"):
        return _OPERATOR.sub(r'the "\1" operator', message)
    if code == "D3030":
        return re.sub(r"^Cannot convert '(.*)' to number$", r'Unable to cast value to a number: "\1"', message)
    argument = _ARGUMENT.match(message)
    if argument is None or len(calls) != 1:
        return message
    (name,) = calls
    if code == "T0410":
        return f'Argument {argument[1]} of function "{name}" does not match function signature'
    if code == "T0412":
        return f'Argument {argument[1]} of function "{name}" must be an array of {argument[2].lower()}s'
    return message


def _require_finite(value: Json) -> None:
    """JSON has no infinity, but the library returns it without an error."""
    pending = [value]
    while pending:
        item = pending.pop()
        if type(item) is float:
            if not math.isfinite(item):
                name = "NaN" if math.isnan(item) else ("Infinity" if item > 0 else "-Infinity")
                raise JsonataError("D1001", f"Number out of range: {name}")
        elif type(item) is list:
            pending.extend(item)
        elif type(item) is dict:
            pending.extend(item.values())


_UNCODED: Final = (
    ("OverflowError", "D1001", "Number out of range: the data has an integer of more than 64 bits"),
    ("could not be converted", "D1001", "Number out of range: the data has an integer of more than 64 bits"),
    ("UnicodeEncodeError", "", "The data has a string with half of a surrogate pair, which is not Unicode text"),
)
"""The library's message for data that it cannot hold."""

_LIMITS: Final[Mapping[str, Callable[[], JsonataError]]] = {
    "D1011": JsonataStackOverflow,
    "U1001": JsonataStackOverflow,
    "U1002": JsonataStackOverflow,
    "D1012": JsonataTimeout,
    "D2014": JsonataMemory,
    "D2015": JsonataMemory,
    "JsonataMemory": JsonataMemory,
    "JsonataStackOverflow": JsonataStackOverflow,
}
"""By the library's code, or the name of an exception of our own functions."""
