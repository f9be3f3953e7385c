"""The timestamps of the language: the RFC 3339 profile that Wait and Choice read, and the form the service writes."""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from statewright.instants import iso_ms, iso_seconds

_TIMESTAMP: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()


def parse_timestamp(text: str) -> int | None:
    """Nanoseconds since the epoch, or None for text that is not a timestamp.

    Upper-case `T` and `Z`, or a numeric offset; a fraction of one to nine digits; a date that exists, and no leap
    second. Source: the language's RFC 3339 profile.
    """
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, sign, offset_hour, offset_minute = match.groups()
    try:
        days = date(int(year), int(month), int(day)).toordinal() - _EPOCH_DAY
    except ValueError:
        return None
    hours, minutes, seconds = int(hour), int(minute), int(second)
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    total = days * 86_400 + hours * 3_600 + minutes * 60 + seconds
    if sign:
        offset_hours, offset_minutes = int(offset_hour), int(offset_minute)
        if offset_hours > 23 or offset_minutes > 59:
            return None
        offset = offset_hours * 3_600 + offset_minutes * 60
        total += offset if sign == "-" else -offset
    return total * 1_000_000_000 + (int(fraction.ljust(9, "0")) if fraction else 0)


def format_timestamp(ms: int) -> str:
    """An instant in epoch milliseconds as `2024-05-01T10:00:00Z`, with three fractional digits unless they are zero.

    Source: the context object's times as documented.
    """
    return iso_ms(ms) if ms % 1_000 else iso_seconds(ms)
