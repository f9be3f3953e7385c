"""Operations on versions, aliases and layers."""

from __future__ import annotations

from typing import Final

from statewright.api.lambda_ import views
from statewright.api.operations import App, Call, operation
from statewright.functions.definitions import Code, View
from statewright.functions.layers import fitting
from statewright.functions.names import LATEST
from statewright.payload import Json

_STATES: Final = frozenset({"State", "LastUpdateStatus"})


@operation("lambda", "PublishVersion")
async def publish_version(app: App, _call: Call, request: Json) -> Json:
    """Publish a function as its next version."""
    function, version = await app.services.functions.versions.publish(
        request["FunctionName"], code_sha256=request.get("CodeSha256"), description=request.get("Description"),
        revision_id=request.get("RevisionId"),
    )  # fmt: skip
    return views.version(app, function, version)


@operation("lambda", "ListVersionsByFunction")
async def list_versions_by_function(app: App, _call: Call, request: Json) -> Json:
    """List the versions of a function, `$LATEST` first."""
    after, limit = views.page_of(request)
    function, found, place = await app.services.functions.versions.page(request["FunctionName"], after, limit)
    listed = [views.version(app, function, version) for version in found]
    if after is None:
        listed.insert(0, views.configuration(app, View(function, LATEST, function.latest, LATEST)))
    # States are shown one by one only (observed).
    listed = [{name: value for name, value in one.items() if name not in _STATES} for one in listed]
    return {"Versions": listed, "NextMarker": views.TOKENS.write(place)}


def _weights(request: Json) -> dict[str, float] | None:
    routing = request.get("RoutingConfig")
    return None if routing is None else dict(routing.get("AdditionalVersionWeights") or {})


@operation("lambda", "CreateAlias")
async def create_alias(app: App, _call: Call, request: Json) -> Json:
    """Create an alias."""
    made = await app.services.functions.aliases.create(
        request["FunctionName"], request["Name"], request["FunctionVersion"],
        description=request.get("Description") or "", weights=_weights(request),
    )  # fmt: skip
    return views.alias(app, made)


@operation("lambda", "UpdateAlias")
async def update_alias(app: App, _call: Call, request: Json) -> Json:
    """Change an alias."""
    after = await app.services.functions.aliases.update(
        request["FunctionName"], request["Name"], version=request.get("FunctionVersion"),
        description=request.get("Description"), weights=_weights(request), revision_id=request.get("RevisionId"),
    )  # fmt: skip
    return views.alias(app, after)


@operation("lambda", "GetAlias")
async def get_alias(app: App, _call: Call, request: Json) -> Json:
    """Show an alias."""
    return views.alias(app, await app.services.functions.aliases.get(request["FunctionName"], request["Name"]))


@operation("lambda", "DeleteAlias")
async def delete_alias(app: App, _call: Call, request: Json) -> None:
    """Delete an alias, if it exists."""
    await app.services.functions.aliases.delete(request["FunctionName"], request["Name"])


@operation("lambda", "ListAliases")
async def list_aliases(app: App, _call: Call, request: Json) -> Json:
    """List the aliases of a function."""
    after, limit = views.page_of(request)
    found, place = await app.services.functions.aliases.page(
        request["FunctionName"], request.get("FunctionVersion"), after, limit
    )
    return {"Aliases": [views.alias(app, one) for one in found], "NextMarker": views.TOKENS.write(place)}


@operation("lambda", "PublishLayerVersion")
async def publish_layer_version(app: App, _call: Call, request: Json) -> Json:
    """Store a package as the next version of a layer."""
    content = request["Content"]
    made = await app.services.functions.layers.publish(
        request["LayerName"], Code(content.get("ZipFile"), content.get("S3Bucket"), content.get("S3Key")),
        description=request.get("Description") or "", runtimes=request.get("CompatibleRuntimes") or (),
        architectures=request.get("CompatibleArchitectures") or (), license=request.get("LicenseInfo"),
    )  # fmt: skip
    return await views.whole_layer(app, made)


@operation("lambda", "GetLayerVersion")
async def get_layer_version(app: App, _call: Call, request: Json) -> Json:
    """Show a version of a layer."""
    return await views.whole_layer(
        app, await app.services.functions.layers.get(request["LayerName"], request["VersionNumber"])
    )


@operation("lambda", "GetLayerVersionByArn")
async def get_layer_version_by_arn(app: App, _call: Call, request: Json) -> Json:
    """Show a version of a layer by its ARN."""
    return await views.whole_layer(app, await app.services.functions.layers.by_arn(request["Arn"]))


@operation("lambda", "ListLayers")
async def list_layers(app: App, _call: Call, request: Json) -> Json:
    """List layers with their newest version that fits the request."""
    after, limit = views.page_of(request)
    fits = fitting(request.get("CompatibleRuntime"), request.get("CompatibleArchitecture"))
    found, place = await app.services.functions.layers.newest(after, limit, fits)
    listed = [
        {"LayerName": one.name, "LayerArn": app.services.functions.layers.arn(one.name),
         "LatestMatchingVersion": views.layer(app, one)}
        for one in found
    ]  # fmt: skip
    return {"Layers": listed, "NextMarker": views.TOKENS.write(place)}


@operation("lambda", "ListLayerVersions")
async def list_layer_versions(app: App, _call: Call, request: Json) -> Json:
    """List the versions of a layer, newest first."""
    after, limit = views.page_of(request)
    fits = fitting(request.get("CompatibleRuntime"), request.get("CompatibleArchitecture"))
    found, place = await app.services.functions.layers.versions(request["LayerName"], after, limit, fits)
    listed = [views.layer(app, one) for one in found]
    return {"LayerVersions": listed, "NextMarker": views.TOKENS.write(place)}


@operation("lambda", "DeleteLayerVersion")
async def delete_layer_version(app: App, _call: Call, request: Json) -> None:
    """Delete a version of a layer, if it exists."""
    await app.services.functions.layers.delete(request["LayerName"], request["VersionNumber"])
