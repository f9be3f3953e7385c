"""Arguments and results of the catalogue of state machines. Plain values, without rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from statewright.asl.program import MachineType
from statewright.engine.machines.records import INITIAL, Machine, Revision, Version
from statewright.payload import JsonMapping


@dataclass(frozen=True, slots=True)
class MachineView:
    """The view of a machine, a version, or a distributed Map's child machine for the Describe operations.

    `definition` is that of the child machine when there is a label.
    """

    arn: str
    machine: Machine
    revision: Revision
    definition: str
    variable_references: Mapping[str, list[str]]
    version: Version | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True)
class RevisionView:
    """The view for DescribeStateMachineForExecution: the definition that an execution runs."""

    revision: Revision
    definition: str
    variable_references: Mapping[str, list[str]]


@dataclass(frozen=True, slots=True)
class Changed:
    """A machine after it was created or updated. `version_arn` is set when a version was asked for."""

    machine: Machine
    at_ms: int
    version_arn: str | None

    @property
    def revision_id(self) -> str | None:
        """The current revision as callers see it."""
        return None if self.machine.revision == INITIAL else self.machine.revision


@dataclass(frozen=True, slots=True)
class NewMachine:
    """The request to create a machine; `None` stands for what the caller left out."""

    name: str
    definition: str
    role_arn: str
    type: MachineType = "STANDARD"
    logging: JsonMapping | None = None
    tracing: JsonMapping | None = None
    encryption: JsonMapping | None = None
    tags: tuple[Mapping[str, str], ...] = ()
    publish: bool = False
    version_description: str | None = None


@dataclass(frozen=True, slots=True)
class MachineChange:
    """The request to update a machine; `None` leaves a part as it is."""

    definition: str | None = None
    role_arn: str | None = None
    logging: JsonMapping | None = None
    tracing: JsonMapping | None = None
    encryption: JsonMapping | None = None
    publish: bool = False
    version_description: str | None = None
