"""The directory of Map Runs: found by ARN, shown, listed and changed for the API, in all cells."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

from statewright.arn import MAP_RUN, parse_arn
from statewright.clock import Clock
from statewright.engine.executions.names import MAP_RUN_DATES, MAP_RUN_IDS, ExecutionNames
from statewright.engine.list_tokens import read_token, write_token
from statewright.engine.map_runs.head import RunHead
from statewright.engine.map_runs.map_runs import MapRuns
from statewright.errors import ApiError, ElsewhereError
from statewright.interpreter.map_run.messages import RunUpdated
from statewright.interpreter.map_run.state import MapRunState, execution_counts, item_counts
from statewright.payload import Json
from statewright.stores.ids import MOST_SHARDS, first_id, made_ms, shard_of_id
from statewright.stores.store import Store

_CACHED: Final = 4_096
"""Ids of runs that are kept in memory."""


class MapRunDirectory:
    """All Map Runs of an engine. `of_shards` are those of each cell, by its shard."""

    def __init__(
        self, store: Store, clock: Clock, names: ExecutionNames, of_shards: Callable[[], dict[int, MapRuns]]
    ) -> None:
        self._store = store
        self._clock = clock
        self._names = names
        self._of_shards = of_shards
        self._ids: OrderedDict[str, int] = OrderedDict()

    # ------------------------------------------------------------------ one run

    async def id_of(self, map_run_arn: str) -> int:
        """The id of a run. Raises: ApiError (`InvalidArn`, `ResourceNotFound`)."""
        parse_arn(map_run_arn, MAP_RUN)
        row = await self._store.catalogue.get(MAP_RUN_IDS.name, map_run_arn)
        if row is None:
            raise _not_found(map_run_arn)
        self._ids[map_run_arn] = row.sort
        if len(self._ids) > _CACHED:
            self._ids.popitem(last=False)
        return row.sort

    async def known_id_of(self, map_run_arn: str) -> int:
        """The id of a run, or of one that has been deleted: no other run gets its ARN. Raises: see `id_of`."""
        known = self._ids.get(map_run_arn)
        return known if known is not None else await self.id_of(map_run_arn)

    async def describe(self, map_run_arn: str) -> dict[str, Json]:
        """A run as DescribeMapRun shows it; instants are epoch milliseconds. Raises: see `id_of`; ElsewhereError."""
        state = await self._state(map_run_arn, await self.known_id_of(map_run_arn))
        shown: dict[str, Json] = {
            "mapRunArn": map_run_arn,
            "executionArn": state.settings.execution_arn,
            "status": state.status,
            "startDate": state.started_ms,
            "stopDate": state.stopped_ms,
            "maxConcurrency": state.max_concurrency,
            "toleratedFailurePercentage": float(state.tolerated_percentage or 0),
            "toleratedFailureCount": state.tolerated_count or 0,
            "itemCounts": item_counts(state),
            "executionCounts": execution_counts(state),
            "redriveCount": state.redrive_count,
            "redriveDate": state.redriven_ms,
        }
        return {name: value for name, value in shown.items() if value is not None}

    async def update(
        self,
        map_run_arn: str,
        *,
        max_concurrency: int | None = None,
        tolerated_failure_percentage: float | None = None,
        tolerated_failure_count: int | None = None,
    ) -> None:
        """Change the limits of a run that is open. Raises: ApiError (`ResourceNotFound`, `ValidationException`);
        ElsewhereError.
        """
        run_id = await self.known_id_of(map_run_arn)
        update = RunUpdated(max_concurrency, tolerated_failure_count, tolerated_failure_percentage)
        if not await self._runs(run_id).update(run_id, update):
            await self._state(map_run_arn, run_id)
            raise ApiError("ValidationException", "Map run is completed and cannot be updated")

    async def _state(self, map_run_arn: str, run_id: int) -> MapRunState:
        state = await self._runs(run_id).state_of(run_id)
        if state is None:
            raise _not_found(map_run_arn)
        return state

    def open_state(self, run_id: int) -> MapRunState | None:
        """See `MapRuns.open_state`; `None` also for one in a cell of another engine."""
        runs = self._of_shards().get(shard_of_id(run_id))
        return runs.open_state(run_id) if runs is not None else None

    def _runs(self, run_id: int) -> MapRuns:
        shard = shard_of_id(run_id)
        runs = self._of_shards().get(shard)
        if runs is None:
            raise ElsewhereError(shard, "the Map Run is")
        return runs

    # ------------------------------------------------------------------ several

    def open_ids(self) -> list[int]:
        """The ids of the runs that are open: their child executions are listed below these."""
        return [run_id for runs in self._of_shards().values() for run_id in runs.open_ids()]

    @property
    def open(self) -> int:
        """How many runs are open."""
        return sum(runs.open for runs in self._of_shards().values())

    async def list(
        self, execution_arn: str, *, token: str | None = None, limit: int = 100
    ) -> tuple[list[dict[str, Json]], str | None]:
        """The runs of an execution, newest first, and the token of the next page.

        Raises: ApiError (`ExecutionDoesNotExist`, `InvalidToken`).
        """
        parent = await self._names.row_of(execution_arn)
        scope = f"map runs {execution_arn}"
        now_ms = self._clock.now_ms()
        place = read_token(scope, token, now_ms)
        after = (place[0], int(place[1])) if place is not None else None
        page = await self._store.executions.list_rows(-parent.id, status=None, after=after, limit=limit)
        shown: list[dict[str, Json]] = []
        for row in page.rows:
            head = RunHead.decode(row.head)
            one: dict[str, Json] = {
                "executionArn": execution_arn,
                "mapRunArn": head.map_run_arn,
                "stateMachineArn": head.child_machine_arn,
                "startDate": row.started_ms,
            }
            if row.stopped_ms is not None:
                one["stopDate"] = row.stopped_ms
            shown.append(one)
        more = page.rows[-1] if page.next is not None else None
        return shown, write_token(scope, (more.started_ms, str(more.id)) if more else None, now_ms)

    # ------------------------------------------------------------------ ends

    async def forget(self, before_ms: int, limit: int) -> int:
        """Delete the names of up to `limit` runs that retention has taken, of all cells; returns how many."""
        gone: list[str] = []
        shard = 0
        while len(gone) < limit and shard < MOST_SHARDS and (found := await self._next_shard(shard)) is not None:
            gone += await self._forgotten(found, before_ms, limit - len(gone))
            shard = found + 1
        if gone:
            kinds = (MAP_RUN_IDS.name, MAP_RUN_DATES.name)
            await self._store.catalogue.write([], [(kind, arn) for arn in gone for kind in kinds])
        return len(gone)

    async def _next_shard(self, shard: int) -> int | None:
        """The first shard from this one on that has runs."""
        found = await self._store.catalogue.list_entries(
            MAP_RUN_DATES.name, "", after=(first_id(shard), ""), limit=1, newest_first=False
        )
        return shard_of_id(found[0].sort) if found else None

    async def _forgotten(self, shard: int, before_ms: int, limit: int) -> Sequence[str]:
        """The ARNs of up to `limit` runs of a shard, begun before an instant, that the store does not have any more."""
        store = self._store
        gone: list[str] = []
        # Ids follow time within a shard.
        after = (first_id(shard), "")
        more = True
        while more and len(gone) < limit:
            found = await store.catalogue.list_entries(
                MAP_RUN_DATES.name, "", after=after, limit=limit, newest_first=False
            )
            old = [one for one in found if shard_of_id(one.sort) == shard and made_ms(one.sort) < before_ms]
            for entry in old:
                if len(gone) < limit and await store.executions.row(entry.sort) is None:
                    gone.append(entry.key)
            more = len(old) == limit
            after = (old[-1].sort, old[-1].key) if old else after
        return gone


def _not_found(map_run_arn: str) -> ApiError:
    return ApiError("ResourceNotFound", f"Resource not found: '{map_run_arn}'")
