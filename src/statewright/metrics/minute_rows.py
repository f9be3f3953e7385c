"""Minutes of metrics as rows of a store whose data is elsewhere, so that a server on another machine has them, too.

1. **The loop never waits.** Blocks wait in memory for a thread that writes all of them in one statement: at once, or
   `SPACING_MS` after the last one, so that points which come late one by one share rows.
2. While the store does not answer, they wait until it does. Above `MOST_WAITING_BYTES` the oldest are dropped, which
   is logged once.
3. A block that was decided under a lease is written under that lease or never: the statement holds the fence. Once
   another process has the store, everything that waits is dropped.
4. A write whose answer was lost is repeated: a block has a number, so it counts once.
5. A metric is named again each day on which it has points, and names are dropped some days after the last points.

Files that an older version, or an embedded store, has left in the folder are moved into the store (`moving`).
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from statewright.background import Background, in_thread
from statewright.clock import Clock, Timer
from statewright.errors import OwnershipLost, StoreError
from statewright.metrics.archive import HOUR, KEPT_SECONDS, MOST_BYTES, Known
from statewright.metrics.blocks import Name, line_of, names_in
from statewright.metrics.moving import FolderMove
from statewright.stores.minutes.protocol import MinuteBlock, MinuteStore, batches

SPACING_MS: Final = 5_000
"""Between two statements, while little waits."""
MUCH_BYTES: Final = 1 << 20
"""Not left to wait longer."""
MOST_WAITING_BYTES: Final = 16 << 20
NAMED_SECONDS: Final = 86_400
NAMES_KEPT_SECONDS: Final = KEPT_SECONDS + 2 * NAMED_SECONDS

log = logging.getLogger("statewright.metrics")


class MinuteRows:
    """See `Minutes`: the rows of one region of a store, with the files of `folder`, if it has any, moved there."""

    def __init__(
        self,
        store: MinuteStore,
        clock: Clock,
        folder: Path | None = None,
        *,
        most_names: int = 20_000,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._store = store
        self._clock = clock
        self._folder = folder
        self._most_names = most_names
        self._most_bytes = most_bytes
        self._waiting: dict[int, MinuteBlock] = {}
        """By their numbers, which rise."""
        self._waiting_bytes = 0
        self._names: dict[int, Name] = {}
        """Those that wait with the blocks."""
        self._named: dict[int, int] = {}
        """When each metric was named, in epoch seconds."""
        self._count = itertools.count(1)
        self._sent_ms: int | None = None
        self._pruned = 0
        self._timer: Timer | None = None
        self._sending: asyncio.Task[None] | None = None
        self._background = Background("work on minutes of metrics")
        self._is_late = False
        self._has_dropped = False
        self._is_lost = False

    async def open(self, now: int) -> Known:
        """See `Minutes.open`."""
        known = await in_thread(self._clock, self._known)
        if self._folder is None:
            return known
        move = FolderMove(self._folder, self._store, self._clock)
        known = await in_thread(self._clock, lambda: move.named(known, now))
        if move.has_blocks:
            self._background.spawn(move.run(now))
        return known

    def _known(self) -> Known:
        names = names_in(body for _, body in self._store.names(self._most_names))
        return Known(sorted(names), self._store.newest())

    def has_name(self, number: int, now: int) -> bool:
        """See `Minutes.has_name`."""
        named = self._named.get(number)
        return named is not None and now - named < NAMED_SECONDS

    def add(self, minute: int, block: bytes, names: Sequence[Name]) -> None:
        """See `Minutes.add`."""
        if self._is_lost:
            return
        now = self._clock.now_ms() // 1000
        for name in names:
            self._names[name.number] = name
            self._named[name.number] = now
        n = next(self._count)
        self._waiting[n] = MinuteBlock(minute, n, block)
        self._waiting_bytes += len(block)
        while self._waiting_bytes > MOST_WAITING_BYTES:
            self._drop_oldest()
        self._send_soon()

    async def settle(self) -> None:
        """See `Minutes.settle`."""
        if self._sending is None and self._waiting:
            self._send_now()
        if self._sending is not None:
            await asyncio.shield(self._sending)

    def contents(self, start: int, end: int) -> Iterator[bytes]:
        """See `Minutes.contents`."""
        return self._store.read(start, end)

    async def close(self) -> None:
        """See `Minutes.close`."""
        await self.settle()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        await self._background.stop()
        if self._waiting:
            log.warning("the last minutes of metrics are not kept: the store does not answer")

    # ------------------------------------------------------------------ writing

    def _drop_oldest(self) -> None:
        block = self._waiting.pop(next(iter(self._waiting)))
        self._waiting_bytes -= len(block.body)
        if not self._has_dropped:
            self._has_dropped = True
            log.warning("minutes of metrics are dropped, the oldest first: the store does not take them")

    def _send_soon(self) -> None:
        if self._sending is not None:
            return
        due_ms = self._clock.now_ms() if self._sent_ms is None else self._sent_ms + SPACING_MS
        is_due = due_ms <= self._clock.now_ms() or (self._waiting_bytes > MUCH_BYTES and not self._is_late)
        if is_due:
            self._send_now()
        elif self._timer is None:
            self._timer = self._clock.call_at(due_ms, self._send_now)

    def _send_now(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._sending is None and self._waiting:
            self._sending = self._background.spawn(self._send())

    async def _send(self) -> None:
        try:
            while self._waiting:
                await self._send_some()
            self._is_late = self._has_dropped = False
            await self._prune()
        except OwnershipLost:
            self._is_lost = True
            self._waiting.clear()
            self._names.clear()
            self._waiting_bytes = 0
        except StoreError as problem:
            if not self._is_late:
                log.warning("minutes of metrics wait in memory: %s", problem)
            self._is_late = True
        finally:
            self._sending = None
            self._sent_ms = self._clock.now_ms()
            if self._waiting:
                self._send_soon()

    async def _send_some(self) -> None:
        """Write as much as one statement takes. Raises: StoreError."""
        blocks = next(batches(self._waiting.values()))
        names = dict(self._names)
        now = self._clock.now_ms() // 1000
        lines = [(number, line_of(name)) for number, name in names.items()]
        await in_thread(self._clock, lambda: self._store.write(blocks, lines, now))
        for block in blocks:
            # It may have been dropped meanwhile.
            if self._waiting.pop(block.n, None) is not None:
                self._waiting_bytes -= len(block.body)
        for number, name in names.items():
            if self._names.get(number) is name:
                del self._names[number]

    async def _prune(self) -> None:
        """Once an hour, delete blocks that are too old, and the oldest ones above the bound on bytes."""
        now = self._clock.now_ms() // 1000
        if now // HOUR != self._pruned:
            await in_thread(self._clock, lambda: self._drop_old(now))
            self._pruned = now // HOUR

    def _drop_old(self, now: int) -> None:
        oldest = now - KEPT_SECONDS
        before = oldest - oldest % HOUR
        kept = 0
        for minute, size in self._store.sizes():
            kept += size
            if kept > self._most_bytes:
                before = max(before, minute + 60)
                break
        self._store.drop(before, now - NAMES_KEPT_SECONDS)
