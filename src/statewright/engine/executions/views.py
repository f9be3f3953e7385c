"""The rows that the engine keeps about an execution beside its frames, and the views made of them.

The head is written at the start and never again; the tail changes with the status. Both are JSON rows, versioned by
their first member. Nothing here waits or stores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from statewright.arn import parse_arn
from statewright.formats import Compact
from statewright.interpreter.state import ExecutionState, Identity
from statewright.limits import AWS, Limits
from statewright.stores.protocol import Row

SHORT_BYTES: Final = 2048


@dataclass(frozen=True, slots=True)
class Head:
    """The constant part of an execution's row, fixed at its start. `input` is the text as it was given.

    `scope` is 0, or the scope of the program that a child execution of a Map Run enters. `map_run` is the id of that
    run, 0 for none, and `index` the child's place in it. `sent_by` is the task that started it and its idempotency key.
    """

    execution_arn: str
    machine_arn: str
    machine_name: str
    machine_id: int
    revision_id: str
    type: str
    role_arn: str
    version_arn: str | None
    alias_arn: str | None
    trace_header: str | None
    input: str
    map_run_arn: str | None = None
    map_run: int = 0
    scope: int = 0
    index: int = 0
    item_count: int | None = None
    sent_by: str | None = None

    def encode(self) -> bytes:
        """The row's `head`."""
        return HEAD.write(self)

    @staticmethod
    def decode(body: bytes) -> Head:
        """Read a row's `head`. Raises: Unreadable."""
        return HEAD.read(body)

    def identity(self, name: str, region: str) -> Identity:
        """The execution's identity, as the interpreter and the context object have it."""
        return Identity(
            self.execution_arn,
            name,
            self.machine_arn,
            self.machine_name,
            self.role_arn,
            region,
            "EXPRESS" if self.type == "EXPRESS" else "STANDARD",
            self.version_arn,
            self.alias_arn,
            self.map_run_arn,
        )


@dataclass(frozen=True, slots=True)
class Tail:
    """The part of an execution's row that changes when it opens and closes. `output` is a JSON text.

    `last_event` is the id of its last history event when it closed. `redrive_tokens` are (client token, answered
    instant) pairs, newest last. `quarantine` says which bug in Statewright holds the execution back.
    """

    output: str | None = None
    error: str | None = None
    cause: str | None = None
    redrive_count: int = 0
    redriven_ms: int | None = None
    last_event: int = 0
    redrive_tokens: tuple[tuple[str, int], ...] = ()
    quarantine: str | None = None

    def encode(self) -> bytes:
        """The row's `tail`."""
        return TAIL.write(self)

    @staticmethod
    def decode(body: bytes) -> Tail:
        """Read a row's `tail`. Raises: Unreadable."""
        return TAIL.read(body)

    @staticmethod
    def of(state: ExecutionState, tokens: tuple[tuple[str, int], ...] = ()) -> Tail:
        """The tail that fits a state."""
        return Tail(
            output=state.output.text if state.output is not None else None,
            error=state.error,
            cause=state.cause,
            redrive_count=state.redrive_count,
            redriven_ms=state.redriven_ms,
            last_event=state.last_event_id,
            redrive_tokens=tokens,
        )


# Callers' values are in here only as texts, so no number needs the care that `parse_json` takes.
HEAD: Final[Compact[Head]] = Compact("the head of an execution", Head)
TAIL: Final[Compact[Tail]] = Compact("the tail of an execution", Tail)


@dataclass(frozen=True, slots=True)
class ExecutionView:
    """Everything that DescribeExecution shows. Instants are epoch milliseconds, `input` and `output` JSON texts."""

    id: int
    execution_arn: str
    machine_arn: str
    machine_id: int
    name: str
    type: str
    status: str
    started_ms: int
    stopped_ms: int | None
    input: str
    output: str | None
    error: str | None
    cause: str | None
    revision_id: str
    role_arn: str
    version_arn: str | None
    alias_arn: str | None
    trace_header: str | None
    map_run_arn: str | None
    item_count: int | None
    redrive_count: int
    redriven_ms: int | None
    redrive_status: str
    redrive_reason: str | None
    quarantine: str | None

    @property
    def map_label(self) -> str | None:
        """The label of the distributed Map that the execution is a child of."""
        return parse_arn(self.map_run_arn).label if self.map_run_arn else None


@dataclass(frozen=True, slots=True)
class Started:
    """The answer to a start."""

    arn: str
    start_ms: int


