"""The state of one Map Run: counters, limits, and one row for each child execution.

A child is known by its index in item order; its name and ARN follow from the run's ARN and that index. The rows that
wait for their first start, or for a redrive, follow from the rows and the counters, so nothing here lists them. Only
`advance.py` changes the state.
"""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import dataclass
from typing import Final, Literal

from statewright.interpreter.commands import StartMapRun
from statewright.interpreter.phases import OPEN
from statewright.payload import Json, Payload
from statewright.query.scope import Entropy

MapRunStatus = Literal["RUNNING", "SUCCEEDED", "FAILED", "ABORTED"]

# The categories in which children are counted. The first six are also the statuses of a row.
PENDING: Final = 0
RUNNING: Final = 1
SUCCEEDED: Final = 2
FAILED: Final = 3
TIMED_OUT: Final = 4
ABORTED: Final = 5
PENDING_REDRIVE: Final = 6

STATUS_NAMES: Final = ("PENDING", "RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED", "PENDING_REDRIVE")
COUNT_NAMES: Final = ("pending", "running", "succeeded", "failed", "timedOut", "aborted", "pendingRedrive")
UNSUCCESSFUL: Final = frozenset({FAILED, TIMED_OUT, ABORTED})


@dataclass(frozen=True, slots=True)
class MapRunSettings:
    """Settings that do not change during a run. `input`, `variables` and `context` are kept only for an ItemSelector.

    `items` are the Map's own; `None` when an ItemReader gives them. `source` is `Map.Item.Source`. `writer` holds the
    ResultWriter's arguments, and is `None` unless results go to a bucket.
    """

    map_run_arn: str
    execution_arn: str
    state: str
    entered_event: int
    items: Payload | None
    source: str
    max_items: int | None
    batch_items: int | None
    batch_bytes: int | None
    batch_input: Json
    writer: Json
    input: Payload | None
    variables: Payload | None
    context: Payload | None


class MapChild:
    """One child execution. `attempt` is the run's redrive count when it was last started."""

    __slots__ = (
        "attempt",
        "cause",
        "error",
        "index",
        "input",
        "item_count",
        "output",
        "redrivable",
        "redrives",
        "started_ms",
        "status",
        "stopped_ms",
    )

    def __init__(self, index: int, input: Payload, item_count: int) -> None:
        self.index = index
        self.input: Payload | None = input
        """Dropped after a success, unless the result needs it."""
        self.item_count = item_count
        self.status = PENDING
        self.attempt = 0
        self.redrives = 0
        self.started_ms = 0
        self.stopped_ms = 0
        self.output: Payload | None = None
        self.error: str | None = None
        self.cause: str | None = None
        self.redrivable = True


class MapRunState:
    """Everything about one Map Run.

    `executions` and `items` count by the constants of this module. `ending` is the status of the run once no child runs
    any more. `max_concurrency` 0 stands for no limit, `None` for a tolerance that was not given.
    """

    __slots__ = (
        "again",
        "batch",
        "batch_size",
        "cause",
        "children",
        "ending",
        "entropy",
        "error",
        "executions",
        "items",
        "items_read",
        "max_concurrency",
        "next_pending",
        "not_redrivable",
        "output",
        "phase",
        "read_all",
        "reading",
        "redrivable_since_ms",
        "redrive_count",
        "redrive_waiting",
        "redriven_ms",
        "results_written",
        "settings",
        "started_ms",
        "status",
        "stopped_ms",
        "task_id",
        "tolerated_count",
        "tolerated_percentage",
        "total_items",
    )

    def __init__(self, settings: MapRunSettings, task_id: int, seed: bytes) -> None:
        self.settings = settings
        self.task_id = task_id
        self.entropy = Entropy(seed)
        self.status: MapRunStatus = "RUNNING"
        self.phase = OPEN
        self.ending: MapRunStatus | None = None
        self.error: str | None = None
        self.cause: str | None = None
        self.output: Payload | None = None
        self.started_ms = 0
        self.stopped_ms: int | None = None
        self.redriven_ms: int | None = None
        self.redrivable_since_ms = 0
        """Children that ended before this instant were too old for the last redrive."""
        self.redrive_count = 0
        self.redrive_waiting: tuple[int, int] | None = None
        """Task id and count of a redrive that came before the run was closed."""
        self.max_concurrency = 0
        self.tolerated_count: int | None = None
        self.tolerated_percentage: float | None = None
        self.items_read = 0
        self.total_items: int | None = None
        self.read_all = False
        self.reading = False
        """True if a `ReadItems` is on its way."""
        self.batch: list[Json] = []
        self.batch_size = 0
        """Bytes of the child input that the open batch would make."""
        self.executions = [0] * len(COUNT_NAMES)
        self.items = [0] * len(COUNT_NAMES)
        self.results_written = (0, 0)
        """Executions and items."""
        self.not_redrivable = (0, 0)
        self.children: list[MapChild] = []
        self.next_pending = 0
        """The first child that was never started; all that follow were not, either."""
        self.again: deque[int] = deque()
        """Children that wait for a redrive; made from the rows when a state is read back."""

    @property
    def running(self) -> int:
        """Child executions that run now."""
        return self.executions[RUNNING]

    def move(self, child: MapChild, before: int, after: int) -> None:
        """Move a child to another category."""
        self.executions[before] -= 1
        self.executions[after] += 1
        self.items[before] -= child.item_count
        self.items[after] += child.item_count

    def waits_again(self, child: MapChild) -> bool:
        """True if the last redrive has queued a child and not started it yet."""
        return (
            child.status in UNSUCCESSFUL
            and child.attempt < self.redrive_count
            and child.redrivable
            and child.stopped_ms >= self.redrivable_since_ms
        )


