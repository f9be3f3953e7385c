"""Generated names like those of the services."""

from __future__ import annotations

import base64
import hashlib


def generated_name(prefix: str, of: str, count: int) -> str:
    """Generate a name as the service does; it is the same for the same text."""
    drawn = base64.b32encode(hashlib.blake2b(of.encode(), digest_size=32).digest()).decode()
    return prefix + drawn[:count]
