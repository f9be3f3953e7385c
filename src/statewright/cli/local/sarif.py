"""Findings as a SARIF log, which code hosts and editors show beside the lines that they are about.

Source: SARIF 2.1.0 (OASIS standard), sections 3.13 (log), 3.14 (run), 3.19 (component), 3.27 (result).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from statewright import __version__
from statewright.asl.findings import LINT_CODES, SERVICE_CODES

if TYPE_CHECKING:
    from statewright.errors import Diagnostic
    from statewright.payload import JsonObject

VERSION: Final = "2.1.0"
SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {"ERROR": "error", "WARNING": "warning"}


def sarif_log(found: Sequence[tuple[str, Sequence[Diagnostic]]], missing: Sequence[str]) -> JsonObject:
    """The log of one run: files with their findings, and what could not be read."""
    codes = sorted({finding.code for _, findings in found for finding in findings})
    places = {code: place for place, code in enumerate(codes)}
    results = [_result(name, finding, places[finding.code]) for name, findings in found for finding in findings]
    notices = [{"level": "error", "message": {"text": text}} for text in missing]
    driver = {"name": "Statewright", "version": __version__, "rules": [_rule(code) for code in codes]}
    invocation: JsonObject = {"executionSuccessful": not missing}
    if notices:
        invocation["toolExecutionNotifications"] = notices
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": results,
    }
    return {"$schema": SCHEMA, "version": VERSION, "runs": [run]}


def _rule(code: str) -> JsonObject:
    rule: JsonObject = {"id": code}
    about = LINT_CODES.get(code) or SERVICE_CODES.get(code)
    if about is not None:
        rule["shortDescription"] = {"text": about}
    return rule


def _result(name: str, finding: Diagnostic, rule: int) -> JsonObject:
    text = finding.message if not finding.hint else f"{finding.message}\n{finding.hint}"
    location: JsonObject = {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(name)},
            "region": {"startLine": max(finding.line, 1), "startColumn": max(finding.column, 1)},
        }
    }
    if finding.pointer:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.pointer}]
    return {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [location],
    }


def _uri(name: str) -> str:
    """A file as a reference: relative to the current folder if its name is."""
    path = Path(name)
    if path.is_absolute():
        return path.as_uri()
    return "stdin" if name == "<stdin>" else quote(path.as_posix())
