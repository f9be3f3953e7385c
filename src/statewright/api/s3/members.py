"""Conversion between members of S3's requests and answers and the values of `objects`: settings, checksums, ETags."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from typing import Final
from urllib.parse import parse_qsl, quote, unquote

from statewright.api.operations import App
from statewright.errors import ApiError
from statewright.objects import faults
from statewright.objects.checksums import ALGORITHMS
from statewright.objects.conditions import ReadConditions
from statewright.objects.encryption import OWN
from statewright.objects.locks import UNLOCKED, Lock
from statewright.objects.names import checked_tags
from statewright.objects.records import STANDARD, Checksum, ObjectView, Part, Settings
from statewright.objects.versions.ids import NULL
from statewright.pages import PageTokens
from statewright.payload import JsonMapping, JsonObject

_HEADERS: Final = (
    "ContentType", "CacheControl", "ContentDisposition", "ContentEncoding", "ContentLanguage",
    "WebsiteRedirectLocation", "Expires",
)  # fmt: skip
_ENCRYPTION: Final = ("ServerSideEncryption", "SSEKMSKeyId", "SSEKMSEncryptionContext", "BucketKeyEnabled")
_ECHOED: Final = ("ServerSideEncryption", "SSEKMSKeyId", "BucketKeyEnabled")
_NOT_HERE: Final = {
    "SSECustomerAlgorithm": "encryption with a customer's key",
    "SSECustomerKey": "encryption with a customer's key",
    "CopySourceSSECustomerAlgorithm": "encryption with a customer's key",
    "ObjectLockEventHold": "event holds",
    "WriteOffsetBytes": "appending to objects",
    "MFA": "deleting with MFA",
    "GrantFullControl": "grants", "GrantRead": "grants", "GrantReadACP": "grants", "GrantWriteACP": "grants",
    "GrantWrite": "grants",
    "IfMatchLastModifiedTime": "this condition", "IfMatchSize": "this condition",
}  # fmt: skip
"""Members that ask for features that Statewright does not have."""
PRIVATE_ACLS: Final = ("private", "bucket-owner-full-control", "bucket-owner-read")
_MEMBER: Final = {name: f"Checksum{name}" for name in (*ALGORITHMS, "XXHASH64", "XXHASH3", "XXHASH128")}
DEFAULT_TYPE: Final = "binary/octet-stream"


def check_owner(app: App, request: JsonMapping) -> None:
    """Refuse missing features, and buckets of another owner. Raises: ApiError (`NotImplemented`, `AccessDenied`)."""
    for name, what in _NOT_HERE.items():
        if request.get(name):
            raise faults.not_here(f"This version of Statewright does not have {what} ({name}).")
    acl = request.get("ACL")
    if acl is not None and acl not in PRIVATE_ACLS:
        raise ApiError("AccessControlListNotSupported", "The bucket does not allow ACLs", status=400)
    for name in ("ExpectedBucketOwner", "ExpectedSourceBucketOwner"):
        expected = request.get(name)
        if expected is None or expected == app.config.account:
            continue
        if len(expected) != 12 or not expected.isdecimal():
            said = f"The value of the expected bucket owner parameter must be an AWS Account ID... [{expected}]"
            raise ApiError("InvalidBucketOwnerAWSAccountID", said, status=400)
        raise ApiError("AccessDenied", "Access Denied", status=403)


def settings_in(request: JsonMapping) -> Settings:
    """The settings of an object in a request. Raises: ApiError."""
    headers = {name: request[name] for name in _HEADERS if request.get(name)}
    encoding = [part.strip() for part in headers.get("ContentEncoding", "").split(",") if part.strip()]
    kept = ",".join(part for part in encoding if part != "aws-chunked")
    if "ContentEncoding" in headers:
        headers["ContentEncoding"] = kept
    if not kept:
        headers.pop("ContentEncoding", None)
    metadata = {name.lower(): value for name, value in (request.get("Metadata") or {}).items()}
    return Settings(
        headers,
        metadata,
        tags_in_header(request.get("Tagging")),
        request.get("StorageClass") or STANDARD,
        {name: str(request[name]) for name in _ENCRYPTION if request.get(name) is not None},
        _lock_in(request),
    )


def _lock_in(request: JsonMapping) -> Lock:
    mode, until_ms = request.get("ObjectLockMode"), request.get("ObjectLockRetainUntilDate")
    held = request.get("ObjectLockLegalHoldStatus")
    if mode is None and until_ms is None and held is None:
        return UNLOCKED
    return Lock(*retention_in(mode, until_ms), is_held=held == "ON")


def retention_in(mode: str | None, until_ms: int | None) -> tuple[str | None, int]:
    """The mode and the end of a retention. Raises: ApiError (`InvalidArgument`) for one without the other."""
    if (mode is None) != (until_ms is None):
        raise faults.invalid_argument(
            "x-amz-object-lock-retain-until-date and x-amz-object-lock-mode must both be supplied",
            "x-amz-object-lock-mode" if mode is None else "x-amz-object-lock-retain-until-date",
        )  # fmt: skip
    return mode, until_ms or 0


def tags_in_header(text: object) -> dict[str, str]:
    """Read tags from a header: `a=1&b=2`. Raises: ApiError (`InvalidArgument`, `InvalidTag`)."""
    if not isinstance(text, str) or not text:
        return {}
    pairs = parse_qsl(text, keep_blank_values=True)
    names = [name for name, _ in pairs]
    if not pairs or len(set(names)) != len(names):
        raise faults.invalid_argument(
            "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters without tag "
            "name duplicates.", "x-amz-tagging", text,
        )  # fmt: skip
    return checked_tags(pairs)


def settings_out(view: ObjectView) -> JsonObject:
    """The members of an answer that describe an object."""
    settings = view.settings
    found: JsonObject = {
        "AcceptRanges": "bytes",
        "LastModified": view.modified_ms,
        "ETag": quoted(view.etag),
        "ContentLength": view.size,
        "ContentType": DEFAULT_TYPE,
        **settings.headers,
        **encryption_out(settings.encryption),
    }
    found["Metadata"] = dict(settings.metadata)
    if settings.storage_class != STANDARD:
        found["StorageClass"] = settings.storage_class
    if settings.tags:
        found["TagCount"] = len(settings.tags)
    if settings.lock is not UNLOCKED:
        found |= _lock_out(settings.lock)
    return found


def _lock_out(lock: Lock) -> JsonObject:
    found: JsonObject = {"ObjectLockLegalHoldStatus": "ON" if lock.is_held else None}
    if lock.mode is not None:
        found |= {"ObjectLockMode": lock.mode, "ObjectLockRetainUntilDate": lock.until_ms}
    return found


def version_out(view: ObjectView) -> JsonObject:
    """The id of an object's version; nothing in a bucket that has never had versions."""
    return {"VersionId": view.version} if view.version is not None else {}


