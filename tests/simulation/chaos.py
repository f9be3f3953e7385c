"""A world that goes wrong by the draw of a seed: `Chaos(seed, clock).play()` runs one; broken promises are raised.

Executions of many kinds are started, stopped and redriven, their tasks and tokens answered: late, twice, in any order,
or never. The store fails, with or without having written; the engine dies at any of its steps and another one takes
over. Afterwards nothing that was acknowledged may be lost, and every execution has ended as if nothing had happened.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from statewright.engine.dispatch import Failed, ScheduledCall, Submitted, Succeeded, TaskResult, event_of
from statewright.engine.engine import Engine, EngineSettings
from statewright.engine.inputs import Input
from statewright.engine.machines.catalogue import MachineCatalogue
from statewright.errors import ApiError, Unavailable
from statewright.virtual_clock import VirtualClock
from tests.simulation.faults import HeldStore, LateClock
from tests.simulation.kinds import FAST, KINDS, LIMITS, Prepared, prepared
from tests.unit.engine.running import ACTIVITY, JOB

EXECUTIONS = 6
DEATHS = 4
UNTIL_MS = 120_000
LONGEST_MS = 1_800_000
"""Long enough for every retry; whatever still runs then runs for ever."""
TERMINAL = ("ExecutionSucceeded", "ExecutionFailed", "ExecutionTimedOut", "ExecutionAborted")
ITEMS = 5


class Chaos:
    """One seed's world."""

    kinds = KINDS
    redrives = frozenset(KINDS)
    """What is redriven after it was stopped."""
    executions = EXECUTIONS

    def __init__(self, seed: int, clock: VirtualClock, say: Callable[[str], None] | None = None) -> None:
        self.random = Random(seed)
        self.clock = clock
        self.prepared = self._prepare()
        self.memory = self.prepared.store()
        self.calm = True
        self.over = False
        self._say = say
        self._hot = self.random.choice([0, 2, 100])
        self._seeds = 0
        self.engine: Engine | None = None
        self._hold: HeldStore | None = None
        self._calls: set[asyncio.Task[Any]] = set()
        """What callers from outside have asked the engine that is up."""
        self._side: set[asyncio.Task[None]] = set()
        self._deaths_left = 0
        self._steps_to_death = 0
        self.problems: list[BaseException] = []

        self.started: dict[str, str] = {}
        """Execution ARN to kind, of acknowledged starts."""
        self.stopped: set[str] = set()
        self.redriving: set[str] = set()
        self.redriven: set[str] = set()
        self.allowed: set[str] = set()
        self.taken: dict[str, list[Any]] = {}
        """Execution ARN to the values that workers were told had been taken."""
        self.unnamed: set[str] = set()

    def _prepare(self) -> Prepared:
        return prepared()

    def attach(self, engine: Engine, clock: Any) -> None:
        """An engine is about to start."""

    # ------------------------------------------------------------------ chance

    def tell(self, line: str) -> None:
        if self._say is not None:
            self._say(f"{self.clock.now_ms() - self.clock.start_ms:>8} ms  {line}")

    async def nap(self, most_ms: int) -> None:
        await self.clock.sleep_until(self.clock.now_ms() + self.random.randint(0, most_ms))

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def aside(self, work: Any) -> None:
        made = asyncio.create_task(work)
        self._side.add(made)
        made.add_done_callback(self._gone)

    def _gone(self, task: asyncio.Task[None]) -> None:
        self._side.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            self.problems.append(problem)

    # ------------------------------------------------------------------ life and death

    async def up(self) -> None:
        """Start an engine on what is stored."""
        hold = self._hold = HeldStore(self, self.memory)
        held: Any = hold
        clock: Any = LateClock(self.clock, self)
        await held.open("chaos")
        catalogue = MachineCatalogue(held, clock)
        # Compiled again, they would only cost time.
        catalogue.programs._kept = self.prepared.programs
        settings = EngineSettings(limits=LIMITS, hot_executions=self._hot, make_seed=self._make_seed)
        engine = self._starting = Engine(held, clock, catalogue, self, settings=settings)
        self.attach(engine, clock)
        starting = asyncio.create_task(engine.start())
        self._calls.add(starting)
        try:
            await asyncio.wait([starting])
        finally:
            self._calls.discard(starting)
        if starting.cancelled() or not hold.alive:
            return
        problem = starting.exception()
        if isinstance(problem, Unavailable):
            self.tell(f"the engine cannot start: {problem}")
            self.die("while it starts")
        elif problem is not None:
            raise problem
        else:
            self.engine = engine

    def _make_seed(self) -> bytes:
        self._seeds += 1
        return b"seed%016d" % self._seeds

    def step(self) -> None:
        """See `World.step`."""
        self._steps_to_death -= 1
        if self._steps_to_death == 0 and self._deaths_left > 0:
            self.die("at a step")

    def die(self, how: str) -> None:
        """The process is gone, in the middle of whatever it did; another one comes later."""
        hold = self._hold
        if hold is None or not hold.alive:
            return
        self.tell(f"the engine dies {how}")
        hold.alive = False
        self._deaths_left -= 1
        self.engine = None
        self._starting.kill()
        self.memory.kill()
        for call in list(self._calls):
            call.cancel()
        self._steps_to_death = self.random.randint(1, 150)
        self.aside(self._rise())

    async def _rise(self) -> None:
        await self.nap(3_000)
        self.tell("another engine starts")
        await self.up()

    async def ask(self, call: Callable[[Engine], Awaitable[Any]]) -> Any:
        """Ask the engine that is up, until one answers. Raises: ApiError."""
        while True:
            engine = self.engine
            if engine is not None:
                task = asyncio.ensure_future(call(engine))
                self._calls.add(task)
                try:
                    await asyncio.wait([task])
                finally:
                    self._calls.discard(task)
                    task.cancel()
                if not task.cancelled():
                    try:
                        return task.result()
                    except Unavailable:
                        pass
            await self.nap(500)

    # ------------------------------------------------------------------ integrations

    async def call(self, call: ScheduledCall) -> TaskResult:
        """See `Integrations.call`."""
        given = call.parameters
        await self.nap(4_000)
        if not self.calm and call.deadline_ms is not None:
            if self.chance(0.1):
                # Lost: only the timeout ends it. A task without one must be called again after every crash.
                await asyncio.get_running_loop().create_future()
            if self.chance(0.1):
                return Failed("Flaky", "by chance")
        if call.token is not None:
            if call.resource.arn == JOB:
                self.aside(self.answer(call.token, "job"))
            else:
                self.aside(self.answer(call.token, f"answer {self.random.random()}", call.execution_arn))
            return Submitted({"id": 1})
        if call.state == "Barred" and given["n"] in (0, 3) and given["arn"] not in self.allowed:
            return Failed("Barred", "not yet")
        number = call.iterations[0] if call.iterations else None
        result = Succeeded("called" if number is None else f"item {number}")
        if self.chance(0.3):
            self.aside(self.again(call, result))
        return result

    async def cancel(self, call: ScheduledCall) -> None:
        """See `Integrations.cancel`."""
        await self.nap(10)

    async def again(self, call: ScheduledCall, result: TaskResult) -> None:
        """A result that is delivered twice, late, and maybe to an engine that never asked for it."""
        await self.nap(15_000)
        for one in list(self.memory.executions.by_id.values()):
            if self.engine is not None and call.execution_arn.endswith(f":{one.row.name}"):
                self.engine.cells.tell(one.row.id, Input(event_of(call, result)))

    async def answer(self, token: str, value: Any, arn: str | None = None) -> None:
        """A worker that answers by token, and tries until it is told something."""
        await self.nap(6_000)
        if not self.calm and self.chance(0.15):
            return
        for _ in range(self.random.choice([1, 1, 2])):
            try:
                if self.chance(0.3):
                    await self.ask(lambda engine: engine.task_heartbeat(token))
                if self.chance(0.1) and arn is not None and not self.calm:
                    await self.ask(lambda engine: engine.task_failed(token, "Flaky", "by chance"))
                    return
                await self.ask(lambda engine: engine.task_succeeded(token, json.dumps(value)))
            except ApiError as refused:
                if refused.code != "TaskTimedOut":
                    raise
            else:
                if arn is not None:
                    self.taken.setdefault(arn, []).append(value)

    async def work_on_activities(self) -> None:
        while not self.over:
            got = await self.ask(lambda engine: engine.activities.poll(ACTIVITY, "w"))
            if got is not None:
                token, text = got
                self.aside(self.answer(token, f"work {self.random.random()}", json.loads(text)["arn"]))

    # ------------------------------------------------------------------ callers

    async def run(self, kind: str, name: str) -> None:
        """A caller who starts an execution, and may stop or redrive it."""
        await self.nap(5_000)
        target = self.prepared.targets[kind]
        arn = f"{target.machine_arn.replace(':stateMachine:', ':execution:')}:{name}"
        items = [{"arn": arn, "n": number} for number in range(ITEMS)]
        text = json.dumps({"arn": arn, "n": 0, "items": items})
        try:
            started = await self.ask(lambda engine: engine.start_execution(target, name, text))
            assert started.arn == arn
        except ApiError as taken:
            # It had begun, and ended, before the answer was lost.
            if taken.code != "ExecutionAlreadyExists":
                raise
        self.started[arn] = kind
        self.tell(f"{arn} is started")
        if self.kinds[kind].barred:
            while (await self.ask(lambda engine: engine.describe(arn))).status == "RUNNING":
                await self.nap(1_000)
            self.allowed.add(arn)
            await self.redrive(arn)
        elif self.chance(0.2):
            await self.nap(10_000)
            await self.ask(lambda engine: engine.stop_execution(arn, "Stopped"))
            self.stopped.add(arn)
            self.tell(f"{arn} is stopped")
            if self.chance(0.4) and kind in self.redrives:
                await self.nap(5_000)
                await self.redrive(arn)

    async def redrive(self, arn: str) -> None:
        self.redriving.add(arn)
        try:
            await self.ask(lambda engine: engine.redrive_execution(arn, f"redrive {arn}"))
        except ApiError as refused:
            view = await self.ask(lambda engine: engine.describe(arn))
            # An earlier attempt had been taken, or it ended before it was stopped.
            if refused.code != "ExecutionNotRedrivable" or view.status != "SUCCEEDED":
                raise
        self.redriven.add(arn)
        self.tell(f"{arn} is redriven")

    def others(self) -> list[asyncio.Task[None]]:
        """Callers beside those who start executions."""
        return [asyncio.create_task(self.run_express())]

    async def run_express(self) -> None:
        await self.ask(lambda engine: engine.start_execution(self.prepared.targets[FAST], "x", "{}"))

    # ------------------------------------------------------------------ the play

    async def play(self) -> None:
        """From the first start to the last check. Raises: whatever was broken."""
        await self.up()
        self.calm = False
        self._deaths_left = self.random.randint(0, DEATHS)
        self._steps_to_death = self.random.randint(1, 150)
        if FAST in self.prepared.targets:
            self.aside(self.work_on_activities())
        kinds = self.random.choices(list(self.kinds), k=self.executions)
        callers = [asyncio.create_task(self.run(kind, f"e{number}")) for number, kind in enumerate(kinds)]
        callers += self.others()
        while self._deaths_left > 0 and self.chance(0.8):
            await self.nap(12_000)
            self.die("in between")
        await asyncio.gather(*callers)
        await self.nap(5_000)
        self._deaths_left = 0
        self.calm = True
        self.tell("calm")
        await self._end()
        self.over = True
        await self._settle()
        await self.check()

    async def _end(self) -> None:
        deadline_ms = self.clock.now_ms() + LONGEST_MS
        for arn in self.started:
            while (await self.ask(lambda engine: engine.describe(arn))).status in ("RUNNING", "PENDING_REDRIVE"):  # noqa: B023
                assert self.clock.now_ms() < deadline_ms, f"{arn} does not end"
                await self.clock.sleep_until(self.clock.now_ms() + 500)

    async def _settle(self) -> None:
        await self.clock.sleep_until(self.clock.now_ms() + UNTIL_MS)
        for made in list(self._side):
            made.cancel()
        for _ in range(20):
            await self.clock.sleep_until(self.clock.now_ms())
        if self.problems:
            raise self.problems[0]

    # ------------------------------------------------------------------ what must hold

    def committed(self) -> None:
        """See `World.committed`: every open execution is named by a row, or nothing will wake it."""
        kept = self.memory.executions
        named: set[int] = {entry[2] for entry in kept._timers}
        named |= {row.execution for row in kept.outbox.values()} | {row.execution for row in kept.inbox.values()}
        # A Map Run is named by its parent's rows.
        self.unnamed |= {
            one.row.name
            for one in kept.by_id.values()
            if one.row.status == "RUNNING" and one.row.id not in named and abs(one.row.machine) not in named
        }

    def written(self) -> None:
        """See `World.written`."""

    async def check(self) -> None:
        engine = self.engine
        assert engine is not None
        kept = self.memory.executions
        assert not self.unnamed, f"nothing would have woken {self.unnamed}"
        assert not engine.cells.quarantined
        assert not kept.outbox, kept.outbox
        assert not kept.inbox, kept.inbox
        assert not kept._timers, kept._timers
        assert engine.map_runs.open == 0
        # Map Runs are counted apart.
        statuses = Counter(one.row.status for one in kept.by_id.values() if one.row.machine >= 0)
        assert statuses["RUNNING"] == 0
        counted = await kept.count_by_status(None)
        assert {status: number for status, number in counted.items() if number} == statuses
        for arn, kind in self.started.items():
            await self._check_end(engine, arn, kind)
        runs = [one.row for one in kept.by_id.values() if one.row.name.startswith("x:")]
        assert runs or FAST not in self.prepared.targets
        assert {row.status for row in runs} <= {"SUCCEEDED"}
        await engine.stop()

    async def _check_end(self, engine: Engine, arn: str, kind: str) -> None:
        view = await engine.describe(arn)
        if arn in self.stopped and arn not in self.redriven:
            assert view.status in ("ABORTED", "SUCCEEDED"), arn
        else:
            assert view.status == "SUCCEEDED", (arn, view.status, view.error, view.cause)
        if view.status == "SUCCEEDED":
            output = json.loads(view.output or "")
            expected = self.kinds[kind].output
            if expected is not None:
                assert output == expected, arn
            for value in self.taken.get(arn, ()):
                assert value == output, f"{arn} has lost what a worker was told had been taken"
        events, token = await engine.history(arn, limit=1_000)
        assert token is None
        assert [event["id"] for event in events] == list(range(1, len(events) + 1)), arn
        types = [event["type"] for event in events]
        ends = [number for number, kind_of_event in enumerate(types) if kind_of_event in TERMINAL]
        assert ends[-1] == len(types) - 1, arn
        assert all(types[number + 1] == "ExecutionRedriven" for number in ends[:-1]), (arn, types)
        times = [event["timestamp"] for event in events]
        assert times == sorted(times), arn
        if self.kinds[kind].types and arn not in self.stopped:
            assert Counter(types) == Counter(self.kinds[kind].types), arn
