"""The state of one execution: a flat table of frames, each with its parent's id.

The machine, a branch and an iteration are all frames. A waiting frame holds its task or timer; one that runs a
Parallel or a Map holds counters, never results: a finished child keeps its output in a row of its own (`Finished`)
until the parent ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from statewright.interpreter.phases import PHASES, READY
from statewright.payload import Json, Payload
from statewright.query.scope import Entropy

Status = Literal["RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"]

ROOT: Final = 0
"""The root frame's id."""
NO_REDRIVES: Final = -1
"""`redrive_count` of a synchronous EXPRESS execution, whose context object has none (observed)."""


@dataclass(frozen=True, slots=True)
class Identity:
    """An execution's identity, as `$$.Execution` and `$$.StateMachine` show it.

    `map_run_arn` and `label` are set for the child executions of a distributed Map.
    """

    execution_arn: str
    name: str
    state_machine_arn: str
    state_machine_name: str
    role_arn: str
    region: str = "us-east-1"
    execution_type: Literal["STANDARD", "EXPRESS"] = "STANDARD"
    version_arn: str | None = None
    alias_arn: str | None = None
    map_run_arn: str | None = None

    @property
    def account(self) -> str:
        """The account in the machine's ARN."""
        parts = self.state_machine_arn.split(":")
        return parts[4] if len(parts) > 4 else ""


class OpenTask:
    """The task that a frame waits for. Ids of timers are 0 when there is none."""

    __slots__ = ("heartbeat_ms", "heartbeat_timer", "id", "started", "submitted", "timeout_ms", "timeout_timer")

    def __init__(self, task_id: int, timeout_ms: int = 0, heartbeat_ms: int = 0) -> None:
        self.id = task_id
        self.timeout_ms = timeout_ms
        self.heartbeat_ms = heartbeat_ms
        self.timeout_timer = 0
        self.heartbeat_timer = 0
        self.started = False
        self.submitted = False


class Children:
    """Counters of a Map or Parallel: children `base` .. `base + length - 1`, by index.

    `input` is the input of an ItemSelector or a branch; `items` the list of a Map (`None` in a Parallel).
    `after_event` is the history event that the next iteration follows.
    """

    __slots__ = ("after_event", "base", "done", "input", "items", "length", "limit", "next_index", "open")

    def __init__(
        self, base: int, length: int, limit: int, input: Payload, items: Payload | None, after_event: int
    ) -> None:
        self.base = base
        self.length = length
        self.limit = limit
        self.input = input
        self.items = items
        self.after_event = after_event
        self.next_index = 0
        self.open = 0
        self.done = 0


class Frame:
    """One thread of control: the machine, a branch or an iteration.

    `state` is the state that the frame is in or about to enter, `input` its raw input. `variables` are those of this
    scope only. `last_event` is the end of the frame's own chain of history events.
    """

    __slots__ = (
        "children",
        "entered_event",
        "entered_ms",
        "entered_previous",
        "id",
        "index",
        "input",
        "last_event",
        "map_run",
        "parent",
        "phase",
        "retries",
        "retry_count",
        "scope",
        "state",
        "task",
        "timer",
        "turns",
        "variables",
        "visible",
    )

    def __init__(self, id: int, parent: int, scope: int, index: int, state: str, input: Payload) -> None:
        self.id = id
        self.parent = parent
        self.scope = scope
        self.index = index
        self.state = state
        self.input = input
        self.phase = READY
        self.variables: dict[str, Json] = {}
        self.visible: Mapping[str, Json] | None = None
        """Own and outer variables together; made on first use, never stored."""
        self.last_event = 0
        self.entered_event = 0
        self.entered_previous = 0
        self.entered_ms = 0
        self.retry_count = 0
        self.retries: list[int] | None = None
        self.timer = 0
        self.task: OpenTask | None = None
        self.children: Children | None = None
        self.map_run: tuple[str, int] | None = None
        """ARN and redrive count of the Map Run that the state started last."""
        self.turns: dict[str, int] | None = None
        """How often each state was entered, if that is limited."""

    def __repr__(self) -> str:
        return f"Frame({self.id}, {self.state!r}, {PHASES[self.phase]})"


class Finished:
    """A child that succeeded: the remains of its frame."""

    __slots__ = ("id", "index", "output", "parent")

    def __init__(self, id: int, parent: int, index: int, output: Payload) -> None:
        self.id = id
        self.parent = parent
        self.index = index
        self.output = output


class ExecutionState:
    """Everything about one execution. Only `advance` changes it."""

    __slots__ = (
        "cause",
        "clock_ms",
        "entropy",
        "error",
        "frames",
        "identity",
        "input",
        "last_event_id",
        "next_frame_id",
        "next_serial",
        "output",
        "ready",
        "redrive_count",
        "redriven_ms",
        "started_ms",
        "status",
        "stopped_ms",
        "timeout_timer",
        "transitions",
        "variables_bytes",
    )

    def __init__(self, identity: Identity, input: Payload, seed: bytes) -> None:
        self.identity = identity
        self.input = input
        self.status: Status = "RUNNING"
        self.output: Payload | None = None
        self.error: str | None = None
        self.cause: str | None = None
        self.started_ms = 0
        self.stopped_ms: int | None = None
        self.redriven_ms: int | None = None
        self.redrive_count = 0
        self.clock_ms: int | None = None
        """The instant from which TimeoutSeconds counts, if that is neither the start nor the last redrive."""
        self.entropy = Entropy(seed)
        self.last_event_id = 0
        self.next_frame_id = 1
        self.next_serial = 1
        self.timeout_timer = 0
        self.transitions = 0
        self.variables_bytes = 0
        self.ready: deque[int] = deque()
        self.frames: dict[int, Frame | Finished] = {}

    @property
    def is_queued(self) -> bool:
        """True if it is accepted and not admitted yet."""
        return self.status == "RUNNING" and self.last_event_id > 0 and not self.frames

    @property
    def clock_from_ms(self) -> int:
        """The instant from which TimeoutSeconds counts."""
        if self.clock_ms is not None:
            return self.clock_ms
        return self.redriven_ms if self.redriven_ms is not None else self.started_ms

    @property
    def root(self) -> Frame:
        """The frame of the machine itself."""
        frame = self.frames[ROOT]
        assert isinstance(frame, Frame)
        return frame

    def frame_of(self, packed_id: int) -> Frame | None:
        """The frame that a timer or task id belongs to, if it still runs."""
        frame = self.frames.get(packed_id >> SERIAL_BITS)
        return frame if isinstance(frame, Frame) else None

    def new_id(self, frame_id: int) -> int:
        """An id for a timer or task of a frame; unique in one execution."""
        serial = self.next_serial
        self.next_serial = serial + 1
        return frame_id << SERIAL_BITS | (serial & SERIAL_MASK)


SERIAL_BITS: Final = 32
SERIAL_MASK: Final = (1 << SERIAL_BITS) - 1
"""Timer and task ids are the frame's id, shifted, and a serial number of the execution."""
