"""Writes of the catalogue as groups: one statement for all that is queued, gated by the fence and by versions.

1. A group is written in waves: a write waits for the next wave if one before it in the wave names one of its entries.
   So no statement touches a row twice, and each write sees what those before it wrote.
2. The statement holds the fence first (`held`): without it nothing is written, and the process has lost the store.
3. A write whose versions do not fit writes nothing at all, and the others of its wave do not notice.
4. Several waves are one transaction: if one of them fails, the writes are repeated one by one, and would not fit a
   second time.

The comparison of versions needs no lock: entries are written on one lane of the store's one owner. The entries that
come with a write of objects have new keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final

from statewright.stores.completion import Completion, completed
from statewright.stores.postgres.arrays import bigints, byteas, texts
from statewright.stores.postgres.connection import Connection, run, transaction
from statewright.stores.postgres.lease import Lease
from statewright.stores.protocol import EntryRow
from statewright.stores.statements import statements

_SQL: Final = statements("postgres_catalogue")

Name = tuple[str, str]
"""Kind and key of an entry."""


@dataclass(frozen=True, slots=True)
class EntryWrite:
    """See `CatalogueStore.write`. An entry that is both put and deleted is put."""

    put: Sequence[EntryRow]
    delete: Sequence[Name] = ()
    completion: Completion[bool] | None = None

    def names(self) -> set[Name]:
        """The entries that it touches."""
        return {(row.kind, row.key) for row in self.put}.union(self.delete)


@dataclass(frozen=True, slots=True)
class NumberRequest:
    """See `CatalogueStore.next_number`."""

    name: str


def write_entries(connection: Connection, lease: Lease, writes: Sequence[EntryWrite]) -> list[bool]:
    """Make writes in their order; for each of them, whether its versions fitted. Raises: OwnershipLost."""
    fitted = [True] * len(writes)
    waves = list(_waves(writes))
    with transaction(connection) if len(waves) > 1 else nullcontext():
        for wave in waves:
            for place in _write_wave(connection, lease, writes, wave):
                fitted[place] = False
    return fitted


def next_numbers(connection: Connection, lease: Lease, requests: Sequence[NumberRequest]) -> list[int]:
    """The next number for each request, in order. Raises: OwnershipLost."""
    many = Counter(request.name for request in requests)
    given = texts(list(many)), bigints(list(many.values()))
    rows = run(connection, _SQL["next_numbers"], (lease.owner, lease.epoch, *given)).fetchall()
    if not rows:
        raise lease.taken_over()
    following = {name: last - many[name] for name, last in rows}
    found = []
    for request in requests:
        following[request.name] += 1
        found.append(following[request.name])
    return found


def _waves(writes: Sequence[EntryWrite]) -> Iterable[list[int]]:
    """The places of the writes of each wave, in which no entry is named twice."""
    waiting = list(range(len(writes)))
    while waiting:
        wave: list[int] = []
        later: list[int] = []
        touched: set[Name] = set()
        for place in waiting:
            names = writes[place].names()
            (later if touched & names else wave).append(place)
            # A write that waits holds its entries, too: none behind it may come first.
            touched |= names
        yield wave
        waiting = later


def _write_wave(connection: Connection, lease: Lease, writes: Sequence[EntryWrite], wave: list[int]) -> list[int]:
    """Write a wave; the places of those that did not fit."""
    put: list[tuple[int, EntryRow]] = []
    dropped: list[tuple[int, Name]] = []
    completions: list[tuple[int, int, bytes]] = []
    for place in wave:
        write = writes[place]
        put += [(place, row) for row in write.put]
        kept = {(row.kind, row.key) for row in write.put}
        dropped += [(place, name) for name in set(write.delete) if name not in kept]
        completions += [(place, *row) for row in completed([(write.completion, True)])]
    given = (
        lease.owner,
        lease.epoch,
        bigints([place for place, _ in put]),
        texts([row.kind for _, row in put]),
        texts([row.key for _, row in put]),
        texts([row.parent for _, row in put]),
        bigints([row.sort for _, row in put]),
        bigints([row.version for _, row in put]),
        byteas([row.body for _, row in put]),
        bigints([place for place, _ in dropped]),
        texts([kind for _, (kind, _) in dropped]),
        texts([key for _, (_, key) in dropped]),
        bigints([place for place, _, _ in completions]),
        bigints([number for _, number, _ in completions]),
        byteas([body for _, _, body in completions]),
    )
    found = run(connection, _SQL["write_group"], given).fetchone()
    if found is None or not found[0]:
        raise lease.taken_over()
    return list(found[1])
