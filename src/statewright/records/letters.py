"""Names like those that the services make up."""

from __future__ import annotations

import base64
import hashlib


def letters(prefix: str, of: str, count: int) -> str:
    """A name like those that the service makes up: always the same for the same text."""
    drawn = base64.b32encode(hashlib.blake2b(of.encode(), digest_size=32).digest()).decode()
    return prefix + drawn[:count]
