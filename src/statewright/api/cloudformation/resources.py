"""Operations that describe the resources of stacks."""

from __future__ import annotations

from typing import Final

from statewright.api.cloudformation.views import described, detailed, existing, page, resource_shown
from statewright.api.operations import App, Call, operation
from statewright.payload import Json
from statewright.stacks.errors import invalid
from statewright.stacks.index import GONE
from statewright.stacks.records import ResourceEntry, StackEntry

LISTED: Final = 100


async def _found(app: App, name: str) -> tuple[StackEntry, list[ResourceEntry]]:
    stack = await app.services.stacks.find(name)
    if stack is None:
        raise invalid(f"Stack '{name}' does not exist")
    return stack, await app.services.stacks.resources(stack)


@operation("cloudformation", "DescribeStackResource")
async def describe_stack_resource(app: App, _call: Call, request: Json) -> Json:
    """Describe a resource of a stack."""
    stack, rows = await _found(app, request["StackName"])
    logical = request["LogicalResourceId"]
    row = next((one for one in rows if one.id == logical), None)
    if row is None:
        raise invalid(f"Resource {logical} does not exist for stack {stack.name}")
    return {"StackResourceDetail": detailed(stack, row)}


@operation("cloudformation", "DescribeStackResources")
async def describe_stack_resources(app: App, _call: Call, request: Json) -> Json:
    """Describe the resources of a stack, or of the one that a physical id belongs to."""
    name, physical, logical = (request.get(key) for key in ("StackName", "PhysicalResourceId", "LogicalResourceId"))
    if not name and not physical:
        raise invalid("Either StackName or PhysicalResourceId must be specified.")
    if name and physical:
        raise invalid("StackName and PhysicalResourceId cannot both be specified.")
    stack, rows = await _found(app, name) if name else await _owner(app, physical)
    chosen = [one for one in rows if logical in (None, one.id)]
    if logical and not chosen:
        raise invalid(f"Resource {logical} does not exist for stack {stack.name}")
    return {"StackResources": [described(stack, one) for one in chosen]}


async def _owner(app: App, physical: str) -> tuple[StackEntry, list[ResourceEntry]]:
    async for stack in app.services.stacks.walk():
        if stack.status == GONE:
            # Another stack may have a resource of this name by now.
            continue
        rows = await app.services.stacks.resources(stack)
        if any(one.now is not None and one.now.ref == physical for one in rows):
            return stack, rows
    raise invalid(f"Stack for {physical} does not exist")


@operation("cloudformation", "ListStackResources")
async def list_stack_resources(app: App, _call: Call, request: Json) -> Json:
    """List the resources of a stack."""
    stack = await existing(app, request["StackName"])
    rows = await app.services.stacks.resources(stack)
    chosen, token = page(rows, lambda one: one.id, request.get("NextToken"), LISTED)
    return {
        "StackResourceSummaries": [{**resource_shown(one), "LastUpdatedTimestamp": one.updated_ms} for one in chosen],
        "NextToken": token,
    }
