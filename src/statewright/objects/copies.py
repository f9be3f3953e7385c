"""Copies of objects, into objects and into parts of uploads; which settings a copy has, and when it may replace itself.

Source: service API reference, CopyObject; which requests count as a change is observed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from statewright.limits import OBJECT_PUT_BYTES
from statewright.objects import faults
from statewright.objects.conditions import ANYWAY, ReadConditions, check_copy_range
from statewright.objects.encryption import ALGORITHM, ENCRYPTION
from statewright.objects.intake import Promise, Received, receive
from statewright.objects.names import check_metadata, key_bytes
from statewright.objects.notifications import COPIED
from statewright.objects.reading import Reading
from statewright.objects.records import Bucket, ObjectView, Part, Settings
from statewright.objects.state import ObjectState
from statewright.objects.uploads import Uploads, check_number
from statewright.objects.writing import NO_DEMAND, Writing
from statewright.stores.completion import Completion, adapted
from statewright.stores.object_rows import IN_ROW, IN_SEGMENTS, Demand

_REDIRECT: Final = "WebsiteRedirectLocation"


@dataclass(frozen=True, slots=True)
class Wish:
    """The settings that a request to copy gives; storage class, encryption and lock are always taken from it.

    With `replaces`, its headers and metadata take the place of the source's; `tags` take the place of its tags unless
    `None`. `names_class` is True if it names a storage class, were it the same.
    """

    given: Settings = field(default_factory=Settings)
    replaces: bool = False
    tags: Mapping[str, str] | None = None
    names_class: bool = False

    def settings(self, source: Settings) -> Settings:
        """The settings of the copy. Where a website would redirect to is never copied."""
        headers = {name: text for name, text in source.headers.items() if name != _REDIRECT}
        if _REDIRECT in self.given.headers:
            headers[_REDIRECT] = self.given.headers[_REDIRECT]
        kept = self.given if self.replaces else replace(source, headers=headers)
        return replace(
            kept,
            tags=dict(self.tags if self.tags is not None else source.tags),
            storage_class=self.given.storage_class,
            encryption=dict(self.given.encryption),
            lock=self.given.lock,
        )

    def changes(self, source: ObjectView, bucket: Bucket) -> bool:
        """True if an object of a bucket may be copied onto itself so."""
        return (
            self.replaces
            or self.names_class
            or bool(self.given.encryption)
            or _REDIRECT in self.given.headers
            or ENCRYPTION in bucket.settings
            or source.settings.encryption.get(ALGORITHM, "").startswith("aws:kms")
        )


AS_IT_IS: Final = Wish()


class Copies:
    """The copies of one server: of objects, and into parts of uploads."""

    def __init__(self, state: ObjectState, reading: Reading, writing: Writing, uploads: Uploads) -> None:
        self._state = state
        self._reading = reading
        self._writing = writing
        self._uploads = uploads

    async def copy(
        self,
        source: tuple[str, str, str | None],
        bucket: str,
        key: str,
        *,
        conditions: ReadConditions = ANYWAY,
        wish: Wish = AS_IT_IS,
        algorithm: str | None = None,
        demand: Demand = NO_DEMAND,
        completion: Completion[ObjectView] | None = None,
    ) -> ObjectView:
        """Copy an object, named by bucket, key and version. A body in one file is shared, not copied.

        Raises: ApiError, Unavailable.
        """
        origin, home = await self._state.bucket(source[0]), await self._state.bucket(bucket)
        name = key_bytes(key)
        async with self._state.vault.keep_files():
            view, body = await self._reading.source(origin, source[1], source[2])
            conditions.check(view.etag, view.modified_ms, self._state.clock.now_ms)
            if source == (bucket, key, None) and not wish.changes(view, home):
                await self._writing.check(home, name, demand)
                raise faults.copied_onto_itself()
            if view.size > OBJECT_PUT_BYTES:
                raise faults.invalid_request(
                    "The specified copy source is larger than the maximum allowable size for a copy source: "
                    f"{OBJECT_PUT_BYTES}"
                )
            kept = self._state.of_new(home, wish.settings(view.settings))
            check_metadata(kept.metadata)
            wanted = algorithm or (view.checksum.algorithm if view.checksum is not None else None)
            received = await self._shared(view, body, wanted)
            if received is None:
                pieces = await self._reading.pieces(view, body, (0, view.size - 1))
                if pieces is None:
                    raise faults.conflict(source[1])
                stream = self._state.vault.read(pieces)
        if received is None:
            received = await receive(self._state.vault, stream, Promise(length=view.size, algorithm=wanted))

        def copied(made: ObjectView) -> ObjectView:
            return replace(made, source_version=view.version)

        done = adapted(completion, copied)
        return copied(await self._writing.write(home, name, received, kept, demand, COPIED, done))

    async def copy_part(
        self,
        bucket: str,
        key: str,
        upload_id: str,
        number: int,
        source: tuple[str, str, str | None],
        *,
        range: str | None = None,
        conditions: ReadConditions = ANYWAY,
    ) -> tuple[Part, ObjectView]:
        """Copy a part of an upload from an object, or from a range of it: the part, and the object.

        Raises: ApiError, Unavailable.
        """
        check_number(number)
        upload = await self._uploads.find(bucket, key, upload_id)
        view, _ = await self._reading.source(await self._state.bucket(source[0]), source[1], source[2])
        conditions.check(view.etag, view.modified_ms, self._state.clock.now_ms)
        if range is not None:
            check_copy_range(range, view.size)
        found, stream, got = await self._reading.get(
            source[0], source[1], version=source[2], range=range, conditions=conditions
        )
        length = got[1] - got[0] + 1 if got is not None else found.size
        return await self._uploads.put_copy(upload, number, stream, length), found

    async def _shared(self, view: ObjectView, body: bytes | None, algorithm: str | None) -> Received | None:
        """Give the same bytes another id, without reading them; `None` if they must be read."""
        checksum = view.checksum
        if checksum is None or checksum.algorithm != algorithm or view.row.place == IN_SEGMENTS:
            return None
        checksums = {checksum.algorithm: checksum.value}
        if view.row.place == IN_ROW:
            number = await self._state.vault.next_id()
        else:
            number = await self._state.vault.next_file_id()
            if not await self._state.vault.run(self._state.vault.bodies.link, view.id, number):
                self._state.vault.return_file_id(number)
                return None
        return Received(number, view.row.place, view.size, view.etag, checksums, checksum.algorithm, body)
