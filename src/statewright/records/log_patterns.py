"""Filter patterns of CloudWatch Logs: terms, phrases, regular expressions and JSON selectors, compiled to a test.

Owns the syntax. Patterns for space-delimited lines (`[a, b, c]`) are refused: they belong to metric filters.

Source: CloudWatch Logs user guide, "Filter pattern syntax".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

import orjson

from statewright.errors import ApiError
from statewright.payload import Json
from statewright.query.linear_regex import RegexSyntaxError, compile_regex

Test = Callable[[str], bool]
"""True if a message matches."""
_JsonTest = Callable[[Json], bool]

_TERM: Final = re.compile(r'\s*([?-]?)(?:"((?:[^"\\]|\\.)*)"|([^\s"]+))')
_SYMBOL: Final = re.compile(
    r"""\s*(?:
      (?P<mark>&&|\|\||!=|<=|>=|[=<>()])
    | "(?P<text>(?:[^"\\]|\\.)*)"
    | %(?P<regex>[^%]*)%
    | (?P<selector>\$(?:\.[\w-]+|\.\*|\[\d+\]|\[\*\]|\["[^"]*"\]|\['[^']*'\])*)
    | (?P<word>[^\s&|!<>=()"%]+)
    )""",
    re.VERBOSE,
)
_STEP: Final = re.compile(r"""\.([\w-]+)|\.(\*)|\[(\d+)\]|\[(\*)\]|\["([^"]*)"\]|\['([^']*)'\]""")
_DEEPEST: Final = 50


def compile_pattern(pattern: str) -> Test:
    """Compile a pattern; an empty one matches everything. Raises: ApiError (`InvalidParameterException`)."""
    text = pattern.strip()
    if not text:
        return lambda _: True
    if text.startswith("{"):
        if not text.endswith("}"):
            raise _invalid()
        return _json_pattern(text[1:-1])
    if text.startswith("["):
        raise ApiError(
            "InvalidParameterException",
            "Statewright does not support filter patterns for space-delimited lines: [...].",
        )
    if len(text) > 1 and text.startswith("%") and text.endswith("%"):
        return _regex(text[1:-1])
    return _terms(text)


def _terms(text: str) -> Test:
    wanted: dict[str, list[str]] = {"": [], "?": [], "-": []}
    place = 0
    while place < len(text):
        found = _TERM.match(text, place)
        if found is None:
            raise _invalid()
        mark, quoted, word = found.groups()
        wanted[mark].append(word if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
        place = found.end()
    every, any_of, none_of = wanted[""], wanted["?"], wanted["-"]
    if any_of and not every and not none_of:
        return lambda message: any(term in message for term in any_of)
    # Optional terms have no effect beside others.
    return lambda message: all(term in message for term in every) and not any(term in message for term in none_of)


def _regex(text: str) -> Test:
    try:
        compiled = compile_regex(rf"[\s\S]*({text})[\s\S]*")
    except RegexSyntaxError:
        raise _invalid() from None
    return compiled.fullmatch


# ------------------------------------------------------------------ JSON


def _json_pattern(text: str) -> Test:
    parser = _Parser(text)
    test = parser.any_of(0)
    if parser.kind is not None:
        raise _invalid()

    def matches(message: str) -> bool:
        if "{" not in message:
            return False
        try:
            value = orjson.loads(message)
        except orjson.JSONDecodeError:
            return False
        return isinstance(value, dict) and test(value)

    return matches


class _Parser:
    """Reads the expression between the braces. `kind` and `value` are those of the current symbol; None at the end."""

    def __init__(self, text: str) -> None:
        self._symbols = _symbols(text)
        self.kind: str | None = None
        self.value = ""
        self._next()

    def _next(self) -> None:
        self.kind, self.value = next(self._symbols, (None, ""))

    def _takes(self, mark: str) -> bool:
        taken = (self.kind, self.value) == ("mark", mark)
        if taken:
            self._next()
        return taken

    def any_of(self, depth: int) -> _JsonTest:
        """Parse tests joined by `||`."""
        tests = [self._all_of(depth)]
        while self._takes("||"):
            tests.append(self._all_of(depth))
        return tests[0] if len(tests) == 1 else lambda value: any(test(value) for test in tests)

    def _all_of(self, depth: int) -> _JsonTest:
        tests = [self._unit(depth)]
        while self._takes("&&"):
            tests.append(self._unit(depth))
        return tests[0] if len(tests) == 1 else lambda value: all(test(value) for test in tests)

    def _unit(self, depth: int) -> _JsonTest:
        if depth > _DEEPEST:
            raise _invalid()
        if self._takes("("):
            inner = self.any_of(depth + 1)
            if not self._takes(")"):
                raise _invalid()
            return inner
        if self.kind != "selector":
            raise _invalid()
        select = _selector(self.value)
        self._next()
        if self.kind == "word":
            return self._words(select)
        if self.kind != "mark" or self.value not in ("=", "!=", "<", "<=", ">", ">="):
            raise _invalid()
        operator = self.value
        self._next()
        compare = _comparison(operator, self.kind, self.value)
        self._next()
        return lambda value: any(compare(one) for one in select(value))

    def _words(self, select: Callable[[Json], list[Json]]) -> _JsonTest:
        """`IS NULL`, `IS TRUE`, `IS FALSE`, `NOT EXISTS`."""
        first = self.value
        self._next()
        words = f"{first} {self.value}" if self.kind == "word" else first
        self._next()
        if words == "NOT EXISTS":
            return lambda value: not select(value)
        if words == "IS NULL":
            return lambda value: any(one is None for one in select(value))
        if words in ("IS TRUE", "IS FALSE"):
            wanted = words == "IS TRUE"
            return lambda value: any(one is wanted for one in select(value))
        raise _invalid()


def _symbols(text: str) -> Iterator[tuple[str | None, str]]:
    place, text = 0, text.rstrip()
    while place < len(text):
        found = _SYMBOL.match(text, place)
        if found is None or found.lastgroup is None:
            raise _invalid()
        yield found.lastgroup, found[found.lastgroup]
        place = found.end()


def _selector(text: str) -> Callable[[Json], list[Json]]:
    """Compile a selector: a function that returns one value, several with a wildcard, or none."""
    steps: list[str | int | None] = []
    for step in _STEP.finditer(text):
        name, any_field, index, any_item, quoted, single = step.groups()
        if any_field or any_item:
            steps.append(None)
        else:
            steps.append(int(index) if index is not None else next(x for x in (name, quoted, single) if x is not None))

    def select(value: Json) -> list[Json]:
        found = [value]
        for step in steps:
            found = [inner for one in found for inner in _below(one, step)]
        return found

    return select


def _below(value: Json, step: str | int | None) -> list[Json]:
    if step is None:
        return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    if isinstance(step, int):
        return [value[step]] if isinstance(value, list) and step < len(value) else []
    return [value[step]] if isinstance(value, dict) and step in value else []


_NUMBERS: Final[dict[str, Callable[[float, float], bool]]] = {
    "=": lambda value, bound: value == bound,
    "!=": lambda value, bound: value != bound,
    "<": lambda value, bound: value < bound,
    "<=": lambda value, bound: value <= bound,
    ">": lambda value, bound: value > bound,
    ">=": lambda value, bound: value >= bound,
}


def _comparison(operator: str, kind: str | None, wanted: str) -> _JsonTest:
    if kind not in ("text", "word", "regex"):
        raise _invalid()
    if kind == "word":
        number = _number(wanted)
        if number is not None:
            compare = _NUMBERS[operator]
            return lambda value: _is_number(value) and compare(value, number)
    if operator not in ("=", "!="):
        raise _invalid()
    matches = _regex(wanted) if kind == "regex" else _wildcard(re.sub(r"\\(.)", r"\1", wanted))

    def test(value: Json) -> bool:
        if isinstance(value, (dict, list)) or value is None:
            return False
        text = value if isinstance(value, str) else orjson.dumps(value).decode()
        return matches(text) == (operator == "=")

    return test


def _wildcard(text: str) -> Test:
    if "*" not in text:
        return lambda value: value == text
    first, *between, last = text.split("*")

    def matches(value: str) -> bool:
        if not value.startswith(first) or not value.endswith(last) or len(value) < len(first) + len(last):
            return False
        place, end = len(first), len(value) - len(last)
        for part in between:
            found = value.find(part, place, end)
            if found < 0:
                return False
            place = found + len(part)
        return True

    return matches


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", text) else None


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _invalid() -> ApiError:
    return ApiError("InvalidParameterException", "Invalid filter pattern")
