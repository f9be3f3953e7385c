"""APIs of API Gateway, HTTP and REST, and stacks of CloudFormation, by name. Their details come by the operations."""

from __future__ import annotations

from typing import Final

from statewright.api.operations import App
from statewright.apis.apis import Held
from statewright.apis.records import HTTP_API, RESOURCE, REST_API, ROUTE, STAGE
from statewright.console.asked import Asked
from statewright.console.context import Console
from statewright.console.services.lists import newest_of, page_of
from statewright.payload import JsonObject

_DELETED: Final = "DELETE_COMPLETE"


async def apis(console: Console, asked: Asked) -> JsonObject:
    """A page of APIs by name: `{rows, next}`; a row has `{id, name, protocol, address, routes, stages, createdMs}`."""
    app = console.app_of(asked)
    every = [*app.services.apis.all(HTTP_API), *app.services.apis.all(REST_API)]
    rows, following = page_of(every, lambda held: f"{_name_of(held)} {held.api.id}", asked.given)
    return {"rows": [_api(app, one) for one in rows], "next": following}


def _name_of(held: Held) -> str:
    return str(held.api.settings.get("Name") or held.api.settings.get("name") or held.api.id)


def _api(app: App, held: Held) -> JsonObject:
    routes = len(held.of(ROUTE)) + sum(len(one.settings.get("methods") or ()) for one in held.of(RESOURCE).values())
    return {
        "id": held.api.id, "name": _name_of(held), "protocol": held.api.protocol,
        "address": app.services.apis.address(held.api.id), "createdMs": held.api.created_ms,
        "routes": routes, "stages": sorted(held.of(STAGE)),
    }  # fmt: skip


async def stacks(console: Console, asked: Asked) -> JsonObject:
    """A page of stacks, newest first: `{rows, next}`; a row has `{name, arn, status, reason, createdMs, updatedMs,
    description}`. Deleted ones only with `deleted`.
    """
    text = asked.given.get("q", "").strip().lower()
    with_deleted = bool(asked.given.get("deleted"))
    found = [
        one async for one in console.app_of(asked).services.stacks.walk()
        if text in one.name.lower() and (with_deleted or one.status != _DELETED)
    ]  # fmt: skip
    rows, following = newest_of(found, lambda one: (one.created_ms, one.id), asked.given)
    return {
        "rows": [
            {"name": one.name, "arn": one.arn, "status": one.status, "reason": one.reason, "createdMs": one.created_ms,
             "updatedMs": one.updated_ms or None, "description": one.description, "parent": one.parent or None}
            for one in rows
        ],
        "next": following,
    }  # fmt: skip


READS: Final = {"apis": apis, "stacks": stacks}
