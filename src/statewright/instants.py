"""Instants as services write them in text: RFC 3339 in UTC, to the second or the millisecond."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=64)
def second_text(seconds: int) -> str:
    """A second since the epoch without its zone: `2024-05-01T10:00:00`."""
    # An instant's neighbours share its second; the calendar is the slow part.
    return (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat(timespec="seconds")


def iso_seconds(at_ms: int) -> str:
    """`2024-05-01T10:00:00Z`; what is below a second is left out."""
    return f"{second_text(at_ms // 1000)}Z"


def iso_ms(at_ms: int, zone: str = "Z") -> str:
    """`2024-05-01T10:00:00.250Z`; `zone` is how UTC is written."""
    return f"{second_text(at_ms // 1000)}.{at_ms % 1000:03d}{zone}"
