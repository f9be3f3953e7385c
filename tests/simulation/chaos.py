"""A world that goes wrong by the draw of a seed: a store that fails, results that get lost, doubled or late, crashes.

`Chaos(seed).play` starts executions of several kinds, kills the engine again and again, and then checks that nothing
that was acknowledged is lost and that every execution ended as if nothing had happened.
"""

from __future__ import annotations

import asyncio
import json
from random import Random
from typing import Any

from statewright.clock import VirtualClock
from statewright.engine.dispatch import ScheduledCall, Submitted, Succeeded, TaskResult, event_of
from statewright.engine.runner import Input
from statewright.engine.state_machines import Target
from statewright.errors import ApiError, Unavailable
from statewright.stores.memory import MemoryStore
from tests.unit.engine.running import ACTIVITY, CALL, JOB, LAMBDA, TOKEN, Rig, lifted, machine, passing, task, wait

RETRY = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 90, "BackoffRate": 1.0}]
TRIED = {"TimeoutSeconds": 9, "Retry": RETRY}
CRASHES = 4
UNTIL_MS = 120_000
LONGEST_MS = 1_800_000
"""Long enough for every retry; whatever still runs then runs for ever."""
TERMINAL = ("ExecutionSucceeded", "ExecutionFailed", "ExecutionTimedOut", "ExecutionAborted")


def chain(length: int) -> dict[str, Any]:
    states = {f"P{number}": passing(f"P{number + 1}") for number in range(length - 1)}
    return machine(**states, **{f"P{length - 1}": passing(Result="done")})


def item(resource: str, name: str) -> dict[str, Any]:
    return machine(**{name: task(resource, **TRIED)})


def distributed(child_type: str) -> dict[str, Any]:
    processor = {
        **machine(W=wait(1, "T"), T=task(LAMBDA, **TRIED)),
        "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": child_type},
    }
    return machine(M={"Type": "Map", "MaxConcurrency": 3, "ItemProcessor": processor, "Label": "L", "End": True})


KINDS: dict[str, tuple[dict[str, Any], Any]] = {
    "chain": (chain(700), "done"),
    "waits": (machine(A=wait(2, "B"), B=wait(70, "C"), C=wait(1, "D"), D=passing(Result=[1, 2])), [1, 2]),
    "map": (
        machine(M={"Type": "Map", "MaxConcurrency": 2, "ItemProcessor": item(LAMBDA, "T"), "End": True}),
        ["item 0", "item 1", "item 2", "item 3", "item 4"],
    ),
    "parallel": (
        machine(
            X={
                "Type": "Parallel",
                "Branches": [machine(W=wait(3, "T"), T=task(CALL)), item(JOB, "J"), chain(30)],
                "End": True,
            }
        ),
        ["called", "job", "done"],
    ),
    "standard": (distributed("STANDARD"), ["called"] * 5),
    "express": (distributed("EXPRESS"), ["called"] * 5),
    "token": (machine(T=task(TOKEN, HeartbeatSeconds=5, **TRIED)), None),
    "activity": (machine(T=task(ACTIVITY, HeartbeatSeconds=5, **TRIED)), None),
}
"""Definition and output by kind; `None` where the output is what a worker was told to have been taken."""


class FlakyExecutions:
    """The executions of a store, with answers that come late or never."""

    def __init__(self, chaos: Chaos, real: Any) -> None:
        self._chaos = chaos
        self._real = real

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._real, name)
        if name not in ("commit", "load", "row", "find", "due"):
            return method

        async def call(*args: Any, **options: Any) -> Any:
            chaos = self._chaos
            if chaos.calm:
                return await method(*args, **options)
            await chaos.nap(3)
            if chaos.random.random() < 0.03:
                raise Unavailable(f"{name} failed")
            answer = await method(*args, **options)
            if name == "commit":
                chaos.unnamed |= set(chaos.sleepers())
            if name == "commit" and chaos.random.random() < 0.04:
                raise Unavailable("the answer to a commit was lost")
            await chaos.nap(2)
            return answer

        return call


class FlakyStore:
    """A store in memory behind `FlakyExecutions`."""

    def __init__(self, chaos: Chaos) -> None:
        self.real = MemoryStore()
        self.executions = FlakyExecutions(chaos, self.real.executions)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


