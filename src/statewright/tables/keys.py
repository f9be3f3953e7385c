"""Keys as bytes that sort as the values they encode: texts by UTF-8, numbers by size, bytes by bytes.

The key of a partition begins with a hash of its value: a scan meets partitions in the order of the hash, and a segment
of a parallel scan is a range of hashes. Encoded values mark their own end, so that others may follow.
"""

from __future__ import annotations

from base64 import b64decode
from decimal import Decimal
from typing import Final
from zlib import crc32

from statewright.stores.table_protocol import BEHIND_ALL
from statewright.tables.values import Value

_TEXT: Final = b"\x03"
_BYTES: Final = b"\x04"
_NEGATIVE: Final = b"\x10"
_ZERO: Final = b"\x20"
_POSITIVE: Final = b"\x30"
_END: Final = b"\x00\x01"
_EXPONENT_BASE: Final = 512
_COMPLEMENT: Final = bytes(range(255, -1, -1))
_HASHES: Final = 2**32
BEHIND_PARTS: Final = b"\xff" * 5
"""Sorts behind every partition's key."""


def encoded(value: Value) -> bytes:
    """The key of a text, number or bytes."""
    kind = next(iter(value))
    if kind == "S":
        return _TEXT + _escaped(value["S"].encode("utf-8", "surrogatepass")) + _END
    if kind == "B":
        return _BYTES + _escaped(b64decode(value["B"])) + _END
    return _number(value["N"])


def beginning(value: Value) -> bytes:
    """The common beginning of the encodings of all texts or bytes that begin with this one."""
    return encoded(value)[: -len(_END)]


def behind(prefix: bytes) -> bytes:
    """The first key behind all keys with this prefix."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else BEHIND_ALL


def part_key(*values: Value) -> bytes:
    """The key of a partition: of one value, or of several in an index whose key has several."""
    plain = encoded(values[0]) if len(values) == 1 else b"".join(map(encoded, values))
    return _mixed(crc32(plain)).to_bytes(4, "big") + plain


def segment(number: int, total: int) -> tuple[bytes, bytes]:
    """The first key of a segment of all partitions, and the key behind its last."""
    low = -(-number * _HASHES // total)
    high = -(-(number + 1) * _HASHES // total)
    return low.to_bytes(4, "big"), high.to_bytes(4, "big") if high < _HASHES else BEHIND_PARTS


def _mixed(number: int) -> int:
    """Spread the checksums of similar keys; the result is the same on every machine."""
    number = (number ^ (number >> 16)) * 0x85EBCA6B & 0xFFFFFFFF
    number = (number ^ (number >> 13)) * 0xC2B2AE35 & 0xFFFFFFFF
    return number ^ (number >> 16)


def _escaped(raw: bytes) -> bytes:
    return raw.replace(b"\x00", b"\x00\xff") if b"\x00" in raw else raw


def _number(text: str) -> bytes:
    sign, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    plain = bytes(48 + digit for digit in digits).rstrip(b"0")
    if not plain:
        return _ZERO
    stripped = plain.lstrip(b"0")
    scale = exponent + len(digits) - (len(plain) - len(stripped)) - 1
    body = (scale + _EXPONENT_BASE).to_bytes(2, "big") + stripped + b"\x00"
    return _NEGATIVE + body.translate(_COMPLEMENT) if sign else _POSITIVE + body
