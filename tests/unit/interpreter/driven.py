"""One execution driven by hand: every event is sent by the test, every check of `Watch` applies."""

from __future__ import annotations

from typing import Any

from statewright.asl.compile import compile_definition
from statewright.interpreter import commands, events
from statewright.interpreter.advance import Step, new_execution
from statewright.interpreter.history import HistoryEvent
from statewright.interpreter.state import Frame, Identity
from statewright.limits import AWS, Limits
from statewright.payload import Payload
from statewright.simulator.simulate import make_identity
from tests.conformance.watch import Watch

START_MS = 1_767_225_600_000
LAMBDA = "arn:aws:lambda:us-east-1:000000000000:function:f"
TOKEN = "arn:aws:states:::sqs:sendMessage.waitForTaskToken"
JOB = "arn:aws:states:::batch:submitJob.sync"
CALL = "arn:aws:states:::sqs:sendMessage"
ACTIVITY = "arn:aws:states:us-east-1:000000000000:activity:a"


def machine(**states: dict[str, Any]) -> dict[str, Any]:
    """A definition of these states, the first of which is the start."""
    return {"StartAt": next(iter(states)), "States": states}


def task(resource: str = LAMBDA, **fields: Any) -> dict[str, Any]:
    """A Task state that ends its scope."""
    return {"Type": "Task", "Resource": resource, "End": True, **fields}


def wait(seconds: int = 60, **fields: Any) -> dict[str, Any]:
    """A Wait state that ends its scope."""
    return {"Type": "Wait", "Seconds": seconds, **({"End": True} if "Next" not in fields else {}), **fields}


def parallel(*branches: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A Parallel state that ends its scope."""
    return {"Type": "Parallel", "Branches": list(branches), "End": True, **fields}


class Driven:
    """The execution, what it asked for, and its history."""

    def __init__(
        self,
        definition: dict[str, Any],
        given: Any = None,
        *,
        limits: Limits = AWS,
        budget: int = 200,
        identity: Identity | None = None,
        start: bool = True,
    ) -> None:
        self.program = compile_definition(definition)
        self.state = new_execution(identity or make_identity(), Payload({} if given is None else given), b"seed")
        self.limits = limits
        self.budget = budget
        self.now_ms = START_MS
        self.watch = Watch()
        self.history: list[HistoryEvent] = []
        self.commands: list[commands.Command] = []
        if start:
            self.send(events.ExecutionStarted())

    def send(self, event: events.Event, after_ms: int = 0, budget: int | None = None) -> Step:
        """Let time pass, then send an event."""
        self.now_ms += after_ms
        step = self.watch.advance(
            self.program, self.state, event, self.now_ms, limits=self.limits, budget=budget or self.budget
        )
        self.history += step.history
        self.commands += step.commands
        return step

    def ignores(self, event: events.Event) -> bool:
        """Whether an event does nothing at all."""
        step = self.send(event)
        return not (step.commands or step.history or step.removed)

    def asked(self, kind: type) -> list[Any]:
        """Every command of a kind, in order."""
        return [command for command in self.commands if isinstance(command, kind)]

    @property
    def status(self) -> str:
        """The execution's status."""
        return self.state.status

    @property
    def task_ids(self) -> list[int]:
        """The ids of every task scheduled so far."""
        return [command.task_id for command in self.asked(commands.ScheduleTask)]

    @property
    def types(self) -> list[str]:
        """The types of the history events so far."""
        return [entry.type for entry in self.history]

    @property
    def frame(self) -> Frame:
        """The root frame."""
        return self.state.root

    def timer(self, due_in_ms: int) -> int:
        """The running timer that is due so long after the start."""
        (found,) = [timer for timer, due in self.watch.timers.items() if due == START_MS + due_in_ms]
        return found
