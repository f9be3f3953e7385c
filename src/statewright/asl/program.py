"""A compiled definition: frozen dataclasses for control flow, callables at the leaves.

No reference to the definition's text remains. A leaf is an `Evaluate`: it takes a `Scope` and returns a JSON
value, or raises `ExecutionFailure`. `None` in place of a leaf means that the field is absent and its default holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from statewright.asl.resources import Resource
from statewright.payload import Json
from statewright.query.scope import Scope

Evaluate = Callable[[Scope], Json]
Condition = Callable[[Scope], bool]
Place = Callable[[Json, Json], Json]
"""`place(document, result)`: the document with the result written at ResultPath."""

MachineType = Literal["STANDARD", "EXPRESS"]
StateType = Literal["Pass", "Task", "Choice", "Wait", "Succeed", "Fail", "Parallel", "Map"]


@dataclass(frozen=True, slots=True)
class Retrier:
    """One entry of Retry. Its delay before retry k is interval x rate^k, at most `max_delay_seconds`."""

    error_equals: frozenset[str]
    interval_seconds: int
    max_attempts: int
    backoff_rate: float
    max_delay_seconds: int | None
    full_jitter: bool


@dataclass(frozen=True, slots=True)
class Catcher:
    """One entry of Catch."""

    error_equals: frozenset[str]
    next: str
    place: Place | None
    output: Evaluate | None
    assign: Evaluate | None


@dataclass(frozen=True, slots=True)
class PassDef:
    """Body of a Pass state. `result` is set when `has_result` is."""

    has_result: bool
    result: Json


@dataclass(frozen=True, slots=True)
class WaitDef:
    """Body of a Wait state: `due_ms(scope)` gives the instant, from the scope's `now_ms`."""

    due_ms: Callable[[Scope], int]


@dataclass(frozen=True, slots=True)
class ChoiceRule:
    """One rule of a Choice."""

    condition: Condition
    next: str
    output: Evaluate | None
    assign: Evaluate | None


@dataclass(frozen=True, slots=True)
class ChoiceDef:
    """Body of a Choice state."""

    rules: tuple[ChoiceRule, ...]
    default: str | None


@dataclass(frozen=True, slots=True)
class FailDef:
    """Body of a Fail state."""

    error: Evaluate | None
    cause: Evaluate | None


@dataclass(frozen=True, slots=True)
class TaskDef:
    """Body of a Task state. Timeouts are in seconds, `None` when the definition sets none."""

    resource: Resource
    timeout_seconds: Evaluate | None
    heartbeat_seconds: Evaluate | None
    role_arn: Evaluate | None


@dataclass(frozen=True, slots=True)
class ParallelDef:
    """Body of a Parallel state: the scopes of its branches, in order; and, as an extension, its deadline."""

    scopes: tuple[int, ...]
    timeout_seconds: Evaluate | None = None


@dataclass(frozen=True, slots=True)
class ReaderDef:
    """ItemReader: where a distributed Map reads its items. `config` holds ReaderConfig, evaluated."""

    resource: Resource
    arguments: Evaluate | None
    config: Evaluate
    max_items: Evaluate | None


@dataclass(frozen=True, slots=True)
class BatcherDef:
    """ItemBatcher."""

    max_items: Evaluate | None
    max_bytes: Evaluate | None
    batch_input: Evaluate | None


@dataclass(frozen=True, slots=True)
class WriterDef:
    """ResultWriter. `resource` is `None` when only WriterConfig is given."""

    resource: Resource | None
    arguments: Evaluate | None
    transformation: Literal["NONE", "COMPACT", "FLATTEN"]
    output_type: Literal["JSON", "JSONL"]


@dataclass(frozen=True, slots=True)
class DistributedDef:
    """The additional settings of a Map in DISTRIBUTED mode."""

    execution_type: Literal["STANDARD", "EXPRESS"]
    label: str | None
    reader: ReaderDef | None
    batcher: BatcherDef | None
    writer: WriterDef | None
    items_pointer: str | None = None


@dataclass(frozen=True, slots=True)
class MapDef:
    """Body of a Map state."""

    scope: int
    items: Evaluate
    """Returns a list; a dict only in DISTRIBUTED mode."""
    item_selector: Evaluate | None
    max_concurrency: Evaluate | None
    tolerated_count: Evaluate | None
    tolerated_percentage: Evaluate | None
    distributed: DistributedDef | None


Body = PassDef | WaitDef | ChoiceDef | FailDef | TaskDef | ParallelDef | MapDef | None


@dataclass(frozen=True, slots=True)
class StateDef:
    """One state of a definition, ready to run.

    JSONPath states use `input_path`, `arguments` (Parameters), `selector`, `place` and `output_path`;
    JSONata states use `arguments` and `output`. `plain` says that the output is the input (or the result) as it is.
    """

    name: str
    type: StateType
    jsonata: bool
    next: str | None
    body: Body
    entered: str
    exited: str
    input_path: Evaluate | None = None
    arguments: Evaluate | None = None
    selector: Evaluate | None = None
    place: Place | None = None
    output_path: Evaluate | None = None
    output: Evaluate | None = None
    assign: Evaluate | None = None
    retry: tuple[Retrier, ...] = ()
    catch: tuple[Catcher, ...] = ()
    plain: bool = False


@dataclass(frozen=True, slots=True)
class ScopeDef:
    """One `States` object: the machine itself, a branch, or an item processor.

    `owner` is the state that holds it, `parent` that state's scope. A distributed scope starts executions of its own.
    `max_turns`, an extension, is how often each of its states may be entered.
    """

    index: int
    start_at: str
    states: dict[str, StateDef]
    parent: int | None = None
    owner: str | None = None
    distributed: bool = False
    max_turns: int | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled definition. `scopes[0]` is the machine; `timeout_seconds` its own."""

    scopes: tuple[ScopeDef, ...]
    timeout_seconds: int | None
    comment: str | None
    variable_references: dict[str, list[str]] = field(default_factory=dict)
    """State name to the variables that it reads; states that read none are left out."""
    may_be_heavy: bool = False
    """True if an expression may need the JSONata library, or a path may visit many values: either may take long."""
    activities: tuple[str, ...] = ()
    """ARNs of the activities that its tasks name."""
    has_own_tasks: bool = False
    """True if a task is one of Statewright's own (`statewright:`): one of a semaphore, or a poll."""

    def child_program(self, scope: int) -> Program:
        """The program of a distributed Map's child executions: the same scopes, entered at `scope`."""
        return Program(
            (self.scopes[scope], *self.scopes[1:]),
            None,
            None,
            self.variable_references,
            self.may_be_heavy,
            self.activities,
            self.has_own_tasks,
        )

    def state(self, name: str) -> StateDef:
        """Find a state by name in any scope. Raises: KeyError."""
        for scope in self.scopes:
            if name in scope.states:
                return scope.states[name]
        raise KeyError(name)

    def map_of(self, scope: int) -> MapDef:
        """The Map whose iterations run in a scope. Raises: KeyError."""
        for one in self.scopes:
            for definition in one.states.values():
                if isinstance(definition.body, MapDef) and definition.body.scope == scope:
                    return definition.body
        raise KeyError(scope)
