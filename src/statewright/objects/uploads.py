"""Multipart uploads: parts that arrive in any order, and the object that they become without being copied.

Owns the service's rules on parts, the ETag `md5-N` and checksums over parts. The parts' files stay where they are; the
object is their sequence.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from statewright.limits import LISTED_AT_ONCE, OBJECT_BYTES, OBJECT_PUT_BYTES, SMALLEST_PART_BYTES, UPLOAD_PARTS
from statewright.objects import faults
from statewright.objects.checksums import DEFAULT, KINDS, check_algorithm, of_parts
from statewright.objects.intake import NOTHING_PROMISED, Body, Promise, Received, discard, receive
from statewright.objects.names import check_metadata, key_bytes
from statewright.objects.notifications import COMPLETED
from statewright.objects.records import (
    Bucket,
    Checksum,
    ObjectView,
    Part,
    Settings,
    Upload,
    object_head,
    object_of,
    part_head,
    part_of,
    upload_head,
    upload_of,
)
from statewright.objects.state import ObjectState
from statewright.stores.completion import Completion, if_made
from statewright.stores.object_rows import (
    ABOVE_ALL,
    IN_SEGMENTS,
    NO_OBJECT,
    Demand,
    Missing,
    ObjectRow,
    SegmentRow,
    UploadRow,
    Written,
    if_written,
)

ID_PREFIX: Final = "sw"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A part as the call that completes an upload names it. `etag` is without quotes."""

    number: int
    etag: str
    checksums: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UploadPage:
    """A page of uploads in progress, by key and then by age; prefixes stand for all keys below them."""

    uploads: list[Upload]
    prefixes: list[str]
    last: tuple[str, str] | None
    """Key (or prefix) and upload id behind which the next page begins; `None` at the end."""


def upload_text(number: int) -> str:
    """The id of an upload as callers see it."""
    return f"{ID_PREFIX}{number:x}"


def upload_number(text: str) -> int:
    """An upload's id. Raises: ApiError (`NoSuchUpload`)."""
    try:
        found = int(text.removeprefix(ID_PREFIX), 16) if text.startswith(ID_PREFIX) else -1
    except ValueError:
        found = -1
    if not 0 <= found < 2**63 or upload_text(found) != text:
        raise faults.no_such_upload(text)
    return found


