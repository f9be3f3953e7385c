"""One execution in virtual time: drives `advance` with a queue of instants and a script of task results.

Nothing here waits or talks: a task is answered from the script, a timer by moving the clock. For real time, pass
`pace`, which is called before each instant. Child executions of a distributed Map run on the same clock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from statewright.asl.program import Program
from statewright.interpreter import events
from statewright.interpreter.history import HistoryEvent
from statewright.interpreter.state import ExecutionState, Identity
from statewright.limits import AWS, BURST_TRANSITIONS, Limits
from statewright.payload import Json, Payload
from statewright.simulator.map_runs import MapRuns
from statewright.simulator.mocks import Script
from statewright.simulator.running import COMMANDS, Run, Running, Timeline
from statewright.virtual_clock import VIRTUAL_START_MS

ACCOUNT: Final = "000000000000"
REGION: Final = "us-east-1"
ROLE_ARN: Final = f"arn:aws:iam::{ACCOUNT}:role/statewright"
EXPRESS_RUN: Final = "00000000-0000-4000-8000-000000000000"
"""The part that makes the ARN of an express execution unique; the same for every run, as all else is."""
DEFAULT_SEED: Final = b"statewright-simulator"


class Stalled(Exception):
    """Nothing can happen any more although the execution still runs: a task never answers and has no timeout."""


class Simulation:
    """Executions on one virtual clock. The options are those of `Timeline`."""

    def __init__(
        self,
        script: Script | None = None,
        *,
        start_ms: int = VIRTUAL_START_MS,
        limits: Limits = AWS,
        seed: bytes = DEFAULT_SEED,
        budget: int = BURST_TRANSITIONS,
        on_history: Callable[[ExecutionState, HistoryEvent], None] | None = None,
        pace: Callable[[int], None] | None = None,
    ) -> None:
        self.map_runs = MapRuns()
        handlers = {**COMMANDS, **self.map_runs.handlers()}
        started = (script or Script(())).start()
        self.timeline = Timeline(start_ms, limits, seed, budget, started, handlers, on_history, pace)

    def run(self, program: Program, input: Json, *, identity: Identity | None = None) -> Run:
        """Run one execution to its end.

        Raises: UnmockedTask, Stalled, DefinitionError when a mock itself is wrong, ExecutionFailure for an input that
        JSON cannot carry.
        """
        running = Running(self.timeline, program, identity or make_identity(), Payload(input), self.timeline.seed)
        running.deliver(events.ExecutionStarted())
        self.drain(running)
        return running.result

    def drain(self, running: Running) -> None:
        """Move time forward until the execution is closed."""
        timeline = self.timeline
        queue = timeline.queue
        while running.result.state.status == "RUNNING":
            due_ms = queue.next_due_ms()
            if due_ms is None:
                raise Stalled(running.waiting_for())
            if due_ms > timeline.now_ms:
                if timeline.pace is not None:
                    timeline.pace(due_ms)
                timeline.now_ms = due_ms
            _, happen = queue.pop_next()
            happen()


def make_identity(
    machine: str = "StateMachine", name: str = "run", execution_type: Literal["STANDARD", "EXPRESS"] = "STANDARD"
) -> Identity:
    """An identity for a local run, with ARNs of the default account and region."""
    prefix = f"arn:aws:states:{REGION}:{ACCOUNT}"
    arn = f"{prefix}:execution:{machine}:{name}"
    if execution_type == "EXPRESS":
        arn = f"{prefix}:express:{machine}:{name}:{EXPRESS_RUN}"
    machine_arn = f"{prefix}:stateMachine:{machine}"
    return Identity(arn, name, machine_arn, machine, ROLE_ARN, execution_type=execution_type)


def simulate(program: Program, input: Json, script: Script | None = None, **options: object) -> Run:
    """Run one execution of a program in virtual time; `options` are those of `Simulation`.

    Raises: see `Simulation.run`.
    """
    return Simulation(script, **options).run(program, input)  # type: ignore[arg-type]
