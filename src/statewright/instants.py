"""Instants and durations as text: RFC 3339 in UTC and HTTP dates, as services write them, and lengths of time as users
do.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DURATION_PART = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)(ms|s|m|h|d)")
_UNIT_MS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_LONGEST_DURATION_MS: Final = 100 * 366 * 86_400_000


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


def http_date(at_ms: int) -> str:
    """`Wed, 01 May 2024 10:00:00 GMT`; what is below a second is left out. Source: RFC 9110, section 5.6.7."""
    at = _EPOCH + timedelta(seconds=at_ms // 1000)
    return f"{_DAYS[at.weekday()]}, {at.day:02d} {_MONTHS[at.month - 1]} {at.year:04d} {at:%H:%M:%S} GMT"


def parse_duration_ms(value: str | float) -> int:
    """Read a duration as users write it: `250ms`, `1.5s`, `2m`, `1h30m`, `7d`; a number counts seconds.

    Raises: ValueError, with a sentence for the author of the setting.
    """
    if isinstance(value, str):
        text = value.strip()
        parts = _DURATION_PART.findall(text)
        if not parts or "".join(number + unit for number, unit in parts) != text:
            raise ValueError(f"'{value}' is not a length of time: write it like 250ms, 1.5s, 2m, 1h30m or 7d")
        milliseconds = sum(float(number) * _UNIT_MS[unit] for number, unit in parts)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        milliseconds = value * 1000
    else:
        raise ValueError(f"{value!r} is not a length of time: write it like 250ms, 1.5s, 2m, 1h30m or 7d")
    if not 0 <= milliseconds <= _LONGEST_DURATION_MS:
        raise ValueError(f"{value} is not a length of time between 0 and 100 years")
    return round(milliseconds)