class Uploads:
    """The multipart uploads of one server."""

    def __init__(self, state: ObjectState) -> None:
        self._state = state

    async def create(
        self,
        bucket: str,
        key: str,
        *,
        settings: Settings,
        algorithm: str | None = None,
        kind: str | None = None,
        completion: Completion[Upload] | None = None,
    ) -> Upload:
        """Begin an upload.

        Raises: ApiError (`NoSuchBucket`, `InvalidRequest` for a kind of checksum that its algorithm lacks).
        """
        home = await self._state.bucket(bucket)
        name = key_bytes(key)
        check_metadata(settings.metadata)
        if algorithm is not None:
            check_algorithm(algorithm)
        if kind is not None and algorithm is None:
            raise faults.invalid_request(
                "The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header."
            )
        kinds = KINDS[algorithm or DEFAULT]
        if kind is not None and kind not in kinds:
            raise faults.invalid_request(
                f"The {kind} checksum type cannot be used with the {(algorithm or DEFAULT).lower()} checksum algorithm."
            )
        number = await self._state.vault.next_id()
        there = await self._state.store.objects.find(home.id, name)
        settings = self._state.of_new(home, settings)
        head = upload_head(settings, algorithm, kind or kinds[0], there[0].id if there is not None else NO_OBJECT)
        row = UploadRow(number, home.id, name, self._state.clock.now_ms(), head)
        upload = upload_of(bucket, row)
        if not await self._state.store.uploads.create(row, if_made(completion, upload)):
            raise faults.no_such_bucket(bucket)
        return upload

    async def find(self, bucket: str, key: str, upload_id: str) -> Upload:
        """An upload in progress. Raises: ApiError (`NoSuchBucket`, `NoSuchUpload`)."""
        found = await self._find(await self._state.bucket(bucket), key, upload_id)
        if found is None:
            raise faults.no_such_upload(upload_id)
        return found

    async def _find(self, home: Bucket, key: str, upload_id: str) -> Upload | None:
        row = await self._state.store.uploads.find(upload_number(upload_id))
        if row is None or row.bucket != home.id or row.key != key_bytes(key):
            return None
        return upload_of(home.name, row)

    async def put_part(
        self, bucket: str, key: str, upload_id: str, number: int, body: Body, promise: Promise = NOTHING_PROMISED
    ) -> Part:
        """Store a part, replacing the one with its number.

        Raises: ApiError, Unavailable.
        """
        check_number(number)
        upload = await self.find(bucket, key, upload_id)
        received = await receive(self._state.vault, body, promise, also=[upload.algorithm or DEFAULT])
        return await self._keep_part(upload, number, received)

    async def put_copy(self, upload: Upload, number: int, stream: AsyncIterator[bytes], size: int) -> Part:
        """Store a part of `size` bytes from an object of this server. Raises: ApiError, Unavailable."""
        if size > OBJECT_PUT_BYTES:
            raise faults.too_large(size, OBJECT_PUT_BYTES)
        promise = Promise(length=size, algorithm=upload.algorithm or DEFAULT)
        return await self._keep_part(upload, number, await receive(self._state.vault, stream, promise))

    async def _keep_part(self, upload: Upload, number: int, received: Received) -> Part:
        head = part_head(received.md5, self._state.clock.now_ms(), received.checksums)
        row = SegmentRow(upload.id, number, received.id, received.size, received.place, head)
        outcome = await self._state.store.uploads.put_part(row, received.body)
        if not isinstance(outcome, Written):
            # The upload was completed or aborted meanwhile.
            await discard(self._state.vault, received)
            raise faults.no_such_upload(upload_text(upload.id))
        self._state.vault.free(outcome.freed)
        return replace(part_of(row), upload=upload)

    async def parts(self, upload: Upload, *, after: int = 0, limit: int = LISTED_AT_ONCE) -> list[Part]:
        """The stored parts by number, beginning behind `after`."""
        rows = await self._state.store.objects.segments(upload.id, after=after, limit=limit)
        return [part_of(row) for row in rows]

    async def abort(self, bucket: str, key: str, upload_id: str, completion: Completion[bool] | None = None) -> None:
        """Abort an upload. Raises: ApiError (`NoSuchUpload`)."""
        upload = await self.find(bucket, key, upload_id)
        outcome = await self._state.store.uploads.abort(upload.id, if_written(completion, True))
        if isinstance(outcome, Written):
            self._state.vault.free(outcome.freed)

    async def complete(
        self,
        bucket: str,
        key: str,
        upload_id: str,
        chosen: Sequence[Chosen],
        *,
        demand: Demand,
        checksum: Checksum | None = None,
        kind: str | None = None,
        size: int | None = None,
        completion: Completion[ObjectView] | None = None,
    ) -> ObjectView:
        """Make an object of these parts; other uploaded parts are deleted.

        `checksum` (of the whole), `kind` and `size` are what the caller expects. An upload that was completed with
        these parts is not completed again: the answer is the object, as long as it is there.

        Raises: ApiError (`InvalidPart`, `InvalidPartOrder`, `EntityTooSmall`, `BadDigest`, `PreconditionFailed`,
            `ConditionalRequestConflict` ...).
        """
        home = await self._state.bucket(bucket)
        upload = await self._find(home, key, upload_id)
        if upload is None:
            return await self._completed(home, key, upload_id, chosen)
        if not chosen:
            raise faults.invalid_request("You must specify at least one part")
        if len(chosen) > UPLOAD_PARTS:
            raise faults.malformed_xml()
        rows = await self._state.store.objects.segments(upload.id)
        parts = _checked_parts(upload_id, chosen, {row.number: part_of(row) for row in rows})
        total = sum(part.size for part in parts)
        if total > OBJECT_BYTES:
            raise faults.too_large(total, OBJECT_BYTES)
        if size is not None and size != total:
            raise faults.invalid_request(
                f"The provided 'x-amz-mp-object-size' header value {size} does not match what was computed: {total}"
            )
        whole = _checked_whole(upload, parts, checksum, kind)
        head = object_head(self._state.locked(home, upload.settings), whole, len(parts))
        now_ms = self._state.clock.now_ms()
        row = ObjectRow(home.id, upload.row.key, upload.id, total, now_ms, _etag_of(parts), IN_SEGMENTS, head)
        row = await self._state.numbered(home, row)
        notes = self._state.notes(bucket, row, COMPLETED)
        kept = [(part.number, part.row.id) for part in parts]
        view = object_of(self._state.buckets.get(bucket, home), row)
        if demand != Demand():
            demand = replace(demand, seen=upload.seen)
        writing = self._state.store.uploads.complete(row, kept, demand, notes, if_written(completion, view))
        outcome = await self._state.announce(writing, notes)
        if isinstance(outcome, Missing):
            # Another call was faster: it may have completed the upload in the same way.
            return await self._completed(home, key, upload_id, chosen)
        if not isinstance(outcome, Written):
            raise self._state.refusal(bucket, row.key, outcome, demand)
        self._state.vault.free(outcome.freed)
        return view

    async def _completed(self, home: Bucket, key: str, upload_id: str, chosen: Sequence[Chosen]) -> ObjectView:
        """The object that an upload has become, which has the upload's id. Raises: ApiError (`NoSuchUpload`)."""
        row = await self._made_of(home, key_bytes(key), upload_number(upload_id))
        if row is None or not chosen:
            raise faults.no_such_upload(upload_id)
        view = object_of(home, row)
        rows = await self._state.store.objects.segments(view.id)
        parts = _checked_parts(upload_id, chosen, {row.number: part_of(row) for row in rows})
        if _etag_of(parts) != view.etag:
            raise faults.no_such_upload(upload_id)
        return view

    async def _made_of(self, home: Bucket, name: bytes, number: int) -> ObjectRow | None:
        """The object of an upload, or in a bucket with versions one of the newest of its key."""
        rows = self._state.store.objects
        found = await rows.find(home.id, name)
        if found is not None and found[0].id == number:
            return found[0]
        if not home.is_versioned:
            return None
        page = await rows.versions(home.id, prefix=name, delimiter=b"", start=(name, ABOVE_ALL), limit=LISTED_AT_ONCE)
        versions = (one for one in page.entries if isinstance(one, ObjectRow) and one.key == name)
        return next((one for one in versions if one.id == number and one.place == IN_SEGMENTS), None)

    async def under_way(
        self,
        bucket: str,
        *,
        prefix: str = "",
        delimiter: str = "",
        after_key: str = "",
        after_upload: str = "",
        limit: int = LISTED_AT_ONCE,
    ) -> UploadPage:
        """A page of uploads. Without `after_upload`, it begins behind every upload of `after_key`.

        Raises: ApiError (`NoSuchBucket`, `NoSuchUpload`).
        """
        home = await self._state.bucket(bucket)
        number = upload_number(after_upload) if after_upload else 2**63 - 1
        after = (after_key.encode(), number) if after_key else None
        uploads: list[Upload] = []
        prefixes: list[str] = []
        while len(uploads) + len(prefixes) <= limit:
            rows = await self._state.store.uploads.of_bucket(
                home.id, prefix=prefix.encode(), after=after, limit=limit + 1
            )
            for row in rows:
                upload = upload_of(bucket, row)
                after = row.key, row.id
                cut = upload.key.find(delimiter, len(prefix)) if delimiter else -1
                group = upload.key[: cut + len(delimiter)] if cut >= 0 else None
                if group is not None and ((prefixes and prefixes[-1] == group) or after_key == group):
                    continue
                if len(uploads) + len(prefixes) == limit:
                    return UploadPage(uploads, prefixes, _last(uploads, prefixes))
                if group is not None:
                    prefixes.append(group)
                else:
                    uploads.append(upload)
            if len(rows) <= limit:
                break
        return UploadPage(uploads, prefixes, None)


