"""The engine as a driver of cases: on virtual time, with a store in memory and the case's mocks as integrations."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from statewright.asl.compile import compile_definition
from statewright.asl.program import Program
from statewright.engine.dispatch import Failed, ScheduledCall, Submitted, Succeeded, TaskResult
from statewright.engine.engine import Engine, EngineSettings
from statewright.engine.executions.live import decode_live
from statewright.engine.executions.views import Head, StatusChange
from statewright.engine.inputs import Input
from statewright.engine.machines.catalogue import MachineCatalogue
from statewright.engine.machines.machines import Target
from statewright.engine.machines.programs import Programs
from statewright.engine.map_runs.data import Slice
from statewright.engine.map_runs.head import RunHead
from statewright.engine.map_runs.live import LiveRun
from statewright.errors import ApiError
from statewright.instants import parse_duration_ms
from statewright.interpreter import events
from statewright.interpreter.map_run.state import child_name
from statewright.interpreter.state import ExecutionState
from statewright.limits import AWS, EXPRESS, Limits
from statewright.payload import Payload, dump_json, parse_json
from statewright.simulator.map_runs import NOT_ITERABLE, WRITER_RESOURCE
from statewright.simulator.mocks import Answer, Hung, Returned, ScriptRun, TaskCall, Threw
from statewright.simulator.script import load_script
from statewright.simulator.simulate import make_identity
from statewright.stores.memory.store import MemoryStore
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.conformance.our_cases import Case, Outcome, event_of


class CasePrograms(Programs):
    """Programs of which there is one, whether the validator would take it or not."""

    program: Program

    async def program_of(self, machine_id: int, revision_id: str) -> Program:
        return self.program

    async def gone_activities(self, program: Program) -> frozenset[str]:
        return frozenset()


class CaseEngine(Engine):
    """An engine whose activities have a worker that takes every task at once."""

    def __init__(self, *parts: Any, **settings: Any) -> None:
        super().__init__(*parts, **settings)
        for cell in self.cells:
            cell.effects.offer = self._take_at_once  # type: ignore[method-assign]

    def _take_at_once(self, execution: int, call: ScheduledCall, parameters: Payload | None = None) -> None:
        self.cells.tell(execution, Input(events.TaskStarted(call.task_id, "simulator")))
        self.cells.of(execution).effects.dispatch(execution, call)


class Items:
    """The items that a mock returned."""

    def __init__(self, value: Any) -> None:
        if not isinstance(value, (dict, list)):
            raise ApiError("Failed", NOT_ITERABLE)
        self.keys = list(value) if isinstance(value, dict) else None
        self.values = list(value.values()) if isinstance(value, dict) else value
        self.first = 0

    async def take(self, count: int) -> Slice:
        first, end = self.first, self.first + count
        self.first = end
        keys = self.keys[first:end] if self.keys is not None else None
        return Slice(self.values[first:end], end >= len(self.values), keys, len(self.values))

    async def close(self) -> None:
        """Nothing is open."""


@dataclass
class Mocks:
    """Integrations that answer from a script, as the simulator does."""

    clock: VirtualClock
    script: ScriptRun
    engine: Engine | None = None

    def __post_init__(self) -> None:
        self.visits: Counter[tuple[str, str, tuple[int, ...]]] = Counter()

    async def call(self, task: ScheduledCall) -> TaskResult:
        answer = await self._answer(task)
        for beat in answer.heartbeats:
            self._tell_at(beat, task, events.HeartbeatReceived(task.task_id))
        outcome = answer.outcome
        if task.resource.kind == "task" and task.resource.pattern != "request":
            if not isinstance(outcome, Hung):
                self._tell_at(answer.delay_ms, task, _end(task, outcome))
            return Submitted(answer.submitted if answer.submitted is not None else {})
        if isinstance(outcome, Hung):
            await asyncio.get_running_loop().create_future()
        if answer.delay_ms:
            await self.clock.sleep_until(self.clock.now_ms() + answer.delay_ms)
        if isinstance(outcome, Returned):
            return Succeeded(outcome.value)
        assert isinstance(outcome, Threw)
        return Failed(outcome.error, outcome.cause)

    async def _answer(self, task: ScheduledCall) -> Answer:
        around = await self._around(task.execution_arn)
        answer = self._ask(
            task.execution_arn, task.state, task.resource.arn, task.parameters, around, task.iterations, task.attempt
        )
        assert answer is not None, task
        return answer

    def _ask(
        self, execution: str, state: str, resource: str, parameters: Any, around: tuple[int, ...],
        iterations: tuple[int, ...], attempt: int,
    ) -> Answer | None:  # fmt: skip
        key = (execution, state, iterations)
        if attempt == 0:
            self.visits[key] += 1
        visit = self.visits[key] - 1
        return self.script.answer(
            TaskCall(state, resource, parameters, around + iterations, attempt, visit, self.clock.now_ms())
        )

    async def _around(self, execution_arn: str) -> tuple[int, ...]:
        """The indexes of the Map items that a child execution is in."""
        if "/" not in execution_arn:
            return ()
        assert self.engine is not None
        run, name = await self._child(execution_arn)
        index = next(
            child.index for child in run.state.children if child_name(run.head.map_run_arn, child.index) == name
        )
        return (*await self._around(run.head.parent_arn), *run.head.iterations, index)

    async def _child(self, execution_arn: str) -> tuple[LiveRun, str]:
        assert self.engine is not None
        name = execution_arn.rpartition(":")[2]
        for run in [run for runs in self.engine.cells.map_runs().values() for run in runs._runs.values()]:
            if any(child_name(run.head.map_run_arn, child.index) == name for child in run.state.children):
                return run, name
        raise AssertionError(execution_arn)

    async def open(self, head: RunHead, reader: Any, config: Any, resource: str) -> Items:
        around = await self._around(head.parent_arn)
        answer = self._ask(head.parent_arn, head.state, resource, reader, around, tuple(head.iterations), head.attempt)
        assert answer is not None, head
        if answer.delay_ms:
            await self.clock.sleep_until(self.clock.now_ms() + answer.delay_ms)
        if isinstance(answer.outcome, Threw):
            raise ApiError("Failed", answer.outcome.cause or answer.outcome.error or "")
        assert isinstance(answer.outcome, Returned)
        return Items(answer.outcome.value)

    async def write(self, head: RunHead, bucket: str, key: str, pieces: Iterable[bytes], arguments: Any) -> int:
        size = sum(map(len, pieces))
        if not key.endswith("/manifest.json"):
            return size
        around = await self._around(head.parent_arn)
        state = f"{head.state}/ResultWriter"
        answer = self._ask(head.parent_arn, state, WRITER_RESOURCE, arguments, around, tuple(head.iterations), 0)
        if answer is not None and isinstance(answer.outcome, Threw):
            raise ApiError("Failed", answer.outcome.cause or answer.outcome.error or "")
        return size

    def _tell_at(self, after_ms: int, task: ScheduledCall, event: events.Event) -> None:
        engine = self.engine
        assert engine is not None

        async def tell() -> None:
            execution = await engine.names.id_of(task.execution_arn)
            engine.cells.tell(execution, Input(event))

        self.clock.call_at(self.clock.now_ms() + after_ms, lambda: engine.cells.home.shard.spawn(tell()))

    async def cancel(self, task: ScheduledCall) -> None:
        """Nothing to call off."""


def _end(task: ScheduledCall, outcome: Returned | Threw) -> events.Event:
    if isinstance(outcome, Returned):
        return events.TaskSucceeded(task.task_id, Payload(outcome.value))
    return events.TaskFailed(task.task_id, outcome.error, outcome.cause)


class EngineRun:
    """One case through one engine."""

    def __init__(self, case: Case, clock: VirtualClock) -> None:
        self.case = case
        self.clock = clock
        self.store = MemoryStore()
        self.program = compile_definition(case["definition"])
        base = EXPRESS if case.get("type") == "EXPRESS" else AWS
        self.limits: Limits = replace(base, **case.get("limits", {}))
        self.closed = asyncio.Event()

    async def run(self) -> Outcome:
        case, clock = self.case, self.clock
        await self.store.open("case")
        mocks = Mocks(clock, load_script(dump_json({"mocks": case.get("mocks", {})}), syntax="json").start())
        catalogue = MachineCatalogue(self.store, clock)
        catalogue.programs = programs = CasePrograms(catalogue.records, catalogue.clock)
        programs.program = self.program
        seed = case.get("seed", "seed").encode()
        settings = EngineSettings(limits=self.limits, make_seed=lambda: seed, hot_executions=0, retention_ms=None)
        self.engine = mocks.engine = CaseEngine(self.store, clock, catalogue, mocks, settings=settings, data=mocks)
        self.engine.subscribe(self._published)
        await self.engine.start()
        self.arn = make_identity().execution_arn
        redrives = []
        for action in case.get("do", []):
            due_ms = case.start_ms + parse_duration_ms(action["at"])
            if "redrive" in action:
                redrives.append(due_ms)
            else:
                clock.call_at(due_ms, lambda action=action: self.engine.cells.home.shard.spawn(self._act(action)))  # type: ignore[misc]
        await self.engine.start_execution(self._target(), "run", dump_json(case.get("input", {})))
        await self.closed.wait()
        for due_ms in redrives:
            await clock.sleep_until(due_ms)
            self.closed.clear()
            try:
                await self.engine.redrive_execution(self.arn)
            except ApiError as refused:
                if refused.code != "ExecutionNotRedrivable":
                    raise
                self.closed.set()
            await self.closed.wait()
        # What is still to come must not reach the closed execution.
        await clock.sleep_until(clock.now_ms() + 10 * 24 * 3600 * 1000)
        return await self._outcome()

    def _target(self) -> Target:
        identity = make_identity()
        return Target(
            1, identity.state_machine_arn, identity.state_machine_name, "INITIAL", "STANDARD", self.program,
            identity.role_arn, None, None, self.limits, {}, {},
        )  # fmt: skip

    def _published(self, change: StatusChange) -> None:
        if change.view.status != "RUNNING":
            self.closed.set()

    async def _act(self, action: dict[str, Any]) -> None:
        if "stop" in action:
            stop = action["stop"] or {}
            await self.engine.stop_execution(self.arn, stop.get("error"), stop.get("cause"))
            return
        execution = await self.engine.names.id_of(self.arn)
        self.engine.cells.tell(execution, Input(event_of(action, await self._state(execution), self.program)))

    async def _state(self, execution: int) -> ExecutionState:
        stored = await self.store.executions.load(execution)
        assert stored is not None
        state = decode_live(stored, Head.decode(stored.row.head), self.program, self.limits, "us-east-1").state
        assert state is not None
        return state

    async def _outcome(self) -> Outcome:
        view = await self.engine.describe(self.arn)
        history: list[dict[str, Any]] = []
        token = None
        while True:
            page, token = await self.engine.history(self.arn, token=token, limit=1000)
            history += page
            if token is None:
                break
        await self.engine.stop()
        assert not self.engine.cells.quarantined
        assert not self.store.executions.outbox
        assert not self.store.executions.inbox
        assert not await self.store.executions.due(0, 1 << 62, 10)
        output = parse_json(view.output) if view.output is not None else None
        return Outcome(view.status, output, view.error, view.cause, history)


def through_engine(case: Case) -> Outcome:
    """Run a case to its end through an engine."""
    return run_virtual(lambda clock: EngineRun(case, clock).run(), case.start_ms)
