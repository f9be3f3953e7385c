"""Stacks, resources, events and change sets as answers show them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from statewright.api.operations import App
from statewright.errors import ApiError
from statewright.pages import PageTokens, page_behind
from statewright.payload import JsonObject, dump_json
from statewright.stacks.errors import no_such_stack
from statewright.stacks.index import GONE
from statewright.stacks.planning.parameters import shown as parameters_shown
from statewright.stacks.records import EventEntry, ResourceEntry, Source, StackEntry
from statewright.tags import tag_list

T = TypeVar("T")
NOT_CHECKED: Final = "NOT_CHECKED"
TOKENS: Final = PageTokens[str](
    "cloudformation", lambda _: ApiError("ValidationError", "The specified NextToken is not valid.")
)


def page(found: Sequence[T], key: Callable[[T], str], token: str | None, limit: int) -> tuple[list[T], str | None]:
    """A page of a list whose entries have keys, and the token of the next one. Raises: ApiError."""
    try:
        chosen, after = page_behind(found, key, TOKENS.read(token), limit)
    except ValueError:
        raise TOKENS.refusal(token or "") from None
    return list(chosen), TOKENS.write(after)


async def existing(app: App, name: str) -> StackEntry:
    """A stack by name, or also a deleted one by its ARN. Raises: ApiError."""
    stack = await app.services.stacks.find(name)
    if stack is None:
        raise no_such_stack(name)
    return stack


async def source_shown(app: App, source: Source | None) -> list[JsonObject]:
    """The parameters that a stack is made with."""
    if source is None or not source.parameters:
        return []
    template = await app.services.stacks.planner.template(source.template)
    return parameters_shown(template, source.parameters, source.resolved)


async def stack_shown(app: App, stack: StackEntry) -> JsonObject:
    """A stack, as DescribeStacks shows it."""
    source = stack.source
    view: JsonObject = {
        "StackId": stack.arn,
        "StackName": stack.name,
        "ChangeSetId": stack.change_set or None,
        "Description": stack.description,
        "Parameters": await source_shown(app, source) or None,
        "CreationTime": stack.created_ms,
        "LastUpdatedTime": stack.updated_ms or None,
        "DeletionTime": stack.deleted_ms or None,
        "RollbackConfiguration": {},
        "StackStatus": stack.status,
        "StackStatusReason": stack.reason or None,
        "DisableRollback": stack.keeps_failed,
        "NotificationARNs": list(source.notified) if source is not None else [],
        "TimeoutInMinutes": stack.timeout_minutes or None,
        "Capabilities": list(source.capabilities) or None if source is not None else None,
        "Outputs": [
            {"OutputKey": one.name, "OutputValue": one.value, "Description": one.description, "ExportName": one.export}
            for one in stack.outputs
        ]
        or None,
        "RoleARN": source.role if source is not None else None,
        "Tags": tag_list(source.tags) if source is not None else [],
        "EnableTerminationProtection": stack.is_protected if stack.status != GONE else None,
        "ParentId": stack.parent or None,
        "RootId": stack.root or None,
        "DriftInformation": {"StackDriftStatus": NOT_CHECKED},
    }
    return view


def summary_shown(stack: StackEntry) -> JsonObject:
    """A stack, as ListStacks shows it."""
    return {
        "StackId": stack.arn,
        "StackName": stack.name,
        "TemplateDescription": stack.description,
        "CreationTime": stack.created_ms,
        "LastUpdatedTime": stack.updated_ms or None,
        "DeletionTime": stack.deleted_ms or None,
        "StackStatus": stack.status,
        "StackStatusReason": stack.reason or None,
        "ParentId": stack.parent or None,
        "RootId": stack.root or None,
        "DriftInformation": {"StackDriftStatus": NOT_CHECKED},
    }


def event_shown(stack: StackEntry, event: EventEntry) -> JsonObject:
    """An event."""
    return {
        "StackId": stack.arn,
        "EventId": event.id,
        "StackName": stack.name,
        "LogicalResourceId": event.logical,
        "PhysicalResourceId": event.physical,
        "ResourceType": event.type,
        "Timestamp": event.at_ms,
        "ResourceStatus": event.status,
        "ResourceStatusReason": event.reason or None,
        "ResourceProperties": event.properties,
        "ClientRequestToken": event.token,
    }


def resource_shown(row: ResourceEntry) -> JsonObject:
    """The members that all descriptions of a resource have."""
    now = row.now
    return {
        "LogicalResourceId": row.id,
        "PhysicalResourceId": now.ref or None if now is not None else None,
        "ResourceType": now.type if now is not None else "",
        "ResourceStatus": row.status,
        "ResourceStatusReason": row.reason or None,
        "DriftInformation": {"StackResourceDriftStatus": NOT_CHECKED},
    }


def described(stack: StackEntry, row: ResourceEntry) -> JsonObject:
    """A resource, as DescribeStackResources shows it."""
    return {
        "StackName": stack.name, "StackId": stack.arn, **resource_shown(row), "Timestamp": row.updated_ms,
    }  # fmt: skip


def detailed(stack: StackEntry, row: ResourceEntry) -> JsonObject:
    """A resource, as DescribeStackResource shows it."""
    metadata = row.now.metadata if row.now is not None else None
    return {
        "StackName": stack.name, "StackId": stack.arn, **resource_shown(row), "LastUpdatedTimestamp": row.updated_ms,
        "Metadata": dump_json(metadata) if metadata is not None else "{}",
    }  # fmt: skip
