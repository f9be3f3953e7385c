"""Operations on event buses, and putting events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

import orjson

from statewright.api.operations import App, Call, operation
from statewright.background import beyond_in_thread
from statewright.events.bus_records import DEFAULT_BUS, Bus, invalid, read_pattern
from statewright.events.buses import TOO_MUCH_WORK
from statewright.pages import PageTokens
from statewright.payload import Json, JsonObject
from statewright.query.matching import LOOP_WORK, MOST_WORK, Matching, TooMuchWork
from statewright.stores.completion import adapted
from statewright.tags import tags_by_key

T = TypeVar("T")
TOKENS: Final = PageTokens[str]("events", lambda _: invalid("Invalid NextToken."))
MOST_LISTED: Final = 100
SHOWN: Final = ("KmsKeyIdentifier", "DeadLetterConfig", "LogConfig")
"""Members of a bus that are stored and returned without effect."""


def page(found: Sequence[T], names: Sequence[str], request: Json) -> tuple[Sequence[T], JsonObject]:
    """A page of a list ordered by name, and the member with the token of the next page. Raises: ApiError."""
    after = TOKENS.read(request.get("NextToken"))
    start = 0 if after is None else sum(name <= after for name in names)
    end = start + request.get("Limit", MOST_LISTED)
    return found[start:end], {"NextToken": TOKENS.write(names[end - 1] if end < len(names) else None)}


def _shown(bus: Bus) -> JsonObject:
    return {**({"Description": bus.description} if bus.description is not None else {}), **bus.shown}


@operation("events", "CreateEventBus")
async def create_event_bus(app: App, _call: Call, request: Json) -> Json:
    """Create a bus."""
    if request.get("EventSourceName"):
        raise invalid("This version of Statewright has no partner event sources.")
    shown = {name: request[name] for name in SHOWN if request.get(name) is not None}
    tags = tags_by_key(request.get("Tags"))
    bus = await app.services.buses.create(request["Name"], request.get("Description"), tags, shown)
    return {"EventBusArn": bus.arn(app.config), **_shown(bus)}


@operation("events", "UpdateEventBus")
async def update_event_bus(app: App, _call: Call, request: Json) -> Json:
    """Change the description and settings of a bus."""
    shown = {name: request[name] for name in SHOWN if request.get(name) is not None}
    bus = await app.services.buses.update(
        app.services.buses.name_in(request.get("Name")), request.get("Description"), shown
    )
    return {"Arn": bus.arn(app.config), "Name": bus.name, **_shown(bus)}


@operation("events", "DescribeEventBus")
async def describe_event_bus(app: App, _call: Call, request: Json) -> Json:
    """Describe a bus."""
    bus = app.services.buses.get(app.services.buses.name_in(request.get("Name")))
    return {
        "Name": bus.name, "Arn": bus.arn(app.config), "CreationTime": bus.created_ms,
        "LastModifiedTime": bus.modified_ms, **({"Policy": bus.policy} if bus.policy is not None else {}),
        **_shown(bus),
    }  # fmt: skip


@operation("events", "ListEventBuses")
async def list_event_buses(app: App, _call: Call, request: Json) -> Json:
    """List buses by name."""
    found = app.services.buses.all(request.get("NamePrefix", ""))
    listed, token = page(found, [bus.name for bus in found], request)
    shown = [
        {
            "Name": bus.name, "Arn": bus.arn(app.config), "CreationTime": bus.created_ms,
            "LastModifiedTime": bus.modified_ms,
            **({"Policy": bus.policy} if bus.policy is not None else {}),
            **({"Description": bus.description} if bus.description is not None else {}),
        }
        for bus in listed
    ]  # fmt: skip
    return {"EventBuses": shown, **token}


@operation("events", "DeleteEventBus")
async def delete_event_bus(app: App, _call: Call, request: Json) -> None:
    """Delete a bus."""
    await app.services.buses.delete(request["Name"])


@operation("events", "PutPermission")
async def put_permission(app: App, _call: Call, request: Json) -> Json:
    """Store a permission of a bus, which is not enforced."""
    bus = app.services.buses.get(request.get("EventBusName", DEFAULT_BUS))
    if request.get("Policy"):
        await app.services.buses.set_policy(bus.name, _statements(request["Policy"]))
        return {}
    if not all(request.get(name) for name in ("Action", "Principal", "StatementId")):
        raise invalid("Parameters Action, Principal and StatementId must be specified where Policy is not.")
    who = request["Principal"]
    statement = {
        "Sid": request["StatementId"], "Effect": "Allow",
        "Principal": who if who == "*" else {"AWS": f"arn:aws:iam::{who}:root"},
        "Action": request["Action"], "Resource": bus.arn(app.config),
    }  # fmt: skip
    condition = request.get("Condition")
    if condition is not None:
        statement["Condition"] = {condition["Type"]: {condition["Key"]: condition["Value"]}}
    await app.services.buses.permit(bus.name, statement)
    return {}


def _statements(policy: str) -> list[Json]:
    try:
        found = orjson.loads(policy)["Statement"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        found = None
    statements = [found] if isinstance(found, dict) else found
    if not isinstance(statements, list) or not all(isinstance(one, dict) for one in statements):
        raise invalid("Parameter Policy is not valid. Reason: it is not a policy document.")
    return statements


@operation("events", "RemovePermission")
async def remove_permission(app: App, _call: Call, request: Json) -> None:
    """Remove one or all permissions of a bus."""
    bus = app.services.buses.get(request.get("EventBusName", DEFAULT_BUS))
    if request.get("RemoveAllPermissions"):
        await app.services.buses.set_policy(bus.name, ())
    elif request.get("StatementId"):
        await app.services.buses.forbid(bus.name, request["StatementId"])
    else:
        raise invalid("Parameter StatementId or RemoveAllPermissions must be specified.")


@operation("events", "PutEvents")
async def put_events(app: App, call: Call, request: Json) -> Json:
    """Put events on buses; each of them succeeds or fails."""
    if request.get("EndpointId"):
        raise invalid("This version of Statewright has no global endpoints.")

    def answer(entries: Sequence[Json]) -> Json:
        return {"FailedEntryCount": sum("ErrorCode" in one for one in entries), "Entries": entries}

    return answer(await app.services.buses.put(request["Entries"], adapted(call.completion, answer)))


@operation("events", "TestEventPattern")
async def try_event_pattern(app: App, _call: Call, request: Json) -> Json:
    """Return whether a pattern matches an event."""
    pattern = read_pattern(request["EventPattern"], is_new=True)
    try:
        event = orjson.loads(request["Event"])
    except orjson.JSONDecodeError:
        raise invalid("Parameter Event is not valid. Reason: Event is not a valid JSON.") from None
    needed = ("id", "account", "source", "time", "region", "detail-type")
    missing = [name for name in needed if name not in event] if isinstance(event, dict) else list(needed)
    if missing:
        # Source: API reference, TestEventPattern; the text is Statewright's own.
        raise invalid(f"Parameter Event is not valid. Reason: {missing[0]} is a required member.")
    try:
        matches = await beyond_in_thread(
            app.clock,
            TooMuchWork,
            lambda: pattern(event, Matching(LOOP_WORK)),
            lambda: pattern(event, Matching(MOST_WORK)),
        )
    except TooMuchWork:
        raise invalid(TOO_MUCH_WORK) from None
    return {"Result": matches}
