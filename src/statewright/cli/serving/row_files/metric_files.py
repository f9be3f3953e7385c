"""The minutes of metrics that a store in PostgreSQL has as rows, written as the files of an embedded store.

A folder may have some of its own, from before the store had them as rows: those stay, and the numbers of their metrics,
too.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from statewright.errors import StoreError
from statewright.files.data_folder import FOLDER_MODE, folder_of
from statewright.files.whole import sync_folder
from statewright.metrics.blocks import Name, blocks_in, names_in
from statewright.metrics.minute_files import METRICS, MinuteFiles
from statewright.metrics.moving import Numbering
from statewright.stores.transfer.rows import Rows


def write_minutes(rows: Rows, folder: Path) -> int:
    """Write all blocks of minutes into files of a data folder, durably; returns their bytes.

    Raises: StoreError if not all of them arrived; OSError.
    """
    total = rows.count_minutes()
    if not total:
        return 0
    names: dict[str, list[Name]] = {}
    with contextlib.closing(rows.metric_names()) as found:
        for place, body in found:
            names.setdefault(place, []).extend(names_in([body]))
    written = size = 0
    filled: dict[str, _Filled] = {}
    with contextlib.closing(rows.minute_blocks()) as blocks:
        for place, body in blocks:
            if place not in filled:
                filled[place] = _Filled(_folder_of(folder, place), names.get(place, []))
            size += filled[place].add(body)
            written += 1
    arrived = sum(one.arrived() for one in filled.values())
    if not written == arrived == total:
        raise StoreError(f"of {total:,} minutes of metrics, {arrived:,} arrived")
    return size


class _Filled:
    """The files of one region."""

    def __init__(self, folder: Path, names: list[Name]) -> None:
        folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        self._folder = folder
        self._files = MinuteFiles(folder)
        known = self._files.names()
        numbering = Numbering(known, max((name.number for name in known), default=0))
        self._new = numbering.add(names)
        self._numbers = numbering.numbers
        self._before = self._count()

    def add(self, body: bytes) -> int:
        """Append a block; returns its bytes."""
        size = 0
        for block in blocks_in(body):
            content = block.renumbered(self._numbers)
            self._files.append(block.minute, content, self._new)
            self._new = []
            size += len(content)
        return size

    def arrived(self) -> int:
        """The number of blocks that were added, as they are read back; they are durable then."""
        for path in self._folder.iterdir():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        sync_folder(self._folder)
        return self._count() - self._before

    def _count(self) -> int:
        return sum(1 for path in self._files.hours() for _ in blocks_in(path.read_bytes()))


def _folder_of(data: Path, place: str) -> Path:
    account, _, region = place.rpartition("/")
    return (folder_of(data, region, account) if place else data) / METRICS
