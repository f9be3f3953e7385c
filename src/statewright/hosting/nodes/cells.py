"""The cells of a node: looks at the cluster once a second, and takes, asks for, hands over and drops cells.

Owns which cells this node has, and what it knows of the others (`Directory`): which node has the home, and which has a
cell. `balance.py` decides, the membership (`stores/postgres/cells`) writes, and the worker's engine does the work.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Final, Protocol

from statewright.api.nodes.client import NodeClient
from statewright.api.nodes.links import NotSent, Unanswered
from statewright.api.nodes.peers import Peer, time_limit
from statewright.api.nodes.serving import LOOK
from statewright.background import Background
from statewright.clock import Clock
from statewright.errors import OwnershipLost, StoreError
from statewright.hosting.nodes.balance import moves_of
from statewright.stores.ids import SHARD
from statewright.stores.postgres.cells.membership import Membership
from statewright.stores.postgres.cells.seen import Seen

LOOK_MS: Final = 1_000
"""Between two looks at the cluster, unless a lease ends before."""
AFTER_MS: Final = 5
"""A look this long after the end of a lease finds it over."""
OUTAGE_MS: Final = 200
"""Until the next look, while the database does not answer."""
NUDGE_SECONDS: Final = 0.5
HAND_OVER_MS: Final = 5_000
"""For the steps at hand of a cell to be written, before it goes."""
AT_ONCE: Final = 4
"""Cells that are opened or handed over at the same time."""

log = logging.getLogger("statewright.server")


class CellsOfEngine(Protocol):
    """The engine of a worker, as the manager of its cells needs it."""

    async def add_cell(self, shard: int) -> None:
        """Begin to work on a cell, whose lease this process has. Raises: StoreError."""

    async def hand_over(self, shard: int) -> bool:
        """End the work on a cell, whose lease may be released then; False if it was lost before. Raises: StoreError."""

    def drop_cell(self, shard: int) -> bool:
        """Forget a cell that another process has now; False if it is not here."""


class NodeCells:
    """The cells of this node, and where all others are; a `Directory`. `client` tells other nodes to look."""

    def __init__(
        self,
        membership: Membership,
        clock: Clock,
        own: Peer,
        client: NodeClient,
    ) -> None:
        self._membership = membership
        membership.on_lost = self._note_lost
        self._clock = clock
        self._own = own
        self._client = client
        self._of_engine: CellsOfEngine | None = None
        self._on_home: Callable[[], None] = lambda: None
        self._known_home: Peer | None = None
        self._open: set[int] = set()
        """Shards that the engine works on."""
        self._seen: Seen | None = None
        self._owners: list[tuple[int, Peer]] | None = None
        """The answer of `owners`, until something changes."""
        self._home_epoch = 0
        self._takes_cells = False
        self._is_answering = True
        self._is_leaving = False
        self._changed = asyncio.Event()
        self._looked = asyncio.Event()
        self._look_soon = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._running: asyncio.Task[None] | None = None
        self._background = Background("releasing cells")

    def connect(self, engine: CellsOfEngine, on_home: Callable[[], None]) -> None:
        """Set the engine, before any cell is taken; `on_home` is called when another process has the home."""
        self._of_engine, self._on_home = engine, on_home

    @property
    def _engine(self) -> CellsOfEngine:
        assert self._of_engine is not None, "connect() comes before the first cell"
        return self._of_engine

    # ------------------------------------------------------------------ where things are

    @property
    def seen(self) -> Seen | None:
        """The cluster as this node saw it last; None before the first look."""
        return self._seen

    def count(self) -> int:
        """The number of cells that this process's worker has."""
        return len(self._open)

    def home(self) -> Peer | None:
        """The node that has the home; None while none is known to have it."""
        if self._home_epoch:
            return Peer(self._own.name, self._own.address, self._home_epoch)
        seen = self._seen
        if seen is None or seen.home is None or seen.home.name == self._own.name:
            return None
        return Peer(seen.home.name, seen.home.address, seen.home.home_epoch)

    def is_home(self) -> bool:
        """True while this process has the home."""
        return self._home_epoch != 0

    def owners(self) -> list[tuple[int, Peer]]:
        """The cells that a node has, this one included: their shards, without the home's, and the nodes."""
        if self._owners is None:
            shards = [one.shard for one in self._seen.cells] if self._seen is not None else []
            found = [(shard, self.owner_of(shard)) for shard in shards if shard != SHARD]
            self._owners = [(shard, peer) for shard, peer in found if peer is not None]
        return self._owners

    def has(self, shard: int) -> bool:
        """True if this process's worker has the cell of a shard."""
        return shard in self._open

    def has_any(self) -> bool:
        """True if this process's worker has a cell."""
        return bool(self._open)

    def owner_of(self, shard: int) -> Peer | None:
        """The node that has the cell of a shard, which is the home's for shards of no cell."""
        seen = self._seen
        if seen is None:
            return None
        cell = next((one for one in seen.cells if one.shard == shard), None)
        if cell is None or shard == SHARD:
            return self.home()
        if shard in self._open:
            return Peer(self._own.name, self._own.address, cell.epoch)
        node = next((one for one in seen.nodes if one.name == cell.node), None)
        if node is None or node.name == self._own.name or cell.left_ms <= 0:
            return None
        return Peer(node.name, node.address, cell.epoch)

    def peers(self) -> list[Peer]:
        """The other living nodes."""
        nodes = self._seen.nodes if self._seen is not None else []
        return [Peer(one.name, one.address, 0) for one in nodes if one.left_ms > 0 and one.name != self._own.name]

    async def refresh(self) -> None:
        """Look again now; returns once that has been done, or could not be."""
        if self._running is None or self._is_leaving:
            return
        looked = self._looked
        self._look_soon.set()
        await looked.wait()

    async def wait_for_change(self, timeout_seconds: float) -> None:
        """Wait until something is elsewhere than before, or for so long."""
        changed = self._changed
        with contextlib.suppress(TimeoutError), time_limit(self._clock, round(timeout_seconds * 1000)):
            await changed.wait()

    def look_soon(self) -> None:
        """Look at the cluster now: another node says that something has changed."""
        self._look_soon.set()

    # ------------------------------------------------------------------ the home

    async def home_begins(self, epoch: int) -> None:
        """Tell the cluster that this process has the home and answers for it. Raises: StoreError."""
        self._home_epoch = epoch
        await asyncio.to_thread(self._membership.home, epoch)
        self._note_change()
        await self.nudge_all()

    # ------------------------------------------------------------------ life

    def start(self) -> asyncio.Task[None]:
        """Begin to look. The task ends with `leave`. Raises: OwnershipLost, in that task, once another process has the
        name of this node.
        """
        self._running = self._loop.create_task(self._run())
        return self._running

    def take_cells(self) -> None:
        """Take cells from now on."""
        self._takes_cells = True
        self._look_soon.set()

    async def leave(self) -> None:
        """Hand over every cell. The membership is its owner's to end."""
        self._is_leaving = True
        if self._running is not None:
            self._look_soon.set()
            await asyncio.wait([self._running])
        await self._hand_over(sorted(self._open))
        await self.nudge_all()

    def _note_lost(self, shards: list[int]) -> None:
        """Other processes have these cells now; called in the thread that renews the leases."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._lost, shards)

    def lost_cell(self, shard: int, reason: str) -> None:
        """Note that a cell is another process's, as its engine has found."""
        log.debug("the cell %d is lost: %s", shard, reason)
        self._lost([shard])
        # It may be the engine alone that has given it up.
        self._background.spawn(self._release(shard))

    def _lost(self, shards: list[int]) -> None:
        for shard in shards:
            if shard in self._open:
                log.warning("the cell %d is another node's now", shard)
                self._open.discard(shard)
                self._engine.drop_cell(shard)
        self._note_change()
        self._look_soon.set()

    async def _run(self) -> None:
        while not self._is_leaving:
            pause_ms = OUTAGE_MS
            try:
                seen = await asyncio.to_thread(self._membership.look)
                self._note(seen)
                pause_ms = self._pause_ms(seen)
                if self._takes_cells and await self._balance(seen):
                    # What moved may have left room for more, and others see it when they look.
                    pause_ms = AFTER_MS
            except OwnershipLost:
                raise
            except StoreError as problem:
                self._note_outage(problem)
            except Exception:
                log.exception("looking after the cells of this node failed because of a bug in Statewright")
                pause_ms = LOOK_MS
            finally:
                looked, self._looked = self._looked, asyncio.Event()
                looked.set()
            await self._pause(pause_ms)

    def _note(self, seen: Seen) -> None:
        if not self._is_answering:
            self._is_answering = True
            log.info("the database of the cluster answers again")
        before, self._seen = self._seen, seen
        self._cut_gone(before, seen)
        if before is None or _places(before) != _places(seen):
            self._note_change()

    def _cut_gone(self, before: Seen | None, seen: Seen) -> None:
        """End the calls at nodes that are gone: a frozen one would never answer."""
        living = {node.incarnation for node in seen.nodes if node.left_ms > 0}
        for node in before.nodes if before is not None else ():
            if node.incarnation not in living and node.name != self._own.name:
                self._client.cut(Peer(node.name, node.address, 0))

    def _note_change(self) -> None:
        self._owners = None
        home = self.home()
        if home is not None and home != self._known_home:
            self._known_home = home
            self._on_home()
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _note_outage(self, problem: StoreError) -> None:
        if self._is_answering:
            self._is_answering = False
            log.warning("the cells of this node stay as they are: %s", problem)

    def _pause_ms(self, seen: Seen) -> int:
        """Until the next look: a second, or until a lease of another node ends."""
        ends = [cell.left_ms for cell in seen.cells if cell.left_ms > 0 and cell.shard not in self._open]
        return min([LOOK_MS, *(one + AFTER_MS for one in ends)])

    async def _pause(self, pause_ms: int) -> None:
        soon = asyncio.ensure_future(self._look_soon.wait())
        sleeping = asyncio.ensure_future(self._clock.sleep_until(self._clock.now_ms() + pause_ms))
        await asyncio.wait({soon, sleeping}, return_when=asyncio.FIRST_COMPLETED)
        for one in (soon, sleeping):
            one.cancel()
        self._look_soon.clear()

    # ------------------------------------------------------------------ moves

    async def _balance(self, seen: Seen) -> bool:
        """Make the moves that are due; true if a cell came or went. Raises: StoreError."""
        membership, moves = self._membership, moves_of(self._own.name, self._open, seen.nodes, seen.cells)
        if moves.want:
            await asyncio.to_thread(membership.want, moves.want)
            await self.nudge_all()
        if moves.hand_over:
            await self._hand_over(moves.hand_over)
            await self.nudge_all()
        taken: list[int] = []
        if moves.take:
            taken = await asyncio.to_thread(membership.take, moves.take)
        await self._begin(taken)
        return bool(moves.hand_over or taken)

    async def _begin(self, shards: list[int]) -> None:
        """Work on cells whose leases were taken; one that cannot be opened is released."""
        places = asyncio.Semaphore(AT_ONCE)

        async def begin(shard: int) -> None:
            async with places:
                try:
                    await self._engine.add_cell(shard)
                except StoreError as problem:
                    log.warning("the cell %d was not opened: %s", shard, problem)
                    await self._release(shard)
                    return
                except Exception:
                    # Another try may do better; kept here, its executions would stand still.
                    log.exception("the cell %d was not opened because of a bug in Statewright", shard)
                    await self._release(shard)
                    return
            if shard in self._membership.held():
                self._open.add(shard)
            else:
                self._engine.drop_cell(shard)

        await asyncio.gather(*(begin(shard) for shard in shards))
        if shards:
            log.info("this node has %d cells now", len(self._open))
            self._note_change()

    async def _hand_over(self, shards: list[int]) -> None:
        places = asyncio.Semaphore(AT_ONCE)

        async def hand_over(shard: int) -> None:
            async with places:
                try:
                    with time_limit(self._clock, HAND_OVER_MS):
                        await self._engine.hand_over(shard)
                except TimeoutError:
                    log.warning("the cell %d was not handed over in time, and is dropped", shard)
                except StoreError as problem:
                    log.debug("the cell %d is not handed over: %s", shard, problem)
                self._open.discard(shard)
                await self._release(shard)

        await asyncio.gather(*(hand_over(shard) for shard in shards))
        if shards:
            log.info("this node has handed over %d cells, and has %d", len(shards), len(self._open))
            self._note_change()

    async def _release(self, shard: int) -> None:
        """Let other nodes take a cell; without an answer of the database, its lease ends by itself."""
        with contextlib.suppress(StoreError):
            await asyncio.to_thread(self._membership.release, [shard])

    async def nudge_all(self) -> None:
        """Have the other nodes look now rather than within a second; best effort."""
        await asyncio.gather(*(self._nudge(peer) for peer in self.peers()))

    async def _nudge(self, peer: Peer) -> None:
        with contextlib.suppress(NotSent, Unanswered):
            await self._client.call(peer, LOOK, b"", NUDGE_SECONDS)


def _places(seen: Seen) -> list[object]:
    """The places of all things, without the times of leases."""
    home = seen.home
    return [
        [(cell.shard, cell.node, cell.epoch, cell.left_ms > 0) for cell in seen.cells],
        [(node.name, node.address, node.left_ms > 0) for node in seen.nodes],
        None if home is None else (home.name, home.home_epoch),
    ]
