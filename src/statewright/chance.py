"""Chance, injected: ids, seeds and names come from the operating system, or from a seed where a run must repeat.

Which of the two is a context variable, so that it follows a system's tasks and timers, and two systems of one process
have chance of their own. What protects something (leases, keys, signatures) is no business of this module.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from contextvars import ContextVar

_DRAW: ContextVar[Callable[[int], bytes]] = ContextVar("statewright.chance", default=os.urandom)


def random_bytes(count: int) -> bytes:
    """So many bytes that nobody foresees, or those that the seed has next."""
    return _DRAW.get()(count)


def uuid4() -> str:
    """A version 4 UUID in its usual text form."""
    raw = bytearray(_DRAW.get()(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def sow(seed: int) -> None:
    """Let a seed decide, for the present context and every task and timer that is started in it."""
    _DRAW.set(random.Random(seed).randbytes)
