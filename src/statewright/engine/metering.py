"""The engine's metrics: executions, and the tasks of their histories.

Numbers come from what a commit carries, after it is durable, so that nothing is counted twice by a crash; an execution
that runs again from its start (EXPRESS) counts again. Tasks that were under way at a restart end without being counted,
because their beginning is not in memory.

Source: Step Functions developer guide, "Monitoring Step Functions metrics using Amazon CloudWatch".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from statewright.engine.executions.live import LiveExecution
from statewright.engine.executions.views import Head
from statewright.engine.executions.work import Batch
from statewright.engine.express.billing import BILLED_MB, billed_ms
from statewright.interpreter.history import HistoryEvent
from statewright.interpreter.state import ExecutionState
from statewright.metrics.recorder import Recorder
from statewright.metrics.series import Counter
from statewright.payload import JsonObject
from statewright.stores.ids import shard_of_id

NAMESPACE: Final = "AWS/States"
MOST_TRACKED: Final = 20_000
"""Executions with open tasks that are remembered, for the tasks' times."""

_ENDS: Final = {
    "SUCCEEDED": "Succeeded",
    "FAILED": "Failed",
    "TIMED_OUT": "TimedOut",
    "ABORTED": "Aborted",
}
_KINDS: Final = {
    "LambdaFunction": ("LambdaFunctions", "LambdaFunction", "LambdaFunctionArn"),
    "Activity": ("Activities", "Activity", "ActivityArn"),
    "Task": ("ServiceIntegrations", "ServiceIntegration", "ServiceIntegrationResourceArn"),
}
"""By the beginning of history events: the beginnings of counts and of times, and the dimension."""
_PHASES: Final = {
    f"{kind}{event}": (kind, phase)
    for kind in _KINDS
    for event, phase in {
        "Scheduled": "Scheduled",
        "Started": "Started",
        "Submitted": "",
        "Succeeded": "Succeeded",
        "Failed": "Failed",
        "TimedOut": "TimedOut",
        "ScheduleFailed": "Failed",
        "StartFailed": "Failed",
        "SubmitFailed": "Failed",
    }.items()
}
"""By history event: the kind of task, and its change; nothing for an event after which the task continues."""


class _Machine:
    """The metrics of one state machine, or of one version or alias of it."""

    __slots__ = ("_dimensions", "_recorder", "_rest", "ends", "started", "time")

    def __init__(self, recorder: Recorder, dimensions: dict[str, str]) -> None:
        self._recorder = recorder
        self._dimensions = dimensions
        self._rest: dict[str, Counter] = {}
        self.started = self.of("ExecutionsStarted")
        ends = {status: self.of(f"Executions{name}") for status, name in _ENDS.items()}
        self.ends = {
            status: (ended, [self.started, *(other for other in ends.values() if other is not ended)])
            for status, ended in ends.items()
        }
        """By how an execution ended: what counts it, and what counts 0."""
        self.time = self.of("ExecutionTime", "Milliseconds")

    def of(self, name: str, unit: str = "Count") -> Counter:
        """A metric, made when it is first needed."""
        found = self._rest.get(name)
        if found is None:
            found = self._rest[name] = self._recorder.counter(NAMESPACE, name, self._dimensions, unit)
        return found

    def closed(self, status: str, lasted_ms: int) -> None:
        """An execution ended: the service counts 0 for all other ways to end, too.

        Source: developer guide: a second ExecutionsStarted, of 0, after each execution.
        """
        ended, others = self.ends[status]
        ended.add(1)
        for other in others:
            other.add(0)
        self.time.add(lasted_ms)


class _Tasks:
    """The metrics of one function, activity or service integration."""

    __slots__ = ("counts", "run_time", "schedule_time", "time")

    def __init__(self, recorder: Recorder, kind: str, arn: str) -> None:
        plural, singular, dimension = _KINDS[kind]
        dimensions = {dimension: arn}
        self.counts = {
            phase: recorder.counter(NAMESPACE, f"{plural}{phase}", dimensions)
            for phase in ("Scheduled", "Started", "Succeeded", "Failed", "TimedOut")
        }
        self.schedule_time, self.run_time, self.time = (
            recorder.counter(NAMESPACE, f"{singular}{name}", dimensions, "Milliseconds")
            for name in ("ScheduleTime", "RunTime", "Time")
        )


class _Open:
    """A task that is under way."""

    __slots__ = ("scheduled_ms", "started_ms", "tasks")

    def __init__(self, tasks: _Tasks, scheduled_ms: int) -> None:
        self.tasks = tasks
        self.scheduled_ms = scheduled_ms
        self.started_ms: int | None = None


