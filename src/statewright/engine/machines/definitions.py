"""Definitions as the API takes them: strict JSON text in, a `Program` or the service's words for its faults out.

Owns the wording of `InvalidDefinition` and which findings the service has; finding them is the business of `asl`.
"""

from __future__ import annotations

from typing import cast

from statewright.asl.compile import compile_definition
from statewright.asl.program import MachineType, Program
from statewright.asl.reader import ReadError, read_document
from statewright.errors import ApiError
from statewright.payload import Json

Finding = dict[str, str]
"""One finding in the API's shape: severity, code, message and, where there is one, location."""


def findings_of(definition: str, machine_type: MachineType) -> list[Finding]:
    """The service's findings about a definition, errors and warnings, in its order and words."""
    # The validator takes long to load, and is only needed when a definition comes in.
    from statewright.asl.validate import validate

    try:
        document = read_document(definition, syntax="json", placeholders=False)
    except ReadError as problem:
        return _unreadable(problem)
    found = []
    for diagnostic in validate(document, machine_type=machine_type, lints=False):
        finding = {"severity": diagnostic.severity, "code": diagnostic.code, "message": diagnostic.message}
        if diagnostic.location is not None:
            finding["location"] = diagnostic.location
        found.append(finding)
    return found


def _unreadable(problem: ReadError) -> list[Finding]:
    """The one finding for a text that the service's parser would refuse; ours where it would not, but we do."""
    first = problem.diagnostics[0]
    message, location = problem.service_message, problem.service_location
    if message is None:
        message = f"{first.message} (line {first.line}, column {first.column})"
        location = first.location
    finding = {"severity": "ERROR", "code": first.code, "message": message}
    if location is not None:
        finding["location"] = location
    return [finding]


def check_definition(definition: str, machine_type: MachineType) -> None:
    """Refuse a definition that has errors.

    Raises: ApiError (`InvalidDefinition`) that lists all of them. Source: observed.
    """
    errors = [finding for finding in findings_of(definition, machine_type) if finding["severity"] == "ERROR"]
    if errors:
        raise invalid_definition(errors)


def invalid_definition(errors: list[Finding]) -> ApiError:
    """The refusal that lists findings."""
    listed = ", ".join(_listed(finding) for finding in errors)
    return ApiError("InvalidDefinition", f"Invalid State Machine Definition: '{listed}'")


def _listed(finding: Finding) -> str:
    location = finding.get("location")
    if location is not None and finding["message"].endswith(location):
        # The parser's own messages end with the place (observed).
        return f"{finding['code']}: {finding['message']}"
    return f"{finding['code']}: {finding['message']} at {'null' if location is None else location}"


def compiled(definition: str) -> Program:
    """Compile a definition that was checked when it came in."""
    return compile_definition(tree_of(definition))


def tree_of(definition: str) -> dict[str, Json]:
    """The definition as a JSON object, numbers as they were written."""
    return cast("dict[str, Json]", read_document(definition, syntax="json", placeholders=False).value)
