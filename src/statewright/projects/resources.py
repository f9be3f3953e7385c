"""The common form of all project files: resources shaped as in CloudFormation, an order, and findings.

Owns these values and what holds for all of them. The readers (`cloudformation.py`, `sam/`, `serverless/`, `cdk.py`,
`folder.py`) make them, `reading.py` chooses among the readers, and `deploy/` makes them real.

What readers have settled: parameters, pseudo parameters, conditions, mappings and imports are resolved, so a
property holds plain JSON and, where it needs another resource, `Ref`, `Fn::GetAtt` and the functions around them
(`intrinsics.resolve` does the rest). `Fn::Sub` has become `Fn::Join`. As in any template, numbers and truth values may
be written as text ("10", "true"), because parameters are strings: the code that applies a property converts it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from statewright.payload import Json

FindingSeverity = Literal["ERROR", "WARNING", "INFO"]
Stacks = Literal["all", "own", "named"]
"""Which stacks of a project are read: all, those of the region or of none, or those that name the region."""
ProjectKind = Literal["sam", "cdk", "serverless", "folder"]


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a file. `line` counts from 1; 0 means the file as a whole."""

    path: Path
    line: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line else str(self.path)


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource.

    `depends_on` has the explicit dependencies and those that references imply, existing ids only. `code` is the local
    folder or file of a function's or a layer's code; inline code stays in `properties.Code.ZipFile`. `definition` is
    the local file of a state machine's definition; otherwise the definition is in `properties.DefinitionString`, as
    a text or as `Fn::ToJsonString`. `DefinitionSubstitutions` are still to be applied. `retain` says that it outlives
    its project (`DeletionPolicy`). `stack` names the stack of a project that has several.
    """

    id: str
    type: str
    properties: Json
    depends_on: tuple[str, ...]
    place: Place
    code: Path | None = None
    definition: Path | None = None
    retain: bool = False
    stack: str | None = None
    patterns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem or loss at one place; never fatal for the rest of the project.

    An ERROR keeps something from working that the project asks for; a WARNING says that something is left out; INFO is
    good to know.
    """

    severity: FindingSeverity
    message: str
    place: Place

    def __str__(self) -> str:
        return f"{self.place}: {self.severity.lower()}: {self.message}"


@dataclass(frozen=True, slots=True)
class Project:
    """Everything that a project's files ask for.

    `files` are those whose change means reading again. `order` holds the ids of the resources that can be made, each
    after what it depends on; a resource that is missing there (in a cycle, with an unknown reference) has an ERROR
    among the findings. `outputs` may hold functions, as properties do.
    """

    name: str
    root: Path
    kind: ProjectKind
    files: tuple[Path, ...]
    resources: Mapping[str, Resource]
    order: tuple[str, ...]
    outputs: Mapping[str, Json] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    regions: tuple[str, ...] = ()
    """Other regions that stacks of the project name, if only one region's stacks were asked for."""


class ProjectError(Exception):
    """There is no project to read at all. The text names what was expected, and a remedy."""
