"""Patterns for space-delimited lines: `[ip, user, status = 4*, ..., bytes > 1000]`.

Owns their syntax, and the fields of a line. Source: CloudWatch Logs user guide, "Filter pattern syntax".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from statewright.records.log_comparisons import compare, invalid_pattern

REST: Final = "..."
_FIELD: Final = re.compile(r'"((?:[^"\\]|\\.)*)"|\[([^\]]*)\]|(\S+)')
_NAME: Final = re.compile(r"\s*([A-Za-z_]\w*)\s*")
_CONDITION: Final = re.compile(
    r'\s*([A-Za-z_]\w*)\s*(!=|<=|>=|=|<|>)\s*(?:"((?:[^"\\]|\\.)*)"|%([^%]*)%|([^\s&|,]+))\s*', re.DOTALL
)
_SPLIT: Final = re.compile(r'"(?:[^"\\]|\\.)*"|%[^%]*%|,')


@dataclass(frozen=True, slots=True)
class _Column:
    """A field of the pattern; `test` is None if any value will do."""

    name: str
    test: Callable[[str], bool] | None = None


class SpacePattern:
    """A compiled pattern. `names` are those of its fields."""

    def __init__(self, text: str) -> None:
        parts = _parts(text)
        if parts.count(REST) > 1:
            raise invalid_pattern()
        at = parts.index(REST) if REST in parts else len(parts)
        self._has_rest = REST in parts
        self._first = [_column(part, place) for place, part in enumerate(parts[:at], 1)]
        self._last = [_column(part, at + place) for place, part in enumerate(parts[at + 1 :], 2)]
        self.names: Final[Sequence[str]] = [one.name for one in (*self._first, *self._last)]

    def fields(self, message: str) -> Mapping[str, str] | None:
        """The fields of a line that matches, by name; None for one that does not."""
        words = [next(group for group in found.groups() if group is not None) for found in _FIELD.finditer(message)]
        count = len(self._first) + len(self._last)
        if len(words) < count or (len(words) > count and not self._has_rest):
            return None
        ends = words[len(words) - len(self._last) :] if self._last else []
        found: dict[str, str] = {}
        for column, word in (*zip(self._first, words, strict=False), *zip(self._last, ends, strict=True)):
            if column.test is not None and not column.test(word):
                return None
            found[column.name] = word
        return found


def _parts(text: str) -> list[str]:
    """The fields between the brackets, separated by commas outside quotes."""
    parts, start = [], 0
    for found in _SPLIT.finditer(text):
        if found[0] == ",":
            parts.append(text[start : found.start()].strip())
            start = found.end()
    parts.append(text[start:].strip())
    return parts


def _column(part: str, place: int) -> _Column:
    if not part:
        return _Column(str(place))
    if _NAME.fullmatch(part):
        return _Column(part.strip())
    any_of: list[list[Callable[[str], bool]]] = [[]]
    name, at = "", 0
    while True:
        found = _CONDITION.match(part, at)
        if found is None or (name and found[1] != name):
            raise invalid_pattern()
        name = found[1]
        any_of[-1].append(_test(found))
        at = found.end()
        if at == len(part):
            break
        mark = part[at : at + 2]
        if mark not in ("&&", "||"):
            raise invalid_pattern()
        if mark == "||":
            any_of.append([])
        at += 2
    return _Column(name, lambda word: any(all(test(word) for test in tests) for tests in any_of))


def _test(found: re.Match[str]) -> Callable[[str], bool]:
    _, operator, quoted, regex, word = found.groups()
    if quoted is not None:
        return compare(operator, "text", quoted)
    return compare(operator, "regex", regex) if regex is not None else compare(operator, "word", word)
