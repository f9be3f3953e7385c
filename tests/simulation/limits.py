"""The world of `chaos.py` with executions that wait: limits of machines, semaphores, polls, forks, deadlines.

`LimitsChaos(seed, clock).play()` runs one. Whatever is written is looked at: there are never more holders of a
semaphore than its limit and never more executions inside a machine than its tag says, nobody overtakes anybody, and in
the end everybody has been let in and nothing is held.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from functools import cache
from typing import Any

import orjson

from statewright.asl import extensions
from statewright.engine.concurrency.semaphores import PERMIT
from statewright.engine.dispatch import Later, ScheduledCall, Succeeded, TaskResult
from statewright.engine.engine import Engine
from statewright.engine.executions.forks import Wish
from statewright.engine.executions.kinds import QUEUED
from statewright.engine.machines.catalogue import MachineCatalogue
from statewright.engine.machines.limits import MOST_AT_ONCE, MOST_PER_SECOND
from statewright.engine.machines.machines import Machines, Target
from statewright.engine.machines.views import NewMachine
from statewright.errors import ApiError
from statewright.integrations.own_tasks import OwnTasks
from statewright.query.scope import Entropy
from statewright.stores.memory.store import MemoryStore
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.simulation.chaos import Chaos
from tests.simulation.kinds import LIMITS, RETRY, TRIED, Kind, Prepared
from tests.unit.engine.running import CALL, LAMBDA, ROLE, machine, passing, task, wait

ACQUIRE = "arn:aws:states:::statewright:acquire"
RELEASE = "arn:aws:states:::statewright:release"
POLL = "arn:aws:states:::statewright:poll"
EXECUTIONS = 12
DOOR = {"Name": "door", "Limit": 1}
HALL = {"Name": "hall", "Limit": 2}
AT_ONCE = {"limited": 2, "single": 1, "paced": 3}
"""How many executions of a machine are inside at most, and by any means."""


def enter(parameters: dict[str, Any], after: str, **fields: Any) -> dict[str, Any]:
    return task(ACQUIRE, Parameters=parameters, ResultPath="$.permit", Next=after, **fields)


def leave(parameters: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return task(RELEASE, Parameters=parameters, ResultPath="$.left", **fields)


def branch(parameters: dict[str, Any], name: str) -> dict[str, Any]:
    return machine(
        **{
            f"In{name}": enter(parameters, f"At{name}"),
            f"At{name}": wait(1, f"Out{name}"),
            f"Out{name}": leave({"Name": parameters["Name"]}, Next=f"End{name}"),
            f"End{name}": passing(Result=name),
        }
    )


def polling(**fields: Any) -> dict[str, Any]:
    parameters = {
        "Resource": CALL,
        "Parameters": {"QueueUrl": "q", "MessageBody": "b"},
        "Until": "$states.result.n >= 3",
        "IntervalSeconds": 0.5,
        "BackoffRate": 1.5,
    }
    return task(POLL, Parameters=parameters, ResultSelector={"done": True}, **fields)


LOOP = {
    "Type": "Parallel",
    "TimeoutSeconds": 7,
    "MaxTurns": 3,
    "Branches": [
        machine(
            Look=task(LAMBDA, TimeoutSeconds=3, ResultPath=None, Retry=RETRY, Next="Rest"),
            Rest=wait(2, "More"),
            More={
                "Type": "Choice", "Default": "Look",
                "Choices": [{"Variable": "$.n", "NumericEquals": 99, "Next": "Never"}],
            },
            Never={"Type": "Succeed"},
        )
    ],
    "Catch": [{"ErrorEquals": ["States.Timeout", "Statewright.MaxTurnsExceeded"], "Next": "Given up"}],
    "End": True,
}  # fmt: skip
SLOW = {"TimeoutSeconds": 4, "Retry": RETRY}

KINDS: dict[str, Kind] = {
    "limited": Kind(machine(W=wait(2, "T"), T=task(LAMBDA, **TRIED)), "called"),
    "single": Kind(machine(W=wait(1, "P"), P=passing(Result="in")), "in"),
    "paced": Kind(machine(W=wait(1, "T"), T=task(LAMBDA, **TRIED)), "called"),
    "tagged": Kind(machine(W=wait(2, "P"), P=passing(Result="in")), "in"),
    "door": Kind(
        machine(
            In=enter(DOOR, "At"), At=wait(2, "Out"), Out=leave({"Name": "door"}, Next="P"), P=passing(Result="out")
        ),
        "out",
    ),
    "impatient": Kind(
        machine(
            In=enter(DOOR, "At", **SLOW), At=wait(1, "Out"), Out=leave({"Name": "door"}, Next="W"),
            W=wait(9, "P"), P=passing(Result="out"),
        ),
        "out",
    ),
    "long": Kind(
        machine(
            **{f"P{number}": passing(f"P{number + 1}") for number in range(230)},
            P230=enter(DOOR, "At"), At=wait(1, "Out"), Out=leave({"Name": "door"}, Next="P"), P=passing(Result="out"),
        ),
        "out",
    ),
    "keeps": Kind(machine(In=enter(HALL, "At"), At=wait(2, "T"), T=task(LAMBDA, **TRIED)), "called"),
    "branches": Kind(
        machine(
            X={
                "Type": "Parallel", "Branches": [branch(HALL, "a"), branch(HALL, "b"), branch(DOOR, "c")], "End": True,
            }
        ),
        ["a", "b", "c"],
    ),
    "poll": Kind(machine(Poll=polling(TimeoutSeconds=30, Retry=RETRY)), {"done": True}),
    "loop": Kind(machine(Loop=LOOP, **{"Given up": passing(Result="given up")}), "given up"),
    "forked": Kind(machine(A=wait(1, "B"), B=wait(1, "C"), C=passing(Result="forked")), "forked"),
}  # fmt: skip
TAGS: dict[str, dict[str, str]] = {
    "limited": {MOST_AT_ONCE: "2"},
    "single": {MOST_AT_ONCE: "1"},
    "paced": {MOST_AT_ONCE: "3", MOST_PER_SECOND: "0.5"},
    "tagged": {MOST_AT_ONCE: "1"},
}


@cache
def limits_prepared() -> Prepared:
    """As `kinds.prepared`."""

    async def main(clock: VirtualClock) -> Prepared:
        store = MemoryStore()
        await store.open("preparing")
        machines = Machines(MachineCatalogue(store, clock), entropy=Entropy(b"machines"), limits=LIMITS)
        targets: dict[str, Target] = {}
        for name, kind in KINDS.items():
            tags = tuple({"key": key, "value": value} for key, value in TAGS.get(name, {}).items())
            with extensions.accepted():
                made = await machines.create(NewMachine(name, json.dumps(kind.definition), ROLE, tags=tags))
            targets[name] = await machines.resolve(made.machine.arn)
        await store.close()
        return Prepared(store, targets, machines.programs._kept)

    return run_virtual(main)


class LimitsChaos(Chaos):
    """One seed's world."""

    kinds = KINDS
    redrives = frozenset({"limited", "single", "paced", "tagged"})
    executions = EXECUTIONS

    def _prepare(self) -> Prepared:
        return limits_prepared()

    def attach(self, engine: Engine, clock: Any) -> None:
        """The engine's own tasks, and its admissions watched."""
        self.own = OwnTasks(clock, engine, self.asked)
        last: dict[int, int] = {}
        admit = engine.admission._admit

        def admitted(execution: int) -> None:
            one = self.memory.executions.by_id.get(execution)
            if one is not None:
                machine = one.row.machine
                if not self._is_tagged(machine):
                    assert execution > last.get(machine, 0), f"{execution} was overtaken"
                last[machine] = execution
            admit(execution)

        engine.admission._admit = admitted  # type: ignore[method-assign]

    def _is_tagged(self, machine: int) -> bool:
        return machine == self.prepared.targets["tagged"].machine_id

    def die(self, how: str) -> None:
        own, hold = self.own, self._hold
        super().die(how)
        if hold is not None and not hold.alive:
            self.aside(own.close())

    # ------------------------------------------------------------------ integrations

    async def call(self, call: ScheduledCall) -> TaskResult | Later:  # type: ignore[override]
        if call.resource.resource_type == "statewright":
            return await self.own.call(call)
        return await super().call(call)

    async def cancel(self, call: ScheduledCall) -> None:
        await super().cancel(call)
        if call.resource.resource_type == "statewright":
            await self.own.cancel(call)

    async def asked(self, call: ScheduledCall) -> TaskResult | Later:
        """What a poll asks."""
        await self.nap(900)
        return Succeeded({"n": 3 if self.chance(0.4) else 0})

    # ------------------------------------------------------------------ callers

    def others(self) -> list[asyncio.Task[None]]:
        """Callers beside those who start executions."""
        return [asyncio.create_task(self.retag()), asyncio.create_task(self.take_away())]

    async def retag(self) -> None:
        """Somebody who changes a machine's limit, and takes it away."""
        arn = self.prepared.targets["tagged"].machine_arn
        for _ in range(self.random.randint(0, 4)):
            await self.nap(5_000)
            value = self.random.choice(["1", "2", "3", ""])
            self.tell(f"the limit is {value or 'none'}")
            if value:
                tag = {"key": MOST_AT_ONCE, "value": value}
                await self.ask(lambda engine: engine.machines.tags.put(arn, [tag]))  # noqa: B023
            else:
                await self.ask(lambda engine: engine.machines.tags.take(arn, [MOST_AT_ONCE]))

    async def take_away(self) -> None:
        """An operator who takes a permit from whoever holds it."""
        await self.nap(20_000)
        engine = self.engine
        if engine is not None and self.chance(0.5):
            for one in engine.semaphores.standing():
                for number in list(one.holders)[:1]:
                    if one.name == "hall":
                        await self.ask(lambda engine: engine.semaphores.take_away("hall", "", number, "x"))  # noqa: B023

    async def run(self, kind: str, name: str) -> None:
        await super().run(kind, name)
        if kind == "forked":
            arn = next(arn for arn in self.started if arn.endswith(f":{name}"))
            while (await self.ask(lambda engine: engine.describe(arn))).status == "RUNNING":
                await self.nap(1_000)
            wish = Wish(arn, self.random.choice("AB"), name=f"{name}-f")
            try:
                made = (await self.ask(lambda engine: engine.fork(wish))).arn
            except ApiError as refused:
                if refused.code == "StateNotReached":
                    return
                if refused.code != "ExecutionAlreadyExists":
                    raise
                made = arn.replace(f":{name}", f":{name}-f")
            self.started[made] = kind
            self.tell(f"{made} is forked")

    # ------------------------------------------------------------------ what must hold

    def committed(self) -> None:
        super().committed()
        kept = self.memory.executions
        queued = {row.execution for row in kept.outbox.values() if row.kind == QUEUED}
        inside: dict[int, int] = defaultdict(int)
        for one in kept.by_id.values():
            row = one.row
            # A redriven execution asks nobody.
            if row.status == "RUNNING" and row.id not in queued and not self._was_redriven(row.name):
                inside[row.machine] += 1
        for name, most in AT_ONCE.items():
            found = inside[self.prepared.targets[name].machine_id]
            assert found <= most, f"{found} executions are inside {name}"

    def _was_redriven(self, name: str) -> bool:
        return any(arn.endswith(f":{name}") for arn in self.redriving)

    def written(self) -> None:
        """The catalogue was written."""
        permits: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        limits: dict[str, int] = {}
        for (kind, _), record in self.memory.catalogue._entries.items():
            if kind == PERMIT:
                body = orjson.loads(record.body)
                name, _, limits[name] = body["semaphore"]
                permits[name][body["permit"][4] is None].append(record.sort)
        for name, (holders, waiters) in permits.items():
            assert len(holders) <= limits[name], f"{len(holders)} hold {name}"
            assert not holders or not waiters or max(holders) < min(waiters), f"somebody was overtaken at {name}"

    async def check(self) -> None:
        engine = self.engine
        assert engine is not None
        assert not engine.semaphores.standing()
        assert not [key for key in self.memory.catalogue._entries if key[0] == PERMIT]
        assert not [one for one in engine.admission.standing() if one.running or one.queued]
        await self._check_critical_sections(engine)
        await super().check()

    async def _check_critical_sections(self, engine: Engine) -> None:
        """By their histories, no two executions were behind the door at once."""
        moments: list[tuple[int, int]] = []
        for arn, kind in self.started.items():
            if kind not in ("door", "impatient", "long", "branches"):
                continue
            events, _ = await engine.history(arn, limit=1_000)
            at = "Atc" if kind == "branches" else "At"
            inside = False
            for event in events:
                entered, left = event.get("stateEnteredEventDetails", {}), event.get("stateExitedEventDetails", {})
                if entered.get("name") == at:
                    inside = True
                    moments.append((event["timestamp"], 1))
                elif inside and (left.get("name") == at or event["type"] == "ExecutionAborted"):
                    inside = False
                    moments.append((event["timestamp"], -1))
        within = 0
        for _, change in sorted(moments):
            within += change
            assert within <= 1, "two executions were behind the door"
