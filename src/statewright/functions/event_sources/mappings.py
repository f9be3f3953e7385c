"""Event source mappings: they invoke a function with messages of a queue, or with records of a table's stream.

Owns the catalogue of mappings and starts one poller for each that is enabled. The checks of a mapping are in
`records.py`; for queues, receiving and invoking are in `pollers.py`, scaling in `scaling.py`; for streams, see
`streams/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from statewright import chance
from statewright.errors import ApiError, Conflict
from statewright.functions.event_sources.counts import MappingCounts
from statewright.functions.event_sources.pollers import Poller
from statewright.functions.event_sources.records import (
    MAPPING,
    MappingRecord,
    check_timeouts,
    default_profile,
    source_of,
    with_request,
)
from statewright.functions.event_sources.scaling import PROFILES
from statewright.functions.event_sources.streams.function import FunctionConsumer, Report, reading_of
from statewright.functions.event_sources.streams.poller import StreamPoller
from statewright.functions.event_sources.streams.position import POSITION, Position
from statewright.functions.event_sources.streams.progress import Progress
from statewright.functions.event_sources.streams.settings import DEFAULT_BATCH as STREAM_BATCH
from statewright.functions.event_sources.streams.settings import LATEST, new_settings
from statewright.functions.functions import Functions
from statewright.functions.names import function_arn, invalid, parse_name, refusal
from statewright.payload import Json, JsonObject
from statewright.query.scope import Entropy
from statewright.queues.queues import Queue, Queues
from statewright.stores.entries import Entries
from statewright.stores.store import Store
from statewright.tables.streams.records import number_of
from statewright.tables.streams.stream import Stream
from statewright.tables.streams.streams import Streams
from statewright.tags import retagged

LAGS_MS: Final = 10_000
"""A record that waits for so long is worth a note."""


class EventSources:
    """The mappings of one store. `profile` is the scaling profile of mappings that name none.

    `report` delivers reports on discarded records of streams.
    """

    def __init__(
        self, store: Store, functions: Functions, queues: Queues, streams: Streams, report: Report, profile: str = ""
    ) -> None:
        self._entries = Entries(store.catalogue, MAPPING)
        self._functions = functions
        self._queues = queues
        self._streams = streams
        self._report = report
        self._positions = Entries(store.catalogue, POSITION)
        self._progress: dict[str, Progress] = {}
        """The progress of mappings of streams."""
        self._clock = functions.clock
        self._config = functions.config
        self._profile = default_profile(profile)
        self._entropy = Entropy(chance.random_bytes(32))
        self._mappings: dict[str, MappingRecord] = {}
        self._pollers: dict[str, Poller | StreamPoller] = {}
        self._retired: set[Poller | StreamPoller] = set()
        """Pollers of changed or deleted mappings, until their last batch has ended."""

    @property
    def profile(self) -> str:
        """The scaling profile of mappings that name none."""
        return self._profile

    async def start(self) -> None:
        """Read the catalogue, and begin to poll. Queues and functions must have started."""
        async for mapping in self._entries.walk():
            self._mappings[mapping.uuid] = mapping
        async for position in self._positions.walk():
            self._progress[position.uuid] = Progress(self._positions, position)
        for mapping in self._mappings.values():
            self._poll(mapping)

    async def stop(self) -> None:
        """Stop polling and release received messages; batches under way end with their functions."""
        for poller in (*self._pollers.values(), *self._retired):
            await poller.stop()
        self._pollers.clear()
        self._retired.clear()

    # -------------------------------------------------------------- the catalogue

    async def create(self, request: Mapping[str, Json]) -> MappingRecord:
        """Create a mapping. The request has the members of CreateEventSourceMapping.

        Raises: ApiError (`InvalidParameterValueException`, `ResourceNotFoundException`, `ResourceConflictException`).
        """
        source, is_stream = source_of(request)
        if is_stream:
            return await self._create_for_stream(source, request)
        queue = self._queue(source)
        arn, timeout = await self._function(request["FunctionName"])
        for one in self._mappings.values():
            if (one.source_arn, one.function_arn) == (queue.arn, arn):
                raise refusal(
                    "ResourceConflictException",
                    f'An event source mapping with SQS arn (" {queue.arn} ") and function (" {_name(arn)} ") already '
                    f"exists. Please update or delete the existing mapping with UUID {one.uuid}",
                )
        check_timeouts(1000 * queue.settings.visibility_timeout_seconds, timeout)
        now_ms = self._clock.now_ms()
        mapping = MappingRecord(self._entropy.uuid4(), queue.arn, arn, now_ms)
        return await self._write(with_request(mapping, request, is_fifo=queue.settings.fifo, now_ms=now_ms))

    async def _create_for_stream(self, source: str, request: Mapping[str, Json]) -> MappingRecord:
        settings = new_settings(request, source)
        stream = self._stream(source)
        arn, _ = await self._function(request["FunctionName"])
        for one in self._mappings.values():
            if (one.source_arn, one.function_arn) == (source, arn):
                raise refusal(
                    "ResourceConflictException",
                    f'The event source arn (" {source} ") and function (" {_name(arn)} ") provided mapping already '
                    f"exists. Please update or delete the existing mapping with UUID {one.uuid}",
                )
        now_ms = self._clock.now_ms()
        mapping = MappingRecord(self._entropy.uuid4(), source, arn, now_ms, batch_size=STREAM_BATCH, stream=settings)
        mapping = with_request(mapping, request, is_fifo=False, now_ms=now_ms)
        position = Position(mapping.uuid, number_of(stream.newest) if settings.starting == LATEST else "")
        return await self._write(mapping, position)

    async def update(self, request: Mapping[str, Json]) -> MappingRecord:
        """Change a mapping. The request has the members of UpdateEventSourceMapping. Raises: ApiError."""
        mapping = self.get(request["UUID"])
        if request.get("FunctionName"):
            arn, _ = await self._function(request["FunctionName"])
            mapping = replace(mapping, function_arn=arn)
        if mapping.stream is not None:
            return await self._write(with_request(mapping, request, is_fifo=False, now_ms=self._clock.now_ms()))
        queue = self._queue(mapping.source_arn)
        _, timeout = await self._function(mapping.function_arn)
        check_timeouts(1000 * queue.settings.visibility_timeout_seconds, timeout)
        is_fifo, now_ms = queue.settings.fifo, self._clock.now_ms()
        return await self._write(with_request(mapping, request, is_fifo=is_fifo, now_ms=now_ms))

    async def delete(self, uuid: str) -> MappingRecord:
        """Delete a mapping; batches under way continue. Raises: ApiError (`ResourceNotFoundException`)."""
        mapping, progress = self.get(uuid), self._progress.get(uuid)
        await self._entries.delete(mapping, also=[progress.row] if progress is not None else ())
        if progress is not None:
            progress.is_gone = True
            self._progress.pop(uuid, None)
        self._mappings.pop(uuid, None)
        self._retire(uuid)
        return mapping

    def get(self, uuid: str) -> MappingRecord:
        """The mapping of that id. Raises: ApiError (`ResourceNotFoundException`)."""
        found = self._mappings.get(uuid)
        if found is None:
            raise refusal("ResourceNotFoundException", "The resource you requested does not exist.")
        return found

    def list_mappings(
        self, queue_arn: str | None, function: str | None, after: str | None, limit: int
    ) -> tuple[list[MappingRecord], str | None]:
        """Mappings by id, after one; also the id to continue after, if there are more. Raises: ApiError."""
        arn = None
        if function is not None:
            named = parse_name(function, None, self._config)
            arn = function_arn(self._config, named.name, named.qualifier)
        found = sorted(
            (
                one
                for one in self._mappings.values()
                if (queue_arn is None or one.source_arn == queue_arn)
                and (arn is None or one.function_arn == arn)
                and (after is None or one.uuid > after)
            ),
            key=lambda one: one.uuid,
        )
        return found[:limit], found[limit - 1].uuid if len(found) > limit else None

    async def tag(self, uuid: str, tags: Mapping[str, str], remove: Iterable[str] = ()) -> None:
        """Add tags to a mapping and remove others. Raises: ApiError."""
        mapping = self.get(uuid)
        await self._write(replace(mapping, tags=retagged(mapping.tags, tags, remove)))

    def counts(self, uuid: str) -> MappingCounts:
        """Counts of a mapping since the server started. Raises: ApiError."""
        self.get(uuid)
        poller = self._pollers.get(uuid)
        return poller.counts if poller is not None else MappingCounts()

    def problem(self, uuid: str) -> str | None:
        """Why a mapping cannot poll its source at present, if it cannot."""
        poller = self._pollers.get(uuid)
        return poller.problem if poller is not None else None

    def position(self, uuid: str) -> Position | None:
        """The position of a mapping of a stream; `None` for a mapping of a queue."""
        progress = self._progress.get(uuid)
        return progress.position if progress is not None else None

    def all(self) -> list[MappingRecord]:
        """Every mapping, in the order of ids."""
        return sorted(self._mappings.values(), key=lambda one: one.uuid)

    def polled(self) -> set[str]:
        """ARNs of the queues that some mapping polls."""
        return {self._mappings[uuid].source_arn for uuid in self._pollers if uuid not in self._progress}

    def is_behind(self) -> bool:
        """True if some mapping has not processed every record of its stream."""
        return any(isinstance(one, StreamPoller) and not one.is_waiting for one in self._pollers.values())

    def lagging(self) -> list[JsonObject]:
        """Mappings of streams that are behind for long, as `/health` shows them: it has no names of resources."""
        now_ms = self._clock.now_ms()
        found: list[JsonObject] = []
        for uuid, poller in sorted(self._pollers.items()):
            if isinstance(poller, StreamPoller) and poller.oldest_ms is not None:
                behind_ms = now_ms - poller.oldest_ms
                if behind_ms >= LAGS_MS:
                    found.append({"mapping": uuid, "behindSeconds": behind_ms // 1000})
        return found

    # -------------------------------------------------------------- queue and function of a mapping

    def _queue(self, arn: str) -> Queue:
        try:
            return self._queues.find(arn)
        except ApiError as missing:
            raise invalid(
                "Error occurred while ReceiveMessage. SQS Error Code: AWS.SimpleQueueService.NonExistentQueue. "
                f"SQS Error Message: {missing.message}"
            ) from None

    def _stream(self, arn: str) -> Stream:
        try:
            return self._streams.find(arn)
        except ApiError:
            raise invalid(f"Stream not found: {arn}") from None

    async def _function(self, name: str) -> tuple[str, int]:
        """The stored ARN of a mapping's function, and its timeout in seconds. Raises: ApiError."""
        named = parse_name(name, None, self._config)
        try:
            target = await self._functions.invoker.resolve(name, None)
        except ApiError as problem:
            if problem.code != "ResourceNotFoundException":
                raise
            raise invalid("Function does not exist") from None
        return function_arn(self._config, named.name, named.qualifier), target.settings.timeout

    async def _write(self, mapping: MappingRecord, position: Position | None = None) -> MappingRecord:
        """Store a mapping, a new one of a stream with its position, and begin to poll."""
        try:
            mapping = await self._entries.write(mapping, also=() if position is None else [POSITION.row(position)])
        except Conflict:
            raise refusal(
                "ResourceConflictException", "Another operation is changing the event source mapping. Try again."
            ) from None
        if position is not None:
            self._progress[mapping.uuid] = Progress(self._positions, replace(position, stored=1))
        self._mappings[mapping.uuid] = mapping
        self._retire(mapping.uuid)
        self._poll(mapping)
        return mapping

    def _poll(self, mapping: MappingRecord) -> None:
        if not mapping.enabled:
            return
        if mapping.stream is not None:
            meter = self._functions.invoker.concurrency.meter
            reader = StreamPoller(
                reading_of(mapping, self._config.region),
                self._progress[mapping.uuid],
                self._streams,
                self._clock,
                FunctionConsumer(mapping, self._functions, self._report),
                meter.mapping(mapping.uuid) if meter is not None else None,
            )
            self._pollers[mapping.uuid] = reader
            reader.start()
            return
        profile = PROFILES[mapping.profile or self._profile]
        poller = Poller(mapping, profile, self._functions, self._queues)
        self._pollers[mapping.uuid] = poller
        poller.start()

    def _retire(self, uuid: str) -> None:
        poller = self._pollers.pop(uuid, None)
        if poller is not None:
            self._retired.add(poller)
            poller.retire(lambda: self._retired.discard(poller))


def _name(arn: str) -> str:
    return arn.split(":function:", 1)[1]
