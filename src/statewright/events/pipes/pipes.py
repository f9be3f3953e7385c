"""The pipes of one store: their catalogue, and one `RunningPipe` for each that is to run.

Source: EventBridge Pipes API reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError, Conflict
from statewright.events.pipes.records import (
    PIPE,
    REQUEST_RESPONSE,
    RUNNING,
    Pipe,
    check_ends,
    check_pipe,
    invalid,
    no_pipe,
)
from statewright.events.pipes.running import RunningPipe
from statewright.events.pipes.streams import MachineConsumer, position_key, reading_of
from statewright.events.targets import CallService
from statewright.functions.event_sources.streams.poller import StreamPoller
from statewright.functions.event_sources.streams.position import POSITION, Position
from statewright.functions.event_sources.streams.progress import Progress
from statewright.functions.event_sources.streams.settings import LATEST
from statewright.payload import JsonMapping, JsonObject
from statewright.queues.queues import Queues
from statewright.stores.entries import Entries
from statewright.stores.store import Store
from statewright.tables.streams.records import number_of
from statewright.tables.streams.streams import Streams
from statewright.tags import retagged

_SHOWN: Final = ("LogConfiguration", "KmsKeyIdentifier")


class Pipes:
    """The pipes of one store."""

    def __init__(
        self, store: Store, queues: Queues, streams: Streams, call: CallService, clock: Clock, config: Config
    ) -> None:
        self._entries = Entries(store.catalogue, PIPE)
        self._positions = Entries(store.catalogue, POSITION)
        self._streams = streams
        self._queues = queues
        self._call = call
        self._clock = clock
        self._config = config
        self._pipes: dict[str, Pipe] = {}
        self._running: dict[str, RunningPipe | StreamPoller] = {}
        self._progress: dict[str, Progress] = {}
        """The progress of pipes from streams, by name."""

    async def start(self) -> None:
        """Read the catalogue, and run the pipes that are to run. Queues and tables must have started."""
        async for pipe in self._entries.walk():
            self._pipes[pipe.name] = pipe
            position = await self._positions.get(position_key(pipe.name)) if pipe.is_of_stream else None
            if position is not None:
                self._progress[pipe.name] = Progress(self._positions, position)
        for pipe in self._pipes.values():
            self._run(pipe)

    async def stop(self) -> None:
        """Stop every pipe; the next process continues."""
        for name in list(self._running):
            await self._running.pop(name).stop()

    def get(self, name: str) -> Pipe:
        """Raises: ApiError (`NotFoundException`)."""
        found = self._pipes.get(name)
        if found is None:
            raise no_pipe(name)
        return found

    def by_arn(self, arn: str) -> Pipe:
        """Raises: ApiError (`NotFoundException`)."""
        return self.get(arn if self._config.is_elsewhere(arn) else arn.rpartition(":pipe/")[2])

    def is_behind(self) -> bool:
        """True if some pipe from a stream has not processed every record."""
        return any(isinstance(one, StreamPoller) and not one.is_waiting for one in self._running.values())

    def all(self) -> list[Pipe]:
        """Every pipe, by name."""
        return sorted(self._pipes.values(), key=lambda one: one.name)

    async def create(self, request: JsonMapping) -> Pipe:
        """Create a pipe. The request has the members of CreatePipe. Raises: ApiError."""
        name = request["Name"]
        if name in self._pipes:
            raise ApiError("ConflictException", f"Pipe {name} already exists.", status=409)
        now_ms = self._clock.now_ms()
        made = Pipe(
            name, request["Source"], request["Target"], request["RoleArn"], now_ms, now_ms,
            request.get("DesiredState", RUNNING), request.get("Description"),
            request.get("SourceParameters") or {}, request.get("TargetParameters") or {},
            dict(request.get("Tags") or {}), _shown(request),
        )  # fmt: skip
        await self._check(made, request)
        if not made.is_of_stream:
            return await self._write(made)
        is_latest = made.stream_parameters["StartingPosition"] == LATEST
        after = number_of(self._streams.find(made.source).newest) if is_latest else ""
        return await self._write(made, Position(position_key(name), after))

    async def update(self, request: JsonMapping) -> Pipe:
        """Change a pipe; its source stays. The request has the members of UpdatePipe. Raises: ApiError."""
        found = self.get(request["Name"])
        source = {**found.source_parameters, **(request.get("SourceParameters") or {})}
        if found.is_of_stream:
            # The starting position cannot be changed.
            source["DynamoDBStreamParameters"] = {**found.stream_parameters, **source["DynamoDBStreamParameters"]}
        made = replace(
            found, role_arn=request["RoleArn"], target=request.get("Target") or found.target,
            desired=request.get("DesiredState") or found.desired,
            description=request.get("Description", found.description), source_parameters=source,
            target_parameters=request.get("TargetParameters", found.target_parameters),
            shown={**found.shown, **_shown(request)}, modified_ms=self._clock.now_ms(),
        )  # fmt: skip
        await self._check(made, request)
        return await self._write(made)

    async def set_state(self, name: str, desired: str) -> Pipe:
        """Run or stop a pipe. Raises: ApiError."""
        return await self._write(replace(self.get(name), desired=desired, modified_ms=self._clock.now_ms()))

    async def tag(self, arn: str, tags: Mapping[str, str], remove: Iterable[str] = ()) -> None:
        """Add tags to a pipe and remove others. Raises: ApiError."""
        pipe = self.by_arn(arn)
        await self._write(replace(pipe, tags=retagged(pipe.tags, tags, remove)))

    async def delete(self, name: str) -> Pipe:
        """Delete a pipe; executions that it started continue. Raises: ApiError."""
        pipe, progress = self.get(name), self._progress.get(name)
        await self._entries.delete(pipe, also=[progress.row] if progress is not None else ())
        if progress is not None:
            progress.is_gone = True
            del self._progress[name]
        del self._pipes[name]
        await self._halt(name)
        return pipe

    async def _check(self, pipe: Pipe, request: JsonMapping) -> None:
        check_ends(pipe.source, pipe.target, self._config)
        is_fifo = False
        try:
            if pipe.is_of_stream:
                self._streams.find(pipe.source)
            else:
                is_fifo = self._queues.find(pipe.source).settings.fifo
        except ApiError as missing:
            raise invalid(f"Source {pipe.source} cannot be read: {missing.message}") from None
        check_pipe(pipe, request, is_fifo=is_fifo)
        try:
            machine = await self._call("sfn", "describeStateMachine", {"StateMachineArn": pipe.target}, request_id="")
        except ApiError as missing:
            raise invalid(f"Target {pipe.target} cannot be invoked: {missing.message}") from None
        if pipe.invocation == REQUEST_RESPONSE and machine["type"] != "EXPRESS":
            raise invalid("InvocationType REQUEST_RESPONSE is not supported for STANDARD state machine workflows.")

    async def _write(self, pipe: Pipe, position: Position | None = None) -> Pipe:
        """Store a pipe, a new one from a stream with its position, and run it."""
        try:
            pipe = await self._entries.write(pipe, also=() if position is None else [POSITION.row(position)])
        except Conflict:
            raise ApiError("ConflictException", f"Pipe {pipe.name} is being changed. Try again.", status=409) from None
        if position is not None:
            self._progress[pipe.name] = Progress(self._positions, replace(position, stored=1))
        self._pipes[pipe.name] = pipe
        await self._halt(pipe.name)
        self._run(pipe)
        return pipe

    def _run(self, pipe: Pipe) -> None:
        if pipe.desired != RUNNING:
            return
        run: RunningPipe | StreamPoller
        if pipe.is_of_stream:
            consumer = MachineConsumer(pipe, self._queues, self._call, self._clock, self._config)
            reading = reading_of(pipe, self._config.region)
            run = StreamPoller(reading, self._progress[pipe.name], self._streams, self._clock, consumer)
        else:
            run = RunningPipe(pipe, self._queues, self._call, self._clock, self._config)
        self._running[pipe.name] = run
        run.start()

    async def _halt(self, name: str) -> None:
        run = self._running.pop(name, None)
        if run is not None:
            await run.stop()


def _shown(request: JsonMapping) -> JsonObject:
    return {name: request[name] for name in _SHOWN if request.get(name)}
