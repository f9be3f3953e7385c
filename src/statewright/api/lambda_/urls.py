"""Operations on URLs of functions."""

from __future__ import annotations

from statewright.api.lambda_ import views
from statewright.api.operations import App, Call, operation
from statewright.functions.access.urls import Urls
from statewright.functions.records import FunctionUrl
from statewright.instants import iso_ms
from statewright.payload import Json, JsonObject


def _urls(app: App) -> Urls:
    return app.services.functions.urls


def _shown(app: App, url: FunctionUrl) -> JsonObject:
    """`FunctionUrlConfig`."""
    urls = _urls(app)
    shown: JsonObject = {
        "FunctionUrl": urls.address(url), "FunctionArn": urls.arn(url), "AuthType": url.auth_type,
        "CreationTime": iso_ms(url.created_ms), "LastModifiedTime": iso_ms(url.modified_ms),
        "InvokeMode": url.invoke_mode,
    }  # fmt: skip
    if url.cors is not None:
        shown["Cors"] = url.cors
    return shown


@operation("lambda", "CreateFunctionUrlConfig")
async def create_function_url_config(app: App, _call: Call, request: Json) -> Json:
    """Give a function or an alias a URL."""
    made = await _urls(app).create(request["FunctionName"], request.get("Qualifier"), request)
    shown = _shown(app, made)
    # Unlike in other answers (observed).
    del shown["LastModifiedTime"]
    if not request.get("InvokeMode"):
        del shown["InvokeMode"]
    return shown


@operation("lambda", "GetFunctionUrlConfig")
async def get_function_url_config(app: App, _call: Call, request: Json) -> Json:
    """Show the URL of a function or an alias."""
    return _shown(app, await _urls(app).get(request["FunctionName"], request.get("Qualifier")))


@operation("lambda", "UpdateFunctionUrlConfig")
async def update_function_url_config(app: App, _call: Call, request: Json) -> Json:
    """Change the settings of a URL."""
    return _shown(app, await _urls(app).update(request["FunctionName"], request.get("Qualifier"), request))


@operation("lambda", "DeleteFunctionUrlConfig")
async def delete_function_url_config(app: App, _call: Call, request: Json) -> None:
    """Delete the URL of a function or an alias."""
    await _urls(app).delete(request["FunctionName"], request.get("Qualifier"))


@operation("lambda", "ListFunctionUrlConfigs")
async def list_function_url_configs(app: App, _call: Call, request: Json) -> Json:
    """List the URLs of a function and of its aliases."""
    after, limit = views.page_of(request)
    found, place = await _urls(app).page(request["FunctionName"], after, limit)
    return {"FunctionUrlConfigs": [_shown(app, one) for one in found], "NextMarker": views.TOKENS.write(place)}
