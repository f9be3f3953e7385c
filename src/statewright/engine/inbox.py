"""Inputs that come through the store: what another node or a tool leaves for the owner of an execution.

Owns the kinds of such rows, their bodies, applying them, and deleting those that cannot be applied. A row is
consumed by the commit that it causes; one whose execution has ended, or whose task is over, is discarded, so that none
is met twice and none blocks. The engine's own inbox rows (bursts that continue, EXPRESS executions, Map Runs to be
stopped) are applied here too, after a restart.

The store is asked in real time, also if the engine's clock is virtual, and only where there is an `InboxWatch`: another
process writes in real time.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Container, Sequence
from typing import Final

import orjson

from statewright.background import Background
from statewright.engine.executions import kinds
from statewright.engine.executions.live import LiveExecution
from statewright.engine.executions.redrives import Redrive
from statewright.engine.executions.tokens import read_output, read_task_token, still_open
from statewright.engine.inputs import Accept, Input, runs
from statewright.engine.runner import Runner
from statewright.engine.shard import Shard
from statewright.errors import ApiError, StoreError, Unavailable
from statewright.interpreter import events
from statewright.stores.ids import shard_of_id
from statewright.stores.protocol import InboxRow

logger = logging.getLogger(__name__)

STOP: Final = "stop"
REDRIVE: Final = "redrive"
TASK_SUCCEEDED: Final = "task succeeded"
TASK_FAILED: Final = "task failed"
TASK_HEARTBEAT: Final = "task heartbeat"
FOREIGN: Final = (STOP, REDRIVE, TASK_SUCCEEDED, TASK_FAILED, TASK_HEARTBEAT, kinds.CONTINUE)
"""Kinds that may arrive while the engine runs."""

BUSY_SECONDS: Final = 0.2
IDLE_SECONDS: Final = 1.0
MOST_AT_ONCE: Final = 1_000

Take = Callable[[InboxRow], None]
"""Acts on a row of a kind that is not an event of an execution; its commit, or `discard`, consumes the row."""
_Read = Callable[[InboxRow], tuple[events.Event, Accept]]


def stop_row(row_id: int, execution: int, error: str | None = None, cause: str | None = None) -> InboxRow:
    """Have the owner stop an execution."""
    return InboxRow(row_id, execution, STOP, orjson.dumps([error, cause]))


def answer_row(
    row_id: int, execution: int, kind: str, token: str, one: str | None = None, other: str | None = None
) -> InboxRow:
    """Have the owner take a worker's answer: `TASK_SUCCEEDED` (`one`: the output's text), `TASK_FAILED` (error, cause)
    or `TASK_HEARTBEAT`.
    """
    return InboxRow(row_id, execution, kind, orjson.dumps([token, one, other]))


class Inbox:
    """The inbox rows of one cell."""

    def __init__(self, shard: Shard, runner: Runner, deleting: Container[int]) -> None:
        self._shard = shard
        self._runner = runner
        self._deleting = deleting
        self._owners: dict[str, Take] = {}
        self._readers: dict[str, _Read] = {
            STOP: _stop,
            REDRIVE: self._redrive,
            TASK_SUCCEEDED: _answer,
            TASK_FAILED: _answer,
            TASK_HEARTBEAT: _answer,
            kinds.CONTINUE: _continue,
        }
        self._taken: set[int] = set()
        self._over: set[int] = set()
        """Of the rows taken, those that are settled: an earlier scan may still contain them."""
        self._stopped = False

    def register(self, kind: str, take: Take) -> None:
        """Have the rows of a kind go to the part of the engine that writes them."""
        self._owners[kind] = take

    # ------------------------------------------------------------------ applying rows

    def take(self, row: InboxRow) -> None:
        """Apply a row, once."""
        if row.id in self._taken:
            return
        self._taken.add(row.id)
        take = self._owners.get(row.kind)
        read = self._readers.get(row.kind)
        if take is not None:
            take(row)
        elif read is not None:
            try:
                event, accept = read(row)
            except (ApiError, ValueError, TypeError) as problem:
                logger.warning("inbox row %s (%s) cannot be read and is dropped: %s", row.id, row.kind, problem)
                self.discard(row.id)
            else:
                self.consume(row.execution, row.id, event, accept)
        else:
            logger.error("inbox row %s of execution %s is of unknown kind %r", row.id, row.execution, row.kind)

    def _redrive(self, _row: InboxRow) -> tuple[events.Event, Accept]:
        return events.ExecutionRedriven(), Redrive(self._shard.clock, self._deleting, None).accept

    def consume(self, execution: int, row_id: int, event: events.Event, accept: Accept | None = None) -> None:
        """Give an execution an event; the row is removed with the commit, or discarded if there is no commit."""
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        def accepts(live: LiveExecution) -> bool:
            try:
                return accept is None or accept(live)
            except ApiError:
                # The writer of the row waits for no answer; it is consumed all the same.
                return False

        def answered(done: asyncio.Future[bool]) -> None:
            problem = done.exception() if not done.cancelled() else None
            if isinstance(problem, StoreError):
                self._taken.discard(row_id)
            elif (isinstance(problem, ApiError) and problem.code == "ExecutionDoesNotExist") or (
                problem is None and not done.cancelled() and not done.result()
            ):
                self.discard(row_id)
            elif problem is None:
                self._over.add(row_id)

        answer.add_done_callback(answered)
        # The answer says whether there is a state, and so a commit that consumes the row.
        entry = Input(event, accept=accepts, result=_has_state, answer=answer, inbox_row=row_id)
        self._runner.tell(execution, entry)

    def discard(self, row_id: int) -> None:
        """Delete a row that has no effect any more."""

        async def drop() -> None:
            await self._shard.retrying.executions.discard((), (), (row_id,))
            self._over.add(row_id)

        self._shard.spawn(drop())

    # ------------------------------------------------------------------ looking for more

    async def poll(self) -> None:
        """Look for what has arrived in the store: see `look`."""
        await look([self])

    @property
    def shard(self) -> Shard:
        """The shard whose inputs these are."""
        return self._shard

    @property
    def is_open(self) -> bool:
        """True while inputs that the store has are applied."""
        return self._shard.is_held and not self._stopped

    def settled(self) -> set[int]:
        """The rows that are settled by now: a scan that begins after this call does not contain them."""
        over, self._over = self._over, set()
        return over

    def forget(self, over: set[int]) -> None:
        """Forget rows that were settled before a scan, which has ended."""
        self._taken -= over

    def not_seen(self, over: set[int]) -> None:
        """A scan has failed: what was settled before it still is."""
        self._over |= over

    def found(self, row: InboxRow) -> None:
        """Apply a row that a scan has found, unless the engine does so by itself."""
        # The engine's own: a burst that continues by itself.
        if self.is_open and (row.kind != kinds.CONTINUE or not self._runner.is_busy(row.execution)):
            self.take(row)

    def stop(self) -> None:
        """Apply nothing more of what arrives."""
        self._stopped = True


async def look(inboxes: Sequence[Inbox]) -> None:
    """Apply what has arrived in the store for these inboxes of one engine, with one question to the store.

    Notices as well when a shard has another owner. Raises: OwnershipLost.
    """
    found: list[InboxRow] = []
    asked: dict[int, tuple[Inbox, set[int]]] = {}
    try:
        for inbox in inboxes:
            inbox.shard.check()
            if inbox.is_open:
                asked[inbox.shard.number] = (inbox, inbox.settled())
        if asked:
            found = await inboxes[0].shard.store.executions.inbox_of(list(asked), FOREIGN, MOST_AT_ONCE)
    except Unavailable as problem:
        logger.debug("the inbox could not be read: %s", problem)
        for inbox, over in asked.values():
            inbox.not_seen(over)
        return
    for row in found:
        asked[shard_of_id(row.id)][0].found(row)
    for inbox, over in asked.values():
        inbox.forget(over)


class InboxWatch:
    """Has inboxes looked into in real time: five times a second, or once when nothing happens.

    `inboxes` are those that there are right now; `commits` counts those of all of them.
    """

    def __init__(self, inboxes: Callable[[], Sequence[Inbox]], commits: Callable[[], int]) -> None:
        self._inboxes = inboxes
        self._commits = commits
        self._seen = 0
        self._loop = asyncio.get_running_loop()
        self._pause = IDLE_SECONDS
        self._background = Background("looking for inputs", self._lost)
        self._looking: asyncio.Task[None] | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="statewright-inbox", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.wait(self._pause):
            try:
                self._loop.call_soon_threadsafe(self._look)
            except RuntimeError:  # The loop is closed.
                return

    def _look(self) -> None:
        if self._stopping.is_set():
            return
        before, self._seen = self._seen, self._commits()
        inboxes = self._inboxes()
        if inboxes and (self._looking is None or self._looking.done()):
            self._looking = self._background.spawn(look(inboxes))
        self._pause = IDLE_SECONDS if before == self._seen else BUSY_SECONDS

    def _lost(self, problem: BaseException) -> bool:
        """Drop the shards that a problem leaves this process no right or no means to continue; true if it does."""
        noticed = [inbox.shard.notices(problem) for inbox in self._inboxes()]
        return any(noticed)

    def stop(self) -> None:
        """Look no more."""
        self._stopping.set()
        self._background.cancel()
        self._thread.join()


def _has_state(live: LiveExecution) -> bool:
    return live.state is not None


def _fields(row: InboxRow, count: int) -> Sequence[str | None]:
    fields = orjson.loads(row.body)
    if not isinstance(fields, list) or len(fields) != count:
        raise ValueError(f"expected {count} fields")
    return fields


def _stop(row: InboxRow) -> tuple[events.Event, Accept]:
    error, cause = _fields(row, 2) if row.body else (None, None)
    return events.ExecutionStopped(error, cause), runs


def _continue(_row: InboxRow) -> tuple[events.Event, Accept]:
    return events.BurstContinued(), runs


def _answer(row: InboxRow) -> tuple[events.Event, Accept]:
    token, one, other = _fields(row, 3)
    task_id = read_task_token(token or "")[1]
    event: events.Event
    if row.kind == TASK_SUCCEEDED:
        event = events.TaskSucceeded(task_id, read_output(one or ""))
    elif row.kind == TASK_FAILED:
        event = events.TaskFailed(task_id, one, other)
    else:
        event = events.HeartbeatReceived(task_id)
    return event, still_open(token or "", task_id)
