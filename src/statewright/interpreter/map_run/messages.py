"""The inputs and outputs of a Map Run: events in the past tense, commands in the imperative.

`advance.py` takes the first and returns the second; a driver (simulator, engine) connects it with the child executions
and S3. Delivery is at least once: every message whose repetition could do harm names an index and an attempt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from statewright.interpreter.map_run.items import Selected, Selection
from statewright.payload import Json, Payload

ChildStatus = Literal["SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"]


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The first event of every Map Run."""


@dataclass(frozen=True, slots=True)
class RunContinued:
    """Continue where the budget ran out."""


@dataclass(frozen=True, slots=True)
class ItemsRead:
    """A slice of the items that `ReadItems` asked for; `first` is the index of its first one.

    `keys` are set when the data is a JSON object: its member names, one for each of `items`, which are the values.
    `total` is the number of all items, if the reader knows it before the last slice. `source` is
    `Map.Item.Source` when it is not the object that the definition names.
    """

    first: int
    items: Sequence[Json]
    last: bool
    keys: Sequence[str] | None = None
    total: int | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class ItemsSelected:
    """The result of the ItemSelector over the slice that `SelectItems` named; `last` as there."""

    first: int
    selected: Selected
    last: bool


@dataclass(frozen=True, slots=True)
class ReadFailed:
    """The items cannot be read."""

    cause: str


@dataclass(frozen=True, slots=True)
class ChildEnded:
    """A child execution is closed. `attempt` is that of its `StartChild` or `RedriveChild`.

    `redrivable` is false when a redrive would be refused at any age, as after too many history events.
    """

    index: int
    attempt: int
    status: ChildStatus
    output: Payload | None = None
    error: str | None = None
    cause: str | None = None
    redrivable: bool = True


@dataclass(frozen=True, slots=True)
class RunUpdated:
    """A caller changed the run's limits; `None` leaves one as it is. Running children continue."""

    max_concurrency: int | None = None
    tolerated_count: int | None = None
    tolerated_percentage: float | None = None


@dataclass(frozen=True, slots=True)
class ResultsWritten:
    """All result files and the manifest are in their bucket."""


@dataclass(frozen=True, slots=True)
class WriteFailed:
    """The result files cannot be written."""

    cause: str


@dataclass(frozen=True, slots=True)
class RunStopped:
    """The parent no longer waits: it was stopped, has timed out, or a sibling failed."""


@dataclass(frozen=True, slots=True)
class RunRedriven:
    """The parent was redriven and waits again, under another task id."""

    task_id: int
    redrive_count: int


MapRunEvent = (
    RunStarted
    | RunContinued
    | ItemsRead
    | ItemsSelected
    | ReadFailed
    | ChildEnded
    | RunUpdated
    | ResultsWritten
    | WriteFailed
    | RunStopped
    | RunRedriven
)


@dataclass(frozen=True, slots=True)
class SelectItems:
    """Evaluate the ItemSelector for a slice, because it is too heavy here; answer with `ItemsSelected`."""

    selection: Selection
    last: bool


@dataclass(frozen=True, slots=True)
class ReadItems:
    """Answer with `ItemsRead` for at most `count` items from index `first`, or with `ReadFailed`."""

    first: int
    count: int


@dataclass(frozen=True, slots=True)
class StartChild:
    """Start a child execution from its first state, and answer with `ChildEnded`. `item_count` items are in it."""

    index: int
    attempt: int
    name: str
    input: Payload
    item_count: int


@dataclass(frozen=True, slots=True)
class RedriveChild:
    """Redrive a closed Standard child execution, and answer with `ChildEnded`."""

    index: int
    attempt: int
    name: str


@dataclass(frozen=True, slots=True)
class StopChildren:
    """Stop every child execution that runs; each still answers with `ChildEnded`."""


@dataclass(frozen=True, slots=True)
class WriteResults:
    """Write the files of `map_run_results.result_files` and the manifest under a folder of a bucket.

    `arguments` are the ResultWriter's own. Answer with `ResultsWritten` or `WriteFailed`.
    """

    bucket: str
    folder: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class SucceedRun:
    """Send `events.MapRunSucceeded` to the parent."""

    task_id: int
    output: Payload


@dataclass(frozen=True, slots=True)
class FailRun:
    """Send `events.MapRunFailed` to the parent."""

    task_id: int
    error: str
    cause: str


@dataclass(frozen=True, slots=True)
class ContinueRun:
    """The budget is spent: send `RunContinued` soon."""


MapRunCommand = (
    ReadItems
    | SelectItems
    | StartChild
    | RedriveChild
    | StopChildren
    | WriteResults
    | SucceedRun
    | FailRun
    | ContinueRun
)