def check_number(number: int) -> None:
    """Refuse a number that no part may have. Raises: ApiError (`InvalidArgument`)."""
    if not 1 <= number <= UPLOAD_PARTS:
        raise faults.invalid_argument(
            "Part number must be an integer between 1 and 10000, inclusive", "partNumber", number
        )


def _last(uploads: list[Upload], prefixes: list[str]) -> tuple[str, str]:
    last = uploads[-1] if uploads else None
    if prefixes and (last is None or prefixes[-1].encode() > last.key.encode()):
        return prefixes[-1], ""
    return (last.key, upload_text(last.id)) if last is not None else ("", "")


def _etag_of(parts: Sequence[Part]) -> str:
    digests = b"".join(bytes.fromhex(part.etag) for part in parts)
    return f"{hashlib.md5(digests, usedforsecurity=False).hexdigest()}-{len(parts)}"


def _checked_parts(upload_id: str, chosen: Sequence[Chosen], there: Mapping[int, Part]) -> list[Part]:
    found: list[Part] = []
    for wanted in chosen:
        if found and wanted.number <= found[-1].number:
            raise faults.invalid_part_order(upload_id)
        part = there.get(wanted.number)
        if part is None or part.etag != wanted.etag:
            raise faults.invalid_part(upload_id, wanted.number, wanted.etag)
        for algorithm, value in wanted.checksums.items():
            if part.checksums.get(algorithm, value) != value:
                raise faults.invalid_part(upload_id, wanted.number, wanted.etag)
        found.append(part)
    for part in found[:-1]:
        if part.size < SMALLEST_PART_BYTES:
            raise faults.too_small(part.number, part.etag, part.size, SMALLEST_PART_BYTES)
    return found


def _checked_whole(upload: Upload, parts: Sequence[Part], expected: Checksum | None, kind: str | None) -> Checksum:
    algorithm = upload.algorithm or DEFAULT
    if kind is not None and kind != upload.kind:
        raise faults.invalid_request(
            f"The upload was created using the {upload.kind} checksum mode. The complete request must use the same "
            "checksum mode."
        )
    if expected is not None and expected.algorithm != algorithm:
        if upload.algorithm is not None or expected.algorithm not in KINDS:
            raise faults.bad_digest(expected.algorithm)
        algorithm = expected.algorithm
    if any(algorithm not in part.checksums for part in parts):
        raise faults.bad_digest(algorithm)
    mode = upload.kind if algorithm == (upload.algorithm or DEFAULT) else KINDS[algorithm][-1]
    whole = of_parts(algorithm, mode, [(part.checksums[algorithm], part.size) for part in parts])
    if expected is not None and expected.value.partition("-")[0] != whole.value.partition("-")[0]:
        raise faults.bad_digest(algorithm)
    return whole
