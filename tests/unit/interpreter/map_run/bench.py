"""A Map Run on a bench: what every test of the coordinator drives, with the codec between two events."""

from __future__ import annotations

from typing import Any

from statewright.asl.compile import compile_definition
from statewright.asl.program import MapDef
from statewright.interpreter import events
from statewright.interpreter.advance import advance, new_execution
from statewright.interpreter.commands import StartMapRun
from statewright.interpreter.map_run import messages
from statewright.interpreter.map_run.advance import SLICE_ITEMS, MapRunStep, advance_map_run
from statewright.interpreter.map_run.codec import decode_map_run, encode_map_run
from statewright.interpreter.map_run.state import MapRunState, execution_counts, item_counts, new_map_run
from statewright.interpreter.phases import MAP_RUN_PHASES
from statewright.interpreter.state import Identity
from statewright.limits import AWS, Limits
from statewright.payload import Payload
from tests.conformance.watch import watched_phases

PREFIX = "arn:aws:states:eu-north-1:123456789012"
PARENT = Identity(f"{PREFIX}:execution:Shop:e1", "e1", f"{PREFIX}:stateMachine:Shop", "Shop", "role")
READER = {"Resource": "arn:aws:states:::s3:getObject", "Parameters": {"Bucket": "data", "Key": "in.json"}}
WRITER = {"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": "out", "Prefix": "jobs"}}
PHASES_SEEN: set[tuple[int, int]] = set()
TOLERATES_ALL: dict[str, Any] = {"ToleratedFailurePercentage": 100}


class Bench:
    """One Map Run, and the commands that it still waits for an answer to."""

    def __init__(
        self, given: Any = None, *, kind: str = "STANDARD", limits: Limits = AWS, before: Any = None, **fields: Any
    ) -> None:
        processor = {
            "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": kind},
            "StartAt": "P",
            "States": {"P": {"Type": "Pass", "End": True}},
        }
        node = {"Type": "Map", "Label": "Each", "ItemProcessor": processor, "End": True, **fields}
        states = {"M": node} if before is None else {"A": {"Type": "Pass", "Assign": before, "Next": "M"}, "M": node}
        program = compile_definition({"StartAt": next(iter(states)), "States": states})
        parent = new_execution(PARENT, Payload(given if given is not None else []), b"0123456789abcdef")
        step = advance(program, parent, events.ExecutionStarted(), 1000, limits=limits)
        command = step.commands[-1]
        assert isinstance(command, StartMapRun), parent.cause
        self.command = command
        self.definition: MapDef = command.definition
        self.limits = limits
        self.state: MapRunState = new_map_run(command, PARENT.execution_arn)
        self.now_ms = 2000
        self.started: dict[int, messages.StartChild | messages.RedriveChild] = {}
        self.log: list[Any] = []

    def tell(self, event: messages.MapRunEvent) -> list[Any]:
        """Advance, through the codec both ways; returns the commands."""
        if len(self.state.children) < 40:
            self.state = recoded(self.state)
        with watched_phases(MapRunState, MAP_RUN_PHASES, PHASES_SEEN):
            step = advance_map_run(self.definition, self.state, event, self.now_ms, limits=self.limits)
        self.note(step)
        return list(step.commands)

    def note(self, step: MapRunStep) -> None:
        self.log += step.commands
        for command in step.commands:
            if isinstance(command, (messages.StartChild, messages.RedriveChild)):
                self.started[command.index] = command

    def start(self) -> list[Any]:
        return self.tell(messages.RunStarted())

    def end(self, index: int, status: Any = "SUCCEEDED", output: Any = None, **details: Any) -> list[Any]:
        """One child ends; it gives its index back unless told otherwise."""
        command = self.started.pop(index)
        error, cause = (None, None) if status in ("SUCCEEDED", "ABORTED") else (f"E{index}", "why")
        payload = Payload(index if output is None else output) if status == "SUCCEEDED" else None
        return self.tell(messages.ChildEnded(index, command.attempt, status, payload, error, cause, **details))

    def end_all(self, statuses: dict[int, str] | None = None) -> None:
        """End every child that runs, and those started meanwhile, in the order of their start."""
        while self.started:
            index = next(iter(self.started))
            self.end(index, (statuses or {}).get(index, "SUCCEEDED"))

    @property
    def last(self) -> Any:
        return self.log[-1]

    def counts(self) -> dict[str, int]:
        return {name: count for name, count in execution_counts(self.state).items() if count}

    def item_counts(self) -> dict[str, int]:
        return {name: count for name, count in item_counts(self.state).items() if count}


def recoded(state: MapRunState) -> MapRunState:
    header, children, texts = encode_map_run(state)
    again = decode_map_run(header, children.values(), texts)
    assert encode_map_run(again) == (header, children, texts)
    assert list(again.again) == list(state.again)
    return again


def inputs(commands: list[Any]) -> list[Any]:
    return [command.input.value for command in commands if isinstance(command, messages.StartChild)]


def reading(**fields: Any) -> Bench:
    bench = Bench({}, ItemReader=fields.pop("reader", READER), **fields)
    assert bench.start() == [messages.ReadItems(0, SLICE_ITEMS)]
    return bench
