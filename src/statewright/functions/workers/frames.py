"""Frames of a worker as the server reads them: their form, their longest length, and the buffer they arrive in.

A handler shares its process with the runtime that writes the frames, so it can write any bytes. Nothing here trusts
them: memory grows with what has arrived, never with a length that a frame claims, and each header is checked before
`worker.py` acts on it.

A frame is `u32 length of the rest | u32 length of the header | header (JSON) | body`. Bodies are never parsed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

import orjson

from statewright.limits import FUNCTION_RESPONSE_BYTES
from statewright.payload import JsonMapping, JsonObject

LONGEST_HEADER: Final = 4_096
"""Longest header of a frame from a worker; those of the runtimes have a hundred bytes."""
LONGEST_FRAME: Final = 8 + LONGEST_HEADER + FUNCTION_RESPONSE_BYTES
"""Longest frame from a worker. The runtimes report a result that does not fit as `too_long`, without its body."""
READ_BYTES: Final = 65_536

_HEAD: Final = struct.Struct(">II")
_MEMBERS: Final[dict[str, dict[str, type]]] = {
    "ready": {},
    "failed": {},
    "result": {"id": str, "peak_kib": int},
    "error": {"id": str, "peak_kib": int},
    "too_long": {"id": str, "peak_kib": int},
    "now": {},
    "sleep_until": {"due_ms": int},
}
"""Kinds of frames from workers, with the members of their headers."""
_MOST: Final = 1 << 53


class BrokenFrame(Exception):
    """Raised for bytes that are no frame of a runtime; the text says why."""


def frame(header: bytes, body: bytes) -> bytes:
    """A frame for a worker; the header is JSON."""
    return _HEAD.pack(4 + len(header) + len(body), len(header)) + header + body


def header_of(text: bytes) -> JsonMapping:
    """The header of a frame from a worker. Raises: BrokenFrame."""
    try:
        header: JsonObject = orjson.loads(text)
        members = _MEMBERS[header["t"]]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise BrokenFrame(f"the header {text[:100]!r} is not one of a runtime") from None
    for name, kind in members.items():
        value = header.get(name)
        if type(value) is not kind or (isinstance(value, int) and not -_MOST < value < _MOST):
            raise BrokenFrame(f"the header {text[:100]!r} has no proper member {name!r}")
    return header


class FrameBuffer:
    """The bytes of one worker that are not yet a complete frame."""

    def __init__(self) -> None:
        self._buffer = bytearray(READ_BYTES)
        self.filled = 0
        """Number of bytes of the incomplete frame."""

    def space(self) -> memoryview:
        """Room for the next bytes; never empty."""
        return memoryview(self._buffer)[self.filled :]

    def added(self, count: int) -> Iterator[tuple[bytes, bytes]]:
        """Headers and bodies of the frames that are complete with `count` more bytes. Raises: BrokenFrame."""
        self.filled += count
        buffer = self._buffer
        at = 0
        while self.filled - at >= 8:
            total, head = _HEAD.unpack_from(buffer, at)
            if head > LONGEST_HEADER or head + 4 > total or total + 4 > LONGEST_FRAME:
                raise BrokenFrame(f"a frame of {total} bytes with a header of {head}")
            end = at + 4 + total
            if end > self.filled:
                break
            view = memoryview(buffer)
            header = view[at + 8 : at + 8 + head].tobytes()
            body = view[at + 8 + head : end].tobytes()
            view.release()
            at = end
            yield header, body
        self._keep(at)

    def _keep(self, at: int) -> None:
        """Move the incomplete frame to the front, and make room for more of it."""
        buffer, left = self._buffer, self.filled - at
        if left == len(buffer):
            grown = bytearray(min(2 * left, LONGEST_FRAME))
            grown[:left] = buffer
            self._buffer = grown
        elif not left and len(buffer) > READ_BYTES:
            self._buffer = bytearray(READ_BYTES)
        elif left and at:
            buffer[:left] = buffer[at : self.filled]
        self.filled = left
