"""Operations on the account's settings: the role for logs, which is kept, and the limits, which are shown."""

from __future__ import annotations

from typing import Final

from statewright.api.apigateway.patches import patched
from statewright.api.apigatewayv2.changes import change
from statewright.api.operations import App, Call, operation
from statewright.apis.records import ACCOUNT
from statewright.apis.throttling import BURST, RATE
from statewright.payload import Json, JsonMapping

_ID: Final = "settings"


def _settings(app: App) -> JsonMapping:
    found = app.services.apis.entries(ACCOUNT).get(_ID)
    return found.settings if found is not None else {}


def _shown(settings: JsonMapping) -> Json:
    limits = {"burstLimit": BURST, "rateLimit": RATE}
    return {"throttleSettings": limits, "features": ["UsagePlans"], "apiKeyVersion": "4", **settings}


@operation("apigateway", "GetAccount")
async def get_account(app: App, _call: Call, _request: Json) -> Json:
    """Show the settings of the account."""
    return _shown(_settings(app))


@change("apigateway", "UpdateAccount")
async def update_account(app: App, _call: Call, request: Json) -> Json:
    """Change the settings of the account."""
    settings = patched(_settings(app), request.get("patchOperations") or (), ("cloudwatchRoleArn",), "Account")
    return _shown((await app.services.apis.put(ACCOUNT, _ID, settings)).settings)
