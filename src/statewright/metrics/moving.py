"""Moves minutes of metrics out of a folder into a store, beside its work: once, for a store of an older version.

1. Names come first, before anything is recorded: a metric that the store knows keeps its number there, the others get
   new ones. Blocks get the numbers of the store.
2. Then the files, the newest first. Each is deleted once its blocks are in the store, so it may end at any point, and
   the next start goes on: a block has a number of its own, made of its place and bytes, so it counts once.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from statewright.background import in_thread
from statewright.clock import Clock
from statewright.errors import Unavailable
from statewright.metrics.archive import HOUR, KEPT_SECONDS, Known
from statewright.metrics.blocks import Name, blocks_in, line_of
from statewright.metrics.minute_files import MinuteFiles
from statewright.stores.minutes.protocol import MinuteBlock, MinuteStore, batches

RETRY_MS: Final = 5_000
_PLACE_BITS: Final = 31

log = logging.getLogger("statewright.metrics")


class Numbering:
    """The numbers that names of another archive have in this one."""

    def __init__(self, known: Iterable[Name], newest: int) -> None:
        self._numbers = {name.metric: name.number for name in known}
        self.newest = newest
        self.numbers: dict[int, int] = {}
        """Here, by those there."""

    def add(self, names: Iterable[Name]) -> list[Name]:
        """Give each of some names a number; those that are new here."""
        made = []
        for name in names:
            number = self._numbers.get(name.metric)
            if number is None:
                number = self.newest = self.newest + 1
                self._numbers[name.metric] = number
                made.append(name._replace(number=number))
            self.numbers[name.number] = number
        return made


class FolderMove:
    """The move of one folder."""

    def __init__(self, folder: Path, store: MinuteStore, clock: Clock) -> None:
        self._files = MinuteFiles(folder)
        self._store = store
        self._clock = clock
        self._numbers: dict[int, int] = {}
        self.has_blocks = False

    def named(self, known: Known, now: int) -> Known:
        """All that is known once the names of the folder are in the store, too. Blocks. Raises: StoreError."""
        names = self._files.names()
        if not names:
            return known
        numbering = Numbering(known.names, known.newest)
        made = numbering.add(names)
        if made:
            self._store.write((), [(name.number, line_of(name)) for name in made], now)
        self._numbers = numbering.numbers
        self.has_blocks = True
        return Known([*known.names, *made], numbering.newest)

    async def run(self, now: int) -> None:
        """Move the blocks. Raises: OwnershipLost."""
        moved = 0
        try:
            for path in reversed(self._files.hours()):
                moved += await self._moved(path, now)
            self._files.remove_names()
        except OSError as problem:
            log.warning("minutes of metrics in the folder cannot be moved into the store: %s", problem)
        if moved:
            log.info("%d minutes of metrics of the folder are in the store now", moved)

    async def _moved(self, path: Path, now: int) -> int:
        while True:
            try:
                return await in_thread(self._clock, lambda: self._move(path, now))
            except Unavailable:
                await self._clock.sleep_until(self._clock.now_ms() + RETRY_MS)

    def _move(self, path: Path, now: int) -> int:
        """Move a file; the number of its blocks."""
        oldest = now - KEPT_SECONDS
        moved = list(self._blocks(path.read_bytes(), oldest - oldest % HOUR))
        for some in batches(moved):
            self._store.write(some, (), now, imported=True)
        path.unlink(missing_ok=True)
        return len(moved)

    def _blocks(self, content: bytes, oldest: int) -> Iterator[MinuteBlock]:
        for block in blocks_in(content, oldest):
            n = (zlib.crc32(block.body) << _PLACE_BITS) | block.place
            yield MinuteBlock(block.minute, n, block.renumbered(self._numbers))
