"""Operations on stacks."""

from __future__ import annotations

from typing import Final

from statewright.api.cloudformation.views import TOKENS, event_shown, existing, page, stack_shown, summary_shown
from statewright.api.operations import App, Call, operation
from statewright.payload import Json
from statewright.stacks.errors import no_stack
from statewright.stacks.planner import GONE

LISTED: Final = 100
"""Source: observed; ours for DescribeStacks."""


@operation("cloudformation", "CreateStack")
async def create_stack(app: App, _call: Call, request: Json) -> Json:
    """Create a stack."""
    stack = await app.services.stacks.create(request)
    await app.services.change_sets.outdate(stack)
    return {"StackId": stack.arn}


@operation("cloudformation", "UpdateStack")
async def update_stack(app: App, _call: Call, request: Json) -> Json:
    """Change a stack."""
    stack = await app.services.stacks.update(request)
    await app.services.change_sets.outdate(stack)
    return {"StackId": stack.arn}


@operation("cloudformation", "DeleteStack")
async def delete_stack(app: App, _call: Call, request: Json) -> None:
    """Delete a stack."""
    await app.services.stacks.delete(request)


@operation("cloudformation", "DescribeStacks")
async def describe_stacks(app: App, _call: Call, request: Json) -> Json:
    """Describe a stack, or all that are not deleted."""
    name = request.get("StackName")
    if name:
        return {"Stacks": [await stack_shown(app, await existing(app, name))]}
    stacks = [one async for one in app.services.stacks.walk() if one.status != GONE][::-1]
    chosen, token = page(stacks, [one.id for one in stacks], request.get("NextToken"), LISTED)
    return {"Stacks": [await stack_shown(app, one) for one in chosen], "NextToken": token}


@operation("cloudformation", "ListStacks")
async def list_stacks(app: App, _call: Call, request: Json) -> Json:
    """List stacks, deleted ones too, by status."""
    wanted = frozenset(request.get("StackStatusFilter") or ())
    stacks = [one async for one in app.services.stacks.walk() if not wanted or one.status in wanted][::-1]
    chosen, token = page(stacks, [one.id for one in stacks], request.get("NextToken"), LISTED)
    return {"StackSummaries": [summary_shown(one) for one in chosen], "NextToken": token}


@operation("cloudformation", "DescribeStackEvents")
async def describe_stack_events(app: App, _call: Call, request: Json) -> Json:
    """List the events of a stack, the newest first."""
    stack = await app.services.stacks.find(request["StackName"])
    if stack is None:
        raise no_stack(request["StackName"])
    place = TOKENS.read(request.get("NextToken"))
    events, after = await app.services.stacks.events(stack, int(place) if place is not None else None, LISTED)
    return {
        "StackEvents": [event_shown(stack, one) for one in events],
        "NextToken": TOKENS.write(str(after)) if after is not None else None,
    }


@operation("cloudformation", "UpdateTerminationProtection")
async def update_termination_protection(app: App, _call: Call, request: Json) -> Json:
    """Protect a stack from deletion, or no longer."""
    stack = await app.services.stacks.protect(request["StackName"], bool(request["EnableTerminationProtection"]))
    return {"StackId": stack.arn}
