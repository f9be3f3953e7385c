"""Writing the row of an object whose bytes were received, and the condition under which it may be written."""

from __future__ import annotations

from typing import Final

from statewright.objects.intake import Received, discard
from statewright.objects.notifications import PUT
from statewright.objects.records import Bucket, Checksum, ObjectView, Settings, object_head, object_of
from statewright.objects.state import ObjectState
from statewright.stores.completion import Completion
from statewright.stores.object_rows import Demand, ObjectRow, Refused, Written, if_written

NO_DEMAND: Final = Demand()


class Writing:
    """The writes of one server."""

    def __init__(self, state: ObjectState) -> None:
        self._state = state

    async def write(
        self,
        bucket: Bucket,
        name: bytes,
        received: Received,
        settings: Settings,
        demand: Demand,
        event: str = PUT,
        completion: Completion[ObjectView] | None = None,
        trace: str | None = None,
    ) -> ObjectView:
        """Write the row of an object whose body was received. Raises: ApiError, Unavailable."""
        checksum = Checksum(received.algorithm, received.checksums[received.algorithm])
        head = object_head(settings, checksum)
        row = ObjectRow(
            bucket.id, name, received.id, received.size, self._state.clock.now_ms(), received.md5, received.place, head
        )
        row = await self._state.numbered(bucket, row)
        notes = self._state.notes(bucket.name, row, event, trace)
        view = object_of(self._state.buckets.get(bucket.name, bucket), row)
        writing = self._state.store.objects.put(row, received.body, demand, notes, if_written(completion, view))
        outcome = await self._state.announce(writing, notes)
        if isinstance(outcome, Written):
            self._state.vault.free(outcome.freed)
            return view
        await discard(self._state.vault, received)
        raise self._state.refusal(bucket.name, name, outcome, demand)

    async def check(self, bucket: Bucket, name: bytes, demand: Demand) -> None:
        """Refuse a write whose demand is not met now. Raises: ApiError."""
        found = await self._state.store.objects.find(bucket.id, name)
        row = found[0] if found is not None else None
        if not demand.is_met_by(row):
            raise self._state.refusal(bucket.name, name, Refused(row), demand)