def named_version_out(view: ObjectView) -> JsonObject:
    """The id of a version that a write made; nothing for the null version."""
    return version_out(view) if view.row.named else {}


def source_version_out(version: str | None) -> JsonObject:
    """The id of the version that was copied; nothing for the null version."""
    return {"CopySourceVersionId": version} if version not in (None, NULL) else {}


def encryption_out(encryption: Mapping[str, str]) -> JsonObject:
    """The members of encryption, from those that an object or upload has; without any it is the service's own.

    Nothing is encrypted here: the operator of the server may encrypt its disks.
    """
    if not encryption:
        return {"ServerSideEncryption": OWN}
    found: JsonObject = {"ServerSideEncryption": OWN}
    found |= {name: encryption[name] for name in _ECHOED if name in encryption}
    if found.get("BucketKeyEnabled") is not None:
        found["BucketKeyEnabled"] = True if found["BucketKeyEnabled"] == "True" else None
    return found


def checksums_in(request: JsonMapping) -> dict[str, str]:
    """The checksums in a request, by algorithm."""
    return {name: request[member] for name, member in _MEMBER.items() if request.get(member)}


def checksum_out(checksum: Checksum | None) -> JsonObject:
    """The members of a checksum."""
    if checksum is None:
        return {}
    return {_MEMBER[checksum.algorithm]: checksum.value, "ChecksumType": checksum.kind}


