"""A node's membership in a cluster: its lease, and those of the cells that it has.

1. A node is a row with a name, an address and a lease. The row belongs to one process, its incarnation; another process
   takes the name once the lease has run out.
2. A cell is a row of `shard`, with the incarnation that has it, an epoch that grows with each owner, and a lease.
3. One statement a second renews the leases of the node and of all its cells, on a thread and by the real monotonic
   clock, as in `lease.py`. A cell that the statement does not return belongs to another node.
4. What protects the data is not the thread but the fence in every statement that writes: owner and epoch of the cell.
5. Programs of two versions may be nodes at once. The cluster has a format, which all live nodes know and write; it is
   raised when the last node leaves that does not know the next. A node whose program does not know
   the format gets no cell.
6. The home, which has shard 0, has that by a lease of its own (`lease.py`); the row of its node has that epoch.

Leaves it to the caller how many cells a node shall have, and which ones it gives up.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import psycopg

from statewright import chance
from statewright.errors import CellLost, InUse, OwnershipLost, StoreError, Unavailable
from statewright.stores.ids import MOST_CELLS, cell_shard
from statewright.stores.postgres.arrays import bigints
from statewright.stores.postgres.cells.seen import Seen, seen
from statewright.stores.postgres.connection import WRITE_TIMEOUT_MS, Connection, connect, explained, migrate, run
from statewright.stores.postgres.lease import LEASE_MS, RENEW_SECONDS, RETRY_SECONDS, TRUST_SECONDS
from statewright.stores.postgres.pool import ConnectionPool
from statewright.stores.statements import statements

CELLS: Final = 32
"""Of a new cluster."""
FORMATS: Final = range(1, 2)
"""Formats, of what nodes write and say to each other, that this program knows. See "A format of the
cluster" in docs/adding.md."""
SECRET_BYTES: Final = 32
KEPT_MS: Final = 3_600_000
"""How long the row of a node that ended without leaving stays."""

_SQL: Final = statements("postgres_cells")

log = logging.getLogger("statewright.cluster")


@dataclass(frozen=True, slots=True)
class Cluster:
    """The properties that all nodes share: the number of cells, with that of the home, and the secret."""

    cells: int
    secret: bytes


def _nothing(_: list[int]) -> None:
    """Ignore a loss."""


