"""Bounds on the work that reading a request may cost: long bodies are read in a thread, and dense ones are refused.

A parser in C holds the interpreter until it is done, so the cost of JSON is estimated before it is parsed: ten
megabytes of text are harmless, ten megabytes of empty lists are not. Owns the estimate and its limit. Lengths of lists
are left to the service models, those of bodies to `service.py`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Final, TypeVar, TypeVarTuple

from statewright.errors import ApiError

T = TypeVar("T")
Given = TypeVarTuple("Given")

LONG_BYTES: Final = 256 * 1024
"""A longer body is read in a thread."""
MOST_COST: Final = 100_000
"""Microseconds, roughly, on a machine of 2020."""

_COSTS: Final = ((b",", 25), (b":", 250), (b"[", 150), (b"{", 150))
"""Nanoseconds for each: a plain value, a member with a name of its own, a list, an object."""
_SHORT_BYTES: Final = 64 * 1024
_PART_BYTES: Final = 256 * 1024
_STRING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_MOST_CBOR_HEADS: Final = 300_000
_NO_HEADS: Final = bytes(byte for byte in range(256) if not 0x80 <= byte <= 0xBF)


async def apart(size: int, function: Callable[[*Given], T], *given: *Given) -> T:
    """Call a function, in a thread if the body that it works on has `size` bytes and is long."""
    if size <= LONG_BYTES:
        return function(*given)
    return await asyncio.to_thread(function, *given)


def refuse_dense_json(body: bytes, most: int = MOST_COST) -> None:
    """Refuse JSON whose values would take more than so many microseconds to build, by a cautious estimate.

    Raises: ApiError (`SerializationException`).
    """
    if is_dense_json(body, most):
        raise ApiError(
            "SerializationException",
            "The request has more values than Statewright reads in one request; send it in parts.",
        )


def is_dense_json(body: bytes, most: int) -> bool:
    """True if the values of JSON may take more than so many microseconds to build."""
    if len(body) <= _SHORT_BYTES or _cost(body) <= most:
        return False
    # Most of it may be inside texts: a definition, an input, a message.
    cost, place = 0, 0
    while place < len(body):
        end = place + _PART_BYTES
        part, place = _without_strings(body, place, end)
        cost += _cost(part)
        if cost > most:
            return True
    return False


def refuse_dense_cbor(body: bytes) -> None:
    """Refuse CBOR that may hold too many lists and maps. Raises: ApiError (`SerializationException`)."""
    if len(body) > _MOST_CBOR_HEADS and len(body.translate(None, _NO_HEADS)) > _MOST_CBOR_HEADS:
        raise ApiError("SerializationException", "The request has more lists and maps than Statewright reads at once.")


def _cost(text: bytes) -> int:
    return sum(text.count(mark) * nanoseconds for mark, nanoseconds in _COSTS) // 1_000


def _without_strings(body: bytes, start: int, end: int) -> tuple[bytes, int]:
    """A part of a JSON text without its strings, and the place where it ends, outside of every string."""
    kept = []
    place = start
    while place < end:
        opened = body.find(b'"', place, end)
        if opened < 0:
            kept.append(body[place:end])
            return b"".join(kept), end
        kept.append(body[place:opened])
        found = _STRING.match(body, opened)
        if found is None:
            # No JSON: the parser says where.
            return b"".join(kept), len(body)
        place = found.end()
    return b"".join(kept), place
