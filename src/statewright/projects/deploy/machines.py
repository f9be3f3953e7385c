"""State machines, their versions and aliases, and activities.

Owns how a definition's text is put together, and that a machine changes in place: running executions keep their
revision. Definitions are checked before they are sent, so that an error is reported with its line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from statewright.errors import DefinitionError, Diagnostic
from statewright.payload import Json, JsonMapping, Payload
from statewright.projects.deploy.calls import CallRefused
from statewright.projects.deploy.documents import stored_text
from statewright.projects.deploy.kinds import (
    TO_COME,
    CannotApply,
    Kind,
    Known,
    Site,
    Wanted,
    holds,
    lowered,
    removal,
    text_of,
    typed,
)

SERVICE: Final = "stepfunctions"
_LOGS_NOTHING: Final[dict[str, Json]] = {"level": "OFF"}


def definition_of(site: Site, wanted: Wanted, kind: str) -> tuple[str, list[Diagnostic]]:
    """A machine's definition as JSON text, and the warnings about it.

    Raises: DefinitionError with every error, at its line; CannotApply; OSError.
    """
    from statewright.asl.loading import check_text, compile_checked

    text, name = _text(site, wanted)
    values = {key: text_of(value) for key, value in wanted.table("DefinitionSubstitutions").items()}
    if values:
        # Any name may be a key, `bucket-name` too; what has no value stays.
        names = "|".join(map(re.escape, values))
        text = re.sub(r"\$\{(" + names + r")\}", lambda found: values[found[1]], text)
    machine_type: Any = kind
    document, diagnostics = check_text(text.encode(), name, machine_type=machine_type)
    try:
        loaded = compile_checked(document, diagnostics)
    except DefinitionError as problem:
        if wanted.resource.definition is not None or wanted.resource.code is not None:
            raise
        # Lines of a text that was put together are nowhere in the user's files.
        words = "; ".join(f"{one.code}: {one.message}" for one in problem.diagnostics[:5])
        raise CannotApply(f"its definition has errors: {words}") from None
    return text if name.endswith(".json") else Payload(loaded.document.value).text, loaded.diagnostics


def _text(site: Site, wanted: Wanted) -> tuple[str, str]:
    """The definition's text before anything is filled in, and a name that tells JSON from YAML."""
    resource = wanted.resource
    path = resource.definition or resource.code
    given = wanted.properties.get("DefinitionString")
    if path is not None and path.name.endswith((".yaml", ".yml")):
        # The text that a reader has made of YAML is JSON, whose lines are nowhere in the user's file.
        return path.read_text("utf-8-sig"), str(path)
    if isinstance(given, str):
        return given, str(path) if path is not None and path.name.endswith(".json") else f"{resource.id}.asl.json"
    whole = wanted.properties.get("Definition")
    if isinstance(whole, dict):
        return json.dumps(whole, ensure_ascii=False), f"{resource.id}.asl.json"
    if path is not None:
        return path.read_text("utf-8-sig"), str(path)
    if wanted.properties.get("DefinitionS3Location"):
        text = stored_text(site, wanted.properties["DefinitionS3Location"], "definition")
        # Tools name objects after their hash: the text itself says which form it has.
        return text, f"{resource.id}.asl.{'json' if text.lstrip().startswith('{') else 'yaml'}"
    raise CannotApply("it has no definition that is a local file, a text or an object")


