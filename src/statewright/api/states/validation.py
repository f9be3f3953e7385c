"""ValidateStateMachineDefinition: findings about a definition, without creating a machine."""

from __future__ import annotations

from typing import Final

from statewright.api.operations import App, Call, operation
from statewright.engine.machines.definitions import findings_of
from statewright.engine.machines.long_definitions import worked_on
from statewright.payload import Json

MOST_DIAGNOSTICS: Final = 100
"""Source: API reference, `maxResults` of ValidateStateMachineDefinition; also used for 0 and by default."""


@operation("states", "ValidateStateMachineDefinition")
async def validate_state_machine_definition(app: App, _call: Call, request: Json) -> Json:
    """List a definition's findings. The result is FAIL if there is any error, even one left out of the list."""
    text = request["definition"]
    findings = await worked_on(app.clock, text, findings_of, text, request.get("type", "STANDARD"))
    failed = any(finding["severity"] == "ERROR" for finding in findings)
    if request.get("severity", "ERROR") == "ERROR":
        findings = [finding for finding in findings if finding["severity"] == "ERROR"]
    shown = findings[: request.get("maxResults") or MOST_DIAGNOSTICS]
    return {
        "result": "FAIL" if failed else "OK",
        "diagnostics": shown,
        "truncated": len(shown) < len(findings),
    }
