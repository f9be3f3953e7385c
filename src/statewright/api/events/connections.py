"""Operations on connections and API destinations."""

from __future__ import annotations

from statewright.api.events.buses import page
from statewright.api.operations import App, Call, operation
from statewright.events.connections import ApiDestination, Connection, shown_parameters
from statewright.payload import Json, JsonObject

AUTHORIZED = "AUTHORIZED"
ACTIVE = "ACTIVE"


def _connection(app: App, one: Connection, *, state: str = AUTHORIZED) -> JsonObject:
    return {
        "ConnectionArn": one.arn(app.config), "ConnectionState": state, "CreationTime": one.created_ms,
        "LastModifiedTime": one.modified_ms, "LastAuthorizedTime": one.modified_ms,
    }  # fmt: skip


def _destination(app: App, one: ApiDestination) -> JsonObject:
    return {
        "ApiDestinationArn": one.arn(app.config), "ApiDestinationState": ACTIVE, "CreationTime": one.created_ms,
        "LastModifiedTime": one.modified_ms,
    }  # fmt: skip


def _destination_in_full(app: App, one: ApiDestination) -> JsonObject:
    described = {"Description": one.description} if one.description is not None else {}
    return {
        **_destination(app, one), "Name": one.name, "ConnectionArn": one.connection_arn,
        "InvocationEndpoint": one.endpoint, "HttpMethod": one.method, "InvocationRateLimitPerSecond": one.rate,
        **described,
    }  # fmt: skip


@operation("events", "CreateConnection")
async def create_connection(app: App, _call: Call, request: Json) -> Json:
    """Create a connection."""
    return _connection(app, await app.services.buses.connections.create(request))


@operation("events", "UpdateConnection")
async def update_connection(app: App, _call: Call, request: Json) -> Json:
    """Change a connection."""
    return _connection(app, await app.services.buses.connections.update(request))


@operation("events", "DescribeConnection")
async def describe_connection(app: App, _call: Call, request: Json) -> Json:
    """Describe a connection without its secrets."""
    one = await app.services.buses.connections.connections.get(request["Name"])
    described = {"Description": one.description} if one.description is not None else {}
    return {
        **_connection(app, one), "Name": one.name, "AuthorizationType": one.kind,
        "AuthParameters": shown_parameters(one),
        "SecretArn": app.config.arn("secretsmanager", f"secret:events!connection/{one.name}/{one.id}"), **described,
    }  # fmt: skip


@operation("events", "ListConnections")
async def list_connections(app: App, _call: Call, request: Json) -> Json:
    """List connections by name."""
    found = await app.services.buses.connections.connections.all(request.get("NamePrefix", ""))
    found = found if request.get("ConnectionState", AUTHORIZED) == AUTHORIZED else []
    listed, token = page(found, [one.name for one in found], request)
    views = [{**_connection(app, one), "Name": one.name, "AuthorizationType": one.kind} for one in listed]
    return {"Connections": views, **token}


@operation("events", "DeleteConnection")
async def delete_connection(app: App, _call: Call, request: Json) -> Json:
    """Delete a connection."""
    return _connection(app, await app.services.buses.connections.connections.delete(request["Name"]), state="DELETING")


@operation("events", "CreateApiDestination")
async def create_api_destination(app: App, _call: Call, request: Json) -> Json:
    """Create an API destination."""
    return _destination(app, await app.services.buses.connections.create_destination(request))


@operation("events", "UpdateApiDestination")
async def update_api_destination(app: App, _call: Call, request: Json) -> Json:
    """Change an API destination."""
    return _destination(app, await app.services.buses.connections.update_destination(request))


@operation("events", "DescribeApiDestination")
async def describe_api_destination(app: App, _call: Call, request: Json) -> Json:
    """Describe an API destination."""
    return _destination_in_full(app, await app.services.buses.connections.destinations.get(request["Name"]))


@operation("events", "ListApiDestinations")
async def list_api_destinations(app: App, _call: Call, request: Json) -> Json:
    """List API destinations by name."""
    found = await app.services.buses.connections.destinations.all(request.get("NamePrefix", ""))
    wanted = request.get("ConnectionArn")
    found = [one for one in found if wanted is None or one.connection_arn == wanted]
    listed, token = page(found, [one.name for one in found], request)
    return {"ApiDestinations": [_destination_in_full(app, one) for one in listed], **token}


@operation("events", "DeleteApiDestination")
async def delete_api_destination(app: App, _call: Call, request: Json) -> None:
    """Delete an API destination."""
    await app.services.buses.connections.destinations.delete(request["Name"])
