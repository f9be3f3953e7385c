"""Operations on stacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from statewright.api.cloudformation.views import TOKENS, event_shown, existing, page, stack_shown, summary_shown
from statewright.api.operations import App, Call, operation
from statewright.api.shapes import problem_text, refuse_with
from statewright.errors import ApiError
from statewright.payload import Json
from statewright.stacks.errors import invalid, no_stack
from statewright.stacks.index import GONE
from statewright.stacks.records import StackEntry

LISTED: Final = 100
"""Source: observed; ours for DescribeStacks."""
BRIEFLY_MS: Final = 2_000
"""How long an answer waits for the operation's end. Waiters look at once, and again after 5 or 30 seconds."""

refuse_with("cloudformation", lambda problems: ApiError("ValidationError", problem_text(problems)))


@operation("cloudformation", "CreateStack")
async def create_stack(app: App, call: Call, request: Json) -> Json:
    """Create a stack."""
    stack = await app.services.stacks.create(request, call.headers.get("host", ""))
    await app.services.change_sets.outdate(stack)
    await app.services.stacks.ended(stack.id, BRIEFLY_MS)
    return {"StackId": stack.arn}


@operation("cloudformation", "UpdateStack")
async def update_stack(app: App, call: Call, request: Json) -> Json:
    """Change a stack."""
    stack = await app.services.stacks.update(request, call.headers.get("host", ""))
    await app.services.change_sets.outdate(stack)
    await app.services.stacks.ended(stack.id, BRIEFLY_MS)
    return {"StackId": stack.arn}


@operation("cloudformation", "DeleteStack")
async def delete_stack(app: App, _call: Call, request: Json) -> None:
    """Delete a stack."""
    stack = await app.services.stacks.delete(request)
    if stack is not None:
        await app.services.stacks.ended(stack.id, BRIEFLY_MS)


@operation("cloudformation", "DescribeStacks")
async def describe_stacks(app: App, _call: Call, request: Json) -> Json:
    """Describe a stack, or all that are not deleted."""
    name = request.get("StackName")
    if name:
        return {"Stacks": [await stack_shown(app, await existing(app, name))]}
    chosen, token = await _page(app, request, lambda one: one.status != GONE)
    return {"Stacks": [await stack_shown(app, one) for one in chosen], "NextToken": token}


async def _page(app: App, request: Json, wanted: Callable[[StackEntry], bool]) -> tuple[list[StackEntry], str | None]:
    """Some of the stacks that are wanted, and the token of the next ones. Raises: ApiError."""
    token = TOKENS.read(request.get("NextToken"))
    sort, _, key = (token or "").partition("/")
    if token and not (key and sort.isdecimal()):
        raise TOKENS.refusal(request["NextToken"])
    found, place = await app.services.stacks.page(wanted, (int(sort), key) if token else None, LISTED)
    return found, TOKENS.write(f"{place[0]}/{place[1]}") if place is not None else None


@operation("cloudformation", "ListStacks")
async def list_stacks(app: App, _call: Call, request: Json) -> Json:
    """List stacks, deleted ones too, by status."""
    wanted = frozenset(request.get("StackStatusFilter") or ())
    chosen, token = await _page(app, request, lambda one: not wanted or one.status in wanted)
    return {"StackSummaries": [summary_shown(one) for one in chosen], "NextToken": token}


@operation("cloudformation", "DescribeStackEvents")
async def describe_stack_events(app: App, _call: Call, request: Json) -> Json:
    """List the events of a stack, the newest first."""
    stack = await app.services.stacks.find(request["StackName"])
    if stack is None:
        raise no_stack(request["StackName"])
    place = TOKENS.read(request.get("NextToken"))
    if place is not None and not place.isdecimal():
        raise TOKENS.refusal(request["NextToken"])
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


@operation("cloudformation", "CancelUpdateStack")
async def cancel_update_stack(app: App, _call: Call, request: Json) -> None:
    """Roll back an update that is under way."""
    stack = await app.services.stacks.cancel(request["StackName"])
    await app.services.stacks.ended(stack.id, BRIEFLY_MS)


@operation("cloudformation", "ContinueUpdateRollback")
async def continue_update_rollback(app: App, _call: Call, request: Json) -> Json:
    """Continue a rollback that has failed."""
    skipped = request.get("ResourcesToSkip") or ()
    stack = await app.services.stacks.continue_rollback(request["StackName"], skipped)
    await app.services.stacks.ended(stack.id, BRIEFLY_MS)
    return {}


@operation("cloudformation", "SetStackPolicy")
async def set_stack_policy(app: App, _call: Call, request: Json) -> None:
    """Set the policy of a stack: which of its resources updates may change."""
    text = await app.services.stacks.policy_of(request, "StackPolicy")
    if not text:
        raise invalid("You must specify either stackPolicyBody or stackPolicyURL, but not both.")
    await app.services.stacks.set_policy(request["StackName"], text)


@operation("cloudformation", "GetStackPolicy")
async def get_stack_policy(app: App, _call: Call, request: Json) -> Json:
    """Return the policy of a stack."""
    return {"StackPolicyBody": (await existing(app, request["StackName"])).policy or None}


@operation("cloudformation", "ListExports")
async def list_exports(app: App, _call: Call, request: Json) -> Json:
    """List the exports of all stacks by name."""
    found = await app.services.stacks.planner.exports()
    names, token = page(list(found), str, request.get("NextToken"), LISTED)
    shown = [{"ExportingStackId": found[one][0].arn, "Name": one, "Value": found[one][1]} for one in names]
    return {"Exports": shown, "NextToken": token}


@operation("cloudformation", "ListImports")
async def list_imports(app: App, _call: Call, request: Json) -> Json:
    """List the stacks that use an export."""
    name = request["ExportName"]
    users = await app.services.stacks.planner.index.users_of(name)
    if not users:
        raise invalid(f"Export '{name}' is not imported by any stack.")
    chosen, token = page(users, str, request.get("NextToken"), LISTED)
    return {"Imports": chosen, "NextToken": token}
