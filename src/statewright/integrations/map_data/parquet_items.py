"""Items of a Parquet file: its rows, by row group. Needs the extra `parquet`; blocks.

The footer is at the end of the file, so the whole file is copied to a temporary one first.

Source: developer guide, "ItemReader (Map)", for the limits.
"""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Final, Protocol

from statewright.integrations.map_data.item_formats import Unreadable
from statewright.payload import Json

ROW_GROUP_BYTES: Final = 256 * 1024 * 1024
FOOTER_BYTES: Final = 5 * 1024 * 1024
_ROWS: Final = 1_000


class _Batch(Protocol):
    """The part of pyarrow's `RecordBatch` that is used here."""

    num_rows: int

    def to_pylist(self) -> list[object]:
        """The rows."""


class ParquetFile:
    """A file that is written first, then read."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (close() ends it)
        self._batches: Iterator[_Batch] = iter(())

    def write(self, data: bytes) -> None:
        """Add bytes of the file."""
        self._file.write(data)

    def open(self) -> None:
        """Begin to read. Raises: Unreadable."""
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            raise Unreadable("Parquet needs pyarrow: pip install 'statewright[parquet]'") from None
        self._file.seek(0)
        try:
            reader = parquet.ParquetFile(self._file)
        except (pyarrow.ArrowException, OSError) as problem:
            raise Unreadable(f"The data is not Parquet: {problem}") from None
        metadata = reader.metadata
        if metadata.serialized_size > FOOTER_BYTES:
            raise Unreadable("The Parquet footer is longer than 5 MB")
        groups = [metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups)]
        if any(size > ROW_GROUP_BYTES for size in groups):
            raise Unreadable("A Parquet row group is longer than 256 MB")
        self._batches = reader.iter_batches(batch_size=_ROWS)

    def next_items(self) -> list[Json]:
        """The next rows; empty at the end."""
        for batch in self._batches:
            if batch.num_rows:
                return [_plain(row) for row in batch.to_pylist()]
        return []

    def close(self) -> None:
        """Remove the file."""
        self._file.close()


def _plain(value: object) -> Json:
    """A value as JSON: instants in ISO 8601, bytes in base64, decimals as strings."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value
