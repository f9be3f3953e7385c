"""Rows of stacks: stacks, their resources, events and templates, change sets.

A stack's row names the operation that is under way; the rows of its resources say how far that operation is, so that it
continues after a restart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from statewright.payload import Json
from statewright.stores.entries import EntryKind, Form, MarkKind

OperationKind = Literal["create", "update", "delete"]
Phase = Literal["apply", "cleanup", "rollback", "rollback-cleanup", "delete"]
"""The part of an operation: making what the template says; deleting what it no longer has; undoing; deleting all."""


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a stack. `template` is the key of its text; `resolved` are values of stored parameters."""

    template: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    resolved: Mapping[str, str] = field(default_factory=dict)
    capabilities: Sequence[str] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    role: str | None = None
    notified: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation under way. `skipped` are resources that a continued rollback leaves as they are."""

    id: str
    kind: OperationKind
    phase: Phase
    started_ms: int
    token: str | None = None
    keeps_failed: bool = False
    """True if a failure is not rolled back."""
    on_failure: str = ""
    retain: Sequence[str] = ()
    skipped: Sequence[str] = ()
    cancelled: bool = False
    due_ms: int = 0
    """When a creation has exceeded its time; 0 for never."""
    policy: str = ""
    """The stack policy that is in force for this update alone."""
    policy_after: str = ""
    """The stack policy from the end of this update on."""
    host: str = ""
    """The host of the server, as the caller addressed it: that of queues in what references give."""


def is_stopped(operation: Operation | None, now_ms: int) -> bool:
    """True if an operation is to make nothing more: it was cancelled, or its time is over."""
    return operation is not None and (operation.cancelled or 0 < operation.due_ms <= now_ms)


@dataclass(frozen=True, slots=True)
class Output:
    """An output of a stack."""

    name: str
    value: str
    description: str | None = None
    export: str | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """The members of a stack that an update has replaced and that its rollback restores."""

    outputs: Sequence[Output] = ()
    imports: Sequence[str] = ()
    description: str | None = None


@dataclass(frozen=True, slots=True)
class StackEntry:
    """A stack. `id` is the last part of its ARN. `before` is what a rollback of the operation returns to.

    `parent` and `root` are the ARNs of the stacks around a nested one, and `under` is the parent's operation that began
    the last operation here. `kept` is set while a nested stack waits with the cleanup of its update for its parent's.
    """

    id: str
    name: str
    arn: str
    created_ms: int
    status: str
    reason: str = ""
    updated_ms: int = 0
    deleted_ms: int = 0
    source: Source | None = None
    before: Source | None = None
    operation: Operation | None = None
    change_set: str = ""
    description: str | None = None
    keeps_failed: bool = False
    is_protected: bool = False
    timeout_minutes: int = 0
    policy: str = ""
    outputs: Sequence[Output] = ()
    imports: Sequence[str] = ()
    parent: str = ""
    root: str = ""
    under: str = ""
    kept: Kept | None = None
    stored: int = 0


@dataclass(frozen=True, slots=True)
class Made:
    """A resource as it was made: its name, what references give, and the properties that it was made from.

    `folded` are the properties with references to other resources, `resolved` those without any.
    """

    type: str
    name: str
    ref: str = ""
    attributes: Mapping[str, Json] = field(default_factory=dict)
    folded: Json = None
    resolved: Json = None
    needs: Sequence[str] = ()
    deletion: str = "Delete"
    replacing: str = "Delete"
    metadata: Json = None
    lost: str = ""
    """Why the resource is only a placeholder; empty for one that was made."""


@dataclass(frozen=True, slots=True)
class ResourceEntry:
    """A resource of a stack. `before` is what it was before the operation that last touched it, `now` what it is.

    `old` are those that were replaced, and are deleted in the cleanup; `deleting` names the one whose deletion began.
    """

    stack: str
    id: str
    number: int
    status: str
    updated_ms: int
    reason: str = ""
    operation: str = ""
    now: Made | None = None
    before: Made | None = None
    old: Sequence[Made] = ()
    deleting: str = ""
    stored: int = 0


@dataclass(frozen=True, slots=True)
class EventEntry:
    """An event of a stack. `number` counts them."""

    stack: str
    number: int
    id: str
    logical: str
    physical: str
    type: str
    status: str
    at_ms: int
    reason: str = ""
    properties: str | None = None
    token: str | None = None
    stored: int = 0


@dataclass(frozen=True, slots=True)
class TemplateEntry:
    """The text of a template."""

    stack: str
    id: str
    text: str
    stored: int = 0

    @property
    def key(self) -> str:
        """The key by which a `Source` names it."""
        return f"{self.stack}/{self.id}"


@dataclass(frozen=True, slots=True)
class ChangeSetEntry:
    """A change set of a stack. `changes` are as the API shows them, without the values of properties."""

    id: str
    name: str
    arn: str
    stack: str
    created_ms: int
    source: Source
    kind: str = "UPDATE"
    status: str = "CREATE_COMPLETE"
    execution: str = "AVAILABLE"
    reason: str = ""
    description: str | None = None
    on_failure: str = ""
    nested: bool = False
    changes: Sequence[Json] = ()
    stored: int = 0


def _unchanged(members: dict[str, Json]) -> dict[str, Json]:
    """The members that a format adds have their defaults."""
    return members


def _in_stack(stack: str, name: object) -> str:
    return f"{stack}/{name}"


STACK: Final = EntryKind(
    "stack",
    StackEntry,
    lambda one: one.id,
    sort=lambda one: one.created_ms,
    form=Form(3, upgrades={1: _unchanged, 2: _unchanged}),
)
STACK_RESOURCE: Final = EntryKind(
    "stackResource", ResourceEntry, lambda one: _in_stack(one.stack, one.id), parent=lambda one: one.stack
)
STACK_EVENT: Final = EntryKind(
    "stackEvent",
    EventEntry,
    lambda one: _in_stack(one.stack, f"{one.number:08}"),
    parent=lambda one: one.stack,
    sort=lambda one: one.number,
)
STACK_TEMPLATE: Final = EntryKind(
    "stackTemplate", TemplateEntry, lambda one: one.key, parent=lambda one: one.stack,
    form=Form(2, upgrades={1: _unchanged}),
)  # fmt: skip
CHANGE_SET: Final = EntryKind(
    "changeSet", ChangeSetEntry, lambda one: one.id, parent=lambda one: one.stack, sort=lambda one: one.created_ms
)
UNDER_WAY: Final = MarkKind("stackOperation")
"""The stacks with an operation under way, by id."""
