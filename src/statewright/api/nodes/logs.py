"""Log events of a worker, on their way to the home, which has the log groups of the whole cluster.

A worker's system has files of its own, as every system has. A reader follows them (`LogExport`), and the home adds the
lines to files of its own, so that all who follow these see them. The files are the buffer while there is no home. A
batch is sent until the home has it: each has its sender and a number, by which the home knows one that it already has.
What a worker has sent without an answer when it dies is sent again by the next process of its node.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from statewright import chance
from statewright.api.nodes.apps import Apps
from statewright.api.nodes.client import NodeClient
from statewright.api.nodes.home_calls import HomeRefused, ask_home
from statewright.api.nodes.peers import Directory
from statewright.api.operations import App
from statewright.clock import Clock
from statewright.engine.executions.logs import LOGS as LOG_FILES
from statewright.engine.executions.logs import folder_of
from statewright.errors import Unavailable, Unreadable
from statewright.log_export.encoding import Written
from statewright.log_export.exporting import LogExport
from statewright.log_export.places import PlaceFiles
from statewright.records.log_files import HISTORIES
from statewright.records.log_groups import OF_FUNCTIONS, SLACK_MS, LogGroups
from statewright.stores.memory.store import MemoryStore

LOGS: Final = "/_statewright/node/logs"
FOLDER: Final = "sent-logs"
"""The folder of the places up to which files were sent, in the worker's folder."""
AGAIN_MS: Final = 500
LONG_MS: Final = 15_000
"""A home that has not taken a batch for so long is away: the log says so."""
LATE_MS: Final = SLACK_MS - 60_000
"""Lines that are older when they come may be further out of order than the slack of their files."""
MOST_SENDERS: Final = 1_000
_OF_FUNCTION: Final = re.compile(rf"{OF_FUNCTIONS}[A-Za-z0-9_-]+")
_LAST_MS: Final = 253_402_300_799_999
"""The end of the year 9999."""
_SECONDS: Final = 10.0

log = logging.getLogger("statewright.nodes")

Events = Sequence[tuple[int, str, str]]
"""Instants, streams and messages."""


@dataclass(frozen=True, slots=True)
class GroupEvents:
    """Events of one log group: of the history of executions, or of the function whose group it is."""

    group: str
    is_history: bool
    events: Events


def encode_events(written: Sequence[Written]) -> bytes:
    """The second line of a message: the events."""
    found = []
    for one in written:
        for is_history in (False, True):
            events = [
                (event.at_ms, event.stream, event.message)
                for event in (line.event for line in one.lines)
                if event.stream.startswith(HISTORIES) is is_history
            ]
            if events:
                found.append((one.group, is_history, events))
    return orjson.dumps(found)


def encode_batch(sender: str, number: int, events: bytes) -> bytes:
    """The body of a message."""
    return b"%b\n%b" % (orjson.dumps([sender, number]), events)


def decode_batch(body: bytes) -> tuple[str, int, list[GroupEvents]]:
    """Read the body of a message: its sender, its number, and its events. Raises: Unreadable."""
    head, _, rest = body.partition(b"\n")
    try:
        sender, number = orjson.loads(head)
        if type(sender) is not str or type(number) is not int:
            raise ValueError("no sender or no number")
        return sender, number, [_group_events(*one) for one in orjson.loads(rest)]
    except (TypeError, ValueError) as problem:
        raise Unreadable(f"it has no log events: {problem!r}") from None


def _group_events(group: object, is_history: object, events: Sequence[Sequence[object]]) -> GroupEvents:
    """Check the events of a group: their lines must be lines of its files. Raises: TypeError, ValueError."""
    if type(group) is not str or type(is_history) is not bool:
        raise ValueError("no group")
    if not (folder_of(group).parts if is_history else _OF_FUNCTION.fullmatch(group)):
        raise ValueError("no group that has files")
    return GroupEvents(group, is_history, [_event(*one) for one in events])


def _event(at_ms: object, stream: object, message: object) -> tuple[int, str, str]:
    if type(at_ms) is not int or type(stream) is not str or type(message) is not str:
        raise ValueError("no event")
    if not 0 <= at_ms <= _LAST_MS or "\n" in message or "\n" in stream or "\t" in stream:
        raise ValueError("an event that is no line")
    return at_ms, stream, message


def _function_of(group: str) -> str:
    return group.removeprefix(OF_FUNCTIONS)


