"""The methods of `java.lang.String` that templates may call.

Patterns of `replaceAll`, `replaceFirst`, `split` and `matches` are compiled by `query.linear_regex`, which takes time
in proportion to the text; what it does not support is refused. Lengths and indexes count characters, where Java
counts UTF-16 units.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from statewright.apis.templates.failures import RenderingFailed
from statewright.apis.templates.rendering import Rendering
from statewright.payload import Json
from statewright.query.linear_regex import LinearRegex, RegexSyntaxError, compile_regex

_SPECIAL: Final = frozenset(".[]{}()*+?^$|")
LONGEST_PATTERN: Final = 1_000
"""Characters of a regular expression. Ours."""

PATTERNED: Final = frozenset({"replaceAll", "replaceFirst", "split", "matches"})
"""The methods whose first argument is a regular expression."""


def check_pattern(pattern: str) -> None:
    """Raises: RegexSyntaxError for a pattern that no method takes."""
    if _literal(pattern) is None:
        _compiled(pattern)


def check_replacement(replacement: str) -> None:
    """Raises: RenderingFailed for a replacement that refers to groups."""
    _pieces(replacement)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> LinearRegex:
    if len(pattern) > LONGEST_PATTERN:
        raise RegexSyntaxError(f"The regular expression has more than {LONGEST_PATTERN} characters", LONGEST_PATTERN)
    return compile_regex(pattern)


def _literal(pattern: str) -> str | None:
    """The text that a pattern without operators matches; None for every other pattern."""
    if _SPECIAL.isdisjoint(pattern) and "\\" not in pattern:
        return pattern
    found: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 1
            char = pattern[at : at + 1]
            if not char or (char.isascii() and char.isalnum()):
                return None
        elif char in _SPECIAL:
            return None
        found.append(char)
        at += 1
    return "".join(found)


def _pieces(replacement: str) -> list[str | None]:
    """The parts of a replacement; None stands for the match."""
    if "\\" not in replacement and "$" not in replacement:
        return [replacement]
    pieces: list[str | None] = []
    at = 0
    while at < len(replacement):
        char = replacement[at]
        following = replacement[at + 1 : at + 2]
        if char == "$":
            if following != "0":
                raise RenderingFailed("a replacement refers to a group other than $0; write \\$ for a dollar sign")
            pieces.append(None)
            at += 2
            continue
        if char == "\\":
            if not following:
                raise RenderingFailed("a replacement ends in a backslash; write \\\\ for one")
            at += 1
            char = following
        pieces.append(char)
        at += 1
    return pieces


def _regex(run: Rendering, pattern: str) -> LinearRegex:
    run.spend(20 + len(pattern))
    try:
        return _compiled(pattern)
    except RegexSyntaxError as error:
        raise RenderingFailed(f"the pattern {pattern[:60]!r}: {error}") from None


def _strings(*values: Json) -> bool:
    return all(value.__class__ is str for value in values)


def _needs(*values: Json) -> None:
    """Raises: RenderingFailed for null where Java throws."""
    if any(value is None for value in values):
        raise RenderingFailed("null is given to a method of a text")


def _replace(run: Rendering, text: str, old: Json, new: Json) -> Json:
    _needs(old, new)
    if not _strings(old, new):
        return None
    return _replaced(run, text, old, new, -1)


def _replaced(run: Rendering, text: str, old: str, new: str, most: int) -> str:
    run.spend(len(text) // 64)
    count = text.count(old) if most < 0 else min(most, text.count(old))
    run.spend_text(len(text) + count * (len(new) - len(old)), 2)
    return text.replace(old, new, most)


def _replace_all(run: Rendering, text: str, pattern: Json, new: Json, most: int = -1) -> Json:
    _needs(pattern, new)
    if not _strings(pattern, new):
        return None
    pieces = _pieces(new)
    literal = _literal(pattern)
    if literal is not None and None not in pieces:
        return _replaced(run, text, literal, "".join(piece or "" for piece in pieces), most)
    found: list[str] = []
    end = 0
    for start, after in _matches(run, text, _regex(run, pattern), most):
        one = "".join(text[start:after] if piece is None else piece for piece in pieces)
        run.spend_text(start - end + len(one))
        found += (text[end:start], one)
        end = after
    run.spend_text(len(text) - end)
    found.append(text[end:])
    whole = "".join(found)
    run.spend_text(len(whole))
    return whole


def _matches(run: Rendering, text: str, regex: LinearRegex, most: int) -> list[tuple[int, int]]:
    """The matches from left to right, `most` of them unless it is negative."""
    found: list[tuple[int, int]] = []
    at = 0
    while at <= len(text) and len(found) != most:
        match = regex.find(text, at, run.spend)
        if match is None:
            break
        found.append(match)
        at = match[1] if match[1] > match[0] else match[1] + 1
    return found


def _replace_first(run: Rendering, text: str, pattern: Json, new: Json) -> Json:
    return _replace_all(run, text, pattern, new, 1)


def _split(run: Rendering, text: str, pattern: Json, limit: Json = 0) -> Json:
    from statewright.apis.templates.values import Items

    _needs(pattern)
    if not _strings(pattern) or limit.__class__ is not int:
        return None
    run.spend_text(len(text), 2)
    literal = _literal(pattern)
    most = limit - 1 if limit > 0 else -1
    if literal:
        run.spend(text.count(literal))
        parts = text.split(literal, most)
    else:
        parts, end = [], 0
        for start, after in _matches(run, text, _regex(run, pattern), -1):
            # An empty match at the start makes no empty part, and none at the end.
            if (after == start and start in (0, len(text))) or len(parts) == most:
                continue
            parts.append(text[end:start])
            end = after
        parts.append(text[end:])
    if limit == 0:
        while len(parts) > 1 and not parts[-1]:
            parts.pop()
        if parts == [""] and text:
            parts = []
    return Items(parts)


def _matches_whole(run: Rendering, text: str, pattern: Json) -> Json:
    _needs(pattern)
    if not _strings(pattern):
        return None
    run.spend(len(text) // 8)
    return _regex(run, pattern).fullmatch(text, run.spend)


def _substring(run: Rendering, text: str, start: Json, end: Json = None) -> Json:
    end = len(text) if end is None else end
    if start.__class__ is not int or end.__class__ is not int:
        return None
    if not 0 <= start <= end <= len(text):
        raise RenderingFailed(f"substring({start}, {end}) is out of bounds for a text of {len(text)} characters")
    run.spend_text(end - start)
    return text[start:end]


def _index(run: Rendering, text: str, wanted: Json, start: Json = 0) -> Json:
    _needs(wanted)
    if not _strings(wanted) or start.__class__ is not int:
        return None
    run.spend(len(text) // 64)
    return text.find(wanted, max(0, start))


def _last_index(run: Rendering, text: str, wanted: Json) -> Json:
    _needs(wanted)
    run.spend(len(text) // 64)
    return text.rfind(wanted) if _strings(wanted) else None


def _char_at(_run: Rendering, text: str, index: Json) -> Json:
    if index.__class__ is not int:
        return None
    if not 0 <= index < len(text):
        raise RenderingFailed(f"index {index} is out of bounds for a text of {len(text)} characters")
    return text[index]


def _contains(run: Rendering, text: str, wanted: Json) -> Json:
    _needs(wanted)
    run.spend(len(text) // 64)
    return wanted in text if _strings(wanted) else None


def _starts(_run: Rendering, text: str, wanted: Json) -> Json:
    _needs(wanted)
    return text.startswith(wanted) if _strings(wanted) else None


def _ends(_run: Rendering, text: str, wanted: Json) -> Json:
    _needs(wanted)
    return text.endswith(wanted) if _strings(wanted) else None


def _equals_ignoring_case(run: Rendering, text: str, other: Json) -> Json:
    run.spend(len(text) // 32)
    return _strings(other) and len(text) == len(other) and text.lower() == other.lower()


def _compare(run: Rendering, text: str, other: Json) -> Json:
    _needs(other)
    run.spend(len(text) // 64)
    return (text > other) - (text < other) if _strings(other) else None


def _concat(run: Rendering, text: str, other: Json) -> Json:
    _needs(other)
    if not _strings(other):
        return None
    run.spend_text(len(text) + len(other))
    return text + other


def _mapped(change: Callable[[str], str]) -> Callable[[Rendering, str], Json]:
    def call(run: Rendering, text: str) -> Json:
        run.spend_text(len(text), 2)
        return change(text)

    return call


def _trim(text: str) -> str:
    return text.strip("".join(map(chr, range(33))))


def _value_of(run: Rendering, _: str, value: Json) -> Json:
    from statewright.apis.templates.values import text_of

    return "null" if value is None else text_of(value, run)


METHODS: Final[dict[str, tuple[int, int, Callable[..., Json]]]] = {
    "length": (0, 0, lambda _, text: len(text)),
    "isEmpty": (0, 0, lambda _, text: not text),
    "substring": (1, 2, _substring),
    "indexOf": (1, 2, _index),
    "lastIndexOf": (1, 1, _last_index),
    "charAt": (1, 1, _char_at),
    "contains": (1, 1, _contains),
    "startsWith": (1, 1, _starts),
    "endsWith": (1, 1, _ends),
    "equalsIgnoreCase": (1, 1, _equals_ignoring_case),
    "compareTo": (1, 1, _compare),
    "concat": (1, 1, _concat),
    "toLowerCase": (0, 0, _mapped(str.lower)),
    "toUpperCase": (0, 0, _mapped(str.upper)),
    "trim": (0, 0, _mapped(_trim)),
    "replace": (2, 2, _replace),
    "replaceAll": (2, 2, _replace_all),
    "replaceFirst": (2, 2, _replace_first),
    "split": (1, 2, _split),
    "matches": (1, 1, _matches_whole),
    "valueOf": (1, 1, _value_of),
}
"""By name: fewest and most arguments, and the function of rendering, text and arguments."""