@dataclass(frozen=True, slots=True)
class SyncOutcome:
    """The answer to a StartSyncExecution; `status` is SUCCEEDED, FAILED or TIMED_OUT."""

    execution_arn: str
    machine_arn: str
    name: str
    started_ms: int
    stopped_ms: int
    status: str
    input: str
    output: str | None
    error: str | None
    cause: str | None
    trace_header: str | None
    billed_ms: int
    billed_mb: int


class StatusChange:
    """An execution has opened, closed or been redriven; published after the commit.

    `view` shows it as it was then; it is made when first asked for, because most changes interest no subscriber.
    """

    __slots__ = ("_make", "_view", "execution_arn", "status", "stopped_ms")

    def __init__(
        self, execution_arn: str, status: str, stopped_ms: int | None, make: Callable[[], ExecutionView]
    ) -> None:
        self.execution_arn = execution_arn
        self.status = status
        self.stopped_ms = stopped_ms
        self._make = make
        self._view: ExecutionView | None = None

    @property
    def view(self) -> ExecutionView:
        """Everything about the execution at that time."""
        if self._view is None:
            self._view = self._make()
        return self._view


def view_of(row: Row, now_ms: int, limits: Limits, *, deleting: bool = False) -> ExecutionView:
    """The view of a row at an instant."""
    if row.status in ("RUNNING", "SUCCEEDED") and len(row.head) + len(row.tail) <= SHORT_BYTES:
        return _lasting_view(row)
    return view_from(row, Head.decode(row.head), Tail.decode(row.tail), now_ms, limits, deleting=deleting)


@lru_cache(maxsize=4096)
def _lasting_view(row: Row) -> ExecutionView:
    """The view of a row that can never be redriven, at any instant.

    A client that polls a list gets the same rows again and again; long inputs and outputs are not worth their memory.
    """
    return view_from(row, Head.decode(row.head), Tail.decode(row.tail), 0, AWS)


def view_from(
    row: Row, head: Head, tail: Tail, now_ms: int, limits: Limits, *, deleting: bool = False
) -> ExecutionView:
    """The view of a row whose head and tail have been decoded."""
    status, reason = redrive_status(row, head, tail, now_ms, limits, deleting=deleting)
    name = row.name.partition(":")[0] if head.type == "EXPRESS" and not head.map_run else row.name
    return ExecutionView(
        row.id,
        head.execution_arn,
        head.machine_arn,
        head.machine_id,
        name,
        head.type,
        row.status,
        row.started_ms,
        row.stopped_ms,
        head.input,
        tail.output,
        tail.error,
        tail.cause,
        head.revision_id,
        head.role_arn,
        head.version_arn,
        head.alias_arn,
        head.trace_header,
        head.map_run_arn,
        head.item_count,
        tail.redrive_count,
        tail.redriven_ms,
        status,
        reason,
        tail.quarantine,
    )


def redrive_status(
    row: Row, head: Head, tail: Tail, now_ms: int, limits: Limits, *, deleting: bool = False
) -> tuple[str, str | None]:
    """`redriveStatus` and `redriveStatusReason`. Source: API reference, DescribeExecution."""
    reason = redrive_refusal(row, head, tail, now_ms, limits, deleting=deleting)
    if reason is not None:
        return "NOT_REDRIVABLE", reason
    return ("REDRIVABLE_BY_MAP_RUN", None) if head.map_run else ("REDRIVABLE", None)


def redrive_refusal(
    row: Row, head: Head, tail: Tail, now_ms: int, limits: Limits, *, deleting: bool = False
) -> str | None:
    """Why an execution cannot be redriven, in the service's words; `None` if it can."""
    if row.status in ("RUNNING", "SUCCEEDED"):
        return f"Execution is {row.status} and cannot be redriven"
    if deleting:
        return "State machine is in DELETING status"
    if head.type == "EXPRESS" and not head.map_run:
        return "Execution is of type EXPRESS and cannot be redriven"
    if limits.history_events is not None and tail.last_event >= limits.history_events - 1:
        return "Execution history event limit exceeded"
    if limits.execution_ms is not None and now_ms - row.started_ms >= limits.execution_ms:
        return "Execution has exceeded the max execution time"
    closed_ms = row.stopped_ms if row.stopped_ms is not None else row.started_ms
    if limits.redrivable_period_ms and now_ms - closed_ms > limits.redrivable_period_ms:
        return "Execution redrivable period exceeded"
    return None
