"""What the simulation runs: a machine of each kind, what it comes to, and a catalogue that has them all.

Creating and compiling the machines costs more than a whole play, so it is done once for all seeds.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from statewright.engine.machines.catalogue import MachineCatalogue
from statewright.engine.machines.machines import Machines, Target
from statewright.engine.machines.views import NewMachine
from statewright.query.scope import Entropy
from statewright.stores.memory.store import MemoryStore
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.engine.running import ACTIVITY, CALL, JOB, LAMBDA, ROLE, TOKEN, lifted, machine, passing, task, wait

LIMITS = lifted(execution_ms=None)
RETRY = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 90, "BackoffRate": 1.0}]
TRIED = {"TimeoutSeconds": 9, "Retry": RETRY}
CHAIN = 450
"""More than two bursts."""
FAST = "fast"
"""The EXPRESS machine."""


def chain(length: int, prefix: str = "P") -> dict[str, Any]:
    names = [f"{prefix}{number}" for number in range(length)]
    states = {name: passing(after) for name, after in pairwise(names)}
    return machine(**states, **{names[-1]: passing(Result="done")})


def item(resource: str, name: str) -> dict[str, Any]:
    return machine(**{name: task(resource, **TRIED)})


def over(processor: dict[str, Any], child_type: str | None = None, **fields: Any) -> dict[str, Any]:
    if child_type is not None:
        config = {"Mode": "DISTRIBUTED", "ExecutionType": child_type}
        processor = {**processor, "ProcessorConfig": config}
        fields["Label"] = "L"
    map_state = {"Type": "Map", "ItemsPath": "$.items", "ItemProcessor": processor, "End": True, **fields}
    return machine(M=map_state)


PARALLEL = {
    "Type": "Parallel",
    "Branches": [machine(W=wait(3, "T"), T=task(CALL)), item(JOB, "J"), chain(30)],
    "End": True,
}
CHILD = machine(W=wait(1, "T"), T=task(LAMBDA, **TRIED))
BARRED = machine(Barred=task(LAMBDA))
CALLED = ["called"] * 5
FUNCTION = ["LambdaFunctionScheduled", "LambdaFunctionStarted"]


@dataclass(frozen=True)
class Kind:
    """A machine. `output` is `None` where it is what a worker was told to have been taken.

    Each runs on `{"arn": its own, "items": [...]}`. `types` are those of its history where chance has no part in it.
    A barred one fails until it is allowed to succeed, and is redriven then.
    """

    definition: dict[str, Any]
    output: Any = None
    types: tuple[str, ...] = ()
    barred: bool = False


KINDS: dict[str, Kind] = {
    "chain": Kind(
        chain(CHAIN),
        "done",
        ("ExecutionStarted", *["PassStateEntered", "PassStateExited"] * CHAIN, "ExecutionSucceeded"),
    ),
    "waits": Kind(
        machine(A=wait(2, "B"), B=wait(70, "C"), C=wait(1, "D"), D=passing(Result=[1, 2])),
        [1, 2],
        (
            "ExecutionStarted",
            *["WaitStateEntered", "WaitStateExited"] * 3,
            "PassStateEntered",
            "PassStateExited",
            "ExecutionSucceeded",
        ),
    ),
    "map": Kind(over(item(LAMBDA, "T"), MaxConcurrency=2), [f"item {number}" for number in range(5)]),
    "parallel": Kind(machine(X=PARALLEL), ["called", "job", "done"]),
    "standard": Kind(over(CHILD, "STANDARD", MaxConcurrency=3), CALLED),
    "express": Kind(over(CHILD, "EXPRESS", MaxConcurrency=3), CALLED),
    "token": Kind(machine(T=task(TOKEN, HeartbeatSeconds=5, **TRIED))),
    "activity": Kind(machine(T=task(ACTIVITY, HeartbeatSeconds=5, **TRIED))),
    "barred": Kind(
        machine(W=wait(1, "Barred"), Barred=task(LAMBDA)),
        "called",
        (
            *["ExecutionStarted", "WaitStateEntered", "WaitStateExited", "TaskStateEntered"],
            *[*FUNCTION, "LambdaFunctionFailed", "ExecutionFailed", "ExecutionRedriven"],
            *[*FUNCTION, "LambdaFunctionSucceeded", "TaskStateExited", "ExecutionSucceeded"],
        ),
        barred=True,
    ),
    "barred map": Kind(over(BARRED), [f"item {number}" for number in range(5)], barred=True),
    "barred standard": Kind(over(BARRED, "STANDARD"), CALLED, barred=True),
    "barred express": Kind(over(BARRED, "EXPRESS"), CALLED, barred=True),
}


class Prepared:
    """A catalogue with every machine, and what was made of it."""

    def __init__(self, store: MemoryStore, targets: dict[str, Target], programs: Any) -> None:
        self._catalogue = store.catalogue
        self.targets = targets
        self.programs: OrderedDict[Any, Any] = programs

    def store(self) -> MemoryStore:
        """A store of its own with this catalogue."""
        made = MemoryStore()
        made.catalogue._entries = dict(self._catalogue._entries)
        made.catalogue._lists = {key: list(places) for key, places in self._catalogue._lists.items()}
        made.catalogue._numbers = self._catalogue._numbers.copy()
        return made


@cache
def prepared() -> Prepared:
    """The same for all seeds."""

    async def main(clock: VirtualClock) -> Prepared:
        store = MemoryStore()
        await store.open("preparing")
        machines = Machines(MachineCatalogue(store, clock), entropy=Entropy(b"machines"), limits=LIMITS)
        await machines.activities.create("a", (), None)

        async def target(name: str, definition: dict[str, Any], type: Any) -> Target:
            made = await machines.create(NewMachine(name.replace(" ", "-"), json.dumps(definition), ROLE, type))
            return await machines.resolve(made.machine.arn)

        targets = {name: await target(name, kind.definition, "STANDARD") for name, kind in KINDS.items()}
        targets[FAST] = await target(FAST, machine(W=wait(2, "T"), T=task(LAMBDA, **TRIED)), "EXPRESS")
        await store.close()
        return Prepared(store, targets, machines.programs._kept)

    return run_virtual(main)
