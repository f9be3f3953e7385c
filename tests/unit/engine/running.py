"""An engine on a store in memory and on virtual time, with integrations that a test scripts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from statewright.clock import Clock
from statewright.engine import engine
from statewright.engine.dispatch import Failed, ScheduledCall, Submitted, Succeeded, TaskResult
from statewright.engine.engine import Engine, EngineSettings
from statewright.engine.executions.views import StatusChange
from statewright.engine.machines.catalogue import MachineCatalogue
from statewright.engine.machines.machines import Target
from statewright.engine.machines.views import NewMachine
from statewright.engine.map_runs.data import MapRunData
from statewright.limits import AWS, Limits
from statewright.query.scope import Entropy
from statewright.stores.memory.store import MemoryStore

ROLE = "arn:aws:iam::000000000000:role/r"
LAMBDA = "arn:aws:lambda:us-east-1:000000000000:function:f"
TOKEN = "arn:aws:states:::sqs:sendMessage.waitForTaskToken"
JOB = "arn:aws:states:::batch:submitJob.sync"
CALL = "arn:aws:states:::sqs:sendMessage"
ACTIVITY = "arn:aws:states:us-east-1:000000000000:activity:a"

Answer = Callable[[ScheduledCall], Awaitable[TaskResult]]


class Scripted:
    """Integrations whose answers a test gives by state name; anything else returns its parameters at once."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.calls: list[ScheduledCall] = []
        self.cancelled: list[ScheduledCall] = []
        self.answers: dict[str, Answer] = {}

    async def call(self, task: ScheduledCall) -> TaskResult:
        self.calls.append(task)
        answer = self.answers.get(task.state)
        if answer is not None:
            return await answer(task)
        return Succeeded(task.parameters)

    async def cancel(self, task: ScheduledCall) -> None:
        self.cancelled.append(task)

    def returns(self, state: str, value: Any, after_ms: int = 0) -> None:
        async def answer(task: ScheduledCall) -> TaskResult:
            if after_ms:
                await self.clock.sleep_until(self.clock.now_ms() + after_ms)
            return Succeeded(value)

        self.answers[state] = answer

    def throws(self, state: str, error: str, cause: str | None = None, how: Any = "failed") -> None:
        async def answer(task: ScheduledCall) -> TaskResult:
            return Failed(error, cause, how)

        self.answers[state] = answer

    def submits(self, state: str, value: Any = None) -> None:
        async def answer(task: ScheduledCall) -> TaskResult:
            return Submitted({} if value is None else value)

        self.answers[state] = answer


class Rig:
    """One store, and one engine after another on it."""

    def __init__(
        self, clock: Clock, *, limits: Limits = AWS, hot: int = 512, store: Any = None, cells: int = 0
    ) -> None:
        self.clock = clock
        self.cells = cells or engine.CELLS
        self.store: Any = store if store is not None else MemoryStore()
        self.limits = limits
        self.hot = hot
        self.seeds = 0
        self.news = asyncio.Event()
        self.published: list[StatusChange] = []
        self.lost: list[bool] = []
        self.integrations = Scripted(clock)
        self.data: MapRunData | None = None

    async def up(self) -> Rig:
        """Start an engine."""
        await self.store.open("test")
        settings = EngineSettings(
            limits=self.limits,
            cells=self.cells,
            hot_executions=self.hot,
            make_seed=self.seed,
            entropy=Entropy(b"machines"),
        )
        self.engine = Engine(
            self.store,
            self.clock,
            MachineCatalogue(self.store, self.clock),
            self.integrations,
            settings=settings,
            data=self.data,
            on_lost=lambda _: self.lost.append(True),
        )
        self.engine.subscribe(self.heard)
        self.machines = self.engine.machines
        await self.engine.start()
        return self

    async def down(self) -> None:
        """Stop the engine in good order."""
        await self.engine.stop()
        await self.store.close()

    async def crash(self) -> Rig:
        """Kill the engine, and start another."""
        self.engine.kill()
        await self.store.close()
        return await self.up()

    def seed(self) -> bytes:
        self.seeds += 1
        return b"seed%016d" % self.seeds

    async def machine(self, definition: dict[str, Any], name: str = "m", type: Any = "STANDARD") -> Target:
        """Create a state machine."""
        made = await self.machines.create(NewMachine(name, json.dumps(definition), ROLE, type))
        return await self.machines.resolve(made.machine.arn)

    async def begin(self, definition: dict[str, Any], input: Any = None, name: str = "run") -> str:
        """Create a machine and start it; returns the execution's ARN."""
        target = await self.machine(definition)
        started = await self.engine.start_execution(target, name, json.dumps({} if input is None else input), None)
        return started.arn

    async def end(self, arn: str) -> Any:
        """Let time pass until the execution is closed; its view."""
        while (view := await self.engine.describe(arn)).status == "RUNNING":
            self.news.clear()
            await self.news.wait()
        # The store has the end a moment before the engine sees to what follows.
        await self.settle()
        return view

    def heard(self, change: StatusChange) -> None:
        self.published.append(change)
        self.news.set()

    async def events(self, arn: str) -> list[dict[str, Any]]:
        """The whole history."""
        found: list[dict[str, Any]] = []
        token = None
        while True:
            page, token = await self.engine.history(arn, token=token, limit=1000)
            found += page
            if token is None:
                return found

    async def types(self, arn: str) -> list[str]:
        """The types of the history events."""
        return [event["type"] for event in await self.events(arn)]

    async def settle(self) -> None:
        """Let everything of this instant happen."""
        for _ in range(60):
            await self.clock.sleep_until(self.clock.now_ms())

    async def until(self, after_ms: int) -> None:
        """Let time pass."""
        await self.clock.sleep_until(self.clock.now_ms() + after_ms)
        await self.settle()


def machine(**states: dict[str, Any]) -> dict[str, Any]:
    """A definition of these states, the first of which is the start."""
    return {"StartAt": next(iter(states)), "States": states}


def passing(next_state: str | None = None, **fields: Any) -> dict[str, Any]:
    """A Pass state."""
    return {"Type": "Pass", **({"Next": next_state} if next_state else {"End": True}), **fields}


def wait(seconds: int = 60, next_state: str | None = None) -> dict[str, Any]:
    """A Wait state."""
    return {"Type": "Wait", "Seconds": seconds, **({"Next": next_state} if next_state else {"End": True})}


def task(resource: str = LAMBDA, **fields: Any) -> dict[str, Any]:
    """A Task state that ends its scope."""
    if resource in (CALL, TOKEN, JOB) and "Parameters" not in fields:
        parameters: dict[str, Any] = {"QueueUrl": "q", "MessageBody": "b"}
        if resource == TOKEN:
            parameters["MessageBody"] = {"token.$": "$$.Task.Token"}
        if resource == JOB:
            parameters = {"JobName": "n", "JobDefinition": "d", "JobQueue": "q"}
        fields["Parameters"] = parameters
    return {"Type": "Task", "Resource": resource, **({} if "Next" in fields else {"End": True}), **fields}


def lifted(**values: Any) -> Limits:
    """The service's limits with some changed."""
    return replace(AWS, **values)
