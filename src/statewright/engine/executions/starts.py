"""Starts of executions: the cell of a new one, and the answer to a start whose name is taken."""

from __future__ import annotations

from statewright import chance
from statewright.arn import execution_arn
from statewright.engine.cells import Cells
from statewright.engine.cluster.placement import Placement
from statewright.engine.concurrency.admission import Admission
from statewright.engine.executions.live import LiveExecution
from statewright.engine.executions.names import ExecutionNames
from statewright.engine.executions.starting import head_of, new_live, read_input, type_not_supported
from statewright.engine.executions.views import Head, Started, SyncOutcome
from statewright.engine.inputs import AlreadyThere
from statewright.engine.machines.machines import Target
from statewright.errors import ApiError, ElsewhereError
from statewright.interpreter import events
from statewright.stores.completion import Completion
from statewright.stores.ids import SHARD
from statewright.stores.protocol import Row


class Starts:
    """Starts executions in the cells of an engine; `admission` queues those of machines with a limit.

    A worker has no admission: it refuses what has to run at the home.
    """

    def __init__(
        self, cells: Cells, names: ExecutionNames, placement: Placement, admission: Admission | None = None
    ) -> None:
        self._cells = cells
        self._names = names
        self._placement = placement
        self._admission = admission

    async def start(
        self,
        target: Target,
        name: str | None,
        input_text: str,
        trace_header: str | None,
        sent_by: str | None,
        completion: Completion[Started] | None,
    ) -> Started:
        """See `Engine.start_execution`."""
        payload = read_input(input_text)
        chosen = name if name is not None else chance.uuid4()
        admission = self._admission
        if admission is None:
            await self._check_place(target)
        await self._names.note_machine(target.machine_arn, target.machine_id)
        if target.type == "EXPRESS":
            express = self._cells.next().express
            return await express.start(target, chosen, input_text, payload, trace_header, completion)
        arn = execution_arn(target.machine_arn, chosen)
        head = head_of(target, arn, input_text, trace_header, sent_by)
        is_limited = admission is not None and admission.limits(target.machine_id)
        cell = self._cells.home if is_limited else self._cells.next()
        live = new_live(cell.shard, target.machine_id, chosen, head, payload, target.program)
        try:
            if admission is not None and is_limited:
                await self._enter(admission, live)
            else:
                await cell.runner.begin(live, events.ExecutionStarted(input_text))
        except AlreadyThere as taken:
            return _same_start(taken.row, head)
        self._names.remember(arn, live.id)
        # The row says when the first step was made, which may be a millisecond after it was put in line.
        return Started(arn, live.row.started_ms)

    async def _check_place(self, target: Target) -> None:
        """Raises: ElsewhereError for executions that have to run at the home."""
        if await self._placement.needs_home(target):
            raise ElsewhereError(SHARD, "executions of this state machine run")

    async def _enter(self, admission: Admission, live: LiveExecution) -> None:
        """Begin an execution of a machine with a limit, or queue it. Raises: as `Runner.begin`."""
        machine = live.row.machine
        queued = admission.enter(machine, live.id)
        begun = self._cells.home.runner.begin(
            live,
            events.ExecutionQueued(live.head.input) if queued else events.ExecutionStarted(live.head.input),
            never_began=lambda: admission.left(machine, live.id),
        )
        if queued:
            admission.admit(machine)
        # A caller that goes away, or gets `Unavailable`, takes nothing back: the start is on its way.
        await begun

    async def run(self, target: Target, name: str | None, input_text: str, trace_header: str | None) -> SyncOutcome:
        """See `Engine.start_sync_execution`."""
        if target.type != "EXPRESS":
            raise type_not_supported()
        payload = read_input(input_text)
        if self._admission is None:
            await self._check_place(target)
        return await self._cells.next().express.run(target, name or chance.uuid4(), input_text, payload, trace_header)


def _same_start(row: Row, wanted: Head) -> Started:
    """The same start again, while the execution runs, is answered as the first was; a task's own start always."""
    there = Head.decode(row.head)
    # A task's call is repeated after a crash, and what it started may have ended meanwhile.
    repeated = wanted.sent_by is not None and there.sent_by == wanted.sent_by
    if repeated or (row.status == "RUNNING" and there.input == wanted.input):
        return Started(wanted.execution_arn, row.started_ms)
    raise ApiError("ExecutionAlreadyExists", f"Execution Already Exists: '{wanted.execution_arn}'")
