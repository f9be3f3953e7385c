"""Log groups and streams of CloudWatch Logs: those that were created, and those that functions and machines write.

A group of a function (`/aws/lambda/NAME`) or of machines exists once an event was written to it, created or not.
Events of PutLogEvents go to two files of bounded length for each stream, and are durable when acknowledged. Leaves
reading to `log_reading.py`. A retention policy hides older events; the files are bounded without it.

Source: CloudWatch Logs API reference; texts of refusals as users of SDKs report them.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Final, ParamSpec, Protocol, TypeVar

from statewright.clock import Clock
from statewright.config import Config
from statewright.engine.executions.logs import LATE, folder_of, group_of
from statewright.errors import ApiError
from statewright.payload import Json
from statewright.records.entries import LOG_GROUP, LOG_STREAM, LogGroup, LogStream
from statewright.records.log_files import EVENT_BYTES, HISTORIES, Lane, history_line, put_line, put_text, worker_line
from statewright.stores.entries import Entries
from statewright.stores.protocol import CatalogueStore
from statewright.tags import retagged

OF_FUNCTIONS: Final = "/aws/lambda/"
STREAMS: Final = "streams"
FILE_BYTES: Final = 10 * 1024 * 1024
BATCH_BYTES: Final = 1_048_576
"""The largest PutLogEvents request. Source: API reference."""
SLACK_MS: Final = 300_000
"""How far lines of executions and functions may be out of order: history is logged when it is committed, and other
nodes send their lines in batches. Files with lines that came later are marked (`LATE`), and read as a whole."""
DAYS: Final = (
    1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
)  # fmt: skip
"""Source: API reference, PutRetentionPolicy."""
DAY_MS: Final = 86_400_000
OLDEST_MS: Final = 14 * DAY_MS
NEWEST_MS: Final = 2 * 3_600_000


P = ParamSpec("P")
T = TypeVar("T")


OnWritten = Callable[[str], None]
"""Called with the name of a group that may have new events."""


class WorkerLogs(Protocol):
    """The logs of functions."""

    folder: Path | None

    def subscribe(self, on_written: OnWritten) -> None:
        """Announce the names of functions whose output was written."""

    def flush(self) -> None:
        """Write the buffered output."""

    def delete(self, name: str) -> None:
        """Delete a function's log."""


