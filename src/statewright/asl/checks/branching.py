"""Choice rules, retriers and catchers: what an entry of Choices, Retry and Catch may hold.

Their targets are checked in `flow.py`; the objects and their fields are checked through `ObjectChecks`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from statewright.asl.checks.field_values import ERROR_FIELDS, Where
from statewright.asl.checks.fields import (
    COMBINATIONS,
    JSONATA,
    NESTED_RULE_SHAPE,
    NEVER_MATCHED,
    OBJECT_SHAPES,
    PREDEFINED_ERRORS,
    RULE_SHAPES,
    Shape,
)
from statewright.asl.choice_rules import OPERATORS
from statewright.asl.findings import Findings, Path, has_placeholder
from statewright.asl.outline import Node
from statewright.payload import Json

_CATCH_ALL = "States.ALL"
_DEFAULT_HINT = "Default belongs next to Choices, not inside it: move it out, to the column of Choices"


class ObjectChecks(Protocol):
    """The part of the walk that this module uses."""

    findings: Findings
    lints: Findings

    def check_object(
        self, node: Node, shape: Shape, path: Path, where: Where, *, hints: Mapping[str, str] | None = None
    ) -> None:
        """Check an object against its table."""


# ------------------------------------------------------------------ Choices


def check_choices(checks: ObjectChecks, rules: Json, path: Path, where: Where) -> None:
    """Check the rules of a Choice state."""
    if has_placeholder(rules):
        return
    if not isinstance(rules, list):
        checks.findings.schema("Value must be an array", path)
        return
    if not rules:
        checks.findings.schema("Value cannot be empty", path)
    for index, rule in enumerate(rules):
        at = (*path, index)
        if not isinstance(rule, dict):
            if not has_placeholder(rule):
                hint = _DEFAULT_HINT if isinstance(rule, str) else None
                checks.findings.schema("Value must be an object", at, hint)
        elif "Default" in rule and set(rule) <= {"Default", "Comment"}:
            # The usual YAML indentation mistake. Other findings about such a rule would only hide it.
            checks.findings.schema("Field 'Default' is not supported", at, _DEFAULT_HINT)
        else:
            _check_rule(checks, rule, at, where)


def _check_rule(checks: ObjectChecks, rule: Node, path: Path, where: Where) -> None:
    hints = {"Default": _DEFAULT_HINT}
    if where.language == JSONATA:
        checks.check_object(rule, RULE_SHAPES[JSONATA], path, where, hints=hints)
        return
    shape = RULE_SHAPES[where.language]
    pending: list[tuple[Json, Path, Shape]] = [(rule, path, shape)]
    while pending:
        node, at, node_shape = pending.pop()
        if has_placeholder(node):
            continue
        if not isinstance(node, dict):
            checks.findings.schema("Value must be an object", at)
            continue
        checks.check_object(node, node_shape, at, where, hints=hints)
        _check_predicate(checks.findings, node, at)
        pending.extend((inner, place, NESTED_RULE_SHAPE) for inner, place in reversed(_inner_rules(checks, node, at)))


def _inner_rules(checks: ObjectChecks, node: Node, path: Path) -> list[tuple[Json, Path]]:
    inner: list[tuple[Json, Path]] = []
    for name in COMBINATIONS:
        value = node.get(name)
        if name not in node or has_placeholder(value):
            continue
        at = (*path, name)
        if name == "Not":
            inner.append((value, at))
        elif not isinstance(value, list):
            checks.findings.schema("Value must be an array", at)
        elif not value:
            checks.findings.schema("Value cannot be empty", at)
        else:
            inner.extend((item, (*at, index)) for index, item in enumerate(value))
    return inner


def _check_predicate(findings: Findings, node: Node, path: Path) -> None:
    tests = [name for name in node if name in OPERATORS or name in COMBINATIONS]
    if len(tests) > 1:
        findings.schema(f"There should only be one of the following fields: [{', '.join(tests)}]", path)
    elif not tests:
        findings.schema("A Choice rule needs a comparison operator, And, Or or Not", path)
    if any(name in OPERATORS for name in tests):
        if "Variable" not in node:
            findings.schema("These fields are required: [Variable]", path)
    elif tests and "Variable" in node:
        findings.schema(
            "Field 'Variable' is not supported", path, f"{tests[0]} holds rules with Variables of their own"
        )


# ------------------------------------------------------------------ Retry and Catch


def check_handlers(checks: ObjectChecks, entries: Json, path: Path, where: Where) -> None:
    """Check the list in Retry or Catch."""
    catches = path[-1] == "Catch"
    if has_placeholder(entries):
        return
    if not isinstance(entries, list):
        checks.findings.schema("Value must be an array", path)
        return
    shape = OBJECT_SHAPES["Catcher" if catches else "Retrier"]
    inner = Where(where.language, ERROR_FIELDS) if catches else where
    for index, entry in enumerate(entries):
        at = (*path, index)
        if has_placeholder(entry):
            continue
        if not isinstance(entry, dict):
            checks.findings.schema("Value must be an object", at)
            continue
        checks.check_object(entry, shape, at, inner)
        names = entry.get("ErrorEquals")
        if isinstance(names, list):
            _check_catch_all(checks.findings, names, at, last=index == len(entries) - 1)
            _lint_names(checks.lints, names, (*at, "ErrorEquals"), catches=catches)


def check_error_names(findings: Findings, names: Json, path: Path) -> None:
    """Check the form of ErrorEquals."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        findings.schema("Value must be an array of strings", path)
    elif not names:
        findings.schema("Value cannot be empty", path)


def _check_catch_all(findings: Findings, names: list[Json], path: Path, *, last: bool) -> None:
    if _CATCH_ALL not in names:
        return
    if len(names) > 1:
        hint = "States.ALL covers the other names; remove them"
        findings.schema(f"{_CATCH_ALL} must appear alone in ErrorEquals", (*path, "ErrorEquals"), hint)
    if not last:
        hint = "entries are tried in order; move this one to the end"
        findings.schema(f"{_CATCH_ALL} must appear in the last entry", (*path, "ErrorEquals"), hint)


def _lint_names(lints: Findings, names: list[Json], path: Path, *, catches: bool) -> None:
    for index, name in enumerate(names):
        at = (*path, index)
        if not isinstance(name, str) or has_placeholder(name):
            continue
        if name in NEVER_MATCHED:
            message = f"{name} can never be matched here: {NEVER_MATCHED[name]}"
            lints.warn("RETRY_ON_UNCATCHABLE", message, at, "prevent the error, for example with a Default")
        elif name == "States.DataLimitExceeded" and not catches:
            message = "A retry after States.DataLimitExceeded hits the same limit unless the result changes"
            lints.warn("RETRY_ON_UNCATCHABLE", message, at, "catch it, or pass the data through S3")
        elif (
            name.startswith("States.")
            and name not in PREDEFINED_ERRORS
            and not name.startswith("States.Http.StatusCode.")
        ):
            hint = lints.did_you_mean(name, PREDEFINED_ERRORS)
            lints.warn("UNKNOWN_ERROR_NAME", f"{name} is not an error name of the service", at, hint)
