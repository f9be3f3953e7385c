"""Operations on change sets."""

from __future__ import annotations

from typing import Final

from statewright.api.cloudformation.stacks import BRIEFLY_MS
from statewright.api.cloudformation.views import existing, page, source_shown
from statewright.api.operations import App, Call, operation
from statewright.payload import Json
from statewright.stacks.records import ChangeSetEntry, StackEntry
from statewright.tags import tag_list

LISTED: Final = 100


@operation("cloudformation", "CreateChangeSet")
async def create_change_set(app: App, _call: Call, request: Json) -> Json:
    """Create a change set."""
    entry, stack = await app.services.change_sets.create(request)
    return {"Id": entry.arn, "StackId": stack.arn}


@operation("cloudformation", "DescribeChangeSet")
async def describe_change_set(app: App, _call: Call, request: Json) -> Json:
    """Describe a change set, with the values of properties if that is asked for."""
    entry, stack = await app.services.change_sets.find(request["ChangeSetName"], request.get("StackName"))
    changes = list(entry.changes)
    if request.get("IncludePropertyValues") and entry.execution == "AVAILABLE":
        changes = await app.services.change_sets.changes(entry, stack, with_values=True)
    chosen, token = page(
        changes, lambda one: str(one["ResourceChange"]["LogicalResourceId"]), request.get("NextToken"), LISTED
    )
    source = entry.source
    return {
        "ChangeSetName": entry.name,
        "ChangeSetId": entry.arn,
        "StackId": stack.arn,
        "StackName": stack.name,
        "Description": entry.description,
        "Parameters": await source_shown(app, source) or None,
        "CreationTime": entry.created_ms,
        "ExecutionStatus": entry.execution,
        "Status": entry.status,
        "StatusReason": entry.reason or None,
        "NotificationARNs": list(source.notified),
        "RollbackConfiguration": {},
        "Capabilities": list(source.capabilities),
        "Tags": tag_list(source.tags) or None,
        "Changes": chosen,
        "NextToken": token,
        "IncludeNestedStacks": entry.nested,
        "OnStackFailure": entry.on_failure or None,
    }


@operation("cloudformation", "ExecuteChangeSet")
async def execute_change_set(app: App, call: Call, request: Json) -> Json:
    """Begin to do what a change set says."""
    stack = await app.services.change_sets.execute(request, call.headers.get("host", ""))
    await app.services.stacks.ended(stack.id, BRIEFLY_MS)
    return {}


@operation("cloudformation", "DeleteChangeSet")
async def delete_change_set(app: App, _call: Call, request: Json) -> Json:
    """Delete a change set."""
    await app.services.change_sets.delete(request)
    return {}


@operation("cloudformation", "ListChangeSets")
async def list_change_sets(app: App, _call: Call, request: Json) -> Json:
    """List the change sets of a stack."""
    stack = await existing(app, request["StackName"])
    found = await app.services.change_sets.of(stack)
    chosen, token = page(found, lambda one: one.id, request.get("NextToken"), LISTED)
    return {"Summaries": [_summary(stack, one) for one in chosen], "NextToken": token}


def _summary(stack: StackEntry, entry: ChangeSetEntry) -> Json:
    return {
        "StackId": stack.arn,
        "StackName": stack.name,
        "ChangeSetId": entry.arn,
        "ChangeSetName": entry.name,
        "ExecutionStatus": entry.execution,
        "Status": entry.status,
        "StatusReason": entry.reason or None,
        "CreationTime": entry.created_ms,
        "Description": entry.description,
        "IncludeNestedStacks": entry.nested,
    }
