"""JSON text and values: reading, writing, and a value that caches its own text.

orjson is the fast path. A text with an integer of 19 or more digits, or a value that orjson refuses (integers over
64 bits, more than 254 levels), goes through the standard `json`, so numbers round-trip and key order is kept.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final, NoReturn

import orjson

from statewright.errors import DATA_LIMIT, RUNTIME, ExecutionFailure

Json = Any
"""A JSON value: None, a bool, an int, a float, a str, or a list or dict of these. mypy has no recursive checks that
are worth their casts here, so it is `Any` by name."""

JsonObject = dict[str, Json]
"""A JSON object, its members in order."""

JsonMapping = Mapping[str, Json]
"""A JSON object that is only read."""

MAX_DEPTH: Final = 500
"""Deepest nesting of a JSON value that is read or written. Source: ours; the service's own parser stops at 1,000."""

MOST_DIGITS: Final = 1_000
"""Digits of an integer: reading many takes time that grows with their square. Source: the service's own parser."""
MOST_CHARACTERS: Final = 64 * 1024 * 1024
"""The longest JSON text that an expression may make of its data, also where no limit applies. Ours: a second's work."""
_ROOM: Final = 8
"""Characters that one member or element counts for, beside its text."""

_LONG_INTEGER = re.compile(rb"\d{19}")
_NO_DICT_OR_LIST = (str, int, float, bool, type(None))


class JsonTextError(ValueError):
    """A text that is not JSON. `line` and `column` count from 1."""

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


def _refuse_constant(name: str) -> NoReturn:
    raise JsonTextError(f"{name} is not a JSON value")


