"""Operations on dashboards, which are stored and returned unchanged, but not drawn."""

from __future__ import annotations

from typing import Final

from statewright.api.cloudwatch.metrics import TOKENS
from statewright.api.cloudwatch.wires import SERVICE
from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject, JsonTextError, parse_json

PAGE: Final = 1_000


@operation(SERVICE, "PutDashboard")
async def put_dashboard(app: App, _call: Call, request: Json) -> Json:
    """Store a dashboard, replacing the one of the same name."""
    name, body = request["DashboardName"], request["DashboardBody"]
    try:
        sound = isinstance(parse_json(body), dict)
    except JsonTextError:
        sound = False
    if not name or not all(char.isascii() and (char.isalnum() or char in "-_") for char in name):
        raise ApiError("DashboardInvalidInputError", f"The value {name} for parameter DashboardName is invalid.")
    if not sound:
        raise ApiError(
            "DashboardInvalidInputError",
            "The field DashboardBody must be a valid JSON object",
            details={"dashboardValidationMessages": [{"Message": "The dashboard body is invalid JSON."}]},
        )
    await app.services.dashboards.put(name, body)
    return {"DashboardValidationMessages": []}


@operation(SERVICE, "GetDashboard")
async def get_dashboard(app: App, _call: Call, request: Json) -> Json:
    """Return a dashboard unchanged."""
    found = await app.services.dashboards.get(request["DashboardName"])
    if found is None:
        raise _no_such(request["DashboardName"])
    arn = _arn(app, found.name)
    return {"DashboardArn": arn, "DashboardBody": found.body, "DashboardName": found.name}


@operation(SERVICE, "ListDashboards")
async def list_dashboards(app: App, _call: Call, request: Json) -> Json:
    """List dashboards by name."""
    prefix = request.get("DashboardNamePrefix", "")
    found = [one for one in await app.services.dashboards.all() if one.name.startswith(prefix)]
    first = TOKENS.read(request.get("NextToken")) or 0
    entries: list[Json] = [
        {
            "DashboardName": one.name,
            "DashboardArn": _arn(app, one.name),
            "LastModified": one.modified_ms,
            "Size": len(one.body.encode("utf-8", "backslashreplace")),
        }
        for one in found[first : first + PAGE]
    ]
    answer: JsonObject = {"DashboardEntries": entries}
    if first + PAGE < len(found):
        answer["NextToken"] = TOKENS.write(first + PAGE)
    return answer


@operation(SERVICE, "DeleteDashboards")
async def delete_dashboards(app: App, _call: Call, request: Json) -> None:
    """Delete dashboards: all of them or, if one does not exist, none."""
    names = request["DashboardNames"]
    dashboards = app.services.dashboards
    for name in names:
        if await dashboards.get(name) is None:
            raise _no_such(name)
    await dashboards.delete(names)


def _arn(app: App, name: str) -> str:
    return f"arn:aws:cloudwatch::{app.config.account}:dashboard/{name}"


def _no_such(name: str) -> ApiError:
    return ApiError("DashboardNotFoundError", f"Dashboard {name} does not exist", status=404)
