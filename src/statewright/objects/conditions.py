"""Conditional requests on objects, and ranges of their bytes.

Source: RFC 9110, "Conditional Requests" and "Range Requests"; service API reference of GetObject and PutObject.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from statewright.objects import faults
from statewright.stores.object_rows import Demand

_RANGE: Final = re.compile(r"bytes=(\d*)-(\d*)")


@dataclass(frozen=True, slots=True)
class ReadConditions:
    """Conditions on reading; ETags as the request has them, quoted or not.

    `of_copy` is for conditions on the source of a copy, whose headers have a prefix.
    """

    match: str | None = None
    none_match: str | None = None
    modified_since_ms: int | None = None
    unmodified_since_ms: int | None = None
    of_copy: bool = False

    def check(self, etag: str, modified_ms: int) -> None:
        """Refuse an object for which they do not hold.

        Raises: ApiError (`PreconditionFailed`, `NotModified`; for a copy always the first).
        """
        prefix = "x-amz-copy-source-" if self.of_copy else ""
        # Headers carry whole seconds.
        seconds = modified_ms // 1000
        if self.match is not None:
            if not _names(self.match, etag):
                raise faults.precondition_failed(prefix + "If-Match")
        elif self.unmodified_since_ms is not None and seconds > self.unmodified_since_ms // 1000:
            raise faults.precondition_failed(prefix + "If-Unmodified-Since")
        if self.none_match is not None:
            unchanged, header = _names(self.none_match, etag), "If-None-Match"
        else:
            unchanged = self.modified_since_ms is not None and seconds <= self.modified_since_ms // 1000
            header = "If-Modified-Since"
        if unchanged:
            if self.of_copy:
                raise faults.precondition_failed(prefix + header)
            raise faults.not_modified(etag, modified_ms)


ANYWAY: Final = ReadConditions()


def write_demand(match: str | None, none_match: str | None) -> Demand:
    """The demand on the current object under a key, from `If-Match` and `If-None-Match`.

    Raises: ApiError (`NotImplemented` for a header value that the service does not support, `InvalidRequest` for both).
    """
    if match is not None and none_match is not None:
        raise faults.invalid_request("If-Match and If-None-Match cannot be given together.")
    if none_match is not None:
        if none_match.strip() != "*":
            raise faults.not_here("A header you provided implies functionality that is not implemented: If-None-Match")
        return Demand(absent=True)
    if match is not None:
        return Demand(etag=match.strip().strip('"') or "*")
    return Demand()


def byte_range(wanted: str | None, size: int) -> tuple[int, int] | None:
    """First and last byte of a `Range` header; `None` for the whole object, also if the header is malformed.

    Raises: ApiError (`InvalidRange`) when the object has none of these bytes.
    """
    parts = _RANGE.fullmatch(wanted.strip()) if wanted else None
    if wanted is None or parts is None or (not parts[1] and not parts[2]):
        return None
    if not parts[1]:
        length = min(int(parts[2]), size)
        if length == 0:
            raise faults.invalid_range(wanted, size)
        return size - length, size - 1
    first = int(parts[1])
    last = min(int(parts[2]), size - 1) if parts[2] else size - 1
    if parts[2] and int(parts[2]) < first:
        return None
    if first >= size:
        raise faults.invalid_range(wanted, size)
    return first, last


def _names(header: str, etag: str) -> bool:
    return any(
        given == "*" or given.removeprefix("W/").strip('"') == etag for given in (t.strip() for t in header.split(","))
    )