class LogGroups:
    """The log groups of one server. `folder` has the files of machines and of PutLogEvents."""

    def __init__(
        self, catalogue: CatalogueStore, clock: Clock, config: Config, folder: Path, workers: WorkerLogs
    ) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._config = config
        self._folder = folder
        self._workers = workers
        self._groups = Entries(catalogue, LOG_GROUP)
        self._streams = Entries(catalogue, LOG_STREAM)
        self._change = asyncio.Lock()
        self._followers: list[OnWritten] = []
        workers.subscribe(lambda name: self._announce(f"{OF_FUNCTIONS}{name}"))

    def subscribe(self, on_written: OnWritten) -> None:
        """Announce the groups that functions and PutLogEvents have written to."""
        self._followers.append(on_written)

    def _announce(self, group: str) -> None:
        for on_written in self._followers:
            on_written(group)

    async def work(self, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """Read or write files in a thread; virtual time stands still meanwhile."""
        with self._clock.busy():
            return await asyncio.to_thread(function, *arguments, **options)

    def arn(self, group: str) -> str:
        """The ARN of a group, without the `:*` for its streams."""
        return self._config.arn("logs", f"log-group:{group}")

    # -------------------------------------------------------------- groups

    async def create(self, name: str, tags: Mapping[str, str], **fields: Json) -> None:
        """Create a group. Raises: ApiError (`ResourceAlreadyExistsException`)."""
        async with self._change:
            if await self.find(name) is not None:
                raise ApiError("ResourceAlreadyExistsException", "The specified log group already exists")
            await self._groups.write(LogGroup(name, self._clock.now_ms(), tags=dict(tags), **fields))

    async def find(self, name: str) -> LogGroup | None:
        """The group of a name, created or only written to; `None` if there is none."""
        self._workers.flush()
        return await self._groups.get(name) or await self.work(self._written_to, name)

    async def get(self, name: str) -> LogGroup:
        """The group of a name. Raises: ApiError (`ResourceNotFoundException`)."""
        found = await self.find(name)
        if found is None:
            raise ApiError("ResourceNotFoundException", "The specified log group does not exist.")
        return found

    async def groups(self) -> list[LogGroup]:
        """Every group by name."""
        self._workers.flush()
        created = {one.name: one async for one in self._groups.walk()}
        folders = {folder_of(name) for name in created}
        for one in await self.work(lambda: list(self._all_written_to(folders))):
            created.setdefault(one.name, one)
        return [created[name] for name in sorted(created)]

    async def change(self, name: str, **fields: Json) -> None:
        """Change fields of a group; one that was only written to is created. Raises: ApiError."""
        async with self._change:
            await self._groups.write(replace(await self.get(name), **fields))

    async def tag(self, name: str, put: Mapping[str, str], drop: Iterable[str] = ()) -> None:
        """Add tags to a group and remove others. Raises: ApiError."""
        async with self._change:
            found = await self.get(name)
            await self._groups.write(replace(found, tags=retagged(found.tags, put, drop)))

    async def delete(self, name: str) -> None:
        """Delete a group with everything in it. Raises: ApiError (`ResourceNotFoundException`)."""
        async with self._change:
            group = await self.get(name)
            streams = await self._streams.names(name)
            await self._catalogue.write([], [LOG_GROUP.name_of(group), *streams])
            if name.startswith(OF_FUNCTIONS):
                self._workers.delete(name.removeprefix(OF_FUNCTIONS))
            await self.work(self._erase, name, [key for _, key in streams])

    def _erase(self, group: str, streams: Sequence[str]) -> None:
        for key in streams:
            for path in self._stream_paths(group, key):
                path.unlink(missing_ok=True)
        _clear(self._history_paths(group))

    # -------------------------------------------------------------- streams

    async def create_stream(self, group: str, name: str) -> None:
        """Create a stream. Raises: ApiError."""
        async with self._change:
            await self.get(group)
            key = _stream_key(group, name)
            if await self._streams.get(key) is not None:
                raise ApiError("ResourceAlreadyExistsException", "The specified log stream already exists")
            await self._streams.write(LogStream(group, name, self._clock.now_ms()))

    async def delete_stream(self, group: str, name: str) -> None:
        """Delete a stream that was created. Raises: ApiError."""
        async with self._change:
            await self.get(group)
            key = _stream_key(group, name)
            stream = await self._streams.get(key)
            if stream is None:
                await self._empty_history(group, name)
                return
            await self._streams.delete(stream)
            await self.work(self._erase_stream, group, key)

    async def _empty_history(self, group: str, name: str) -> None:
        """Empty the file of executions' logs behind a stream; it may still be written to. Raises: ApiError."""
        lanes = await self.lanes(group)
        lane = next((one for one in lanes if one.stream == name), None)
        if lane is None:
            shared = any(not one.stream for one in lanes)
            why = "; streams of functions are deleted with their group." if shared else "."
            raise ApiError("ResourceNotFoundException", f"The specified log stream does not exist{why}")
        await self.work(_clear, lane.paths)

    def _erase_stream(self, group: str, key: str) -> None:
        for path in self._stream_paths(group, key):
            path.unlink(missing_ok=True)

    async def put(self, group: str, stream: str, events: Sequence[tuple[int, str]]) -> dict[str, int]:
        """Write events durably, and return which were too old or too new. Raises: ApiError."""
        found = await self.get(group)
        key = _stream_key(group, stream)
        if await self._streams.get(key) is None:
            raise ApiError("ResourceNotFoundException", "The specified log stream does not exist.")
        instants = [at_ms for at_ms, _ in events]
        if any(after < before for before, after in pairwise(instants)):
            raise _invalid("Log events in a single PutLogEvents request must be in chronological order.")
        if instants[-1] - instants[0] > DAY_MS:
            raise _invalid("The batch of log events in a single PutLogEvents request cannot span more than 24 hours.")
        size = sum(len(message.encode()) + EVENT_BYTES for _, message in events)
        if size > BATCH_BYTES:
            raise _invalid(f"Upload too large: {size} bytes exceeds limit of {BATCH_BYTES}")
        now_ms = self._clock.now_ms()
        expired_ms = self.hidden_before(found)
        taken = [
            (at_ms, message) for at_ms, message in events
            if max(now_ms - OLDEST_MS, expired_ms) <= at_ms <= now_ms + NEWEST_MS
        ]  # fmt: skip
        rejected: dict[str, int] = {}
        if instants[0] < now_ms - OLDEST_MS:
            rejected["tooOldLogEventEndIndex"] = sum(at_ms < now_ms - OLDEST_MS for at_ms in instants)
        if instants[0] < expired_ms:
            rejected["expiredLogEventEndIndex"] = sum(at_ms < expired_ms for at_ms in instants)
        if instants[-1] > now_ms + NEWEST_MS:
            rejected["tooNewLogEventStartIndex"] = sum(at_ms <= now_ms + NEWEST_MS for at_ms in instants)
        text = b"".join(put_text(at_ms, now_ms, message) for at_ms, message in taken)
        if text:
            async with self._change:
                await self.work(_append, self._stream_paths(group, key), text)
            self._announce(group)
        return rejected

    async def write(self, group: str, stream: str, events: Sequence[tuple[int, str]]) -> None:
        """Write events of another service of this server; creates the group and the stream if needed.

        Raises: ApiError.
        """
        key = _stream_key(group, stream)
        if await self._streams.get(key) is None:
            if await self.find(group) is None:
                await self.create(group, {})
            await self.create_stream(group, stream)
        await self.put(group, stream, events)

    # -------------------------------------------------------------- sources for reading

    async def lanes(self, group: str) -> list[Lane]:
        """The lanes of a group's events; the buffered output of functions is written first."""
        self._workers.flush()
        created = await self._streams.all(group)
        lanes = [Lane(self._stream_paths(group, LOG_STREAM.key_of(one)), put_line, one.name, None) for one in created]
        return lanes + await self.work(self._other_lanes, group)

    async def streams(self, group: str) -> dict[str, int]:
        """Created streams, with their instants of creation."""
        return {one.name: one.created_ms async for one in self._streams.walk(group)}

    def hidden_before(self, group: LogGroup) -> int:
        """The instant before which a group's retention hides its events."""
        days = group.retention_days
        return 0 if days is None else self._clock.now_ms() - days * DAY_MS

    def _other_lanes(self, group: str) -> list[Lane]:
        lanes = []
        paths = tuple(path for path in self._worker_paths(group) if path.is_file())
        if paths:
            mark = paths[0].parent / f"{group.removeprefix(OF_FUNCTIONS)}{LATE}"
            lanes.append(Lane(paths, worker_line, slack_ms=_slack_ms(mark)))
        lanes += [
            Lane((path,), history_line, f"{HISTORIES}{path.stem[7:]}", _slack_ms(path.with_suffix(LATE)))
            for path in self._history_paths(group) if path.stat().st_size
        ]  # fmt: skip
        return lanes

    def _worker_paths(self, group: str) -> tuple[Path, ...]:
        folder, name = self._workers.folder, group.removeprefix(OF_FUNCTIONS)
        if folder is None or not group.startswith(OF_FUNCTIONS) or "/" in name:
            return ()
        return (folder / f"{name}.log.1", folder / f"{name}.log")

    def _history_paths(self, group: str) -> list[Path]:
        # Sorted by name, and so by age.
        return sorted((self._folder / folder_of(group)).glob("states-*.jsonl"), key=lambda one: one.stem)

    def _stream_paths(self, group: str, key: str) -> tuple[Path, ...]:
        name = hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
        folder = self._folder / folder_of(group) / STREAMS
        return (folder / f"{name}.log.1", folder / f"{name}.log")

    def _written_to(self, name: str) -> LogGroup | None:
        paths = [*self._worker_paths(name), *self._history_paths(name)]
        made = [int(path.stat().st_ctime * 1000) for path in paths if path.is_file() and path.stat().st_size]
        return LogGroup(name, min(made)) if made else None

    def _all_written_to(self, created: set[Path]) -> Iterator[LogGroup]:
        """Yield groups of functions and machines."""
        folder = self._workers.folder
        names = [OF_FUNCTIONS + path.stem for path in folder.glob("*.log")] if folder is not None else []
        for place, _, files in os.walk(self._folder):
            if any(file.startswith("states-") for file in files):
                below = Path(place).relative_to(self._folder)
                if below not in created:
                    names.append(group_of(self._folder, below))
        for name in names:
            found = self._written_to(name)
            if found is not None:
                yield found


def _slack_ms(mark: Path) -> int | None:
    """The slack of a lane whose files are marked by this one; see `Lane`."""
    return None if mark.exists() else SLACK_MS


def _stream_key(group: str, stream: str) -> str:
    # A group's name has no colon.
    return f"{group}:{stream}"


def _clear(paths: Sequence[Path]) -> None:
    """Empty files of executions' logs; the newest may be open for further writes."""
    for path in paths[:-1]:
        path.unlink(missing_ok=True)
        path.with_suffix(LATE).unlink(missing_ok=True)
    for path in paths[-1:]:
        os.truncate(path, 0)


def _append(paths: tuple[Path, ...], text: bytes) -> None:
    """Append to a stream's newer file, which becomes the older one when it is full; durable when this returns."""
    older, newer = paths
    newer.parent.mkdir(parents=True, exist_ok=True)
    with newer.open("ab") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
        size = file.tell()
    if size > FILE_BYTES:
        newer.replace(older)


def _invalid(text: str) -> ApiError:
    return ApiError("InvalidParameterException", text)
