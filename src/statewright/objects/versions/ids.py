"""Ids of versions as callers see them, and the result of a deletion.

An id is the version's number and a digest of it, so that an id that was never given out is known from one whose version
has been deleted. Numbers are given out once for all buckets (`vault`).

Source: user guide, "How S3 Versioning works", "Working with delete markers"; refusals observed.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Final

from statewright.objects import faults
from statewright.stores.object_rows import NULL_VERSION, ObjectRow

VERSIONING: Final = "versioning"
"""The subject among a bucket's settings; its value is `ENABLED` or `SUSPENDED`."""
ENABLED: Final = "Enabled"
SUSPENDED: Final = "Suspended"
NULL: Final = "null"
"""The id of the null version."""
_NUMBER_BYTES: Final = 8
_DIGEST_BYTES: Final = 16
_ALPHABET: Final = b"._"


@dataclass(frozen=True, slots=True)
class Deleted:
    """The ids of the version that a deletion deleted, and of the marker that it made or deleted."""

    version: str | None = None
    marker: str | None = None


def version_text(row: ObjectRow) -> str:
    """The id of a version."""
    return number_text(row.version) if row.named else NULL


def number_text(number: int) -> str:
    """The id of a version with a name, by its number."""
    digest = _digest(number)
    return base64.b64encode(digest + _mixed(number, digest).to_bytes(_NUMBER_BYTES), _ALPHABET).decode()


def known_number(text: str) -> int | None:
    """The number of a version by its id, or `NULL_VERSION`; `None` if no version can have this id."""
    if text == NULL:
        return NULL_VERSION
    try:
        found = base64.b64decode(text.encode("ascii"), _ALPHABET, validate=True)
    except ValueError:
        return None
    if len(found) != _DIGEST_BYTES + _NUMBER_BYTES:
        return None
    digest = found[:_DIGEST_BYTES]
    number = _mixed(int.from_bytes(found[_DIGEST_BYTES:]), digest)
    return number if digest == _digest(number) and number != NULL_VERSION else None


def version_number(text: str) -> int:
    """As `known_number`. Raises: ApiError (`InvalidArgument`)."""
    number = known_number(text)
    if number is None:
        raise faults.invalid_argument("Invalid version id specified", "versionId", text)
    return number


def _digest(number: int) -> bytes:
    return hashlib.blake2b(number.to_bytes(_NUMBER_BYTES), digest_size=_DIGEST_BYTES, person=b"object version").digest()


def _mixed(number: int, digest: bytes) -> int:
    return number ^ int.from_bytes(digest[:_NUMBER_BYTES])