def new_map_run(command: StartMapRun, execution_arn: str) -> MapRunState:
    """A Map Run that has not begun; `advance_map_run` with `RunStarted` starts it. `execution_arn`: the parent's."""
    definition = command.definition
    distributed = definition.distributed
    assert distributed is not None
    writer = distributed.writer
    settings = MapRunSettings(
        map_run_arn=command.map_run_arn,
        execution_arn=execution_arn,
        state=command.state,
        entered_event=command.entered_event,
        items=command.items,
        source=_source(command),
        max_items=command.max_items or None,
        batch_items=command.batch_items or None,
        batch_bytes=command.batch_bytes or None,
        batch_input=command.batch_input,
        writer=(command.writer or {}) if writer is not None and writer.resource is not None else None,
        input=command.input if definition.item_selector is not None else None,
        variables=command.variables,
        context=command.context,
    )
    state = MapRunState(settings, command.task_id, command.seed)
    state.max_concurrency = command.max_concurrency
    state.tolerated_count = command.tolerated_count
    state.tolerated_percentage = command.tolerated_percentage
    return state


def _source(command: StartMapRun) -> str:
    """Source: developer guide, "Context object data for Map states"."""
    arguments = command.reader
    if command.items is not None or not isinstance(arguments, dict):
        return "STATE_DATA"
    bucket, key = arguments.get("Bucket"), arguments.get("Key")
    return f"S3://{bucket}/{key}" if key is not None else f"S3://{bucket}"


# ------------------------------------------------------------------ names


def labelled_machine(map_run_arn: str) -> str:
    """`<machine>/<label>`, out of the ARN of a Map Run."""
    return map_run_arn.split(":mapRun:", 1)[1].rsplit(":", 1)[0]


def child_machine_arn(map_run_arn: str) -> str:
    """The ARN that child executions give for their state machine."""
    return map_run_arn.replace(":mapRun:", ":stateMachine:", 1).rsplit(":", 1)[0]


def child_execution_arn(map_run_arn: str, name: str) -> str:
    """The ARN of a child execution."""
    prefix = map_run_arn.replace(":mapRun:", ":execution:", 1).rsplit(":", 1)[0]
    return f"{prefix}:{name}"


def child_name(map_run_arn: str, index: int) -> str:
    """The name of a child execution: a UUID that follows from the run and the index."""
    text = hashlib.blake2b(f"{map_run_arn} {index}".encode(), digest_size=16).hexdigest()
    # Version 3 is for derived names.
    return f"{text[:8]}-{text[8:12]}-3{text[13:16]}-{'89ab'[int(text[16], 16) & 3]}{text[17:20]}-{text[20:]}"


def child_seed(state: MapRunState, index: int) -> bytes:
    """The seed of a child's random numbers; the same at every attempt."""
    return hashlib.blake2b(index.to_bytes(8, "big"), key=state.entropy.seed[:64], digest_size=32).digest()


# ------------------------------------------------------------------ counts


def execution_counts(state: MapRunState) -> dict[str, int]:
    """`executionCounts` as DescribeMapRun names them."""
    counts = dict(zip(COUNT_NAMES, state.executions, strict=True))
    counts["total"] = sum(state.executions)
    counts["resultsWritten"] = state.results_written[0]
    counts["failuresNotRedrivable"] = state.not_redrivable[0]
    return counts


def item_counts(state: MapRunState) -> dict[str, int]:
    """`itemCounts` as DescribeMapRun names them. Items that are in no child yet are pending."""
    counts = dict(zip(COUNT_NAMES, state.items, strict=True))
    total = max(state.items_read, state.total_items or 0)
    counts["pending"] += total - sum(state.items)
    counts["total"] = total
    counts["resultsWritten"] = state.results_written[1]
    counts["failuresNotRedrivable"] = state.not_redrivable[1]
    return counts


def exceeds_tolerance(state: MapRunState) -> bool:
    """True if more items have failed or timed out than the run tolerates.

    Without a tolerance none may fail. A percentage is of all items, and counts once their number is known.
    """
    failed = state.items[FAILED] + state.items[TIMED_OUT]
    count, percentage = state.tolerated_count, state.tolerated_percentage
    if count is None and percentage is None:
        return failed > 0
    if count is not None and failed > count:
        return True
    total = state.total_items
    return percentage is not None and total is not None and failed * 100 > percentage * total