class LogsAtHome:
    """Takes the batches of all workers, while this process has the home."""

    def __init__(self, apps: Apps, directory: Directory, clock: Clock) -> None:
        self._apps = apps
        self._directory = directory
        self._clock = clock
        self._taken: dict[str, int] = {}

    def take(self, body: bytes) -> bool:
        """Hand the events of a message to the writers of log files; nothing is done twice.

        False if another process has the home. Raises: Unreadable; Unavailable while the writers are behind.
        """
        home = self._apps.at_home(self._directory)
        if home is None:
            return False
        sender, number, groups = decode_batch(body)
        if number <= self._taken.get(sender, -1):
            return True
        if not home.engine.history_log.logs.has_room(len(groups)):
            raise Unavailable("log files cannot be written as fast as events come")
        # The sender that was heard last is the last one.
        self._taken.pop(sender, None)
        self._taken[sender] = number
        if len(self._taken) > MOST_SENDERS:
            del self._taken[next(iter(self._taken))]
        for one in groups:
            self._add(home, one)
        return True

    def _add(self, home: App, one: GroupEvents) -> None:
        if not one.events:
            return
        is_late = min(at_ms for at_ms, _, _ in one.events) < self._clock.now_ms() - LATE_MS
        if one.is_history:
            lines = [(at_ms, message) for at_ms, _, message in one.events]
            home.engine.history_log.logs.add(one.group, lines, is_late=is_late)
        else:
            home.services.functions.logs.add(_function_of(one.group), one.events, is_late=is_late)


@dataclass(frozen=True, slots=True)
class LogCalls:
    """The calls of other nodes about logs: batches for the home, and `send` for what is asked of a worker."""

    at_home: LogsAtHome
    send: Callable[[], Awaitable[None]]


class LogFeed:
    """Sends the batches of a worker to the home; see `Receiver`."""

    def __init__(
        self, at_home: LogsAtHome, directory: Directory, client: NodeClient, clock: Clock, own_name: str
    ) -> None:
        self.is_away = False
        self.is_too_slow = False
        self._at_home = at_home
        self._directory = directory
        self._client = client
        self._clock = clock
        self._sender = f"{own_name} {chance.uuid4()}"
        self._number = 0
        self._has_told_of_gap = False

    async def send(self, encode: Callable[[], bytes], count: int) -> None:
        """Send a batch until the home has it, or has refused to read it."""
        self._number += 1
        body, since_ms = encode_batch(self._sender, self._number, encode()), self._clock.now_ms()
        try:
            while not await self._sent(body):
                if not self.is_away and self._clock.now_ms() - since_ms >= LONG_MS:
                    self.is_away, self._has_told_of_gap = True, False
                    log.warning("the home takes no log events of this node for now: they wait in their files")
                await self._clock.sleep_until(self._clock.now_ms() + AGAIN_MS)
        except (HomeRefused, Unreadable) as problem:
            log.error("%d log events of this node are dropped, because the home refuses them: %s", count, problem)
        if self.is_away:
            self.is_away = False
            log.info("the home takes log events of this node again")

    async def _sent(self, body: bytes) -> bool:
        """True if the home has a batch. Raises: HomeRefused, Unreadable."""
        try:
            if not self._at_home.take(body):
                await ask_home(self._directory, self._client, LOGS, body, _SECONDS)
        except HomeRefused:
            raise
        except Unavailable:
            return False
        return True

    def note_gap(self, group: str, count: int) -> None:
        """Log the first of the gaps of an outage."""
        del count
        if not self._has_told_of_gap:
            self._has_told_of_gap = True
            log.warning(
                "log files of %s were deleted, as they are when they have grown, before all of their events were sent "
                "to the home; further ones are not reported", group,
            )  # fmt: skip


async def log_feed(app: App, receiver: LogFeed, data: Path) -> LogExport:
    """Make what sends the log events of a worker, whose application and folder are given.

    Start it before anything is logged: where it has never run, it begins with what is written from then on.
    """
    # What callers create and put is the home's: these groups are the files alone.
    store = MemoryStore()
    await store.open("log files of a worker")
    groups = LogGroups(store.catalogue, app.clock, app.config, data / LOG_FILES, app.services.functions.logs)
    export = LogExport(groups, app.clock, receiver, encode_events, PlaceFiles(data, FOLDER))
    app.engine.history_log.logs.subscribe(export.writing)
    return export
