"""Definitions of tables: key, indexes and settings, as stored in the catalogue. No items, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from statewright.payload import Json, JsonMapping
from statewright.stores.entries import EntryKind, Form

ACTIVE: Final = "ACTIVE"
CREATING: Final = "CREATING"
PROVISIONED: Final = "PROVISIONED"
PAY_PER_REQUEST: Final = "PAY_PER_REQUEST"


@dataclass(frozen=True, slots=True)
class Throughput:
    """Requested capacity units; they are not enforced."""

    read: int = 0
    write: int = 0
    increased_ms: int | None = None
    decreased_ms: int | None = None
    decreases_today: int = 0


@dataclass(frozen=True, slots=True)
class Warm:
    """Requested warm throughput, in units each second."""

    read: int
    write: int


@dataclass(frozen=True, slots=True)
class Index:
    """A secondary index: the items of the table that have its key, ordered by that key, then by the table's."""

    name: str
    space: int
    hashes: tuple[str, ...]
    """The attributes of its partition key: several only in a global index."""
    ranges: tuple[str, ...]
    """Those of its sort key, in their order."""
    is_global: bool
    projection: str
    """`ALL`, `KEYS_ONLY` or `INCLUDE`."""
    included: tuple[str, ...] = ()
    throughput: Throughput = Throughput()
    status: str = ACTIVE
    is_backfilling: bool = False
    warm: Warm | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """Its key attributes."""
        return self.hashes + self.ranges if self.ranges else self.hashes


@dataclass(frozen=True, slots=True)
class TimeToLive:
    """The attribute with the expiry of an item in epoch seconds, and the space of the expiry entries."""

    attribute: str
    space: int
    is_filled: bool = False
    """True if items that were written before it was enabled have expiry entries."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A table, without its items. `stored` is the version of its entry; 0 before the first."""

    name: str
    id: str
    space: int
    created_ms: int
    hash: str
    range: str | None
    types: Mapping[str, str]
    """`S`, `N` or `B` of every key attribute, those of indexes too."""
    indexes: tuple[Index, ...] = ()
    billing: str = PROVISIONED
    on_demand_ms: int | None = None
    """When it was switched to billing by request."""
    throughput: Throughput = Throughput()
    time_to_live: TimeToLive | None = None
    recovery_ms: int | None = None
    """When point-in-time recovery was enabled."""
    is_protected: bool = False
    storage_class: str | None = None
    encryption: JsonMapping | None = None
    warm: Warm | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    stored: int = 0

    @property
    def keys(self) -> tuple[str, ...]:
        """Its key attributes."""
        return (self.hash,) if self.range is None else (self.hash, self.range)

    @property
    def hashes(self) -> tuple[str, ...]:
        """The attribute of its partition key, as those of an index."""
        return (self.hash,)

    @property
    def ranges(self) -> tuple[str, ...]:
        """The attribute of its sort key, if it has one, as those of an index."""
        return () if self.range is None else (self.range,)

    @property
    def spaces(self) -> list[int]:
        """Every space with its items or their entries."""
        ttl = [self.time_to_live.space] if self.time_to_live is not None else []
        return [self.space, *(index.space for index in self.indexes), *ttl]

    def index(self, name: str) -> Index | None:
        """The index of that name."""
        return next((index for index in self.indexes if index.name == name), None)


def _with_lists_of_keys(members: dict[str, Json]) -> dict[str, Json]:
    """Turn format 1, in which a key of an index had one attribute of each kind, into format 2."""
    for index in members.get("indexes", ()):
        index["hashes"] = [index.pop("hash")]
        second = index.pop("range", None)
        index["ranges"] = [] if second is None else [second]
    return members


TABLE: Final = EntryKind("table", Definition, lambda table: table.name, form=Form(2, upgrades={1: _with_lists_of_keys}))
