"""The bytes of objects while the server runs: ids, reading in large steps, and deleting unused files.

Owns the threads that use files. A reader pins its files: a file is deleted when its row is gone and its last reader
has ended, so an overwritten object is read to its end as it was. Leaves the rows of objects to `objects`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar, TypeVarTuple

from statewright.clock import Clock, Timer
from statewright.errors import StoreError
from statewright.objects.blobs.bodies import BlobBodies
from statewright.objects.bodies import Bodies, FileBodies, MemoryBodies, Reading
from statewright.stores import fail_points
from statewright.stores.blobs.protocol import ORPHAN_MS
from statewright.stores.object_rows import ObjectStore
from statewright.stores.store import Store

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

THREADS: Final = 4
STEP_BYTES: Final = 512 * 1024
"""Read in one step: large enough that the hop to a thread costs little, small enough for many concurrent readers."""
IDS_AT_ONCE: Final = 1024
DOOMED_AT_ONCE: Final = 32
SWEPT_AT_ONCE: Final = 1000
COUNTER: Final = "object ids"

log = logging.getLogger("statewright.objects")


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes of an object: from a file, or in memory."""

    id: int
    start: int
    length: int
    body: bytes | None = None


class Vault:
    """See the module. Bodies are in the store if it keeps blobs, else in files of `folder`; without one in memory."""

    def __init__(self, store: Store, clock: Clock, folder: Path | None) -> None:
        self.bodies: Bodies = _bodies_of(store, folder)
        self._store = store
        self._clock = clock
        self._pool: ThreadPoolExecutor | None = None
        self._ids: list[int] = []
        self._file_ids: list[int] = []
        self._more_ids = asyncio.Lock()
        self._keeping = 0
        self._readers: Counter[int] = Counter()
        self._dead: set[int] = set()
        self._going: set[int] = set()
        """Those that are being deleted."""
        self._young: list[int] = []
        self._younger: list[int] = []
        self._later: Timer | None = None
        self._sweeping: asyncio.Task[None] | None = None

    @property
    def rows(self) -> ObjectStore:
        """The rows of objects."""
        return self._store.objects

    async def start(self) -> None:
        """Delete the doomed files of an earlier process: now, or in an hour where it wrote within the last one.

        The doomed ids are those of this store, which no other process owns now. But one that has lost it may still be
        writing or reading in a folder that both share, and its bytes are harmless: nothing names them.
        """
        after = -1
        while found := await self.rows.doomed(SWEPT_AT_ONCE, after=after):
            after = found[-1]
            young = await self.run(self.bodies.young, found, ORPHAN_MS)
            self._young += sorted(young)
            old = [number for number in found if number not in young]
            await self.run(self.bodies.remove, old)
            await self.rows.buried(old)
        self._free_later()

    def _free_later(self) -> None:
        if self._later is None and (self._young or self._younger):
            self._later = self._clock.call_at(self._clock.now_ms() + ORPHAN_MS, self._free_young)

    def _free_young(self) -> None:
        self._later = None
        # Those that came since the timer was set wait for another hour.
        young, self._young, self._younger = self._young, self._younger, []
        self.free(young)
        self._free_later()

    async def stop(self) -> None:
        """End the threads; files still to be deleted stay doomed in the store."""
        if self._later is not None:
            self._later.cancel()
            self._later = None
        if self._sweeping is not None:
            await asyncio.gather(self._sweeping, return_exceptions=True)
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    async def run(self, work: Callable[[*Ts], T], *given: *Ts) -> T:
        """Run blocking work in a thread; it runs to its end even if the caller is cancelled."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(THREADS, "statewright-objects")
        with self._clock.busy():
            return await asyncio.get_running_loop().run_in_executor(self._pool, work, *given)

    async def next_id(self) -> int:
        """An id for a row whose bytes are in a row, or for an upload."""
        async with self._more_ids:
            return await self._next_id()

    async def next_ids(self, many: int) -> list[int]:
        """As many ids, ascending; no other call gets one between them."""
        async with self._more_ids:
            return [await self._next_id() for _ in range(many)]

    async def next_file_id(self) -> int:
        """An id for a file: it is doomed until a row names it."""
        async with self._more_ids:
            if not self._file_ids:
                found = [await self._next_id() for _ in range(DOOMED_AT_ONCE)]
                await self.rows.doom(found)
                self._file_ids = found[::-1]
            return self._file_ids.pop()

    def return_file_id(self, number: int) -> None:
        """Take back an id whose file was deleted before any row named it.

        Where a write may take effect late, the id is deleted again after an hour, and not used any more.
        """
        if not self.bodies.writes_late:
            self._file_ids.append(number)
            return
        self._younger.append(number)
        self._free_later()

    async def _next_id(self) -> int:
        if not self._ids:
            block = await self._store.catalogue.next_number(COUNTER)
            first = block * IDS_AT_ONCE
            self._ids = list(range(first + IDS_AT_ONCE - 1, first - 1, -1))
        return self._ids.pop()

    @asynccontextmanager
    async def keep_files(self) -> AsyncIterator[None]:
        """Delete no file inside the block, while the caller finds the rows to read; `read` then pins their files."""
        self._keeping += 1
        try:
            yield
        finally:
            self._keeping -= 1
            self._sweep_soon()

    def read(self, pieces: Sequence[Piece]) -> AsyncIterator[bytes]:
        """The bytes of pieces, one after the other. Pins their files immediately, until the iterator ends or is closed.

        Raises (while iterating): Unavailable.
        """
        if all(piece.body is not None for piece in pieces):
            return _InMemory([piece.body for piece in pieces if piece.body is not None])
        return _Stream(self, pieces)

    def free(self, ids: Sequence[int]) -> None:
        """Delete doomed files, each when its last reader has ended."""
        if ids:
            self._dead.update(ids)
            self._sweep_soon()

    def pin(self, ids: Sequence[int]) -> None:
        """Keep files from being deleted."""
        self._readers.update(ids)

    def pin_living(self, number: int) -> bool:
        """Keep a file from being deleted; False if it is deleted, or soon will be."""
        if number in self._dead or number in self._going:
            return False
        self.pin([number])
        return True

    def unpin(self, ids: Sequence[int]) -> None:
        """Release pinned files."""
        for number in ids:
            self._readers[number] -= 1
            if self._readers[number] <= 0:
                del self._readers[number]
        if self._dead:
            self._sweep_soon()

    def _sweep_soon(self) -> None:
        if self._dead and not self._keeping and self._sweeping is None:
            self._sweeping = asyncio.ensure_future(self._sweep())

    async def _sweep(self) -> None:
        try:
            while not self._keeping:
                chosen = [number for number in self._dead if number not in self._readers][:SWEPT_AT_ONCE]
                if not chosen:
                    return
                self._dead.difference_update(chosen)
                self._going.update(chosen)
                fail_points.passed(fail_points.BODY_FREED)
                await self.run(self.bodies.remove, chosen)
                await self.rows.buried(chosen)
                self._going.clear()
        except StoreError as problem:
            # They stay doomed, and the next start deletes them.
            log.warning("the files of deleted objects cannot be removed before the next start: %s", problem)
        finally:
            self._going.clear()
            self._sweeping = None


def _bodies_of(store: Store, folder: Path | None) -> Bodies:
    if store.blobs is not None:
        return BlobBodies(store.blobs, folder)
    return FileBodies(folder) if folder is not None else MemoryBodies()


class _InMemory:
    """Reads bytes that are in memory."""

    def __init__(self, parts: list[bytes]) -> None:
        self._parts = parts[::-1]

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if not self._parts:
            raise StopAsyncIteration
        return self._parts.pop()

    async def aclose(self) -> None:
        """Drop the bytes."""
        self._parts = []


class _Stream:
    """Reads one step ahead of its consumer."""

    def __init__(self, vault: Vault, pieces: Sequence[Piece]) -> None:
        self._vault = vault
        self._pinned = [piece.id for piece in pieces if piece.body is None]
        vault.pin(self._pinned)
        self._steps = _steps(pieces)
        self._open: tuple[int, Reading] | None = None
        self._ahead: asyncio.Future[bytes] | None = None
        self._ended = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def prepare(self) -> None:
        """Wait until the first step was read; nothing is consumed. Raises: Unavailable."""
        if self._ended:
            return
        if self._ahead is None:
            self._start_next()
        if self._ahead is not None:
            try:
                await asyncio.shield(self._ahead)
            except BaseException:
                await self.aclose()
                raise

    async def __anext__(self) -> bytes:
        if self._ended:
            raise StopAsyncIteration
        if self._ahead is None:
            self._start_next()
        ahead = self._ahead
        if ahead is None:
            await self.aclose()
            raise StopAsyncIteration
        try:
            found = await ahead
        except BaseException:
            await self.aclose()
            raise
        self._start_next()
        if self._ahead is None:
            # Nothing follows: a consumer that never asks for the end must not keep the files pinned.
            await self.aclose()
        return found

    def _start_next(self) -> None:
        step = next(self._steps, None)
        self._ahead = None if step is None else asyncio.ensure_future(self._vault.run(self._take, step))

    def _take(self, step: Piece) -> bytes:
        if step.body is not None:
            return step.body
        if self._open is None or self._open[0] != step.id:
            if self._open is not None:
                self._open[1].close()
                self._open = None
            self._open = step.id, self._vault.bodies.open(step.id)
        return self._open[1].read(step.start, step.length)

    async def aclose(self) -> None:
        """Close and unpin the files; harmless when repeated."""
        if self._ended:
            return
        self._ended = True
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            await asyncio.gather(ahead, return_exceptions=True)
        if self._open is not None:
            self._open[1].close()
        self._vault.unpin(self._pinned)


def _steps(pieces: Sequence[Piece]) -> Iterator[Piece]:
    for piece in pieces:
        if piece.body is not None:
            yield piece
            continue
        for offset in range(0, piece.length, STEP_BYTES):
            yield Piece(piece.id, piece.start + offset, min(STEP_BYTES, piece.length - offset))
