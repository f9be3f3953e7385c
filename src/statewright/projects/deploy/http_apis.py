"""HTTP APIs (API Gateway v2): APIs, integrations, authorizers, routes, deployments and stages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from statewright.payload import Json, JsonObject
from statewright.projects.deploy.calls import Answer
from statewright.projects.deploy.documents import api_document, mark_of
from statewright.projects.deploy.kinds import TO_COME, CannotApply, Kind, Known, LeftOut, Site, Wanted, holds, text_of

SERVICE: Final = "apigatewayv2"
_API: Final = ("Description", "Version", "CorsConfiguration", "DisableExecuteApiEndpoint", "Target", "RouteKey")
_INTEGRATION: Final = (
    "ConnectionId", "ConnectionType", "CredentialsArn", "Description", "IntegrationMethod", "IntegrationSubtype",
    "IntegrationType", "IntegrationUri", "PayloadFormatVersion", "RequestParameters", "TimeoutInMillis",
)  # fmt: skip
_ROUTE: Final = (
    "ApiKeyRequired", "AuthorizationScopes", "AuthorizationType", "AuthorizerId", "OperationName", "RouteKey", "Target",
)  # fmt: skip
_AUTHORIZER: Final = (
    "AuthorizerCredentialsArn", "AuthorizerPayloadFormatVersion", "AuthorizerResultTtlInSeconds", "AuthorizerType",
    "AuthorizerUri", "EnableSimpleResponses", "IdentitySource", "IdentityValidationExpression", "JwtConfiguration",
    "Name",
)  # fmt: skip
_DEFAULTS: Final[Mapping[str, JsonObject]] = {
    "Authorizer": {"IdentitySource": []}, "Route": {"AuthorizationType": "NONE"},
}  # fmt: skip
"""Members that are set where a template has none: an update that no longer has one takes it back."""
_STAGE: Final = (
    "AccessLogSettings", "AutoDeploy", "DefaultRouteSettings", "DeploymentId", "Description", "RouteSettings",
    "StageVariables",
)  # fmt: skip


def api(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create an API, of an OpenAPI document if it has one, or change its settings."""
    kind = wanted.text("ProtocolType", "HTTP")
    if kind != "HTTP":
        raise CannotApply("WebSocket APIs are not supported: use an HTTP API")
    document = api_document(site, wanted)
    mark = mark_of(document, wanted.text("BasePath")) if document is not None else ""
    before = wanted.before.ref if wanted.before is not None else None
    shown = site.found(SERVICE, "GetApi", ApiId=before) if before not in (None, TO_COME) else None
    if document is not None:
        shown = _of_document(site, wanted, shown, document, mark)
    else:
        given = {"Name": wanted.text("Name", wanted.name), **wanted.given(*_API)}
        if shown is None:
            shown = site.create(SERVICE, "CreateApi", ProtocolType=kind, Tags=wanted.tags() or None, **given)
        else:
            _settle(site, shown, given)
    api_id, address = shown.get("ApiId", TO_COME), shown.get("ApiEndpoint", TO_COME)
    if address != TO_COME:
        site.note(f"its address is {address}")
    return {"Ref": api_id, "ApiId": api_id, "ApiEndpoint": address, "Document": mark}


def _of_document(site: Site, wanted: Wanted, shown: Answer | None, document: str, mark: str) -> Answer:
    """Import a document into a new API, or into the one that exists if the document has changed."""
    request = {
        "Body": document, "Basepath": wanted.text("BasePath") or None, "FailOnWarnings": wanted.truth("FailOnWarnings"),
    }  # fmt: skip
    if shown is None:
        shown = site.create(SERVICE, "ImportApi", **request)
    elif wanted.before is None or wanted.before.attributes.get("Document") != mark:
        shown = site.change(SERVICE, "ReimportApi", ApiId=shown["ApiId"], **request) or shown
    for text in shown.get("Warnings") or ():
        site.note(text)
    if "ApiId" in shown:
        _settle(site, shown, wanted.given("Name", *_API))
        tags = {name: value for name, value in wanted.tags().items() if (shown.get("Tags") or {}).get(name) != value}
        if tags:
            arn = f"arn:aws:apigateway:{site.region}::/apis/{shown['ApiId']}"
            site.change(SERVICE, "TagResource", ResourceArn=arn, Tags=tags)
    return shown


def _settle(site: Site, shown: Answer, given: Mapping[str, Json]) -> None:
    """Change the settings of an API that differ from those that its template gives it."""
    changed = {name: value for name, value in given.items() if name not in ("Target", "RouteKey")}
    if not all(holds(shown.get(name), value) for name, value in changed.items()):
        site.change(SERVICE, "UpdateApi", ApiId=shown["ApiId"], **changed)


def _api_id(wanted: Wanted) -> str:
    """The API that a part belongs to. Raises: LeftOut for a part that a framework would have completed."""
    found = wanted.text("ApiId")
    if not found:
        raise LeftOut("it names no API")
    return found


