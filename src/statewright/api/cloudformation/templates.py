"""Operations on templates: validation, texts of stacks, summaries."""

from __future__ import annotations

from statewright.api.cloudformation.views import existing
from statewright.api.operations import App, Call, operation
from statewright.payload import Json, JsonObject, dump_json
from statewright.projects.evaluation import Unresolved, text_of
from statewright.stacks.errors import invalid
from statewright.stacks.operations import REVIEW
from statewright.stacks.planning.parameters import is_hidden
from statewright.stacks.planning.templates import Template
from statewright.stacks.records import Source
from statewright.stacks.types import identifiers


async def _given(app: App, request: Json) -> Template:
    """The template that a request gives. Raises: ApiError."""
    planner = app.services.stacks.planner
    text = await planner.text_of(request)
    if text is None:
        raise invalid("Either Template URL or Template Body must be specified.")
    return await planner.read(text)


def _default(body: Json) -> str | None:
    found = body.get("Default")
    if found is None:
        return None
    try:
        return ",".join(text_of(one) for one in found) if isinstance(found, list) else text_of(found)
    except Unresolved:
        return None


@operation("cloudformation", "ValidateTemplate")
async def validate_template(app: App, _call: Call, request: Json) -> Json:
    """Check the form of a template, and list what it declares."""
    template = await _given(app, request)
    capabilities, reason = template.capabilities()
    transforms = template.transforms
    return {
        "Parameters": [
            {
                "ParameterKey": name, "DefaultValue": _default(body), "NoEcho": is_hidden(body),
                "Description": body.get("Description"),
            }
            for name, body in template.section("Parameters").items()
        ],
        "Description": template.description,
        "Capabilities": [*capabilities, *(["CAPABILITY_AUTO_EXPAND"] if transforms else [])] or None,
        "CapabilitiesReason": reason or None,
        "DeclaredTransforms": transforms or None,
    }  # fmt: skip


@operation("cloudformation", "GetTemplate")
async def get_template(app: App, _call: Call, request: Json) -> Json:
    """Return the template of a stack or a change set, as it was sent or after its transforms."""
    change_set, name = request.get("ChangeSetName"), request.get("StackName")
    source: Source | None
    if change_set:
        entry, stack = await app.services.change_sets.find(change_set, name)
        source = entry.source
    elif name:
        stack = await existing(app, name)
        source = stack.source
    else:
        raise invalid("StackName is required if ChangeSetName is not specified.")
    if source is None:
        return {"TemplateBody": "", "StagesAvailable": ["Original"]}
    planner = app.services.stacks.planner
    body = (await planner.entry(source.template)).text
    if request.get("TemplateStage") == "Processed":
        template = await planner.template(source.template)
        if template.transforms:
            body = dump_json((await planner.plan(stack, source, template)).processed)
    return {"TemplateBody": body, "StagesAvailable": ["Original", "Processed"]}


@operation("cloudformation", "GetTemplateSummary")
async def get_template_summary(app: App, _call: Call, request: Json) -> Json:
    """List what a template declares: one that is given, or that of a stack."""
    if request.get("StackName"):
        stack = await existing(app, request["StackName"])
        if stack.status == REVIEW:
            raise invalid("GetTemplateSummary cannot be called on REVIEW_IN_PROGRESS stacks.")
        assert stack.source is not None
        template = await app.services.stacks.planner.template(stack.source.template)
    else:
        template = await _given(app, request)
    capabilities, reason = template.capabilities()
    by_type: dict[str, list[str]] = {}
    for id_, body in template.section("Resources").items():
        if isinstance(body, dict) and isinstance(body.get("Type"), str):
            by_type.setdefault(body["Type"], []).append(id_)
    metadata = template.value.get("Metadata")
    return {
        "Parameters": [_declared(name, body) for name, body in template.section("Parameters").items()],
        "Description": template.description,
        "Capabilities": capabilities or None,
        "CapabilitiesReason": reason or None,
        "ResourceTypes": list(by_type),
        "Version": str(template.value["AWSTemplateFormatVersion"])
        if "AWSTemplateFormatVersion" in template.value
        else None,
        "Metadata": dump_json(metadata) if metadata is not None else None,
        "DeclaredTransforms": template.transforms or None,
        "ResourceIdentifierSummaries": [
            {"ResourceType": kind, "LogicalResourceIds": ids, "ResourceIdentifiers": identifiers(kind) or None}
            for kind, ids in by_type.items()
        ],
    }


def _declared(name: str, body: Json) -> JsonObject:
    allowed = body.get("AllowedValues")
    return {
        "ParameterKey": name,
        "DefaultValue": _default(body),
        "ParameterType": body["Type"],
        "NoEcho": is_hidden(body),
        "Description": body.get("Description"),
        "ParameterConstraints": {"AllowedValues": [str(one) for one in allowed]} if isinstance(allowed, list) else {},
    }