class Membership:
    """One process as a node of a cluster. Methods may be called in any thread; they block where not noted otherwise."""

    def __init__(
        self,
        address: str,
        place: str,
        *,
        name: str,
        url: str,
        cells: int = CELLS,
        on_lost: Callable[[list[int]], None] = _nothing,
        formats: range = FORMATS,
    ) -> None:
        """Nothing is touched before `join`.

        `address` is that of the database, `place` the database as messages show it; `url` is where other nodes reach
        this one. `cells` is for the first node, which makes the cluster. `on_lost` is called with the shards of cells
        that another node has now, in the thread that renews: it must not block. `formats` are those the program knows.

        Raises: ValueError for a number of cells that no cluster has.
        """
        if not 1 <= cells <= MOST_CELLS:
            raise ValueError(f"a cluster has from 1 to {MOST_CELLS} cells, not {cells}")
        self.name = name
        self.url = url
        self.incarnation: Final = f"{name} {chance.secret_bytes(8).hex()}"
        """Unique to this process: the owner of its cells."""
        self.place = place
        self.on_lost = on_lost
        self._address = address
        self._cells = cells
        self._formats = formats
        self._format = formats[0]
        self._cluster: Cluster | None = None
        self._shards: Sequence[int] = ()
        self._pool = ConnectionPool(address, place, WRITE_TIMEOUT_MS)
        self._connection: Connection | None = None
        """Of the thread that renews."""
        self._lock = threading.Lock()
        self._held: dict[int, int] = {}
        self._is_lost = False
        self._renewed = -math.inf
        self._taken = -math.inf
        """The database's clock less the monotonic one of this machine, in milliseconds, as of an answer to `take`."""
        self._wake = threading.Event()
        self._is_leaving = False
        self._thread: threading.Thread | None = None

    @property
    def cluster(self) -> Cluster:
        """The cluster, once this node has joined it. Raises: Unavailable before. Does not block."""
        if self._cluster is None:
            raise Unavailable(f"the node {self.name} has not joined the cluster of {self.place}")
        return self._cluster

    @property
    def format(self) -> int:
        """The format that this node is to write, as of the last renewal: all live nodes know it. Does not block."""
        return self._format

    @property
    def newest_format(self) -> int:
        """The newest format that this program knows."""
        return self._formats[-1]

    # ------------------------------------------------------------------ joining and leaving

    def join(self) -> None:
        """Join the cluster, or make it, once; waits up to three seconds for the lease of a process of the same name.

        Raises: InUse, naming the address of a live node of the same name; StoreError for a cluster whose
        format this program does not know, or a database that cannot be used; Unavailable.
        """
        migrate(self._address, self.place)
        with explained(self.place), connect(self._address, WRITE_TIMEOUT_MS) as connection:
            until_seen: int | None = None
            while not self._entered(connection):
                found = run(connection, _SQL["holder"], (self.name,)).fetchone()
                if found is None:
                    continue
                address, until_ms, now_ms = found
                if until_ms > now_ms and until_seen is not None and until_ms != until_seen:
                    raise InUse(f"the name {self.name} is in use by the node at {address}")
                until_seen = until_ms
                # A node that lives renews within a second.
                self._wake.wait(min(max(until_ms - now_ms, 0) / 1_000 + 0.01, RETRY_SECONDS))
        self._thread = threading.Thread(target=self._keep, name="statewright-node", daemon=True)
        self._thread.start()

    def _entered(self, connection: Connection) -> bool:
        """Make what the cluster lacks, and register the node; False while another process has the name."""
        begun = time.monotonic()
        with connection.transaction():
            new = (self._cells, chance.secret_bytes(SECRET_BYTES), self._formats[-1])
            run(connection, _SQL["prepare"], new)
            # Locked: of two nodes that join at once, the second sees the first.
            [(cells, secret, form)] = run(connection, _SQL["cluster"]).fetchall()
            shards = [cell_shard(number) for number in range(1, cells)]
            run(connection, _SQL["prepare_cells"], (bigints(shards),))
            self._refuse_other_formats(form)
            given = (self.name, self.incarnation, self.url, LEASE_MS, self._formats[-1])
            if run(connection, _SQL["register"], given).fetchone() is None:
                return False
            run(connection, _SQL["forget_old"], (KEPT_MS,))
        self._cluster = Cluster(cells, bytes(secret))
        self._shards = shards
        self._renewed = begun
        return True

    def _refuse_other_formats(self, found: int) -> None:
        oldest, newest = self._formats[0], self._formats[-1]
        if found > newest:
            raise StoreError(
                f"the cluster of {self.place} has gone on to format {found}, this program knows formats up to {newest}"
                ": run the newer version of Statewright that the other nodes run, or ran"
            )
        if found < oldest:
            raise StoreError(
                f"the cluster of {self.place} still has format {found}, this program knows formats from {oldest} on: "
                "run a version in between on all nodes first"
            )
        self._format = found

    def leave(self) -> None:
        """Give all cells and the name back at once; harmless when repeated. A database that is down learns it later."""
        self._is_leaving = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
            with contextlib.suppress(StoreError):
                self.release(list(self.held()))
            with contextlib.suppress(StoreError):
                self._pool.run(lambda on: run(on, _SQL["leave"], (self.name, self.incarnation)))
        self._renewed = -math.inf
        self._pool.close()

    # ------------------------------------------------------------------ what this node has

    def check(self) -> None:
        """Check the node's lease, as `Lease.check` does. Does not block.

        Raises: OwnershipLost once another process has the name; Unavailable while that is not known.
        """
        if self._is_lost:
            raise self._lost()
        if time.monotonic() - self._renewed > TRUST_SECONDS:
            raise Unavailable(
                f"the store {self.place} does not answer: the lease of the node {self.name} could not be renewed"
            )

    def held(self) -> dict[int, int]:
        """The shards of this node's cells with their epochs, as of the last renewal. Does not block."""
        with self._lock:
            return dict(self._held)

    def epoch_of(self, shard: int) -> int:
        """The epoch under which this node has a cell. Raises: CellLost if it does not. Does not block."""
        epoch = self._held.get(shard)
        if epoch is None:
            raise self.not_held(shard)
        return epoch

    def not_held(self, shard: int) -> CellLost:
        """The error for a cell that this node does not have. Does not block."""
        return CellLost(f"the node {self.name} does not have the cell with shard {shard} of {self.place}", shard)

    def doubt(self, cells: Iterable[tuple[int, int]]) -> None:
        """Renew at once if the fence did not find a cell, by shard and epoch, that this node believes it has. Does not
        block.
        """
        if any(self._held.get(shard) == epoch for shard, epoch in cells):
            self._wake.set()

    # ------------------------------------------------------------------ cells come and go

    def take(self, shards: Collection[int]) -> list[int]:
        """Take those of some cells that are free, even if another node has asked for them; the shards that it got.

        Raises: OwnershipLost, Unavailable.
        """
        self.check()
        held = self.held()
        lacking = [shard for shard in self._shards if shard not in held and shard in shards]
        if not lacking:
            return []
        given = (self.name, self.incarnation, LEASE_MS, bigints(lacking))
        rows = self._pool.run(lambda on: run(on, _SQL["take"], given).fetchall())
        taken = {shard: epoch for shard, epoch, _ in rows}
        answered = time.monotonic()
        with self._lock:
            if self._is_lost:
                raise self._lost()
            self._held.update(taken)
            self._taken = max([self._taken, *((now_ms - answered * 1_000) for *_, now_ms in rows)])
        return sorted(taken)

    def ids_ms(self) -> int:
        """The instant of new ids of cells, by the database's clock, since cells were taken. Does not block.

        Never ahead of that clock: so the ids of a cell's next owner, which takes it later by the same clock, are
        greater, however wrong the clocks of both machines are.
        """
        return int(time.monotonic() * 1_000 + self._taken)

    def release(self, shards: Iterable[int]) -> None:
        """Give cells back, for other nodes to take at once; those that this node does not have are ignored.

        Nothing more is written to them from the call on, even if it fails. Raises: Unavailable.
        """
        with self._lock:
            given = {shard: self._held.pop(shard) for shard in set(shards) if shard in self._held}
        if given:
            cells = bigints(list(given)), bigints(list(given.values()))
            self._pool.run(lambda on: run(on, _SQL["release"], (self.incarnation, *cells)))

    def want(self, shards: Collection[int]) -> None:
        """Ask the owners of cells for these. Raises: Unavailable."""
        if shards:
            self._pool.run(lambda on: run(on, _SQL["want"], (self.name, bigints(list(shards)))))

    def home(self, epoch: int) -> None:
        """Note that this process is the home, by its epoch of shard 0; 0: not any more. Raises: OwnershipLost,
        Unavailable.
        """
        given = (self.name, self.incarnation, epoch)
        if self._pool.run(lambda on: run(on, _SQL["home"], given).fetchone()) is None:
            self._wake.set()
            raise self._lost()

    def look(self) -> Seen:
        """The nodes, the cells and the home, as they are now. Raises: Unavailable."""
        return seen(self._pool.run(lambda on: run(on, _SQL["look"]).fetchall()))

    def database_ms(self) -> int:
        """The instant by the database's clock. Raises: Unavailable."""
        [(found,)] = self._pool.run(lambda on: run(on, _SQL["now"]).fetchall())
        return int(found)

    # ------------------------------------------------------------------ the thread

    def _keep(self) -> None:
        pause = RENEW_SECONDS
        while not self._is_lost:
            self._wake.wait(pause)
            self._wake.clear()
            if self._is_leaving:
                break
            try:
                gone = self._renew()
                pause = RENEW_SECONDS
            except psycopg.Error:
                self._close()
                pause = RETRY_SECONDS
                continue
            if gone:
                try:
                    self.on_lost(gone)
                except Exception:
                    log.exception("the loss of the cells with the shards %s was not taken note of", gone)
        self._close()

    def _renew(self) -> list[int]:
        """Renew all leases; the shards of cells that another node has. Raises: psycopg.Error."""
        begun = time.monotonic()
        if self._connection is None:
            self._connection = connect(self._address, WRITE_TIMEOUT_MS)
        known = self.held()
        cells = bigints(list(known)), bigints(list(known.values()))
        given = (self.name, self.incarnation, LEASE_MS, *cells)
        [(is_own, renewed, self._format)] = run(self._connection, _SQL["renew"], given).fetchall()
        with self._lock:
            if not is_own:
                self._is_lost = True
                gone, self._held = sorted(self._held), {}
                return gone
            # Not those that were released meanwhile.
            lost = known.keys() - set(renewed)
            gone = sorted(shard for shard in lost if self._held.get(shard) == known[shard])
            for shard in gone:
                del self._held[shard]
        # Counted from before the call: the answer may have been long under way.
        self._renewed = begun
        return gone

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _lost(self) -> OwnershipLost:
        if self._format not in self._formats:
            return OwnershipLost(
                f"the cluster of {self.place} went on to format {self._format} while the node {self.name} did not "
                "answer; this program does not know it: run the newer version of Statewright"
            )
        return OwnershipLost(f"the name {self.name} of this node was taken over by another process of {self.place}")
