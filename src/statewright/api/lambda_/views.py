"""Functions, versions, aliases and layers as answers show them, and the markers of pages.

Owns shapes only; operations are in the other modules.
"""

from __future__ import annotations

from typing import Final

from statewright.api.operations import App
from statewright.functions.definitions import View
from statewright.functions.names import LATEST, function_arn, invalid, layer_arn
from statewright.functions.provisioned import Readiness
from statewright.functions.records import Alias, Function, InvokeSettings, LayerVersion, Provisioned, Version
from statewright.functions.settings import shown_settings
from statewright.instants import iso_ms
from statewright.pages import PageTokens
from statewright.payload import Json, JsonObject

PAGE: Final = 50
"""Source: API reference, `MaxItems`: "the maximum number is 50 in each response"."""


_LEVELS: Final = {"ApplicationLogLevel": "INFO", "SystemLogLevel": "INFO"}
"""The levels of logs in JSON, unless the function has others (observed)."""


def configuration(app: App, view: View) -> JsonObject:
    """`FunctionConfiguration`."""
    function, settings = view.function, view.settings
    shown = shown_settings(settings)
    shown["FunctionName"] = function.name
    shown["FunctionArn"] = function_arn(app.config, function.name, view.qualifier)
    shown["Version"] = view.version
    shown["LastModified"] = stamp(settings.modified_ms)
    logging = settings.shown.get("LoggingConfig", {})
    levels = _LEVELS if logging.get("LogFormat") == "JSON" else {}
    shown["LoggingConfig"] = {"LogFormat": "Text", "LogGroup": f"/aws/lambda/{function.name}", **levels, **logging}
    runtime = settings.runtime or ""
    shown["RuntimeVersionConfig"] = {"RuntimeVersionArn": f"arn:aws:lambda:{app.config.region}::runtime:{runtime}"}
    if settings.layers:
        size_of = app.services.functions.definitions.packages.size_of
        shown["Layers"] = [{"Arn": arn, "CodeSize": size_of(code)} for arn, code in settings.layers.items()]
    return shown


def latest(app: App, function: Function) -> JsonObject:
    """`FunctionConfiguration` of `$LATEST`, with the name that it has just after it was created or changed."""
    return configuration(app, View(function, LATEST, function.latest))


def being_created(app: App, shown: JsonObject) -> JsonObject:
    """The answer to a creation: the configuration as it is before the next call, which finds it active.

    Its revision is not the one that the function has from then on, as in the service.
    """
    kept = {name: value for name, value in shown.items() if name != "LastUpdateStatus"}
    return {**kept, "State": "Pending", **_reasons("State"), "RevisionId": _revision(app)}


def being_updated(app: App, shown: JsonObject) -> JsonObject:
    """The answer to a change: the configuration as it is before the next call, which finds the change made."""
    return {**shown, "LastUpdateStatus": "InProgress", **_reasons("LastUpdateStatus"), "RevisionId": _revision(app)}


def _reasons(status: str) -> JsonObject:
    # The service gives changes the same reason (observed).
    return {f"{status}Reason": "The function is being created.", f"{status}ReasonCode": "Creating"}


def _revision(app: App) -> str:
    return app.services.functions.definitions.entropy.uuid4()


def version(app: App, function: Function, one: Version) -> JsonObject:
    """`FunctionConfiguration` of a version."""
    number = str(one.number)
    return configuration(app, View(function, number, one.configuration, number))


def alias(app: App, one: Alias) -> JsonObject:
    """`AliasConfiguration`."""
    shown: JsonObject = {
        "AliasArn": function_arn(app.config, one.name, one.alias),
        "Name": one.alias,
        "FunctionVersion": one.version,
        "Description": one.description,
        "RevisionId": one.revision_id,
    }
    if one.weights:
        shown["RoutingConfig"] = {"AdditionalVersionWeights": dict(one.weights)}
    return shown


def layer(app: App, one: LayerVersion) -> JsonObject:
    """`LayerVersionsListItem`, and the part of `GetLayerVersion` that it shares."""
    shown: JsonObject = {
        "LayerVersionArn": layer_arn(app.config, one.name, one.number),
        "Version": one.number,
        "Description": one.description,
        "CreatedDate": stamp(one.created_ms),
    }
    if one.runtimes:
        shown["CompatibleRuntimes"] = list(one.runtimes)
    if one.architectures:
        shown["CompatibleArchitectures"] = list(one.architectures)
    if one.license:
        shown["LicenseInfo"] = one.license
    return shown


async def whole_layer(app: App, one: LayerVersion) -> JsonObject:
    """`GetLayerVersionResponse`."""
    return {
        **layer(app, one),
        "LayerArn": layer_arn(app.config, one.name),
        "Content": {
            "Location": await app.services.functions.definitions.zip_uri(one.code),
            "CodeSha256": one.code_sha256,
            "CodeSize": one.code_size,
        },
    }


def event_settings(app: App, one: InvokeSettings) -> JsonObject:
    """`FunctionEventInvokeConfig`."""
    shown: JsonObject = {
        "LastModified": one.modified_ms,
        "FunctionArn": function_arn(app.config, one.name, one.qualifier),
        "DestinationConfig": {
            "OnSuccess": {"Destination": one.on_success} if one.on_success else {},
            "OnFailure": {"Destination": one.on_failure} if one.on_failure else {},
        },
    }
    if one.most_retries is not None:
        shown["MaximumRetryAttempts"] = one.most_retries
    if one.most_age_seconds is not None:
        shown["MaximumEventAgeInSeconds"] = one.most_age_seconds
    return shown


def provisioned(one: Provisioned, readiness: Readiness) -> JsonObject:
    """`ProvisionedConcurrencyConfig`."""
    shown: JsonObject = {
        "RequestedProvisionedConcurrentExecutions": one.workers,
        "AvailableProvisionedConcurrentExecutions": readiness.allocated,
        "AllocatedProvisionedConcurrentExecutions": readiness.allocated,
        "Status": readiness.status,
        "LastModified": stamp(one.modified_ms),
    }
    if readiness.reason is not None:
        shown["StatusReason"] = readiness.reason
    return shown


def stamp(at_ms: int) -> str:
    """An instant as Lambda writes it in texts."""
    return iso_ms(at_ms, "+0000")


TOKENS: Final = PageTokens[tuple[int, str]](
    "lambda", lambda marker: invalid(f"The marker {marker[:200]!r} did not come from this list.")
)


def page_of(request: Json) -> tuple[tuple[int, str] | None, int]:
    """The start of a page and its length. Raises: ApiError (`InvalidParameterValueException`)."""
    limit = min(request.get("MaxItems") or PAGE, PAGE)
    return TOKENS.read(request.get("Marker") or None), limit
