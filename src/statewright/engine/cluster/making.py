"""The making of cells: their shards, and the parts that the cells of one engine share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from statewright.clock import Clock
from statewright.engine.counters import Counters
from statewright.engine.metering import ExecutionMeter
from statewright.engine.retrying import RetryingStore
from statewright.engine.shard import Shard
from statewright.engine.turnstile import Turnstile
from statewright.limits import Limits
from statewright.stores.ids import SHARD, cell_shard
from statewright.stores.store import Store


@dataclass(frozen=True, slots=True)
class ShardMaking:
    """The parts that the shards of one engine share. See `Shard`."""

    store: Store
    clock: Clock
    region: str
    limits: Limits
    counters: Counters
    retrying: RetryingStore
    turnstile: Turnstile
    make_seed: Callable[[], bytes]
    meter: ExecutionMeter | None

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
            on_lost=on_lost,
        )


def own_shards(store: Store, cells: int) -> Sequence[int]:
    """The shards of an engine with a home, that of the home first. The other regions of a store have one cell each."""
    return [store.shard] if store.shard != SHARD else [cell_shard(number) for number in range(cells)]
