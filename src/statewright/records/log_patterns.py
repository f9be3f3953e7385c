"""Filter patterns of CloudWatch Logs: terms, phrases, regular expressions, JSON selectors, and fields of lines.

Owns the syntax but that of space-delimited lines (`[a, b, c]`, `log_space_patterns.py`), and the values that a
pattern's selectors have in a message.

Source: CloudWatch Logs user guide, "Filter pattern syntax".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from statewright.payload import Json
from statewright.records.log_comparisons import NUMBERS, Test, invalid_pattern, number, regex, wildcard
from statewright.records.log_space_patterns import SpacePattern

TEXT: Final = "text"
JSON: Final = "json"
FIELDS: Final = "fields"
"""The kinds of patterns."""
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
_SELECTOR: Final = re.compile(r"""\$(?:\.[\w-]+|\.\*|\[\d+\]|\[\*\]|\["[^"]*"\]|\['[^']*'\])*""")
_STEP: Final = re.compile(r"""\.([\w-]+)|\.(\*)|\[(\d+)\]|\[(\*)\]|\["([^"]*)"\]|\['([^']*)'\]""")
_DEEPEST: Final = 50


@dataclass(frozen=True, slots=True)
class LogPattern:
    """A compiled pattern: its test, its kind, and the selectors that it names, such as `$.code` or `$status`."""

    test: Test
    kind: str = TEXT
    selectors: Sequence[str] = ()
    fields: SpacePattern | None = None

    def knows(self, selector: str) -> bool:
        """True if a selector may have a value in messages that match."""
        if self.kind == JSON:
            return bool(_SELECTOR.fullmatch(selector)) and selector != "$"
        return selector in self.selectors

    def value(self, selector: str, message: str) -> str | None:
        """The value of a selector in a message that matches, as text; None if it has none."""
        if self.fields is not None:
            found = self.fields.fields(message)
            return found.get(selector[1:]) if found is not None else None
        value = _parsed(message) if self.kind == JSON else None
        values = _selector(selector)(value) if value is not None else []
        if not values or isinstance(values[0], (dict, list)) or values[0] is None:
            return None
        return values[0] if isinstance(values[0], str) else orjson.dumps(values[0]).decode()

    def extracted(self, message: str) -> dict[str, str]:
        """The values of all selectors in a message that matches."""
        found = {selector: self.value(selector, message) for selector in self.selectors}
        return {selector: value for selector, value in found.items() if value is not None}


def compile_pattern(pattern: str) -> Test:
    """Compile a pattern to its test. Raises: ApiError (`InvalidParameterException`)."""
    return read_pattern(pattern).test


def read_pattern(pattern: str) -> LogPattern:
    """Compile a pattern; an empty one matches everything. Raises: ApiError (`InvalidParameterException`)."""
    text = pattern.strip()
    if not text:
        return LogPattern(lambda _: True)
    if text.startswith("{"):
        if not text.endswith("}"):
            raise invalid_pattern()
        return _json_pattern(text[1:-1])
    if text.startswith("["):
        if not text.endswith("]"):
            raise invalid_pattern()
        fields = SpacePattern(text[1:-1])
        selectors = [f"${name}" for name in fields.names]
        return LogPattern(lambda message: fields.fields(message) is not None, FIELDS, selectors, fields)
    if len(text) > 1 and text.startswith("%") and text.endswith("%"):
        return LogPattern(regex(text[1:-1]))
    return LogPattern(_terms(text))


def _terms(text: str) -> Test:
    wanted: dict[str, list[str]] = {"": [], "?": [], "-": []}
    place = 0
    while place < len(text):
        found = _TERM.match(text, place)
        if found is None:
            raise invalid_pattern()
        mark, quoted, word = found.groups()
        wanted[mark].append(word if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
        place = found.end()
    every, any_of, none_of = wanted[""], wanted["?"], wanted["-"]
    if any_of and not every and not none_of:
        return lambda message: any(term in message for term in any_of)
    # Optional terms have no effect beside others.
    return lambda message: all(term in message for term in every) and not any(term in message for term in none_of)


# ------------------------------------------------------------------ JSON


def _json_pattern(text: str) -> LogPattern:
    parser = _Parser(text)
    test = parser.any_of(0)
    if parser.kind is not None:
        raise invalid_pattern()

    def matches(message: str) -> bool:
        value = _parsed(message)
        return value is not None and test(value)

    return LogPattern(matches, JSON, list(dict.fromkeys(parser.selectors)))


def _parsed(message: str) -> Json:
    """The JSON object of a message, None if it is none."""
    if "{" not in message:
        return None
    try:
        value = orjson.loads(message)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


class _Parser:
    """Reads the expression between the braces. `kind` and `value` are those of the current symbol; None at the end."""

    def __init__(self, text: str) -> None:
        self._symbols = _symbols(text)
        self.selectors: list[str] = []
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
            raise invalid_pattern()
        if self._takes("("):
            inner = self.any_of(depth + 1)
            if not self._takes(")"):
                raise invalid_pattern()
            return inner
        if self.kind != "selector":
            raise invalid_pattern()
        select = _selector(self.value)
        self.selectors.append(self.value)
        self._next()
        if self.kind == "word":
            return self._words(select)
        if self.kind != "mark" or self.value not in ("=", "!=", "<", "<=", ">", ">="):
            raise invalid_pattern()
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
        raise invalid_pattern()


def _symbols(text: str) -> Iterator[tuple[str | None, str]]:
    place, text = 0, text.rstrip()
    while place < len(text):
        found = _SYMBOL.match(text, place)
        if found is None or found.lastgroup is None:
            raise invalid_pattern()
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


def _comparison(operator: str, kind: str | None, wanted: str) -> _JsonTest:
    if kind not in ("text", "word", "regex"):
        raise invalid_pattern()
    if kind == "word":
        bound = number(wanted)
        if bound is not None:
            compare = NUMBERS[operator]
            return lambda value: _is_number(value) and compare(value, bound)
    if operator not in ("=", "!="):
        raise invalid_pattern()
    matches = regex(wanted) if kind == "regex" else wildcard(re.sub(r"\\(.)", r"\1", wanted))

    def test(value: Json) -> bool:
        if isinstance(value, (dict, list)) or value is None:
            return False
        text = value if isinstance(value, str) else orjson.dumps(value).decode()
        return matches(text) == (operator == "=")

    return test


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
