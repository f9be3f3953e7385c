"""Calls on one execution: stop, redrive, answers by task token. The cell that has it answers, if it is here.

Owns finding the execution and giving it the event. `ElsewhereError` names the cell of one that another engine has.
"""

from __future__ import annotations

from collections.abc import Callable

from statewright.engine.cells import Cells
from statewright.engine.executions.live import LiveExecution
from statewright.engine.executions.names import ExecutionNames
from statewright.engine.executions.redrives import Redrive
from statewright.engine.executions.tokens import (
    WaitingTask,
    no_such_task,
    read_output,
    read_task_token,
    still_open,
    waiting_tasks,
)
from statewright.engine.inputs import no_result, runs
from statewright.errors import ApiError
from statewright.interpreter import events

Completed = tuple[int, bytes]
"""The outbox row of the task that makes a call, with its completed body."""


class ExecutionCalls:
    """Calls on the executions of an engine's cells. Each raises ElsewhereError for one in a cell of another engine."""

    def __init__(self, cells: Cells, names: ExecutionNames) -> None:
        self._cells = cells
        self._names = names

    async def stop(self, execution_arn: str, error: str | None, cause: str | None) -> int:
        """See `Engine.stop_execution`."""
        row = await self._names.row_of(execution_arn)
        event = events.ExecutionStopped(error, cause)
        return await self._cells.of(row.id).runner.ask(row.id, event, accept=runs, result=_stopped_ms)

    async def redrive(self, execution_arn: str, redrive: Redrive, client_token: str | None) -> int:
        """See `Engine.redrive_execution`."""
        row = await self._names.row_of(execution_arn)
        return await self._cells.of(row.id).runner.ask(
            row.id,
            events.ExecutionRedriven(),
            accept=redrive.accept,
            result=redrive.result,
            client_token=client_token,
        )

    async def waiting_tasks(self, execution_arn: str) -> list[WaitingTask]:
        """See `Engine.waiting_tasks`."""
        row = await self._names.row_of(execution_arn)
        if row.status != "RUNNING":
            return []
        # It changes nothing: only the execution's own turn sees all of its state.
        return await self._cells.of(row.id).runner.ask(
            row.id, events.HeartbeatReceived(0), accept=lambda _: False, result=waiting_tasks
        )

    async def succeeded(self, token: str, output_text: str, completed: Completed | None) -> None:
        """See `Engine.task_succeeded`."""
        # Observed: a text that is no token is refused before an output that is no JSON.
        read_task_token(token)
        output = read_output(output_text)
        await self._by_token(token, lambda task_id: events.TaskSucceeded(task_id, output), completed)

    async def failed(self, token: str, error: str | None, cause: str | None, completed: Completed | None) -> None:
        """See `Engine.task_failed`."""
        await self._by_token(token, lambda task_id: events.TaskFailed(task_id, error, cause), completed)

    async def heartbeat(self, token: str) -> None:
        """See `Engine.task_heartbeat`."""
        await self._by_token(token, events.HeartbeatReceived, None)

    async def _by_token(self, token: str, make: Callable[[int], events.Event], completed: Completed | None) -> None:
        arn, task_id = read_task_token(token)
        try:
            execution = await self._names.id_of(arn)
        except ApiError:
            raise no_such_task() from None
        waits = still_open(token, task_id)
        await self._cells.of(execution).runner.ask(
            execution, make(task_id), accept=waits, result=no_result, completed=completed
        )


def _stopped_ms(live: LiveExecution) -> int:
    return live.state.stopped_ms or 0 if live.state is not None else live.row.stopped_ms or 0
