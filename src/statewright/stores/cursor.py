"""Where a list goes on: the place of the last entry that was given out, as bytes for callers to hand back."""

from __future__ import annotations

import struct
from typing import Final

_PLACE: Final = struct.Struct(">qq")


NO_TIMER: Final = (-(2**63), 0, 0)
"""A place before every timer: (due, execution, timer)."""


def pack_cursor(started_ms: int, execution: int) -> bytes:
    """The place of an execution in a list by start."""
    return _PLACE.pack(started_ms, execution)


def unpack_cursor(cursor: bytes) -> tuple[int, int]:
    """The place that a cursor names.

    Raises: ValueError when the bytes are no cursor.
    """
    if len(cursor) != _PLACE.size:
        raise ValueError("these bytes are no cursor of a list of executions")
    started_ms, execution = _PLACE.unpack(cursor)
    return started_ms, execution
