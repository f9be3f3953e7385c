"""CBOR as service protocols use it: values to bytes and back.

Owns the encoding alone; which members a message has is up to `rpc_cbor.py`. Reads what RFC 8949 has but for its rarer
tags and simple values; writes definite lengths, doubles and integers. Instants are wrapped in `Instant` when written,
and read as epoch seconds.

Source: RFC 8949; smithy.protocols#rpcv2Cbor.
"""

from __future__ import annotations

import struct
from typing import Any, Final, NamedTuple

from statewright.payload import Json

DEEPEST: Final = 64
"""Levels of lists and maps; service models have far fewer."""

_INSTANT_TAG: Final = 1
_BREAK: Final = object()
_FLOATS: Final = {25: ">e", 26: ">f", 27: ">d"}
_SIZES: Final = {24: ">B", 25: ">H", 26: ">I", 27: ">Q"}
_SIMPLE: Final = {20: False, 21: True, 22: None, 23: None}


class CborError(ValueError):
    """Bytes that are no CBOR, or none that is read here."""


class Instant(NamedTuple):
    """An instant, to be written as such."""

    seconds: float


def decode(content: bytes) -> Json:
    """The one value that bytes are; byte strings stay bytes.

    Raises: CborError.
    """
    reader = _Reader(content)
    try:
        value = reader.value(0)
    except (IndexError, struct.error):
        raise CborError("the text ends in the middle of a value") from None
    except (UnicodeDecodeError, TypeError) as problem:
        raise CborError(str(problem)) from None
    if value is _BREAK or reader.place != len(content):
        raise CborError("there is more than one value")
    return value


class _Reader:
    """Reads values one after the other."""

    __slots__ = ("_content", "place")

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.place = 0

    def value(self, depth: int) -> Any:
        if depth > DEEPEST:
            raise CborError(f"values are more than {DEEPEST} levels deep")
        initial = self._content[self.place]
        self.place += 1
        major, info = initial >> 5, initial & 31
        if major == 7:
            return self._simple(info)
        if info == 31:
            return self._indefinite(major, depth)
        size = self._size(info)
        if major == 0:
            return size
        if major == 1:
            return -1 - size
        if major in (2, 3):
            found = self._take(size)
            return found if major == 2 else found.decode()
        if major == 4:
            return [self._element(depth) for _ in range(self._counted(size))]
        if major == 5:
            return {self._key(depth): self._element(depth) for _ in range(self._counted(size))}
        return self._tagged(size, depth)

    def _size(self, info: int) -> int:
        if info < 24:
            return info
        layout = _SIZES.get(info)
        if layout is None:
            raise CborError(f"a length of the unknown kind {info}")
        (size,) = struct.unpack_from(layout, self._content, self.place)
        self.place += struct.calcsize(layout)
        found: int = size
        return found

    def _counted(self, size: int) -> int:
        """How many elements: no more than there are bytes left."""
        if size > len(self._content) - self.place:
            raise CborError("the text ends in the middle of a value")
        return size

    def _take(self, size: int) -> bytes:
        found = self._content[self.place : self.place + size]
        if len(found) < size:
            raise CborError("the text ends in the middle of a value")
        self.place += size
        return found

    def _element(self, depth: int) -> Any:
        found = self.value(depth + 1)
        if found is _BREAK:
            raise CborError("a break where a value should be")
        return found

    def _key(self, depth: int) -> str:
        found = self._element(depth)
        if not isinstance(found, str):
            raise CborError("a key that is no text")
        return found

    def _indefinite(self, major: int, depth: int) -> Any:
        if major not in (2, 3, 4, 5):
            raise CborError("a length without end where there must be one")
        found: list[Any] = []
        while (one := self.value(depth + 1)) is not _BREAK:
            found.append(one if major != 5 else (self._is_key(one), self._element(depth)))
        if major == 5:
            return dict(found)
        if major == 4:
            return found
        return b"".join(found) if major == 2 else "".join(found)

    def _is_key(self, found: Any) -> str:
        if not isinstance(found, str):
            raise CborError("a key that is no text")
        return found

    def _simple(self, info: int) -> Any:
        if info == 31:
            return _BREAK
        layout = _FLOATS.get(info)
        if layout is not None:
            (found,) = struct.unpack_from(layout, self._content, self.place)
            self.place += struct.calcsize(layout)
            return found
        if info not in _SIMPLE:
            raise CborError(f"a simple value of the unknown kind {info}")
        return _SIMPLE[info]

    def _tagged(self, tag: int, depth: int) -> Any:
        found = self._element(depth)
        if tag == _INSTANT_TAG:
            if isinstance(found, bool) or not isinstance(found, (int, float)):
                raise CborError("an instant that is no number")
            return found
        if tag in (2, 3) and isinstance(found, bytes):
            number = int.from_bytes(found, "big")
            return number if tag == 2 else -1 - number
        raise CborError(f"a value of the unknown kind {tag}")


def encode(value: Any) -> bytes:
    """A value as bytes; floats are doubles, `Instant` is an instant."""
    out: list[bytes] = []
    _write(out, value)
    return b"".join(out)


def _write(out: list[bytes], value: Any) -> None:
    if isinstance(value, str):
        text = value.encode("utf-8", "backslashreplace")
        out += (_head(3, len(text)), text)
    elif isinstance(value, bool):
        out.append(b"\xf5" if value else b"\xf4")
    elif value is None:
        out.append(b"\xf6")
    elif isinstance(value, int):
        out.append(_head(0, value) if value >= 0 else _head(1, -1 - value))
    elif isinstance(value, float):
        out.append(struct.pack(">Bd", 0xFB, value))
    elif isinstance(value, bytes):
        out += (_head(2, len(value)), value)
    elif isinstance(value, Instant):
        out.append(struct.pack(">BBd", 0xC1, 0xFB, value.seconds))
    elif isinstance(value, dict):
        out.append(_head(5, len(value)))
        for key, one in value.items():
            _write(out, key)
            _write(out, one)
    else:
        out.append(_head(4, len(value)))
        for one in value:
            _write(out, one)


def _head(major: int, size: int) -> bytes:
    if size < 24:
        return bytes((major << 5 | size,))
    for info, layout in _SIZES.items():
        if size < 1 << 8 * struct.calcsize(layout):
            return bytes((major << 5 | info,)) + struct.pack(layout, size)
    raise OverflowError("an integer of more than 64 bits")
