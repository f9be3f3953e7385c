"""Validation: lists all findings of a definition, the service's in its order, then our own.

Owns the walk over machine, states and the objects inside them, by the tables in `fields.py`. Values are checked in
`field_values.py`, entries of Choices, Retry and Catch in `branching.py`, resources in `resource_kinds.py`, transitions
in `flow.py`, variables in `assignments.py`; `lints.py` adds findings that the service does not have. The readers report
unreadable text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol, TypeGuard

from statewright.asl import extensions
from statewright.asl.checks import branching, resource_kinds
from statewright.asl.checks.assignments import check_assignments
from statewright.asl.checks.field_values import RESULT_FIELDS, FieldValues, Where, is_expression
from statewright.asl.checks.fields import (
    BRANCH_SHAPE,
    DISTRIBUTED_ONLY,
    JSONATA,
    JSONPATH,
    LABEL_CHARACTERS,
    LOOP_SHAPE,
    MACHINE_SHAPE,
    MAX_BATCH_BYTES,
    OBJECT_SHAPES,
    PROCESSOR_SHAPE,
    STATE_SHAPES,
    Field,
    Shape,
)
from statewright.asl.checks.flow import check_flow, check_names
from statewright.asl.checks.lints import add_lints
from statewright.asl.findings import (
    DUPLICATE_LABEL,
    INVALID_LABEL,
    TOO_DEEP,
    Findings,
    Path,
    has_placeholder,
)
from statewright.asl.outline import Node, ScopeOutline, StateOutline, outline, top_language
from statewright.asl.program import MachineType
from statewright.asl.text.document import MAX_DEPTH
from statewright.errors import Diagnostic
from statewright.payload import Json

_LABEL_FORBIDDEN = frozenset('?*<>{}[]:;,\\|^~$#%&`"')


class PlacedValue(Protocol):
    """The part of `asl.document.Document` that `validate` needs."""

    @property
    def value(self) -> Json:
        """The definition."""

    def position(self, path: Path) -> tuple[int, int]:
        """Line and column of a path, from 1."""


def validate(document: PlacedValue, *, machine_type: MachineType = "STANDARD", lints: bool = True) -> list[Diagnostic]:
    """List every finding of a definition, with line and column.

    Findings with the service's codes come first, in the service's order; then, if `lints`, our own. A definition is
    usable if no finding is an ERROR. Never raises, for any value.

    Source: API reference, ValidateStateMachineDefinition; wording as observed where it was.
    """
    placed = []
    for finding in validate_value(document.value, machine_type=machine_type, lints=lints):
        line, column = (0, 0) if finding.path is None else document.position(finding.path)
        placed.append(replace(finding, line=line, column=column))
    return placed


def validate_value(value: Json, *, machine_type: MachineType = "STANDARD", lints: bool = True) -> list[Diagnostic]:
    """List every finding of a definition that has no text: like `validate`, with line and column 0."""
    if not isinstance(value, dict):
        findings = Findings()
        findings.error("SCHEMA_VALIDATION_FAILED", "Definition must be a valid JSON object", None)
        return findings.items
    deep = _too_deep(value)
    if deep is not None:
        findings = Findings()
        message = f"The definition is nested too deeply: more than {MAX_DEPTH} levels"
        findings.error(TOO_DEEP, message, deep, "move inner workflows into separate state machines")
        return findings.items
    scopes = outline(value, express=machine_type == "EXPRESS")
    checks = ObjectChecks(machine_type)
    for scope in scopes:
        checks.check_scope(scope)
    check_names(checks.findings, scopes)
    check_assignments(checks.findings, checks.lints, scopes, checks.values.reads)
    check_flow(checks.findings, checks.lints, scopes)
    if not lints:
        return checks.findings.items
    add_lints(checks.lints, value, scopes, machine_type)
    return checks.findings.items + checks.lints.items


def _too_deep(value: Json) -> Path | None:
    """The first path that reaches the limit of depth, found without recursion."""
    pending: list[tuple[Json, Path]] = [(value, ())]
    while pending:
        item, path = pending.pop()
        if not item or not isinstance(item, (dict, list)):
            continue
        if len(path) >= MAX_DEPTH:
            return path
        members = item.items() if isinstance(item, dict) else enumerate(item)
        pending.extend((inner, (*path, step)) for step, inner in members if isinstance(inner, (dict, list)))
    return None


class ObjectChecks:
    """One walk over one definition. `findings` are the service's, `lints` ours."""

    def __init__(self, machine_type: MachineType) -> None:
        self.machine_type = machine_type
        self.findings = Findings()
        self.lints = Findings()
        self.values = FieldValues(self.findings, self.lints)
        self.labels: set[str] = set()

    # -------------------------------------------------------------- scopes and states

    def check_scope(self, scope: ScopeOutline) -> None:
        """Check the machine, a branch or a processor, and each of its states."""
        if scope.owner is None:
            shape, strict = MACHINE_SHAPE, False
        elif scope.path[-1] in ("ItemProcessor", "Iterator"):
            shape, strict = PROCESSOR_SHAPE, True
        else:
            shape, strict = BRANCH_SHAPE, "QueryLanguage" in scope.node
        where = Where(top_language(scope.node) if scope.owner is None else scope.owner.language)
        self.check_object(scope.node, shape, scope.path, where, strict=strict)
        states = scope.node.get("States")
        if "States" in scope.node and not isinstance(states, dict):
            self.findings.schema("Value must be an object", (*scope.path, "States"))
        elif isinstance(states, dict) and not states:
            self.findings.schema("Value cannot be empty", (*scope.path, "States"))
        for name, value in states.items() if isinstance(states, dict) else ():
            if name in scope.states:
                self.check_state(scope.states[name], scope)
            elif not has_placeholder(value):
                self.findings.schema("Value must be an object", (*scope.path, "States", name))

    def check_state(self, state: StateOutline, scope: ScopeOutline) -> None:
        """Check one state."""
        node, path = state.node, state.path
        if state.type is None:
            self.unknown_type(node, path)
            return
        if node.get("QueryLanguage") == JSONPATH and _machine_language(scope) == JSONATA:
            message = "'QueryLanguage' can not be 'JSONPath' if set to 'JSONata' for whole state machine"
            self.findings.schema(message, path)
        where = Where(state.language)
        if state.type == "Parallel":
            self.check_parallel(state, where)
            return
        self.check_object(node, STATE_SHAPES[state.type], path, where, state=state)
        if state.type == "Map":
            self.check_map(state, scope)
        elif state.type == "Task":
            self.check_heartbeat(node, path)

    def check_parallel(self, state: StateOutline, where: Where) -> None:
        """Check a Parallel, which may be a bounded loop if extensions are on."""
        if not extensions.are_on():
            hints = dict.fromkeys(extensions.LOOP_FIELDS, extensions.HOW)
            self.check_object(state.node, STATE_SHAPES["Parallel"], state.path, where, state=state, hints=hints)
            return
        self.check_object(state.node, LOOP_SHAPE, state.path, where, state=state)
        branches = state.node.get("Branches")
        named = [name for name in extensions.LOOP_FIELDS if name in state.node]
        if named and isinstance(branches, list) and len(branches) != 1:
            self.findings.schema(f"Field '{named[0]}' needs a Parallel with exactly one branch", state.path)

    def unknown_type(self, node: Node, path: Path) -> None:
        """Report a missing or unknown Type; such a state has no other findings."""
        kind = node.get("Type")
        if "Type" not in node:
            self.findings.schema("These fields are required: [Type]", path)
        elif not has_placeholder(kind):
            hint = self.findings.did_you_mean(kind, STATE_SHAPES)
            self.findings.schema(f"Value must be one of: [{', '.join(STATE_SHAPES)}]", (*path, "Type"), hint)

    def check_heartbeat(self, node: Node, path: Path) -> None:
        """Warn of a heartbeat that is not below the timeout, which always comes first."""
        timeout, heartbeat = node.get("TimeoutSeconds"), node.get("HeartbeatSeconds")
        if _is_number(timeout) and _is_number(heartbeat) and heartbeat >= timeout:
            message = "HeartbeatSeconds must be smaller than TimeoutSeconds"
            self.lints.warn("HEARTBEAT_TOO_LONG", message, (*path, "HeartbeatSeconds"))

    # -------------------------------------------------------------- objects, by table

    def check_object(
        self,
        node: Node,
        shape: Shape,
        path: Path,
        where: Where,
        *,
        strict: bool = True,
        state: StateOutline | None = None,
        hints: Mapping[str, str] | None = None,
    ) -> None:
        """Check an object against its table. Unknown fields are errors if `strict`; `hints` say more about some."""
        self.check_presence(node, shape, path, where)
        for name, value in node.items():
            field = shape.fields.get(name)
            if field is None:
                hint = (hints or {}).get(name) or self.findings.did_you_mean(name, _usable(shape, where))
                if strict:
                    self.findings.schema(f"Field '{name}' is not supported", path, hint)
                else:
                    self.lints.warn("UNKNOWN_FIELD", f"The language has no field '{name}' here", (*path, name), hint)
            elif field.language is not None and field.language != where.language:
                message = (
                    f"The QueryLanguage is set to '{where.language}', but field '{name}' is only supported "
                    f"for the '{field.language}' QueryLanguage"
                )
                self.findings.schema(message, path)
            else:
                self.check_field(field, value, (*path, name), _seen(name, where, state), state)

    def check_presence(self, node: Node, shape: Shape, path: Path, where: Where) -> None:
        """Check which fields are required, and which exclude each other. Source: observed wording of the first and the
        second."""
        missing = [name for name in shape.required if name not in node]
        if missing:
            self.findings.schema(f"These fields are required: [{', '.join(missing)}]", path)
        for group in (*shape.exactly_one, *shape.at_most_one):
            present = [name for name in group if name in node]
            if len(present) > 1 and not _is_open_end(node, group):
                listed = ", ".join(present if len(group) > 2 else group)
                self.findings.schema(f"There should only be one of the following fields: [{listed}]", path)
        for group in (*shape.exactly_one, *shape.at_least_one):
            usable = [name for name in group if shape.fields[name].language in (None, where.language)]
            nothing = not any(name in node for name in group)
            if nothing or (_is_open_end(node, group) and "Next" not in node):
                self.findings.schema(f"One of the following fields is required: [{', '.join(usable)}]", path)

    def check_field(self, field: Field, value: Json, path: Path, where: Where, state: StateOutline | None) -> None:
        """Check one field, and the fields inside it."""
        match field.kind:
            case "choices":
                branching.check_choices(self, value, path, where)
            case "retriers" | "catchers":
                branching.check_handlers(self, value, path, where)
            case "error names":
                branching.check_error_names(self.findings, value, path)
            case "branches":
                self.check_branches(value, path)
            case "processor":
                if not isinstance(value, dict) and not has_placeholder(value):
                    self.findings.schema("Value must be an object", path)
            case "object":
                self.check_part(field, value, path, where)
            case "credentials":
                self.check_credentials(value, path, where)
            case "resource":
                self.check_resource(value, path, state)
            case "items":
                self.check_items(value, path, where, state)
            case "label":
                self.check_label(value, path)
            case _:
                self.values.check(field, value, path, where)

    def check_part(self, field: Field, value: Json, path: Path, where: Where) -> None:
        """An object inside a state."""
        if isinstance(value, dict):
            self.check_object(value, OBJECT_SHAPES[str(field.shape)], path, where)
        elif not has_placeholder(value):
            self.findings.schema("Value must be an object", path)

    def check_branches(self, value: Json, path: Path) -> None:
        """The list of branches; each is a separate scope."""
        if has_placeholder(value):
            return
        if not isinstance(value, list):
            self.findings.schema("Value must be an array", path)
        elif not value:
            self.findings.schema("Value cannot be empty", path)
        else:
            for index, branch in enumerate(value):
                if not isinstance(branch, dict) and not has_placeholder(branch):
                    self.findings.schema("Value must be an object", (*path, index))

    def check_credentials(self, value: Json, path: Path, where: Where) -> None:
        """The role to assume for a task. Source: observed wording of the missing role."""
        if has_placeholder(value) or (where.jsonata and is_expression(value)):
            return
        if not isinstance(value, dict):
            self.findings.schema("Value must be an object", path)
            return
        if "RoleArn" not in value and (where.jsonata or "RoleArn.$" not in value):
            self.findings.schema("The field 'RoleArn' is required but was missing", path)
        for name in value:
            if name not in ("RoleArn", "RoleArn.$", "Comment"):
                self.findings.schema(
                    f"Field '{name}' is not supported", path, self.findings.did_you_mean(name, ("RoleArn",))
                )
        self.values.template(_ANY, value, path, where)

    def check_resource(self, value: Json, path: Path, state: StateOutline | None) -> None:
        """The Resource of a Task, of an ItemReader or of a ResultWriter."""
        if state is None:
            writes = path[-2] == "ResultWriter"
            resource_kinds.check_store_resource(self.findings, self.lints, value, path, writes=writes)
            return
        express = None
        if state.scope.express:
            express = "machine" if self.machine_type == "EXPRESS" else "child"
        resource_kinds.check_task_resource(self.findings, self.lints, value, path, express=express)

    # -------------------------------------------------------------- Map

    def check_items(self, value: Json, path: Path, where: Where, state: StateOutline | None) -> None:
        """JSONata Items: an array, or in a distributed Map also an object."""
        if isinstance(value, str):
            if not has_placeholder(value) and not self.values.expression_field(value, path, where):
                self.findings.schema("Value must be an array", path, "write '{%' and '%}' around an expression")
        elif isinstance(value, list) or (isinstance(value, dict) and state is not None and _is_distributed(state.node)):
            self.values.template(_ANY, value, path, where)
        else:
            self.findings.schema("Value must be an array", path)

    def check_label(self, value: Json, path: Path) -> None:
        """A Label becomes part of ARNs. Source: developer guide, Map state, `Label`."""
        if has_placeholder(value):
            return
        if not isinstance(value, str):
            self.findings.schema("Value must be a string", path)
            return
        bad = sorted({character for character in value if _breaks_label(character)})
        if not value or len(value) > LABEL_CHARACTERS:
            message = f"Invalid Label name: a Label has 1 to {LABEL_CHARACTERS} characters"
            self.findings.error(INVALID_LABEL, message, path)
        if bad:
            shown = " ".join(repr(character) for character in bad)
            self.findings.error(
                INVALID_LABEL, f"Invalid Label name: these characters cannot stand in it: {shown}", path
            )
        if value in self.labels:
            self.findings.error(DUPLICATE_LABEL, f"Duplicate Label name: {value}", path)
        self.labels.add(value)

    def check_map(self, state: StateOutline, scope: ScopeOutline) -> None:
        """Check the fields that depend on the mode of a Map."""
        node, path = state.node, state.path
        key = "ItemProcessor" if "ItemProcessor" in node else "Iterator"
        processor = node.get(key)
        config = processor.get("ProcessorConfig", {}) if isinstance(processor, dict) else None
        if not isinstance(config, dict) or has_placeholder(config.get("Mode")):
            return
        at = (*path, key, "ProcessorConfig")
        if config.get("Mode") == "DISTRIBUTED":
            if "ExecutionType" not in config:
                self.findings.schema("These fields are required: [ExecutionType]", at)
            if scope.express and self.machine_type == "EXPRESS":
                self.findings.schema("Express state machine does not support DISTRIBUTED mode of Map", (*at, "Mode"))
        else:
            for name in DISTRIBUTED_ONLY:
                if name in node:
                    message = f"{name} has an effect only on a Map in DISTRIBUTED mode"
                    hint = 'set "Mode": "DISTRIBUTED" and an "ExecutionType" in ProcessorConfig'
                    self.lints.warn("DISTRIBUTED_ONLY_FIELD", message, (*path, name), hint)
        self.check_stores(node, path)

    def check_stores(self, node: Node, path: Path) -> None:
        """Check the fields of ItemReader, ItemBatcher and ResultWriter that depend on each other."""
        reader = node.get("ItemReader")
        config = reader.get("ReaderConfig") if isinstance(reader, dict) else None
        if isinstance(config, dict):
            at = (*path, "ItemReader", "ReaderConfig")
            if config.get("Transformation") == "LOAD_AND_FLATTEN" and "InputType" not in config:
                self.findings.schema("These fields are required: [InputType]", at, "LOAD_AND_FLATTEN needs InputType")
            if config.get("CSVHeaderLocation") == "GIVEN" and "CSVHeaders" not in config:
                self.findings.schema("These fields are required: [CSVHeaders]", at, "GIVEN needs CSVHeaders")
        batcher = node.get("ItemBatcher")
        size = batcher.get("MaxInputBytesPerBatch") if isinstance(batcher, dict) else None
        if _is_number(size) and size > MAX_BATCH_BYTES:
            message = f"MaxInputBytesPerBatch is at most {MAX_BATCH_BYTES}"
            self.lints.warn("VALUE_OUT_OF_RANGE", message, (*path, "ItemBatcher", "MaxInputBytesPerBatch"))