def machine(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a machine, or give it a new revision."""
    kind = wanted.text("StateMachineType", "STANDARD")
    text, warnings = definition_of(site, wanted, kind)
    site.warnings += warnings
    role = wanted.text("RoleArn") or f"arn:aws:iam::{site.account}:role/{wanted.name}"
    # A folder's machine has no settings but those that it names: what others have set stays.
    is_plain = wanted.properties.get("RoleArn") is None
    logging = typed(lowered(wanted.table("LoggingConfiguration")), truths=("includeExecutionData",)) or _LOGS_NOTHING
    tracing = typed(lowered(wanted.table("TracingConfiguration")), truths=("enabled",)) or {"enabled": False}
    shown = site.found(SERVICE, "DescribeStateMachine", stateMachineArn=wanted.arn)
    if shown is None:
        tags = [{"key": key, "value": value} for key, value in wanted.tags().items()]
        made = site.create(
            SERVICE, "CreateStateMachine", name=wanted.name, definition=text, roleArn=role, type=kind,
            loggingConfiguration=logging, tracingConfiguration=tracing, tags=tags or None,
        )  # fmt: skip
        return _attributes(wanted, made)
    site.make_own(wanted)
    if shown["type"] != kind:
        raise CannotApply(
            f"{wanted.name} is {shown['type']} and cannot become {kind}: statewright machine delete {wanted.name}"
        )
    changed: dict[str, Json] = {}
    if shown["definition"] != text:
        changed["definition"] = text
    if not is_plain and shown["roleArn"] != role:
        changed["roleArn"] = role
    settles_logging = not is_plain or wanted.properties.get("LoggingConfiguration") is not None
    if settles_logging and not holds(shown.get("loggingConfiguration") or _LOGS_NOTHING, logging):
        changed["loggingConfiguration"] = logging
    if not is_plain and not holds(shown.get("tracingConfiguration") or {"enabled": False}, tracing):
        changed["tracingConfiguration"] = tracing
    if changed:
        site.change(SERVICE, "UpdateStateMachine", stateMachineArn=wanted.arn, **changed)
    _tag(site, wanted)
    return _attributes(wanted, shown)


def _attributes(wanted: Wanted, shown: JsonMapping) -> dict[str, Json]:
    return {"Name": wanted.name, "StateMachineRevisionId": shown.get("revisionId") or "INITIAL"}


def _tag(site: Site, wanted: Wanted) -> None:
    tags = wanted.tags()
    if not tags:
        return
    shown = site.asked(SERVICE, "ListTagsForResource", resourceArn=wanted.arn)
    there = {one["key"]: one["value"] for one in shown.get("tags", ())}
    missing = [{"key": key, "value": value} for key, value in tags.items() if there.get(key) != value]
    if missing:
        site.change(SERVICE, "TagResource", resourceArn=wanted.arn, tags=missing)


def version(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Publish a version, unless the machine's revision has one."""
    of = wanted.text("StateMachineArn")
    revision = site.found(SERVICE, "DescribeStateMachine", stateMachineArn=of)
    if revision is None:
        # A dry run has not made the machine.
        site.create(SERVICE, "PublishStateMachineVersion", stateMachineArn=of)
        return {"Ref": f"{of}:1", "Arn": f"{of}:1"}
    versions = site.asked(SERVICE, "ListStateMachineVersions", stateMachineArn=of).get("stateMachineVersions", [])
    for one in versions[:1]:
        shown = site.found(SERVICE, "DescribeStateMachine", stateMachineArn=one["stateMachineVersionArn"])
        if shown is not None and shown.get("revisionId") == revision.get("revisionId"):
            arn = one["stateMachineVersionArn"]
            return {"Ref": arn, "Arn": arn}
    made = site.create(
        SERVICE, "PublishStateMachineVersion", stateMachineArn=of,
        description=wanted.properties.get("Description"),
    )  # fmt: skip
    arn = made.get("stateMachineVersionArn", TO_COME)
    return {"Ref": arn, "Arn": arn}


def alias(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Point an alias to versions immediately: there is no gradual deployment."""
    routes = [
        {"stateMachineVersionArn": one.get("StateMachineVersionArn"), "weight": int(one.get("Weight", 100))}
        for one in wanted.items("RoutingConfiguration")
        if isinstance(one, dict)
    ]
    gradual = wanted.table("DeploymentPreference")
    if gradual:
        routes = [{"stateMachineVersionArn": gradual.get("StateMachineVersionArn"), "weight": 100}]
        if gradual.get("Type", "ALL_AT_ONCE") != "ALL_AT_ONCE":
            site.note(f"the alias moves immediately instead of {gradual['Type']}")
    if not routes:
        raise CannotApply("it names no version: give RoutingConfiguration or DeploymentPreference")
    of = str(routes[0]["stateMachineVersionArn"]).rpartition(":")[0]
    arn = f"{of}:{wanted.name}"
    shown = site.found(SERVICE, "DescribeStateMachineAlias", stateMachineAliasArn=arn)
    description = wanted.properties.get("Description")
    if shown is None:
        site.create(
            SERVICE, "CreateStateMachineAlias", name=wanted.name, routingConfiguration=routes, description=description
        )
    elif not holds(shown["routingConfiguration"], routes) or not holds(shown.get("description"), description):
        site.change(
            SERVICE, "UpdateStateMachineAlias", stateMachineAliasArn=arn, routingConfiguration=routes,
            description=description,
        )  # fmt: skip
    return {"Ref": arn, "Arn": arn}


def activity(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create an activity."""
    if site.found(SERVICE, "DescribeActivity", activityArn=wanted.arn) is None:
        tags = [{"key": key, "value": value} for key, value in wanted.tags().items()]
        site.create(SERVICE, "CreateActivity", name=wanted.name, tags=tags or None)
    return {"Name": wanted.name}


def _delete_version(site: Site, known: Known) -> None:
    try:
        site.change(SERVICE, "DeleteStateMachineVersion", stateMachineVersionArn=known.ref)
    except CallRefused as refused:
        # An alias that still points to it keeps it, as the service does.
        if refused.code != "ConflictException":
            raise


KINDS: Final = {
    "AWS::StepFunctions::StateMachine": Kind(
        "state machine", machine, removal(SERVICE, "DeleteStateMachine", "stateMachineArn"), "StateMachineName", 80,
        "states:{region}:{account}:stateMachine:{name}", "arn",
    ),
    "AWS::StepFunctions::StateMachineVersion": Kind("version", version, _delete_version, ref="arn"),
    "AWS::StepFunctions::StateMachineAlias": Kind(
        "alias", alias, removal(SERVICE, "DeleteStateMachineAlias", "stateMachineAliasArn"), "Name", 80, ref="arn"
    ),
    "AWS::StepFunctions::Activity": Kind(
        "activity", activity, removal(SERVICE, "DeleteActivity", "activityArn"), "Name", 80,
        "states:{region}:{account}:activity:{name}", "arn",
    ),
}  # fmt: skip
