"""Rules on the names of buckets and keys, and on the tags and metadata of objects.

Source: user guide, "General purpose bucket naming rules", "Naming Amazon S3 objects", "Categorizing your objects using
tags".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from statewright.errors import ApiError
from statewright.limits import BUCKET_TAGS, OBJECT_KEY_BYTES, OBJECT_METADATA_BYTES, OBJECT_TAGS
from statewright.objects import faults
from statewright.tags import is_reserved

_BUCKET: Final = re.compile(r"(?=.{3,63}\Z)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
_ADDRESS: Final = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){3}")
_RESERVED_STARTS: Final = ("xn--", "sthree-")
_RESERVED_ENDS: Final = ("-s3alias", "--ol-s3", ".mrap", "--x-s3", "--table-s3")
_TAG: Final = re.compile(r"[\w \-.:/=+@]*")
_TAG_NAME_CHARACTERS: Final = 128
_TAG_VALUE_CHARACTERS: Final = 256


def is_bucket_name(name: str) -> bool:
    """True if a bucket may have this name."""
    return (
        _BUCKET.fullmatch(name) is not None
        and _ADDRESS.fullmatch(name) is None
        and not name.startswith(_RESERVED_STARTS)
        and not name.endswith(_RESERVED_ENDS)
    )


def check_bucket_name(name: str) -> None:
    """Refuse a name that no bucket may have. Raises: ApiError (`InvalidBucketName`)."""
    if not is_bucket_name(name):
        raise faults.invalid_bucket_name(name)


def key_bytes(key: str) -> bytes:
    """A key as it is stored and sorted.

    Raises: ApiError (`KeyTooLongError`, `InvalidArgument` for a key that is empty or not Unicode).
    """
    try:
        found = key.encode()
    except UnicodeEncodeError:
        raise faults.invalid_argument("Invalid Key: it is not valid UTF-8", "Key", repr(key)) from None
    if not found:
        raise faults.invalid_argument("Object key cannot be empty", "Key", "")
    if len(found) > OBJECT_KEY_BYTES:
        raise faults.key_too_long(len(found), OBJECT_KEY_BYTES)
    return found


def check_metadata(metadata: Mapping[str, str]) -> None:
    """Refuse user-defined metadata that is too long. Raises: ApiError (`MetadataTooLarge`)."""
    size = sum(len(name.encode()) + len(value.encode()) for name, value in metadata.items())
    if size > OBJECT_METADATA_BYTES:
        raise faults.metadata_too_large(size, OBJECT_METADATA_BYTES)


def checked_tags(pairs: Sequence[tuple[str, str]], *, of_bucket: bool = False) -> dict[str, str]:
    """Tags by name.

    Raises: ApiError (`InvalidTag`, `BadRequest` for too many).
    """
    most = BUCKET_TAGS if of_bucket else OBJECT_TAGS
    if len(pairs) > most:
        whose = "Bucket" if of_bucket else "Object"
        raise ApiError("BadRequest", f"{whose} tags cannot be greater than {most}", status=400)
    found: dict[str, str] = {}
    for name, value in pairs:
        if name in found:
            raise _invalid_tag("Cannot provide multiple Tags with the same key", name)
        if not name or len(name) > _TAG_NAME_CHARACTERS or not _TAG.fullmatch(name):
            raise _invalid_tag("The TagKey you have provided is invalid", name)
        if len(value) > _TAG_VALUE_CHARACTERS or not _TAG.fullmatch(value):
            raise _invalid_tag("The TagValue you have provided is invalid", name, value)
        if is_reserved(name):
            system = "System tags cannot be added/updated by requester"
            raise _invalid_tag(system if of_bucket else "Your TagKey cannot be prefixed with aws:", name)
        found[name] = value
    return found


def _invalid_tag(message: str, name: str, value: str | None = None) -> ApiError:
    details = {"TagKey": name} if value is None else {"TagKey": name, "TagValue": value}
    return ApiError("InvalidTag", message, status=400, details=details)