_ANY = Field("template")


def _machine_language(scope: ScopeOutline) -> str:
    while scope.enclosing is not None:
        scope = scope.enclosing
    return top_language(scope.node)


def _seen(name: str, where: Where, state: StateOutline | None) -> Where:
    """The members of `$states` that a field sees: only Assign and Output of the state itself see its result."""
    if state is not None and name in ("Assign", "Output") and state.type in ("Task", "Parallel", "Map"):
        return Where(where.language, RESULT_FIELDS)
    return where


def _usable(shape: Shape, where: Where) -> list[str]:
    return [name for name, field in shape.fields.items() if field.language in (None, where.language)]


def _is_open_end(node: Node, group: tuple[str, ...]) -> bool:
    """`"End": false` next to Next has no effect."""
    return group == ("Next", "End") and node.get("End") is False


def _is_distributed(node: Node) -> bool:
    processor = node.get("ItemProcessor", node.get("Iterator"))
    config = processor.get("ProcessorConfig") if isinstance(processor, dict) else None
    return isinstance(config, dict) and config.get("Mode") != "INLINE" and "Mode" in config


def _is_number(value: Json) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _breaks_label(character: str) -> bool:
    code = ord(character)
    return character in _LABEL_FORBIDDEN or character.isspace() or code < 0x20 or 0x7F <= code <= 0x9F
