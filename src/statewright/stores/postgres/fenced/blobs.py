"""Blobs in the PostgreSQL store: rows of 1 MiB, each written and read by one statement.

1. **No thread holds more than a piece.** Pieces are written as they come, in transactions of their own, because a
   transaction that waits for a client's bytes would keep others from cleaning up, and is ended after a second.
2. **Only the last piece is waited for.** The others leave their commits in the log unflushed (`put`); the last one
   (`end`) is later in the same log, so that its flush makes all of them durable. A database that crashes in between
   loses them: `end` counts the pieces before it, and a blob that has lost one is refused, before any row can name it.
3. **The fence is in every statement that writes**, as in a commit (`statement`). Without it a blob would still be
   harmless (no committed row names it), but it would stay for ever: no start would find it.
4. **Deletions are cut** into statements of 64 pieces, so that none of them keeps the fence, and thus a take-over, long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from statewright.errors import Unavailable
from statewright.stores.blobs.protocol import PIECE_BYTES, BlobWriting
from statewright.stores.postgres.arrays import texts
from statewright.stores.postgres.connection import run
from statewright.stores.postgres.fenced.statement import write_fenced
from statewright.stores.postgres.opened import Database
from statewright.stores.statements import SqlRow, statements

PIECES_AT_ONCE: Final = 64
"""Deleted by one statement."""
COPIED_AT_ONCE: Final = 8

_SQL: Final = statements("postgres_blobs")


class PostgresBlobs:
    """See `BlobStore`."""

    writes_late: Final = False
    read_ahead: Final = 0

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, name: str) -> BlobWriting:
        """See `BlobStore.create`."""
        return _Writing(self, name)

    def put(self, name: str, number: int, piece: bytes, *, is_last: bool) -> None:
        """Write a piece over the one of that number. Raises: as `BlobWriting.put`."""
        if not is_last:
            self._write("put", name, number, piece)
            return
        (before,) = self._write("end", name, number, piece)
        if before != number:
            raise Unavailable(f"the store {self._database.place} has lost a part of what was being written: try again")

    def touch(self, name: str) -> int | None:
        """See `BlobStore.touch`."""
        (size,) = self._write("touch", name)
        return None if size is None else int(size)

    def has(self, name: str) -> bool:
        """See `BlobStore.has`."""
        return bool(self._read("first", name))

    def read(self, name: str, start: int, length: int) -> bytes:
        """See `BlobStore.read`."""
        parts: list[bytes] = []
        while length > 0:
            number, offset = divmod(start, PIECE_BYTES)
            wanted = min(length, PIECE_BYTES - offset)
            # SQL counts from 1.
            found = self._read("read", name, number, offset + 1, wanted)
            part = found[0][0] if found else b""
            parts.append(part)
            if len(part) < wanted:
                break
            start, length = start + wanted, length - wanted
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def copy(self, source: str, name: str) -> bool:
        """See `BlobStore.copy`."""
        first = 0
        copied: int
        while True:
            (copied,) = self._write("copy", source, name, first, first + COPIED_AT_ONCE)
            first += copied
            if copied < COPIED_AT_ONCE:
                return first > 0

    def remove(self, names: Sequence[str]) -> None:
        """See `BlobStore.remove`."""
        self._drop("drop", names)

    def remove_old(self, names: Sequence[str], age_ms: int) -> None:
        """See `BlobStore.remove_old`."""
        self._drop("drop_old", names, age_ms)

    def young(self, names: Sequence[str], age_ms: int) -> set[str]:
        """See `BlobStore.young`."""
        return {name for (name,) in self._read("young", texts(list(names)), age_ms)}

    def sizes(self, prefix: str) -> dict[str, int]:
        """See `BlobStore.sizes`."""
        behind = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        return {name: int(size) for name, size in self._read("sizes", prefix, behind)}

    def next_name(self, after: str) -> str | None:
        """The blob whose name follows another one, or the empty text. Raises: Unavailable."""
        found = self._read("next", after)
        return found[0][0] if found else None

    def _drop(self, statement: str, names: Sequence[str], *given: int) -> None:
        if not names:
            return
        gone = PIECES_AT_ONCE
        while gone == PIECES_AT_ONCE:
            (gone,) = self._write(statement, texts(list(names)), PIECES_AT_ONCE, *given)

    def _write(self, statement: str, *given: object) -> SqlRow:
        return write_fenced(self._database, _SQL[statement], given)

    def _read(self, statement: str, *given: object) -> list[SqlRow]:
        return self._database.opened.read_connections.run(lambda on: run(on, _SQL[statement], given).fetchall())


class _Writing:
    """See `BlobWriting`."""

    def __init__(self, blobs: PostgresBlobs, name: str) -> None:
        self._blobs = blobs
        self._name = name
        self._written = 0

    def put(self, piece: bytes, *, is_last: bool) -> None:
        """See `BlobWriting.put`."""
        number = self._written
        # Counted before it is there: a write without an answer may have been made.
        self._written += 1
        self._blobs.put(self._name, number, piece, is_last=is_last)

    def discard(self) -> None:
        """See `BlobWriting.discard`."""
        if self._written:
            self._blobs.remove([self._name])
