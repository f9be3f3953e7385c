"""The protocols of a Map Run's data: its items, read in slices, and its result files, written in pieces.

The engine knows no buckets; the implementation that does is `integrations.map_data`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from statewright.engine.map_runs.head import RunHead
from statewright.errors import ApiError
from statewright.payload import Json


@dataclass(frozen=True, slots=True)
class Slice:
    """Items in their order. `total` is the number of all items, where it is known already.

    `keys` are member names, where the items are an object's; `source` is where they come from, as the context object
    shows it.
    """

    values: Sequence[Json]
    last: bool
    keys: Sequence[str] | None = None
    total: int | None = None
    source: str | None = None


class ItemStream(Protocol):
    """The items of one run, from the first to the last."""

    async def take(self, count: int) -> Slice:
        """Up to so many further items. Raises: ApiError whose message is the cause of the failure."""

    async def close(self) -> None:
        """Close every open stream."""


class MapRunData(Protocol):
    """Opens the items of Map Runs and writes their results."""

    async def open(self, head: RunHead, reader: Json, config: Json, resource: str) -> ItemStream:
        """The items that an ItemReader means. Raises: ApiError whose message is the cause of the failure."""

    async def write(self, head: RunHead, bucket: str, key: str, pieces: Iterable[bytes], arguments: Json) -> int:
        """Write one result file; its size in bytes. Raises: ApiError whose message is the cause of the failure."""


class NoData:
    """Stands in where there are no buckets."""

    async def open(self, _head: RunHead, _reader: Json, _config: Json, _resource: str) -> ItemStream:
        """Refuse."""
        raise ApiError("NotSupported", "There is no S3 here, neither of its own nor at an endpoint: nothing to read.")

    async def write(self, _head: RunHead, _bucket: str, _key: str, _pieces: Iterable[bytes], _arguments: Json) -> int:
        """Refuse."""
        raise ApiError("NotSupported", "There is no S3 here, neither of its own nor at an endpoint: nowhere to write.")
