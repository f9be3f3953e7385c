"""Values of buckets, objects, parts and uploads, without their bytes, and their encoding in rows.

Owns the text of `head` columns; stores keep them as opaque bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson

from statewright.formats import FORMAT as MEMBER
from statewright.formats import members_in
from statewright.objects.locks import UNLOCKED, Lock, lock_of
from statewright.objects.versions.ids import ENABLED, VERSIONING, version_text
from statewright.payload import JsonMapping, JsonObject
from statewright.stores.object_rows import BucketRow, ObjectRow, SegmentRow, UploadRow

FORMAT: Final = 3
"""The newest format of these rows: 2 is that of buckets with an account, 3 that of heads with a lock, which an older
program would not heed; all others have 1."""
STANDARD: Final = "STANDARD"
FULL_OBJECT: Final = "FULL_OBJECT"
COMPOSITE: Final = "COMPOSITE"
EUROPE: Final = "eu-west-1"


@dataclass(frozen=True, slots=True)
class Checksum:
    """A checksum as the service writes it: base64, for `COMPOSITE` followed by `-` and the number of parts."""

    algorithm: str
    value: str
    kind: str = FULL_OBJECT


@dataclass(frozen=True, slots=True)
class Settings:
    """An object's properties, set by its uploader. `headers` are by member name (`ContentType`, `CacheControl` ...).

    `metadata` are the user's own headers by lower-case name without `x-amz-meta-`. `encryption` has members that
    are only returned: bytes are stored as they were received. `lock` protects a version in a bucket with Object Lock.
    """

    headers: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    storage_class: str = STANDARD
    encryption: Mapping[str, str] = field(default_factory=dict)
    lock: Lock = UNLOCKED


PLAIN: Final = Settings()


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket. `region` is the one its creator asked for; all are on this machine."""

    id: int
    name: str
    created_ms: int
    region: str
    tags: Mapping[str, str] = field(default_factory=dict)
    settings: JsonMapping = field(default_factory=dict)
    """Its settings by subject (`bucket_settings`), with the members of the service's requests."""
    account: str = ""
    """The account that has it; empty for the default one."""

    @property
    def place(self) -> str:
        """The name of its region, which may have been asked for by its old name, `EU`."""
        return EUROPE if self.region == "EU" else self.region

    @property
    def is_versioned(self) -> bool:
        """True if the bucket keeps versions of objects, or has kept them."""
        return VERSIONING in self.settings

    @property
    def keeps_versions(self) -> bool:
        """True if a write keeps the object that it replaces, under the name of its version."""
        return self.settings.get(VERSIONING) == ENABLED


@dataclass(frozen=True, slots=True)
class ObjectView:
    """An object or version without its bytes. `etag` is without quotes; `parts` counts those of a multipart upload,
    else 0. `version` is its id, `None` where the bucket has never had versions."""

    id: int
    bucket: str
    key: str
    size: int
    etag: str
    modified_ms: int
    settings: Settings
    checksum: Checksum | None
    parts: int
    version: str | None
    row: ObjectRow
    """The row it was read from."""
    source_version: str | None = None
    """Of a copy just made: the id of the version that was copied."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a multipart upload or of the object it became. `checksums` are base64 by algorithm."""

    number: int
    size: int
    etag: str
    modified_ms: int
    checksums: Mapping[str, str]
    row: SegmentRow
    upload: Upload | None = None
    """Its upload, in the answer to the call that stored it."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A multipart upload in progress. `algorithm` is `None` if its creator named none."""

    id: int
    bucket: str
    key: str
    created_ms: int
    settings: Settings
    algorithm: str | None
    kind: str
    seen: int | None
    """Id of the object under the key when the upload began, or `NO_OBJECT`; `None` in rows of older versions."""
    row: UploadRow


def bucket_row(bucket: Bucket) -> BucketRow:
    """The row of a bucket."""
    body: JsonObject = {"region": bucket.region, "tags": dict(bucket.tags)}
    if bucket.settings:
        body["settings"] = dict(bucket.settings)
    if bucket.account:
        # A program that knows one account must not give it to that one.
        body |= {MEMBER: 2, "account": bucket.account}
    return BucketRow(bucket.id, bucket.name, bucket.created_ms, orjson.dumps(body))


def bucket_of(row: BucketRow) -> Bucket:
    """A bucket from its row."""
    body = members_in(row.body, f"bucket {row.name}", FORMAT)
    settings, account = body.get("settings", {}), body.get("account", "")
    return Bucket(row.id, row.name, row.created_ms, body["region"], body["tags"], settings, account)


def object_head(settings: Settings, checksum: Checksum | None, parts: int = 0) -> bytes:
    """The head of an object's row; members with their default value are left out."""
    head = _settings_json(settings)
    if checksum is not None:
        head["sum"] = [checksum.algorithm, checksum.value, checksum.kind]
    if parts:
        head["parts"] = parts
    return orjson.dumps(head)


def object_of(bucket: Bucket, row: ObjectRow) -> ObjectView:
    """An object from its row."""
    head = members_in(row.head, "the head of an object", FORMAT)
    found = head.get("sum")
    return ObjectView(
        row.id,
        bucket.name,
        row.key.decode(),
        row.size,
        row.etag,
        row.modified_ms,
        _settings_of(head),
        Checksum(*found) if found else None,
        head.get("parts", 0),
        version_text(row) if bucket.is_versioned else None,
        row,
    )


def part_head(etag: str, modified_ms: int, checksums: Mapping[str, str]) -> bytes:
    """The head of a part's row."""
    return orjson.dumps([etag, modified_ms, dict(checksums)])


def part_of(row: SegmentRow) -> Part:
    """A part from its row."""
    etag, modified_ms, checksums = orjson.loads(row.head)
    return Part(row.number, row.size, etag, modified_ms, checksums, row)


def upload_head(settings: Settings, algorithm: str | None, kind: str, seen: int) -> bytes:
    """The head of a multipart upload's row."""
    return orjson.dumps({**_settings_json(settings), "algorithm": algorithm, "kind": kind, "seen": seen})


def upload_of(bucket: str, row: UploadRow) -> Upload:
    """A multipart upload from its row."""
    head = members_in(row.head, "the head of a multipart upload", FORMAT)
    key = row.key.decode()
    return Upload(
        row.id, bucket, key, row.created_ms, _settings_of(head), head["algorithm"], head["kind"], head.get("seen"), row
    )


def _settings_json(settings: Settings) -> JsonObject:
    found: JsonObject = {
        "headers": dict(settings.headers),
        "metadata": dict(settings.metadata),
        "tags": dict(settings.tags),
        "encryption": dict(settings.encryption),
        "class": settings.storage_class if settings.storage_class != STANDARD else "",
        "lock": settings.lock.json() if settings.lock is not UNLOCKED else None,
    }
    shown = {name: value for name, value in found.items() if value}
    return {MEMBER: FORMAT, **shown} if "lock" in shown else shown


def _settings_of(head: JsonMapping) -> Settings:
    if len(head) == 1 and "sum" in head:
        # Most objects have none: lists are quicker by this.
        return PLAIN
    return Settings(
        head.get("headers", {}),
        head.get("metadata", {}),
        head.get("tags", {}),
        head.get("class", STANDARD),
        head.get("encryption", {}),
        lock_of(head["lock"]) if "lock" in head else UNLOCKED,
    )