class OpenExecutions:
    """Counts the open STANDARD executions of one cell."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def after_commit(self, live: LiveExecution, batch: Batch) -> None:
        """See `CommitListener`."""
        if live.version == 1 or batch.opened:
            self.count += 1
        if batch.closed:
            self.count -= 1


class ExecutionMeter:
    """Counts executions and tasks. `open` is how many STANDARD executions are open."""

    def __init__(self, recorder: Recorder) -> None:
        self.open = 0
        self.express_transitions = 0
        """Of EXPRESS executions, which are not charged for them."""
        self._recorder = recorder
        self._machines: dict[tuple[str, str | None, str | None], list[_Machine]] = {}
        self._tasks: dict[tuple[str, str], _Tasks] = {}
        self._under_way: dict[int | str, dict[int, _Open]] = {}
        self._transitions = recorder.counter(NAMESPACE, "ConsumedCapacity", {"ServiceMetric": "StateTransition"})
        self._open = recorder.gauge(
            NAMESPACE, "OpenExecutionCount", {}, "Count", lambda: float(self.open), is_lasting=True
        )

    def count_open(self, count: int) -> None:
        """Begin with what the store has."""
        self.open = count
        if count:
            self._open.touch()

    def came(self, count: int) -> None:
        """A cell with so many open executions has come to this engine."""
        self.count_open(self.open + count)

    def left(self, shard: int, count: int) -> None:
        """A cell with so many open executions has left this engine; their tasks end elsewhere."""
        self.open -= count
        self._open.touch()
        for key in [key for key in self._under_way if isinstance(key, int) and shard_of_id(key) == shard]:
            del self._under_way[key]

    def after_commit(self, live: LiveExecution, batch: Batch) -> None:
        """See `CommitListener`."""
        if batch.history:
            self.note_tasks(live.id, live.head, batch.history)
        if batch.transitions:
            self._transitions.add(batch.transitions)
        if not (batch.opened or batch.closed or live.version == 1):
            return
        head, row = live.head, live.row
        machines = self._machines_of(head)
        if live.version == 1:
            self.open += 1
            for machine in machines:
                machine.started.add()
        elif batch.opened:
            self.open += 1
            for machine in machines:
                machine.of("ExecutionsRedriven").add()
        if batch.closed:
            self.open -= 1
            self._under_way.pop(live.id, None)
            lasted_ms = (row.stopped_ms or row.started_ms) - row.started_ms
            for machine in machines:
                machine.closed(row.status, lasted_ms)
                if live.tail.redrive_count:
                    machine.of(f"RedrivenExecutions{_ENDS[row.status]}").add()
        self._open.touch()

    def express_started(self, head: Head) -> None:
        """An EXPRESS execution begins."""
        for machine in self._machines_of(head):
            machine.started.add()

    def express_ended(self, head: Head, state: ExecutionState) -> None:
        """An EXPRESS execution has been played, to its end unless the engine stops."""
        self._under_way.pop(head.execution_arn, None)
        if state.transitions:
            self._transitions.add(state.transitions)
            self.express_transitions += state.transitions
        if state.status == "RUNNING" or state.stopped_ms is None:
            return
        lasted_ms = state.stopped_ms - state.started_ms
        billed = billed_ms(state)
        memory = BILLED_MB * 1024 * 1024
        for machine in self._machines_of(head):
            machine.closed(state.status, lasted_ms)
            machine.of("ExpressExecutionBilledDuration", "Milliseconds").add(billed)
            machine.of("ExpressExecutionBilledMemory", "Bytes").add(memory)
            machine.of("ExpressExecutionMemory", "Bytes").add(memory)

    def note_tasks(self, key: int | str, head: Head, history: Sequence[HistoryEvent]) -> None:
        """Look through history events for tasks; `key` is the same for all of one execution."""
        phase_of = _PHASES.get
        for event in history:
            found = phase_of(event.type)
            if found is not None:
                self._note(key, head, event, *found)

    def _note(self, key: int | str, head: Head, event: HistoryEvent, kind: str, phase: str) -> None:
        if phase == "Scheduled":
            tasks = self._tasks_of(kind, head, event.details or {})
            tasks.counts[phase].add()
            under_way = self._under_way.get(key)
            if under_way is None:
                if len(self._under_way) >= MOST_TRACKED:
                    del self._under_way[next(iter(self._under_way))]
                under_way = self._under_way[key] = {}
            under_way[event.id] = _Open(tasks, event.at_ms)
            return
        under_way = self._under_way.get(key)
        task = under_way.pop(event.previous_id, None) if under_way else None
        if under_way is None or task is None:
            return
        if phase:
            task.tasks.counts[phase].add()
        if phase == "Started":
            task.started_ms = event.at_ms
            task.tasks.schedule_time.add(event.at_ms - task.scheduled_ms)
        if phase in ("Started", ""):
            under_way[event.id] = task
            return
        if task.started_ms is not None:
            task.tasks.run_time.add(event.at_ms - task.started_ms)
        task.tasks.time.add(event.at_ms - task.scheduled_ms)
        if not under_way:
            del self._under_way[key]

    def _machines_of(self, head: Head) -> list[_Machine]:
        key = (head.machine_arn, head.version_arn, head.alias_arn)
        found = self._machines.get(key)
        if found is None:
            machine = {"StateMachineArn": head.machine_arn}
            wanted = [machine]
            if head.version_arn is not None:
                wanted.append({**machine, "Version": head.version_arn.rpartition(":")[2]})
            if head.alias_arn is not None:
                wanted.append({**machine, "Alias": head.alias_arn.rpartition(":")[2]})
            found = self._machines[key] = [_Machine(self._recorder, dimensions) for dimensions in wanted]
        return found

    def _tasks_of(self, kind: str, head: Head, details: JsonObject) -> _Tasks:
        arn = details["resource"]
        if kind == "Task":
            arn = f"{details['resourceType']}:{arn}"
        found = self._tasks.get((kind, arn))
        if found is None:
            # Observed: with region and account, which resources in definitions do not have.
            region, account = head.machine_arn.split(":")[3:5]
            shown = f"arn:aws:states:{region}:{account}:{arn}" if kind == "Task" else arn
            found = self._tasks[kind, arn] = _Tasks(self._recorder, kind, shown)
        return found
