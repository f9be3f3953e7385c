"""Effects of a commit: timers to arm, calls to make, tasks to offer to the workers of activities.

Owns how their results return to the execution. Each effect is named by a row until the execution has its result, so a
restart finds it again (`recover`).
"""

from __future__ import annotations

from collections.abc import Callable

from statewright.engine.activities import Activities, ActivityTask
from statewright.engine.dispatch import Dispatcher, Integrations, ScheduledCall, decode_call, event_of, followed_up
from statewright.engine.executions import kinds
from statewright.engine.executions.live import LiveExecution
from statewright.engine.executions.names import ExecutionNames
from statewright.engine.executions.work import Batch
from statewright.engine.inputs import Input
from statewright.engine.machines.activities import ActivityRecords
from statewright.engine.runner import Runner
from statewright.engine.shard import Shard
from statewright.engine.timers import DueSoon
from statewright.errors import ApiError
from statewright.interpreter import events
from statewright.interpreter.phases import TASK
from statewright.payload import Payload
from statewright.stores.protocol import OutboxRow

OnOffer = Callable[[ScheduledCall], None]
"""Called with every task of an activity that waits for a worker."""


class Effects:
    """The timers, calls and activity tasks of one shard. `activities` are the queues of the activities that `records`
    has.
    """

    def __init__(
        self,
        shard: Shard,
        runner: Runner,
        names: ExecutionNames,
        records: ActivityRecords,
        activities: Activities,
        integrations: Integrations,
        on_offer: OnOffer | None = None,
    ) -> None:
        self._shard = shard
        self._runner = runner
        self._names = names
        self._records = records
        self._activities = activities
        self._on_offer = on_offer
        self.timers = DueSoon(shard.store.executions, shard.clock, shard.number, self._fire)
        self.dispatcher = Dispatcher(integrations, shard.store.executions, shard.retrying.retry)

    def after_commit(self, live: LiveExecution, batch: Batch) -> None:
        """See `CommitListener`."""
        execution = live.id
        for timer in batch.disarmed:
            self.timers.disarm(execution, timer)
        for timer, due_ms in batch.armed:
            self.timers.arm(execution, timer, due_ms)
        arn = live.head.execution_arn
        for task_id in batch.finished:
            self.dispatcher.forget(arn, task_id)
        for task_id in batch.cancelled:
            self._activities.withdraw(execution, task_id)
            self.dispatcher.cancel(arn, task_id)
        for kind, call, parameters in batch.calls:
            if kind == kinds.TASK:
                self.dispatch(execution, call)
            else:
                self.offer(execution, call, parameters)

    def recover(self, row: OutboxRow, call: ScheduledCall) -> None:
        """Go on with a call or an activity's task of before the restart; a call that has happened is not repeated."""
        if call.answer is not None:
            following = followed_up(call, call.answer)
            if following is not None:
                self.dispatch(row.execution, following)
            else:
                self._runner.tell(row.execution, Input(event_of(call, call.answer), call=call))
        elif row.kind == kinds.TASK:
            self.dispatch(row.execution, call, is_repeated=True)
        else:
            self.offer(row.execution, call)

    def stop(self) -> None:
        """Fire nothing more."""
        self.timers.stop()

    def _fire(self, execution: int, timer: int, settled: Callable[[], None]) -> None:
        self._runner.tell(execution, Input(events.TimerFired(timer), settled=settled))

    # ------------------------------------------------------------------ calls

    def dispatch(self, execution: int, call: ScheduledCall, *, is_repeated: bool = False) -> None:
        """Make a call, and give its result to the execution; see `Dispatcher.dispatch`."""

        def answered(made: ScheduledCall, event: events.Event) -> None:
            self._runner.tell(execution, Input(event, call=made))

        self.dispatcher.dispatch(call, answered, self._broke, is_repeated=is_repeated)

    def _broke(self, call: ScheduledCall, problem: BaseException) -> None:
        if self._shard.notices(problem):
            return
        self._shard.spawn(self._quarantine_for(call, problem))

    async def _quarantine_for(self, call: ScheduledCall, problem: BaseException) -> None:
        """Hold the execution back: its call stays open."""
        execution = await self._shard.retrying.retry(self._names.id_of, call.execution_arn)
        await self._runner.quarantine(execution, problem)

    # ------------------------------------------------------------------ activities

    def offer(self, execution: int, call: ScheduledCall, parameters: Payload | None = None) -> None:
        """Offer an activity's task to its workers."""
        text = (parameters or Payload(call.parameters)).text
        self._shard.spawn(self._offer_if_there(execution, call, text))

    async def _offer_if_there(self, execution: int, call: ScheduledCall, text: str) -> None:
        arn = call.resource.arn
        try:
            await self._shard.retrying.retry(self._records.get, arn)
        except ApiError:
            refused = events.TaskRefused(call.task_id, f"The activity {arn} does not exist.")
            self._runner.tell(execution, Input(refused))
            return
        assert call.token is not None
        self._activities.offer(arn, ActivityTask(execution, call.task_id, call.token, text))
        if self._on_offer is not None:
            self._on_offer(call)

    async def take_activity_task(self, task: ActivityTask, worker_name: str | None) -> bool:
        """Record that a worker has taken a task; false when its execution no longer waits for it."""

        def waits(live: LiveExecution) -> bool:
            frame = live.state.frame_of(task.task_id) if live.state is not None else None
            if frame is None or frame.phase != TASK or frame.task is None or not live.is_running:
                return False
            return frame.task.id == task.task_id and not frame.task.started

        taken = False

        def accept(live: LiveExecution) -> bool:
            nonlocal taken
            taken = waits(live)
            return taken

        def result(_live: LiveExecution) -> bool:
            return taken

        event = events.TaskStarted(task.task_id, worker_name)
        return await self._runner.ask(task.execution, event, accept=accept, result=result)


def calls_of(outbox: list[OutboxRow]) -> dict[int, ScheduledCall]:
    """The calls that an outbox names, by row id."""
    return {row.id: decode_call(row.body, row.id) for row in outbox if row.kind in (kinds.TASK, kinds.ACTIVITY)}
