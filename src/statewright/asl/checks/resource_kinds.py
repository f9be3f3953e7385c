"""Which resources the service has, and which of them an Express execution may use.

Owns only the check: `resources.py` parses valid resources, and `fields.py` has the table of integrations.
"""

from __future__ import annotations

import re
from typing import Final

from statewright.asl.checks.fields import INTEGRATIONS, READER_ACTIONS, WRITER_ACTIONS
from statewright.asl.findings import Findings, Path, has_placeholder
from statewright.payload import Json

_PARTITION = r"arn:aws[a-z-]*:"
# Region and account are taken as they are: the service was seen to accept a function of `your-region`.
_FUNCTION = re.compile(_PARTITION + r"lambda:[^:\s<>]*:[^:\s<>]*:function:[^\s<>]+")
_ACTIVITY = re.compile(_PARTITION + r"states:[^:\s<>]*:[^:\s<>]*:activity:[^\s<>]+")
# Published definitions have integrations with a region and an account; the service has the integration everywhere.
_INTEGRATIONS = _PARTITION + r"states:(?P<place>[a-z0-9-]*:[0-9]*):"
_SDK = re.compile(_INTEGRATIONS + r"aws-sdk:[a-z0-9]+:[a-z][A-Za-z0-9]*(?:\.(waitForTaskToken))?")
_OPTIMISED = re.compile(
    _INTEGRATIONS + r"(?P<service>[a-z0-9-]+):(?P<action>[A-Za-z0-9]+)(?:\.(?P<suffix>sync:2|sync|waitForTaskToken))?"
)
_NO_PLACE: Final = ":"
_STATES_PREFIX: Final = "arn:aws:states:::"


def check_task_resource(findings: Findings, lints: Findings, value: Json, path: Path, *, express: str | None) -> None:
    """Check the Resource of a Task.

    `express` is `None` in a Standard execution, `machine` in an Express machine, `child` in the Express children of
    a distributed Map. Source: observed wording, the blank at the end included.
    """
    if has_placeholder(value):
        return
    if not isinstance(value, str) or not is_task_resource(value):
        findings.schema(_not_recognized(value), path, _hint(findings, value))
        return
    integration = _integration(value)
    if integration is not None:
        _check_place(lints, integration, path)
    if express is None:
        return
    suffix = value.rsplit(".", 1)[-1] if integration is not None else ""
    if _ACTIVITY.fullmatch(value):
        problem = "Express state machine does not support Activity ARN"
    elif suffix in ("sync", "sync:2"):
        problem = "Express state machine does not support '.sync' service integration"
    elif suffix == "waitForTaskToken":
        problem = "Express state machine does not support '.waitForTaskToken' service integration "
    else:
        return
    if express == "machine":
        findings.schema(problem, path)
    else:
        message = "An EXPRESS child execution cannot wait for a job, a token or an activity"
        lints.warn("EXPRESS_CHILD_INTEGRATION", message, path, 'give the Map "ExecutionType": "STANDARD"')


def is_task_resource(arn: str) -> bool:
    """True if a Task may name this resource."""
    if _FUNCTION.fullmatch(arn) or _ACTIVITY.fullmatch(arn) or _SDK.fullmatch(arn):
        return True
    match = _OPTIMISED.fullmatch(arn)
    if match is None or match["service"] not in INTEGRATIONS:
        return False
    integration = INTEGRATIONS[match["service"]]
    if match["suffix"] and match["suffix"] not in integration.suffixes:
        return False
    return integration.actions is None or match["action"] in integration.actions


def _integration(arn: str) -> re.Match[str] | None:
    """The parts of a valid Resource that is neither a function nor an activity."""
    return None if _ACTIVITY.fullmatch(arn) else _SDK.fullmatch(arn) or _OPTIMISED.fullmatch(arn)


def _check_place(lints: Findings, integration: re.Match[str], path: Path) -> None:
    """Report an integration's region and account: the call goes where the machine is."""
    place, arn = integration["place"], integration[0]
    if place != _NO_PLACE:
        message = f"The region and the account in {arn} have no effect: the service integration is that of the machine"
        shown = arn.replace(f":states:{place}:", ":states:::", 1)
        lints.warn("REGION_IN_RESOURCE", message, path, f"write {shown}")


def check_store_resource(findings: Findings, lints: Findings, value: Json, path: Path, *, writes: bool) -> None:
    """Check the Resource of an ItemReader or ResultWriter."""
    if has_placeholder(value):
        return
    actions = WRITER_ACTIONS if writes else READER_ACTIONS
    match = _OPTIMISED.fullmatch(value) if isinstance(value, str) else None
    if match is None or match["service"] != "s3" or match["action"] not in actions or match["suffix"]:
        names = " or ".join(f"{_STATES_PREFIX}s3:{action}" for action in sorted(actions))
        findings.schema(_not_recognized(value), path, f"use {names}")
    else:
        _check_place(lints, match, path)


def _not_recognized(value: Json) -> str:
    shown = value if isinstance(value, str) else type(value).__name__
    return (
        f"The resource provided {shown} is not recognized. The value is not a valid resource ARN, "
        "or the resource is not available in this region."
    )


def _hint(findings: Findings, value: Json) -> str | None:
    if not isinstance(value, str):
        return "Resource must be a constant string"
    if value.startswith("<") and value.endswith(">"):
        wanted = "activity's" if "activity" in value.lower() else "function's"
        return f"write the {wanted} ARN here"
    match = _OPTIMISED.fullmatch(value)
    if match is not None:
        return _integration_hint(findings, match["service"], match["action"], match["suffix"])
    if value.startswith("{%"):
        return "Resource must be a constant: it cannot be an expression"
    if not value.startswith("arn:"):
        return "write the full ARN: arn:aws:lambda:<region>:<account>:function:<name>"
    return None


def _integration_hint(findings: Findings, service: str, action: str, suffix: str | None) -> str | None:
    integration = INTEGRATIONS.get(service)
    if integration is None:
        match = findings.closest(service, INTEGRATIONS)
        meant = f"did you mean {match}? " if match else ""
        return f"{meant}other services are called as {_STATES_PREFIX}aws-sdk:{service}:{action}"
    if integration.actions is not None and action not in integration.actions:
        match = findings.closest(action, integration.actions)
        if match is not None and match.casefold() == action.casefold():
            return f"did you mean {match}?"
        offered = ", ".join(sorted(integration.actions))
        others = f"{_STATES_PREFIX}aws-sdk:{service}:{action}"
        return f"{service} supports only: {offered}; other actions are called as {others}"
    return f"{service}:{action} cannot be called with .{suffix}"
