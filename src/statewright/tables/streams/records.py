"""Rows of streams: the entry of a stream in the catalogue, and its records, which are items of a space of their own.

Pure. A record's sort key is its sequence number: 21 digits, the first 13 of which are the instant of the change in
milliseconds, so that numbers ascend as texts do, and an instant has a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from statewright.formats import Compact
from statewright.payload import Json, JsonObject
from statewright.stores.entries import EntryKind
from statewright.stores.table_protocol import ItemKey, StoredItem

KEEP_MS: Final = 24 * 3_600_000
"""How long records can be read. Source: developer guide, "Data retention limit for DynamoDB Streams"."""
PER_MS: Final = 10**8
"""Sequence numbers of one millisecond."""
PART: Final = b""
"""The single partition of a stream's space."""
KEYS_ONLY: Final = "KEYS_ONLY"
VIEWS: Final = {
    KEYS_ONLY: (False, False),
    "NEW_IMAGE": (True, False),
    "OLD_IMAGE": (False, True),
    "NEW_AND_OLD_IMAGES": (True, True),
}
"""The view types: whether a record has the new image, and the old one."""
INSERT: Final = "INSERT"
MODIFY: Final = "MODIFY"
REMOVE: Final = "REMOVE"


@dataclass(frozen=True, slots=True)
class StreamEntry:
    """A stream of a table, open or closed. `label` is unique among the streams of tables of that name."""

    table: str
    label: str
    space: int
    view: str
    hash: str
    range: str | None
    created_ms: int
    closed_ms: int | None = None
    """When it was disabled, or its table deleted: its records can be read for another day."""
    ending: str | None = None
    """A sequence number behind its last record; `None` while it is open."""
    stored: int = 0

    @property
    def keys(self) -> tuple[str, ...]:
        """The key attributes of its table."""
        return (self.hash,) if self.range is None else (self.hash, self.range)

    @property
    def shard(self) -> str:
        """The id of its only shard."""
        return f"shardId-{self.created_ms:020d}-{self.space & 0xFFFFFFFF:08x}"


STREAM: Final = EntryKind("table-stream", StreamEntry, lambda stream: f"{stream.table}/{stream.label}")


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """A change of an item. Images are `None` where the view leaves them out. `number` is its sequence number."""

    number: str
    kind: str
    """`INSERT`, `MODIFY` or `REMOVE`."""
    at_ms: int
    by_expiry: bool
    """True if the item was deleted because its time to live was over."""
    keys: Mapping[str, Json]
    new: Mapping[str, Json] | None = None
    old: Mapping[str, Json] | None = None


RECORD: Final[Compact[StreamRecord]] = Compact("a record of a stream", StreamRecord)


def record_body(number: str, kind: str, at_ms: int, keys: str, images: tuple[str, str], *, by_expiry: bool) -> str:
    """The body of a record as `RECORD` reads it, made of texts of JSON: items are not read to be written again."""
    new, old = images
    return f'[{RECORD.version},"{number}","{kind}",{at_ms},{"true" if by_expiry else "false"},{keys},{new},{old}]'


def read_record(found: StoredItem) -> StreamRecord:
    """A record from its row. Raises: Unreadable."""
    return RECORD.read(found.body.encode())


def number_of(value: int) -> str:
    """A sequence number as text."""
    return f"{value:021d}"


def number_at(at_ms: int) -> str:
    """The first sequence number of an instant."""
    return number_of(max(at_ms, 0) * PER_MS)


def record_place(space: int, number: str) -> ItemKey:
    """The place of a record."""
    return ItemKey(space, PART, number.encode())


def event_id(stream: str, record: StreamRecord) -> str:
    """The id of a record of a stream, by ARN: 32 hexadecimal digits."""
    return blake2b(f"{stream}/{record.number}".encode(), digest_size=16).hexdigest()


def change_of(entry: StreamEntry, record: StreamRecord, size: int) -> JsonObject:
    """The change in a record, as GetRecords and functions' events have it: member `dynamodb`, without the instant."""
    change: JsonObject = {"Keys": dict(record.keys)}
    if record.new is not None:
        change["NewImage"] = dict(record.new)
    if record.old is not None:
        change["OldImage"] = dict(record.old)
    return {**change, "SequenceNumber": record.number, "SizeBytes": size, "StreamViewType": entry.view}