def part_checksums_out(checksums: Mapping[str, str], only: str | None) -> dict[str, str]:
    """The member of a part's checksum of one algorithm; none without an algorithm."""
    return {_MEMBER[only]: checksums[only]} if only is not None and only in checksums else {}


def stored_part_out(part: Part, sent: str | None) -> JsonObject:
    """The members of an answer to the call that stored a part: its encryption, and its checksum of one algorithm.

    That is the one that came with the part, else its upload's; without either, none is shown.
    """
    assert part.upload is not None
    algorithm = sent if sent in part.checksums else part.upload.algorithm
    return {**part_checksums_out(part.checksums, algorithm), **encryption_out(part.upload.settings.encryption)}


def read_conditions(request: JsonMapping, *, of_copy: bool = False) -> ReadConditions:
    """The conditions on an object, or on the source of a copy."""
    prefix = "CopySource" if of_copy else ""
    return ReadConditions(
        request.get(f"{prefix}IfMatch"),
        request.get(f"{prefix}IfNoneMatch"),
        request.get(f"{prefix}IfModifiedSince"),
        request.get(f"{prefix}IfUnmodifiedSince"),
        of_copy,
    )


def copy_source(text: str) -> tuple[str, str, str | None]:
    """Bucket, key and version of a copy's source. Raises: ApiError (`InvalidArgument`)."""
    path, _, query = text.partition("?")
    bucket, slash, key = unquote(path).removeprefix("/").partition("/")
    if not bucket or not slash or not key:
        raise faults.invalid_argument("Invalid copy source object key", "x-amz-copy-source", text)
    if bucket.startswith("arn:"):
        raise faults.not_here("This version of Statewright does not have access points.")
    version = dict(parse_qsl(query)).get("versionId")
    return bucket, key, version


def quoted(etag: str) -> str:
    """An ETag with quotes, as in headers."""
    return f'"{etag}"'


def bare(etag: str) -> str:
    """An ETag without its quotes."""
    return etag.strip().removeprefix("W/").strip('"')


def encoded(text: str, encoding: str | None) -> str:
    """A key or prefix of a listing, escaped if the caller asks for it. Raises: ApiError (`InvalidArgument`)."""
    if encoding is None:
        return text
    if encoding != "url":
        raise faults.invalid_argument("Invalid Encoding Method specified in Request", "encoding-type", encoding)
    return quote(text, safe="/-_.~*")


def _no_token(_token: str) -> ApiError:
    return faults.invalid_argument("The continuation token provided is incorrect", "continuation-token")


TOKENS: Final = PageTokens[str]("s3", _no_token)
"""Page tokens; their positions are those of the store, a character for each byte."""


def owner(app: App) -> dict[str, str]:
    """The owner of all buckets and objects."""
    return {"ID": _canonical_id(app.config.account)}


def initiator(app: App) -> dict[str, str]:
    """The one who began an upload, who alone is shown with a name."""
    return {"ID": _canonical_id(app.config.account), "DisplayName": "statewright"}


@cache
def _canonical_id(account: str) -> str:
    return hashlib.sha256(account.encode()).hexdigest()


def page_size(request: JsonMapping, member: str, name: str) -> int:
    """The number of entries on a page, at most 1,000. Raises: ApiError (`InvalidArgument`)."""
    wanted = request.get(member)
    if wanted is None:
        return 1000
    if not 0 <= wanted < 2**31:
        raise faults.invalid_argument(f"Argument {name} must be an integer between 0 and 2147483647", name, wanted)
    return min(int(wanted), 1000)


def tag_set(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Tags in the form of answers."""
    return [{"Key": name, "Value": value} for name, value in tags.items()]


def tags_in(tagging: JsonMapping, *, of_bucket: bool = False) -> dict[str, str]:
    """Read tags from a body. Raises: ApiError (`InvalidTag`)."""
    pairs = [(one["Key"], one["Value"]) for one in tagging.get("TagSet", ())]
    return checked_tags(pairs, of_bucket=of_bucket)
