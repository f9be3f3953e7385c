"""Chance, injected: ids, seeds and names come from the operating system, or from a seed where a run must repeat.

A context variable selects the source, so that it follows a system's tasks and timers, and two systems of one process
draw independently. Secrets (leases, keys) come from `secret_bytes`, which no seed affects. The only module that may
import `random`, `secrets` or `uuid`, or call `os.urandom`; `tests/architecture` enforces it.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
Draws = random.Random
"""A sequence of draws, as functions take it as an argument."""

_DRAW: ContextVar[Callable[[int], bytes]] = ContextVar("statewright.chance", default=os.urandom)
_SEED: ContextVar[int | None] = ContextVar("statewright.chance.seed", default=None)


def random_bytes(count: int) -> bytes:
    """So many unforeseeable bytes, or the next ones of the seed."""
    return _DRAW.get()(count)


def random_bits(count: int) -> int:
    """A non-negative integer of so many random bits."""
    return int.from_bytes(_DRAW.get()((count + 7) // 8), "big") >> -count % 8


def uuid4() -> str:
    """A version 4 UUID in its usual text form."""
    return uuid_of(_DRAW.get()(16))


def uuid_of(digest: bytes) -> str:
    """The 16 bytes in the form of a version 4 UUID: the same bytes, the same text."""
    raw = bytearray(digest)
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def uuid_of_name(name: str) -> str:
    """The version 5 UUID of a name in the namespace of URLs. Source: RFC 9562, section 5.5."""
    import uuid

    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


def draws_of(seed: int | str) -> Draws:
    """The draws of a given seed, independent of the context's."""
    return random.Random(seed)


def secret_bytes(count: int) -> bytes:
    """So many bytes from the operating system, with or without a seed."""
    return os.urandom(count)


def sow(seed: int) -> None:
    """Draw from a seed in the present context and every task and timer that is started in it."""
    _SEED.set(seed)
    _DRAW.set(random.Random(seed).randbytes)


def apart(name: str, work: Callable[[], T]) -> T:
    """Do work that draws from the seed and a name, if there is a seed: independently of all other draws.

    To be run in a context of its own, which tasks and timers that it starts share.
    """
    seed = _SEED.get()
    if seed is not None:
        _DRAW.set(random.Random(f"{seed} {name}").randbytes)
    return work()