class Chaos:
    """One seed's world."""

    def __init__(self, seed: int, clock: VirtualClock) -> None:
        self.random = Random(seed)
        self.clock = clock
        self.calm = True
        self.store = FlakyStore(self)
        self.rig = Rig(clock, limits=lifted(execution_ms=None), hot=self.random.choice([0, 2, 100]), store=self.store)
        self.rig.integrations = self  # type: ignore[assignment]
        self.started: dict[str, str] = {}
        """Execution ARN to kind, of acknowledged starts."""
        self.stopped: set[str] = set()
        self.taken: dict[str, list[Any]] = {}
        """Execution ARN to the values that workers were told had been taken."""
        self.side: set[asyncio.Task[None]] = set()
        self.over = False
        self.unnamed: set[str] = set()

    # ------------------------------------------------------------------ chance

    async def nap(self, most_ms: int) -> None:
        await self.clock.sleep_until(self.clock.now_ms() + self.random.randint(0, most_ms))

    def aside(self, work: Any) -> None:
        made = asyncio.create_task(work)
        self.side.add(made)
        made.add_done_callback(self.side.discard)

    # ------------------------------------------------------------------ integrations

    async def call(self, call: ScheduledCall) -> TaskResult:
        await self.nap(4_000)
        if not self.calm and call.deadline_ms is not None and self.random.random() < 0.1:
            # Lost: only the timeout ends it. A task without one must be called again after every crash.
            await asyncio.get_running_loop().create_future()
        if call.token is not None:
            if call.resource.arn == JOB:
                self.aside(self.answer(call.token, "job"))
            else:
                value = f"answer {self.random.random()}"
                self.aside(self.answer(call.token, value, call.execution_arn))
            return Submitted({"id": 1})
        number = call.iterations[0] if call.iterations else None
        result = Succeeded("called" if number is None else f"item {number}")
        if self.random.random() < 0.3:
            self.aside(self.again(call, result))
        return result

    async def cancel(self, call: ScheduledCall) -> None:
        await self.nap(10)

    async def again(self, call: ScheduledCall, result: TaskResult) -> None:
        """A result that is delivered twice, and late."""
        await self.nap(15_000)
        for execution in list(self.store.real.executions.by_id):
            if self.random.random() < 0.5:
                row = self.store.real.executions.by_id[execution].row
                if call.execution_arn.endswith(f":{row.name}"):
                    self.rig.engine.runner.tell(execution, Input(event_of(call, result)))

    async def answer(self, token: str, value: Any, arn: str | None = None) -> None:
        """A worker that answers by token, and tries until it is told something."""
        await self.nap(6_000)
        if not self.calm and self.random.random() < 0.15:
            return
        for _ in range(self.random.choice([1, 1, 2])):
            while True:
                try:
                    if self.random.random() < 0.3:
                        await self.rig.engine.task_heartbeat(token)
                    await self.rig.engine.task_succeeded(token, json.dumps(value))
                except Unavailable:
                    await self.nap(500)
                    continue
                except ApiError as refused:
                    if refused.code != "TaskTimedOut":
                        raise
                else:
                    if arn is not None:
                        self.taken.setdefault(arn, []).append(value)
                break

    async def work_on_activities(self) -> None:
        while not self.over:
            try:
                got = await self.rig.engine.activities.poll(ACTIVITY, "w")
            except Unavailable:
                await self.nap(500)
                continue
            if got is not None:
                token, text = got
                self.aside(self.answer(token, f"work {self.random.random()}", json.loads(text)["arn"]))

    # ------------------------------------------------------------------ callers

    async def start(self, target: Target, kind: str, name: str) -> None:
        await self.nap(5_000)
        arn = f"arn:aws:states:us-east-1:000000000000:execution:{kind}:{name}"
        given: Any = {"arn": arn} if kind not in ("map", "standard", "express") else [0, 1, 2, 3, 4]
        while True:
            try:
                started = await self.rig.engine.start_execution(target, name, json.dumps(given))
            except Unavailable:
                await self.nap(500)
            except ApiError as taken:
                # It had begun, and ended, before the answer was lost.
                if taken.code != "ExecutionAlreadyExists":
                    raise
                self.started[arn] = kind
                break
            else:
                assert started.arn == arn
                self.started[arn] = kind
                break
        if self.random.random() < 0.15:
            await self.nap(10_000)
            await self.stop(arn)

    async def stop(self, arn: str) -> None:
        while True:
            try:
                await self.rig.engine.stop_execution(arn, "Stopped")
            except Unavailable:
                await self.nap(500)
            else:
                self.stopped.add(arn)
                return

    # ------------------------------------------------------------------ the play

    async def play(self) -> None:
        rig = self.rig
        await rig.up()
        await rig.machines.activities.create("a", (), None)
        targets = {kind: await rig.machine(definition, kind) for kind, (definition, _) in KINDS.items()}
        express = await rig.machine(machine(W=wait(2, "T"), T=task(LAMBDA, **TRIED)), "fast", "EXPRESS")
        self.calm = False
        worker = asyncio.create_task(self.work_on_activities())
        names = [(kind, f"e{number}") for number, kind in enumerate(self.random.choices(list(KINDS), k=6))]
        callers = [asyncio.create_task(self.start(targets[kind], kind, name)) for kind, name in names]
        callers.append(asyncio.create_task(self.start_express(express)))
        for _ in range(self.random.randint(0, CRASHES)):
            await self.nap(12_000)
            await self.crash()
        await asyncio.gather(*callers)
        await self.nap(5_000)
        self.calm = True
        deadline_ms = self.clock.now_ms() + LONGEST_MS
        for arn in self.started:
            while (await rig.engine.describe(arn)).status == "RUNNING":
                assert self.clock.now_ms() < deadline_ms, f"{arn} does not end"
                await self.clock.sleep_until(self.clock.now_ms() + 500)
        self.over = True
        worker.cancel()
        await rig.until(UNTIL_MS)
        for made in list(self.side):
            made.cancel()
        await self.check()
        await rig.down()

    async def start_express(self, target: Target) -> None:
        while True:
            try:
                await self.rig.engine.start_execution(target, "x", "{}")
            except Unavailable:
                await self.nap(500)
            else:
                return

    async def crash(self) -> None:
        before, self.calm = self.calm, True
        programs = self.rig.machines._programs
        await self.rig.crash()
        # Compiled again, they would only cost time.
        self.rig.machines._programs = programs
        self.calm = before

    # ------------------------------------------------------------------ what must hold

    def sleepers(self) -> list[str]:
        """The open executions that no row names, so that nothing will wake them."""
        kept = self.store.real.executions
        named: set[int] = {entry[2] for entry in kept._timers}
        named |= {row.execution for row in kept.outbox.values()} | {row.execution for row in kept.inbox.values()}
        # A Map Run is named by its parent's rows.
        return [
            one.row.name
            for one in kept.by_id.values()
            if one.row.status == "RUNNING" and one.row.id not in named and one.row.machine not in named
        ]

    async def check(self) -> None:
        rig = self.rig
        kept = self.store.real.executions
        assert not self.unnamed, f"nothing would have woken {self.unnamed}"
        assert not rig.engine.runner.quarantined
        assert not kept.outbox
        assert not kept.inbox
        assert not kept._timers
        assert rig.engine.map_runs.open == 0
        assert {one.row.name for one in kept.by_id.values() if one.row.status == "RUNNING"} == set()
        for arn, kind in self.started.items():
            view = await rig.engine.describe(arn)
            if arn in self.stopped:
                assert view.status in ("ABORTED", "SUCCEEDED"), arn
            else:
                assert view.status == "SUCCEEDED", (arn, view.error, view.cause)
            if view.status == "SUCCEEDED":
                output = json.loads(view.output or "")
                expected = KINDS[kind][1]
                if expected is not None:
                    assert output == expected, arn
                for value in self.taken.get(arn, ()):
                    assert value == output, f"{arn} has lost what a worker was told had been taken"
            await self.check_history(arn)
        runs = [one.row for one in kept.by_id.values() if one.row.name.startswith("x:")]
        assert runs
        assert {row.status for row in runs} == {"SUCCEEDED"}

    async def check_history(self, arn: str) -> None:
        events = await self.rig.events(arn)
        assert [event["id"] for event in events] == list(range(1, len(events) + 1)), arn
        assert [event["type"] for event in events if event["type"] in TERMINAL] == [events[-1]["type"]], arn
        times = [event["timestamp"] for event in events]
        assert times == sorted(times), arn