def _exact_integer(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise JsonTextError(f"an integer of more than {MOST_DIGITS} digits")
    return int(digits)


def parse_json(text: str | bytes, *, max_depth: int = MAX_DEPTH) -> Json:
    """Read one JSON value; integers of any size stay exact.

    Raises: JsonTextError for anything that is not JSON: NaN, lone surrogates, nesting over `max_depth`, bad UTF-8.
    """
    raw = text if isinstance(text, bytes) else _utf8(text)
    if _LONG_INTEGER.search(raw) is not None:
        return _parse_exactly(raw, max_depth)
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as problem:
        if "depth limit" in problem.msg.lower() or "recursion" in problem.msg.lower():
            raise JsonTextError(f"nested deeper than {max_depth} levels") from None
        raise JsonTextError(problem.msg, problem.lineno, problem.colno) from None
    if len(raw) > 2 * max_depth and _may_be_too_deep(raw, max_depth) and _too_deep(value, max_depth):
        raise JsonTextError(f"nested deeper than {max_depth} levels")
    return value


def json_or_text(text: str) -> Json:
    """The value of a JSON text; any other text as it is."""
    try:
        return parse_json(text)
    except JsonTextError:
        return text


def join_surrogates(text: str) -> str:
    r"""Join each pair of surrogates written as `\uXXXX` escapes into one character; a lone half stays."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as problem:
        raise JsonTextError(f"lone surrogate at character {problem.start}") from None


def _parse_exactly(raw: bytes, max_depth: int) -> Json:
    try:
        # Text, not bytes: `json` would take other encodings than UTF-8, and a byte order mark.
        value = json.loads(raw.decode(), parse_constant=_refuse_constant, parse_int=_exact_integer)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except json.JSONDecodeError as problem:
        raise JsonTextError(problem.msg, problem.lineno, problem.colno) from None
    except RecursionError:
        raise JsonTextError(f"nested deeper than {max_depth} levels") from None
    except (UnicodeError, ValueError) as problem:
        if isinstance(problem, JsonTextError):
            raise
        raise JsonTextError(str(problem)) from None
    if _may_be_too_deep(raw, max_depth) and _too_deep(value, max_depth):
        raise JsonTextError(f"nested deeper than {max_depth} levels")
    return value


def _may_be_too_deep(raw: bytes, max_depth: int) -> bool:
    return raw.count(b"[") + raw.count(b"{") > max_depth


def _too_deep(value: Json, max_depth: int) -> bool:
    level: list[Json] = [value]
    for _ in range(max_depth):
        deeper: list[Json] = []
        for item in level:
            if isinstance(item, dict):
                deeper.extend(v for v in item.values() if not isinstance(v, _NO_DICT_OR_LIST))
            elif isinstance(item, list):
                deeper.extend(v for v in item if not isinstance(v, _NO_DICT_OR_LIST))
        if not deeper:
            return False
        level = deeper
    return True


def size_of(value: Json, most: int = MOST_CHARACTERS) -> int:
    """About the characters of a value's JSON text, at a cost in proportion; more than `most` for all that is longer.

    Values share structure, so that a small one may have a very long text.
    """
    size = 0
    pending = [value]
    while pending and size <= most:
        item = pending.pop()
        if isinstance(item, dict):
            size += sum(map(len, item)) + _ROOM * len(item)
            pending.extend(item.values())
        elif isinstance(item, list):
            size += _ROOM * len(item)
            pending.extend(item)
        elif isinstance(item, str):
            size += len(item)
    return size


def too_large() -> ExecutionFailure:
    """The failure of a value whose text would be over `MOST_CHARACTERS`."""
    return ExecutionFailure(DATA_LIMIT, f"A value would have more than {MOST_CHARACTERS} characters of JSON text.")


def dump_json(value: Json, *, max_depth: int = MAX_DEPTH) -> str:
    """Write a value as compact JSON text.

    Raises: ExecutionFailure (`States.Runtime`) for a value that JSON cannot carry, or that nests over `max_depth`.
    """
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return _dump_exactly(value, max_depth)


def _dump_exactly(value: Json, max_depth: int) -> str:
    # What is written must be readable again.
    if _too_deep(value, max_depth):
        raise ExecutionFailure(RUNTIME, f"A value is nested deeper than {max_depth} levels.")
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        text.encode()
    except UnicodeEncodeError:
        raise ExecutionFailure(RUNTIME, "A string holds a lone surrogate, which JSON text cannot carry.") from None
    except (TypeError, ValueError) as problem:
        raise ExecutionFailure(RUNTIME, f"A value cannot be written as JSON: {problem}.") from None
    return text


def embedded(text: str) -> object:
    """JSON text that `dump_row` inserts unchanged, without parsing it."""
    return orjson.Fragment(text)


def dump_row(fields: list[object]) -> bytes:
    """Write a stored row, an array of plain values and `embedded` texts."""
    return orjson.dumps(fields)


class Payload:
    """A JSON value with its text, size and hash, each made at most once.

    States pass payloads on, so that limits, history and stored frames share one encoding.
    """

    __slots__ = ("_digest", "_size_bytes", "_text", "value")

    def __init__(self, value: Json, text: str | None = None, digest: bytes | None = None) -> None:
        self.value = value
        self._text = text
        self._size_bytes = -1
        self._digest = digest

    @classmethod
    def from_text(cls, text: str) -> Payload:
        """Read a text that is known to be JSON; the text is normalised when it is next written.

        Raises: JsonTextError.
        """
        return cls(parse_json(text))

    @property
    def text(self) -> str:
        """Compact JSON text. Raises: ExecutionFailure for a value that JSON cannot carry."""
        text = self._text
        if text is None:
            try:
                raw = orjson.dumps(self.value)
                self._size_bytes = len(raw)
                text = raw.decode()
            except TypeError:
                text = _dump_exactly(self.value, MAX_DEPTH)
            self._text = text
        return text

    @property
    def size_bytes(self) -> int:
        """Length of the text in UTF-8."""
        size = self._size_bytes
        if size < 0:
            text = self.text
            size = self._size_bytes
            if size < 0:
                size = self._size_bytes = len(text) if text.isascii() else len(text.encode())
        return size

    @property
    def digest(self) -> bytes:
        """16 bytes that name the text (BLAKE2b-128)."""
        if self._digest is None:
            self._digest = hashlib.blake2b(self.text.encode(), digest_size=16).digest()
        return self._digest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Payload) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Payload({self.text[:80]})"
