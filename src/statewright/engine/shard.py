"""A shard: the state that all parts of the engine share. It imports none of those parts.

Owns what they share (store, clock, ids, limits, counters, background tasks) and whether this process has the shard.
The lease itself is the store's: `Store.open` takes it (the lock of a data folder proves the old owner dead; the lease
of a database is renewed each second on the real clock), every group of commits is fenced by it, and a store whose lease
is two thirds gone writes nothing more. The first part to notice that another process has the shard calls `lost`, and
the engine drops everything in memory that belongs to it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from statewright import chance
from statewright.background import Background
from statewright.clock import Clock
from statewright.engine.counters import Counters
from statewright.engine.metering import ExecutionMeter
from statewright.engine.retrying import RetryingStore
from statewright.engine.turnstile import Turnstile
from statewright.errors import CellLost, OwnershipLost
from statewright.limits import Limits, express_limits
from statewright.stores.ids import SHARD, IdSource, cell_shard
from statewright.stores.store import Store

logger = logging.getLogger(__name__)


class Shard:
    """The shard of a store as its owner works on it. `counters`, `retrying` and `turnstile` are the whole
    engine's.

    `store` answers immediately, if only by `Unavailable`: for callers that wait. `retrying` is the same store, asked
    until it answers. `limits` are those of STANDARD executions. `make_seed`: where an execution's chance comes from.
    `on_lost` is called once, with the reason, when this process has lost the shard: another one has taken it, or the
    data folder was removed.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        region: str,
        limits: Limits,
        *,
        number: int,
        counters: Counters,
        retrying: RetryingStore,
        turnstile: Turnstile,
        make_seed: Callable[[], bytes] = lambda: chance.random_bytes(16),
        meter: ExecutionMeter | None = None,
        ids_ms: Callable[[], int] | None = None,
        on_lost: Callable[[str], None],
    ) -> None:
        self.number: Final = number
        self.store = store
        self.clock = clock
        self.region = region
        self.make_seed = make_seed
        self.meter = meter
        self.ids = IdSource(ids_ms or clock.now_ms, shard=self.number)
        self.counters = counters
        self.retrying = retrying
        self.turnstile = turnstile
        self.background = Background("work of the engine", self.notices)
        self.spawn = self.background.spawn
        """Run something that no caller waits for."""
        self.is_held = False
        """True while this process owns the shard and does what its rows ask for."""
        self._limits = limits
        self._express_limits = express_limits(limits)
        self._on_lost = on_lost

    async def take(self) -> None:
        """Begin to work on what the store has, whose lease this process holds."""
        self.is_held = True
        self.ids.pass_by(await self.store.newest_id(self.number))

    def limits_of(self, execution_type: str) -> Limits:
        """The limits of a STANDARD or EXPRESS execution."""
        return self._limits if execution_type != "EXPRESS" else self._express_limits

    def check(self) -> None:
        """Ask whether the lease still stands; for a process that has nothing to commit.

        Raises: Unavailable while the store cannot say.
        """
        try:
            self.store.check_lease()
        except OwnershipLost as problem:
            self.lost(problem)

    def lost(self, problem: OwnershipLost) -> None:
        """Drop the shard, which is no longer this process's; harmless when repeated."""
        if not self.is_held:
            return
        self.is_held = False
        logger.error("%s; nothing more is done here", problem)
        self._on_lost(str(problem))

    def notices(self, problem: BaseException) -> bool:
        """Drop the shard if a problem leaves this process no right or no means to continue; true if it does."""
        if isinstance(problem, MemoryError):
            # What was half done in memory is unknown. The store has all that was acknowledged, for the next process.
            problem = OwnershipLost("the server has no memory left")
        if isinstance(problem, CellLost) and problem.shard != self.number:
            # The row that a commit was to complete is of another cell, which this process has no more.
            return True
        if isinstance(problem, OwnershipLost):
            self.lost(problem)
            return True
        return False


@dataclass(frozen=True, slots=True)
class ShardMaking:
    """Makes the shards of one engine from the parts that they share. See `Shard`."""

    store: Store
    clock: Clock
    region: str
    limits: Limits
    counters: Counters
    retrying: RetryingStore
    turnstile: Turnstile
    make_seed: Callable[[], bytes]
    meter: ExecutionMeter | None
    ids_ms: Callable[[], int] | None

    def make(self, number: int, on_lost: Callable[[str], None]) -> Shard:
        """A shard that is still to be taken."""
        return Shard(
            self.store,
            self.clock,
            self.region,
            self.limits,
            number=number,
            counters=self.counters,
            retrying=self.retrying,
            turnstile=self.turnstile,
            make_seed=self.make_seed,
            meter=self.meter,
            ids_ms=self.ids_ms,
            on_lost=on_lost,
        )


def own_shards(store: Store, cells: int) -> Sequence[int]:
    """The shards of an engine with a home, that of the home first. The other regions of a store have one cell each."""
    return [store.shard] if store.shard != SHARD else [cell_shard(number) for number in range(cells)]