def _part(site: Site, wanted: Wanted, noun: str, members: tuple[str, ...]) -> Answer:
    """Create a part of an API by its noun, or change it; a part of another API is replaced."""
    api_id, given = _api_id(wanted), {**_DEFAULTS.get(noun, {}), **wanted.given(*members)}
    if noun == "Authorizer":
        given.setdefault("Name", wanted.name)
    key = f"{noun}Id"
    before = wanted.before
    if before is not None and before.ref != TO_COME and before.attributes.get("ApiId") == api_id:
        there = {"ApiId": api_id, key: before.ref}
        shown = site.found(SERVICE, f"Get{noun}", **there)
        if shown is not None:
            if not all(holds(shown.get(name), value) for name, value in given.items()):
                site.change(SERVICE, f"Update{noun}", **there, **given)
            return {key: before.ref}
    return site.create(SERVICE, f"Create{noun}", ApiId=api_id, **given)


def _of_noun(noun: str, members: tuple[str, ...]) -> Kind:
    def apply(site: Site, wanted: Wanted) -> Mapping[str, Json]:
        made = _part(site, wanted, noun, members).get(f"{noun}Id", TO_COME)
        return {"Ref": made, f"{noun}Id": made, "ApiId": wanted.text("ApiId")}

    def remove(site: Site, known: Known) -> None:
        site.change(SERVICE, f"Delete{noun}", **{"ApiId": known.attributes.get("ApiId"), f"{noun}Id": known.ref})

    return Kind(noun.lower(), apply, remove)


def deployment(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Deploy an API, once for each resource of a template."""
    api_id = _api_id(wanted)
    before = wanted.before
    is_same = before is not None and before.ref != TO_COME and before.attributes.get("ApiId") == api_id
    if before is not None and is_same:
        shown = site.found(SERVICE, "GetDeployment", ApiId=api_id, DeploymentId=before.ref)
        if shown is not None:
            return {"Ref": before.ref, "DeploymentId": before.ref, "ApiId": api_id}
    made = site.create(SERVICE, "CreateDeployment", ApiId=api_id, **wanted.given("Description", "StageName"))
    known = made.get("DeploymentId", TO_COME)
    return {"Ref": known, "DeploymentId": known, "ApiId": api_id}


def stage(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a stage, or change it."""
    api_id, name = _api_id(wanted), wanted.text("StageName", "$default")
    given: JsonObject = wanted.given(*_STAGE)
    known: dict[str, Json] = {"Ref": name, "ApiId": api_id, "Asked": text_of(given)}
    shown = site.found(SERVICE, "GetStage", ApiId=api_id, StageName=name) if api_id != TO_COME else None
    if shown is None:
        site.create(SERVICE, "CreateStage", ApiId=api_id, StageName=name, Tags=wanted.tags() or None, **given)
        return known
    if wanted.before is None or wanted.before.attributes.get("Asked") != known["Asked"]:
        for key in (shown.get("RouteSettings") or {}).keys() - wanted.table("RouteSettings").keys():
            site.change(SERVICE, "DeleteRouteSettings", ApiId=api_id, StageName=name, RouteKey=key)
        if shown.get("AccessLogSettings") and "AccessLogSettings" not in given:
            site.change(SERVICE, "DeleteAccessLogSettings", ApiId=api_id, StageName=name)
        if shown.get("DefaultRouteSettings", {}).keys() - {"DetailedMetricsEnabled"}:
            site.change(SERVICE, "UpdateStage", ApiId=api_id, StageName=name, **{"DefaultRouteSettings": {}, **given})
            return known
    if not all(holds(shown.get(member), value) for member, value in given.items()):
        site.change(SERVICE, "UpdateStage", ApiId=api_id, StageName=name, **given)
    return known


def _delete_api(site: Site, known: Known) -> None:
    site.change(SERVICE, "DeleteApi", ApiId=known.ref)


def _delete_stage(site: Site, known: Known) -> None:
    site.change(SERVICE, "DeleteStage", ApiId=known.attributes.get("ApiId"), StageName=known.ref)


def _delete_deployment(site: Site, known: Known) -> None:
    site.change(SERVICE, "DeleteDeployment", ApiId=known.attributes.get("ApiId"), DeploymentId=known.ref)


KINDS: Final = {
    "AWS::ApiGatewayV2::Api": Kind("HTTP API", api, _delete_api),
    "AWS::ApiGatewayV2::Integration": _of_noun("Integration", _INTEGRATION),
    "AWS::ApiGatewayV2::Authorizer": _of_noun("Authorizer", _AUTHORIZER),
    "AWS::ApiGatewayV2::Route": _of_noun("Route", _ROUTE),
    "AWS::ApiGatewayV2::Deployment": Kind("deployment", deployment, _delete_deployment),
    "AWS::ApiGatewayV2::Stage": Kind("stage", stage, _delete_stage),
}
