"""The language of the search box: plain text, or conditions on fields of an execution, and where they were met.

    order-7                                  any of name, input, output, error and cause has it, in any case
    input.order = "o-7"                      a field is this text, number, true, false or null
    input.customer.email ~ "hopper"          it, or anything in it, has this text, in any case; !~ it has not
    output.items[0].x > 3 and error = Busy   several conditions; [*] is any item or member

1. A text is conditions if it begins with `input` or `output` and a path or operator, or with `error`, `cause` or `name`
   and an operator; anything else, and what stands in quotes, is plain text.
2. A condition holds if any value at its path meets it; != and !~ need a value that is there.
3. `= 7` finds the number 7 and the text "7"; `= "7"` the text alone. Words need no quotes unless they have spaces.
4. Order is that of numbers between numbers, and of characters between texts.

Pure: it sees texts and values, and knows no store.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from statewright.errors import ApiError
from statewright.payload import Json, JsonTextError, dump_json, parse_json

JSON_FIELDS: Final = ("input", "output")
FIELDS: Final = ("name", "input", "output", "error", "cause")
MOST_CONDITIONS: Final = 20
AROUND: Final = 32
"""Characters shown before and after a match."""
_MOST_VALUES: Final = 200_000
_BEGINNING: Final = re.compile(
    r"\s*(?:(?:input|output)\s*(?:[.\[]|[=<>~]|!=|!~)|(?:error|cause|name)\s*(?:[=~]|!=|!~))"
)
_WORD: Final = re.compile(r"[^\s.\[\]=!~<>\"]+")
_OPERATOR: Final = re.compile(r"!=|!~|>=|<=|[=~<>]")
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_INDEX: Final = re.compile(r"\[(?:(\d{1,9})|(\*)|(\"(?:[^\"\\]|\\.)*\"))\]")
_SAFE: Final = re.compile(r"[a-z0-9 _.:@#$%&*()+,;!?~^|-]+")
"""Characters that stand as they are in a text within a text of JSON."""

Step = str | int | None
"""A member's name, an item's place, or any of them."""
Value = str | int | float | Decimal | bool | None


@dataclass(frozen=True, slots=True)
class Found:
    """The place where a query was met: a field with its path, and the text around the match."""

    where: str
    before: str
    match: str
    after: str


@dataclass(frozen=True, slots=True)
class Texts:
    """The searchable texts of an execution; `input` and `output` are JSON, and the last three may be missing."""

    name: str
    input: str
    output: str | None
    error: str | None
    cause: str | None

    def of(self, field: str) -> str | None:
        """One of them."""
        text: str | None = getattr(self, field)
        return text


@dataclass(frozen=True, slots=True)
class Condition:
    """`field path operator value`; `is_bare` marks a number that is also a text."""

    field: str
    path: tuple[Step, ...]
    operator: str
    value: Value
    literal: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """Plain text in lower case, or conditions that must all hold."""

    text: str = ""
    conditions: tuple[Condition, ...] = ()


class _Refused(Exception):
    def __init__(self, place: int, words: str) -> None:
        self.place = place
        self.words = words


def parse(text: str) -> Query:
    """The query of a text. Raises: ApiError (`BadQuery`), which names the place of the mistake, counted from 1."""
    if not _BEGINNING.match(text):
        plain = text.strip()
        quoted = _STRING.fullmatch(plain)
        return Query(text=(_string(plain, 0) if quoted else plain).lower())
    try:
        return Query(conditions=tuple(_conditions(text)))
    except _Refused as problem:
        place = min(problem.place, len(text)) + 1
        raise ApiError("BadQuery", f"At character {place}: {problem.words}") from None


def _conditions(text: str) -> Iterator[Condition]:
    at = count = 0
    while True:
        at, condition = _condition(text, at)
        yield condition
        count += 1
        at = _blank(text, at)
        if at == len(text):
            return
        joint = re.compile(r"and\b", re.IGNORECASE).match(text, at)
        if joint is None:
            raise _Refused(at, "`and` is expected here; texts with spaces need quotes.")
        if count == MOST_CONDITIONS:
            raise _Refused(at, f"there are more than {MOST_CONDITIONS} conditions.")
        at = joint.end()


def _condition(text: str, at: int) -> tuple[int, Condition]:
    at = _blank(text, at)
    word = _WORD.match(text, at)
    if word is None or word[0] not in FIELDS:
        raise _Refused(at, f"a field is expected here: {', '.join(FIELDS)}.")
    field, at = word[0], word.end()
    path: list[Step] = []
    while at < len(text) and text[at] in ".[":
        if field not in JSON_FIELDS:
            raise _Refused(at, f"{field} is a text, and has no members.")
        at, step = _step(text, at)
        path.append(step)
    at = _blank(text, at)
    found = _OPERATOR.match(text, at)
    if found is None:
        raise _Refused(
            at, "an operator is expected here: = != ~ !~ > >= < <=. Quotes around it all search for the text."
        )
    at = _blank(text, found.end())
    at, value, literal = _value(text, at, found[0])
    if found[0] in ("~", "!~"):
        value = (literal or str(value)).lower()
        if not value:
            raise _Refused(at - 1, f"{found[0]} needs a text that is not empty.")
    elif found[0][0] in "<>" and (value is None or isinstance(value, bool)):
        raise _Refused(at - 1, f"{found[0]} needs a number or a text.")
    return at, Condition(field, tuple(path), found[0], value, literal)


def _step(text: str, at: int) -> tuple[int, Step]:
    if text[at] == ".":
        word = _WORD.match(text, at + 1)
        if word is None:
            raise _Refused(at + 1, 'the name of a member is expected here; odd ones are written ["so"].')
        return word.end(), None if word[0] == "*" else word[0]
    found = _INDEX.match(text, at)
    if found is None:
        raise _Refused(at, '[0], [*] or ["name"] is expected here.')
    if found[1] is not None:
        return found.end(), int(found[1])
    return found.end(), None if found[2] else _string(found[3], at + 1)


def _value(text: str, at: int, operator: str) -> tuple[int, Value, str]:
    """The end of a value, the value, and its text if it was written without quotes."""
    if at == len(text):
        raise _Refused(at, f"a value is missing after {operator}.")
    if text[at] == '"':
        found = _STRING.match(text, at)
        if found is None:
            raise _Refused(at, "the quotes are not closed.")
        return found.end(), _string(found[0], at), ""
    word = re.compile(r"\S+").match(text, at)
    assert word is not None
    try:
        value = parse_json(word[0])
    except (JsonTextError, ValueError):
        value = word[0]
    if isinstance(value, (dict, list)):
        raise _Refused(at, "a text, a number, true, false or null is expected here.")
    return word.end(), value, word[0]


def _string(quoted: str, at: int) -> str:
    try:
        value: str = parse_json(quoted)
    except (JsonTextError, ValueError):
        raise _Refused(at, "these quotes hold no valid text of JSON.") from None
    return value


def _blank(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


# ---------------------------------------------------------------------- what a row must have


def needles(query: Query) -> list[tuple[str, bytes]]:
    """The bytes that a stored match must have, in lower case, as pairs of `head` or `tail`, or an empty text for
    either, and a needle. Rows without are passed over unread.
    """
    if query.text:
        return [("", _longest(query.text))]
    found: list[tuple[str, bytes]] = []
    for one in query.conditions:
        place = "head" if one.field in ("input", "name") else "tail"
        found += [(place, _longest(step.lower())) for step in one.path if isinstance(step, str)]
        if isinstance(one.value, str) and one.operator in ("=", "~"):
            found.append((place, _longest(one.value.lower())))
    return [(place, needle) for place, needle in found if needle]


def _longest(text: str) -> bytes:
    return max(_SAFE.findall(text), key=len, default="").encode()


# ---------------------------------------------------------------------- matching


def met(query: Query, texts: Texts) -> Found | None:
    """The place where an execution meets a query; `None` if it does not."""
    if not query.conditions:
        return _text_in(query.text, texts)
    first: Found | None = None
    for condition in query.conditions:
        found = _holds(condition, texts)
        if found is None:
            return None
        first = first or found
    return first


def _text_in(needle: str, texts: Texts) -> Found | None:
    for field in FIELDS:
        text = texts.of(field)
        if text is None:
            continue
        if field in JSON_FIELDS:
            found = _json_text_in(needle, field, text)
            if found is not None:
                return found
        elif needle in text.lower():
            return _around(field, text, needle)
    return None


def _json_text_in(needle: str, field: str, text: str) -> Found | None:
    is_there = needle in text.lower()
    if not is_there and "\\" not in text:
        return None
    # Letters may be written as escapes, and the match may be in a member's name or span several values.
    for where, value in _leaves(field, _parsed(text)):
        if needle in _words(value).lower():
            return _around(where, _words(value), needle, is_text=isinstance(value, str))
    return _around(field, text, needle) if is_there else None


def _holds(condition: Condition, texts: Texts) -> Found | None:
    text = texts.of(condition.field)
    if condition.field not in JSON_FIELDS:
        values: Iterator[tuple[str, Json]] = iter([(condition.field, text)])
    elif text is None:
        return None
    else:
        values = _at(condition.field, _parsed(text), condition.path)
    test = _TESTS[condition.operator]
    for where, value in values:
        if condition.operator in ("~", "!~"):
            found = _contains(condition, where, value)
            if found is not None:
                return found
        elif test(value, condition):
            words = _words(value)
            return Found(where, "", words[: 2 * AROUND], "…" if len(words) > 2 * AROUND else "")
    return None


def _contains(condition: Condition, where: str, value: Json) -> Found | None:
    needle = str(condition.value)
    holder = next(((at, leaf) for at, leaf in _leaves(where, value) if needle in _words(leaf).lower()), None)
    if condition.operator == "~":
        if holder is None or holder[1] is None:
            return None
        return _around(holder[0], _words(holder[1]), needle, is_text=isinstance(holder[1], str))
    return Found(where, _words(value)[:AROUND], "", "") if holder is None and value is not None else None


def _is(value: Json, condition: Condition) -> bool:
    wanted = condition.value
    if isinstance(wanted, bool) or wanted is None or isinstance(value, bool) or value is None:
        same = value is wanted
    elif isinstance(value, (dict, list)):
        return False
    elif isinstance(value, str) or isinstance(wanted, str):
        same = value == wanted
    else:
        same = _number(value) == _number(wanted)
    return same or (isinstance(value, str) and condition.literal == value)


def _differs(value: Json, condition: Condition) -> bool:
    return value is not None and not _is(value, condition)


def _compared(by: Callable[[Decimal | str, Decimal | str], bool]) -> Callable[[Json, Condition], bool]:
    def test(value: Json, condition: Condition) -> bool:
        wanted = condition.value
        if isinstance(value, str):
            return by(value, condition.literal or wanted) if isinstance(wanted, str) else False
        if isinstance(value, (bool, dict, list)) or value is None or isinstance(wanted, (str, bool)) or wanted is None:
            return False
        return by(_number(value), _number(wanted))

    return test


def _number(value: Json) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(str(value))


_TESTS: Final[dict[str, Callable[[Json, Condition], bool]]] = {
    "=": _is,
    "!=": _differs,
    "~": _is,
    "!~": _differs,
    ">": _compared(lambda one, other: one > other),  # type: ignore[operator]
    ">=": _compared(lambda one, other: one >= other),  # type: ignore[operator]
    "<": _compared(lambda one, other: one < other),  # type: ignore[operator]
    "<=": _compared(lambda one, other: one <= other),  # type: ignore[operator]
}


def _parsed(text: str) -> Json:
    try:
        return parse_json(text)
    except (JsonTextError, ValueError):
        # Redaction may have hidden it.
        return text


def _at(field: str, value: Json, path: Sequence[Step]) -> Iterator[tuple[str, Json]]:
    """The values at a path, with their own paths."""
    pending: list[tuple[str, Json, int]] = [(field, value, 0)]
    for _ in range(_MOST_VALUES):
        if not pending:
            return
        where, one, place = pending.pop()
        if place == len(path):
            yield where, one
            continue
        step = path[place]
        if step is None:
            pending += [(at, member, place + 1) for at, member in reversed(list(_members(where, one)))]
            continue
        is_there = step in one if isinstance(one, dict) else isinstance(one, list) and step in range(len(one))
        if is_there:
            pending.append((_below(where, step), one[step], place + 1))


def _leaves(field: str, value: Json) -> Iterator[tuple[str, Json]]:
    """The texts, numbers, booleans and nulls of a value, in their order."""
    pending: list[tuple[str, Json]] = [(field, value)]
    for _ in range(_MOST_VALUES):
        if not pending:
            return
        where, one = pending.pop()
        if isinstance(one, (dict, list)):
            pending += reversed(list(_members(where, one)))
        else:
            yield where, one


def _members(where: str, value: Json) -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict):
        return ((_below(where, name), member) for name, member in value.items())
    return ((_below(where, place), member) for place, member in enumerate(value if isinstance(value, list) else ()))


def _below(where: str, step: str | int) -> str:
    if len(where) > 200:
        return where if where.endswith("…") else where + "…"
    if isinstance(step, int):
        return f"{where}[{step}]"
    return f"{where}.{step}" if re.fullmatch(r"\w{1,60}", step) else f'{where}["{step[:60]}"]'


def _words(value: Json) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "{…}"
    if isinstance(value, list):
        return "[…]"
    return dump_json(value)


def _around(where: str, text: str, needle: str, *, is_text: bool = False) -> Found:
    """The match in its surroundings; quotes stand around a text of JSON."""
    lowered = text.lower()
    at = lowered.find(needle)
    end = at + len(needle)
    if len(lowered) != len(text):
        # Some letters are two in lower case.
        at, end = 0, min(len(text), AROUND)
    quote = '"' if is_text else ""
    before = text[max(0, at - AROUND) : at]
    after = text[end : end + AROUND]
    before = quote + before if at <= AROUND else "…" + before
    after = after + quote if end + AROUND >= len(text) else after + "…"
    return Found(where, before, text[at:end], after)
