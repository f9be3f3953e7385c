"""Conditional requests on objects, and ranges of their bytes.

Source: RFC 9110, "Conditional Requests" and "Range Requests"; service API reference of GetObject and PutObject.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from statewright.errors import ApiError
from statewright.objects import faults
from statewright.stores.object_rows import Demand

_RANGE: Final = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")
_COPY_RANGE: Final = re.compile(r"bytes=([0-9]{1,18})-([0-9]{1,18})")


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

    def check(self, etag: str, modified_ms: int, now_ms: Callable[[], int]) -> None:
        """Refuse an object for which they do not hold. An instant in the future says nothing.

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
        header = None
        if self.none_match is not None and _names(self.none_match, etag):
            header = "If-None-Match"
        elif self.modified_since_ms is not None and (self.none_match is None or self.of_copy):
            is_past = self.modified_since_ms // 1000 <= now_ms() // 1000
            header = "If-Modified-Since" if is_past and seconds <= self.modified_since_ms // 1000 else None
        if header is None:
            return
        if self.of_copy:
            raise faults.precondition_failed(prefix + header)
        raise faults.not_modified(etag, modified_ms)


ANYWAY: Final = ReadConditions()


def write_demand(match: str | None, none_match: str | None) -> Demand:
    """The demand on the object under a key that is written, from `If-Match` and `If-None-Match`.

    Raises: ApiError (`NotImplemented` for values that the service does not support, and for both).
    """
    if match is not None and none_match is not None:
        raise faults.header_not_implemented(
            "If-Match,If-None-Match", "Multiple conditional request headers present in the request"
        )
    if none_match is not None:
        if none_match.strip() != "*":
            raise _unsupported("If-None-Match")
        return Demand(absent=True)
    if match is not None and match.strip() == "*":
        raise _unsupported("If-Match")
    return delete_demand(match)


def delete_demand(match: str | None) -> Demand:
    """The demand on an object that is deleted, from `If-Match`: an ETag, or `*` for any."""
    return Demand() if match is None else Demand(etag=match.strip().strip('"') or "*")


def _unsupported(header: str) -> ApiError:
    return faults.header_not_implemented(header, f"We don't accept the provided value of {header} header for this API")


def check_copy_range(wanted: str, size: int) -> None:
    """Refuse a range of a source that does not name bytes of it. Raises: ApiError."""
    found = _COPY_RANGE.fullmatch(wanted)
    if found is None or int(found[2]) < int(found[1]):
        raise faults.invalid_argument(
            "The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the "
            "zero-based offsets of the first and last bytes to copy", "x-amz-copy-source-range", wanted,
        )  # fmt: skip
    if int(found[1]) >= size:
        raise faults.invalid_request("The specified copy range is invalid for the source object size")
    if int(found[2]) >= size:
        said = f"Range specified is not valid for source object of size: {size}"
        raise faults.invalid_argument(said, "x-amz-copy-source-range", wanted)


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
