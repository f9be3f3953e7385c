"""REST APIs (API Gateway v1): APIs, resources, methods, deployments, stages, models, validators, keys and plans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from statewright.payload import Json, JsonObject
from statewright.projects.deploy.calls import Answer
from statewright.projects.deploy.documents import api_document, mark_of
from statewright.projects.deploy.kinds import (
    TO_COME,
    CannotApply,
    Kind,
    Known,
    LeftOut,
    Site,
    Wanted,
    lowered,
    text_of,
)

SERVICE: Final = "apigateway"
_API: Final = ("Description", "BinaryMediaTypes", "MinimumCompressionSize", "ApiKeySourceType", "EndpointConfiguration",
               "DisableExecuteApiEndpoint")  # fmt: skip
_PATCHED: Final = {
    "name": "Name", "description": "Description", "minimumCompressionSize": "MinimumCompressionSize",
    "apiKeySource": "ApiKeySourceType", "disableExecuteApiEndpoint": "DisableExecuteApiEndpoint",
}  # fmt: skip
"""Settings of an API that patches change, and the properties that give them."""
_METHOD: Final = (
    "AuthorizationType", "AuthorizerId", "ApiKeyRequired", "RequestValidatorId", "OperationName", "RequestParameters",
    "RequestModels", "AuthorizationScopes",
)  # fmt: skip
_AUTHORIZER: Final = (
    "AuthType", "AuthorizerCredentials", "AuthorizerResultTtlInSeconds", "AuthorizerUri", "IdentitySource",
    "IdentityValidationExpression", "Name", "ProviderARNs", "Type",
)  # fmt: skip
_REMOVED: Final = ("identityValidationExpression", "authorizerCredentials")
"""Members of an authorizer that are taken off when a template no longer has them."""
_PLACE: Final = ("RestApiId", "ResourceId", "HttpMethod")
_INTEGRATION: Final = (
    "Type", "Uri", "ConnectionType", "ConnectionId", "Credentials", "RequestParameters", "RequestTemplates",
    "PassthroughBehavior", "ContentHandling", "TimeoutInMillis", "CacheNamespace", "CacheKeyParameters",
)  # fmt: skip

_METHOD_SETTINGS: Final = {
    "LoggingLevel": "logging/loglevel", "DataTraceEnabled": "logging/dataTrace", "MetricsEnabled": "metrics/enabled",
    "ThrottlingRateLimit": "throttling/rateLimit", "ThrottlingBurstLimit": "throttling/burstLimit",
    "CachingEnabled": "caching/enabled", "CacheTtlInSeconds": "caching/ttlInSeconds",
    "CacheDataEncrypted": "caching/dataEncrypted",
}  # fmt: skip
"""The patch paths of a method setting's properties."""


def _lower(given: Mapping[str, Json]) -> JsonObject:
    """Members with the names of the API; what is in them stays."""
    return {name[:1].lower() + name[1:]: value for name, value in given.items()}


def _api_id(wanted: Wanted) -> str:
    """The API that a part belongs to. Raises: LeftOut for a part that a framework would have completed."""
    found = wanted.text("RestApiId")
    if not found:
        raise LeftOut("it names no API")
    return found


def _there(site: Site, wanted: Wanted, operation: str, **request: object) -> bool:
    before = wanted.before
    return before is not None and before.ref != TO_COME and site.found(SERVICE, operation, **request) is not None


def api(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create an API, of an OpenAPI document if it has one; its settings are changed by patches."""
    document = api_document(site, wanted)
    mark = mark_of(document, wanted.table("Parameters")) if document is not None else ""
    before = wanted.before.ref if wanted.before is not None else TO_COME
    shown = site.found(SERVICE, "GetRestApi", restApiId=before) if before != TO_COME else None
    if shown is None and document is None:
        given = _lower(wanted.given(*_API))
        endpoints = given.pop("endpointConfiguration", None)
        if isinstance(endpoints, dict):
            given["endpointConfiguration"] = lowered(endpoints)
        if "apiKeySourceType" in given:
            given["apiKeySource"] = given.pop("apiKeySourceType")
        name = wanted.text("Name", wanted.name)
        shown = site.create(SERVICE, "CreateRestApi", name=name, tags=wanted.tags() or None, **given)
    elif document is not None and shown is None:
        shown = site.create(SERVICE, "ImportRestApi", **_import(site, wanted, document))
        _settle(site, wanted, shown)
        if wanted.tags() and "id" in shown:
            arn = f"arn:aws:apigateway:{site.region}::/restapis/{shown['id']}"
            site.change(SERVICE, "TagResource", resourceArn=arn, tags=wanted.tags())
    elif shown is not None:
        if document is not None and (wanted.before is None or wanted.before.attributes.get("Document") != mark):
            mode = wanted.text("Mode", "overwrite")
            request = _import(site, wanted, document)
            shown = site.change(SERVICE, "PutRestApi", restApiId=before, mode=mode, **request) or shown
        _settle(site, wanted, shown, usual="" if document is not None else wanted.name)
    for text in (shown or {}).get("warnings") or ():
        site.note(text)
    site.ignored(wanted, "Policy")
    known = (shown or {}).get("id", TO_COME)
    return {
        "Ref": known, "RestApiId": known, "RootResourceId": (shown or {}).get("rootResourceId", TO_COME),
        "Document": mark,
    }  # fmt: skip


def _import(site: Site, wanted: Wanted, document: str) -> JsonObject:
    """The members of a request that imports a document."""
    parameters = {str(name): text_of(value) for name, value in wanted.table("Parameters").items()}
    types = wanted.table("EndpointConfiguration").get("Types")
    if isinstance(types, list) and types:
        parameters.setdefault("endpointConfigurationTypes", text_of(types[0]))
    warns = wanted.truth("FailOnWarnings")
    if wanted.properties.get("CloneFrom"):
        site.ignored(wanted, "CloneFrom")
    return {"body": document.encode(), "failOnWarnings": warns, "parameters": parameters or None}


def _settle(site: Site, wanted: Wanted, shown: Answer, *, usual: str = "") -> None:
    """Patch the settings of an API that differ from those that its template gives it. `usual` is its usual name."""
    patches: list[JsonObject] = [
        {"op": "replace", "path": f"/{name}", "value": value}
        for name, member in _PATCHED.items()
        if (value := wanted.text(member, usual if name == "name" else "")) and text_of(shown.get(name)) != value
    ]
    types = shown.get("binaryMediaTypes") or []
    patches += [
        {"op": "add", "path": f"/binaryMediaTypes/{text_of(one).replace('~', '~0').replace('/', '~1')}"}
        for one in wanted.items("BinaryMediaTypes")
        if one not in types
    ]
    if patches and "id" in shown:
        site.change(SERVICE, "UpdateRestApi", restApiId=shown["id"], patchOperations=patches)


def resource(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a resource below another."""
    api_id = _api_id(wanted)
    given = {"RestApiId": api_id, "ParentId": wanted.text("ParentId"), "PathPart": wanted.text("PathPart")}
    before = wanted.before
    is_same = before is not None and all(before.attributes.get(name) == value for name, value in given.items())
    if before is not None and is_same and _there(site, wanted, "GetResource", restApiId=api_id, resourceId=before.ref):
        return {"Ref": before.ref, "ResourceId": before.ref, **given}
    made = site.create(SERVICE, "CreateResource", **_lower(given)).get("id", TO_COME)
    return {"Ref": made, "ResourceId": made, **given}


def method(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Put a method with its integration and responses."""
    where = {
        "restApiId": _api_id(wanted), "resourceId": wanted.text("ResourceId"),
        "httpMethod": wanted.text("HttpMethod").upper(),
    }  # fmt: skip
    given = {"authorizationType": "NONE", **_lower(wanted.given(*_METHOD))}
    if not where["httpMethod"] or not where["resourceId"]:
        raise LeftOut("it names no resource and method")
    integration = wanted.table("Integration")
    known = {"Ref": wanted.name, **{name[:1].upper() + name[1:]: value for name, value in where.items()}}
    known["Asked"] = text_of([given, integration, wanted.items("MethodResponses")])
    before = wanted.before
    is_same = before is not None and all(
        before.attributes.get(name) == value for name, value in known.items() if name != "Ref"
    )
    if is_same and _there(site, wanted, "GetMethod", **where):
        return known
    if before is not None:
        old = {name[:1].lower() + name[1:]: before.attributes.get(name) for name in _PLACE}
        if old != where and site.found(SERVICE, "GetMethod", **old) is not None:
            # Under another method or at another resource, it is another one.
            site.change(SERVICE, "DeleteMethod", **old)
    put = site.create if before is None else site.change
    put(SERVICE, "PutMethod", **where, **given)
    for one in wanted.items("MethodResponses"):
        site.change(SERVICE, "PutMethodResponse", **where, **_lower(_with_truths(one)))
    if integration:
        settings = _lower({name: integration[name] for name in _INTEGRATION if integration.get(name) is not None})
        settings["integrationHttpMethod"] = integration.get("IntegrationHttpMethod")
        site.change(SERVICE, "PutIntegration", **where, **settings)
        for one in integration.get("IntegrationResponses") or ():
            site.change(SERVICE, "PutIntegrationResponse", **where, **_lower(one))
    return known


def _with_truths(response: Mapping[str, Json]) -> Mapping[str, Json]:
    """A method response whose headers are truth values: frameworks also write the header's value there."""
    headers = response.get("ResponseParameters")
    if not isinstance(headers, dict):
        return response
    truths = {name: str(value).lower() == "true" for name, value in headers.items()}
    return {**response, "ResponseParameters": truths}


def deployment(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Deploy an API, once for each resource of a template."""
    api_id = _api_id(wanted)
    before = wanted.before
    if before is not None and _there(site, wanted, "GetDeployment", restApiId=api_id, deploymentId=before.ref):
        return {**before.attributes, "Ref": before.ref}
    described, name = _lower(wanted.given("Description", "StageName")), wanted.text("StageName")
    shown = site.found(SERVICE, "GetStage", restApiId=api_id, stageName=name) if name and api_id != TO_COME else None
    made = site.create(SERVICE, "CreateDeployment", restApiId=api_id, **described).get("id", TO_COME)
    if name:
        _note_address(site, api_id, name)
    moved_from = shown.get("deploymentId") if shown is not None else None
    return {"Ref": made, "DeploymentId": made, "RestApiId": api_id, "MovedFrom": moved_from}


def _note_address(site: Site, api_id: str, stage_name: str) -> None:
    parts = urlsplit(site.endpoint)
    port = f":{parts.port}" if parts.port else ""
    if api_id != TO_COME and site.endpoint:
        site.note(f"its address is {parts.scheme}://{api_id}.execute-api.localhost{port}/{stage_name}")


def stage(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a stage, or move it to another deployment and other settings."""
    api_id, name, deployed = _api_id(wanted), wanted.text("StageName"), wanted.text("DeploymentId")
    shown = site.found(SERVICE, "GetStage", restApiId=api_id, stageName=name) if api_id != TO_COME else None
    variables = {key: text_of(value) for key, value in wanted.table("Variables").items()}
    patches: list[JsonObject] = []
    if shown is None:
        described = _lower(wanted.given("Description"))
        site.create(
            SERVICE, "CreateStage", restApiId=api_id, stageName=name, deploymentId=deployed,
            variables=variables or None, tags=wanted.tags() or None, **described,
        )  # fmt: skip
    else:
        there = shown.get("variables") or {}
        patches = [
            {"op": "replace", "path": f"/variables/{key}", "value": value}
            for key, value in variables.items()
            if there.get(key) != value
        ]
        patches += [{"op": "remove", "path": f"/variables/{key}"} for key in there if key not in variables]
        if shown.get("deploymentId") != deployed:
            patches.append({"op": "replace", "path": "/deploymentId", "value": deployed})
    settings = text_of([wanted.items("MethodSettings"), wanted.table("AccessLogSetting")])
    if shown is None or wanted.before is None or wanted.before.attributes.get("Settings") != settings:
        patches += _settings_of_stage(wanted, shown or {})
    if patches:
        site.change(SERVICE, "UpdateStage", restApiId=api_id, stageName=name, patchOperations=patches)
    site.ignored(wanted, "CanarySetting")
    _note_address(site, api_id, name)
    return {"Ref": name, "RestApiId": api_id, "Settings": settings}


def _settings_of_stage(wanted: Wanted, shown: Mapping[str, Json]) -> list[JsonObject]:
    """The patch operations that give a stage the wanted method settings and access log, and no others."""
    patches: list[JsonObject] = [{"op": "remove", "path": f"/{key}"} for key in shown.get("methodSettings") or ()]
    for one in wanted.items("MethodSettings"):
        if not isinstance(one, dict):
            raise CannotApply("MethodSettings must be a list of objects")
        path = text_of(one.get("ResourcePath") or "/*").removeprefix("/")
        # A path is written with `~1` for its slashes, the first one included; templates leave it out as well.
        path = "*" if path == "*" else "~1" + path.removeprefix("~1").replace("/", "~1")
        key = f"/{path}/{text_of(one.get('HttpMethod') or '*')}"
        patches += [
            {"op": "replace", "path": f"{key}/{where}", "value": text_of(one[member])}
            for member, where in _METHOD_SETTINGS.items()
            if one.get(member) is not None
        ]
    log = wanted.table("AccessLogSetting")
    if shown.get("accessLogSettings"):
        patches.append({"op": "remove", "path": "/accessLogSettings"})
    patches += [
        {"op": "replace", "path": f"/accessLogSettings/{name}", "value": text_of(log[member])}
        for member, name in (("DestinationArn", "destinationArn"), ("Format", "format"))
        if log.get(member)
    ]
    return patches


def _named(noun: str, *members: str, key: str) -> Kind:
    """Models and request validators: made once for their settings."""

    def apply(site: Site, wanted: Wanted) -> Mapping[str, Json]:
        given: JsonObject = {"restApiId": _api_id(wanted), **_lower(wanted.given(*members))}
        if noun == "Model":
            given.setdefault("name", wanted.name)
            given.setdefault("contentType", "application/json")
            given["schema"] = text_of(given.get("schema") or {})
        known = {"RestApiId": given["restApiId"], "Asked": text_of(given)}
        before = wanted.before
        is_same = before is not None and before.attributes.get("Asked") == known["Asked"]
        there = {"restApiId": given["restApiId"], key: before.ref if before is not None else ""}
        if is_same and _there(site, wanted, f"Get{noun}", **there):
            return {"Ref": there[key], **known}
        if before is not None and noun == "Model":
            site.take_away(SERVICE, "DeleteModel", restApiId=given["restApiId"], modelName=before.ref)
        made = site.create(SERVICE, f"Create{noun}", **given)
        return {"Ref": made.get("name" if noun == "Model" else "id", TO_COME), **known}

    def remove(site: Site, known: Known) -> None:
        site.change(SERVICE, f"Delete{noun}", restApiId=known.attributes.get("RestApiId"), **{key: known.ref})

    return Kind(noun.lower() if noun == "Model" else "request validator", apply, remove)


def gateway_response(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Set an answer of the gateway itself."""
    given = _lower(wanted.given("ResponseType", "StatusCode", "ResponseParameters", "ResponseTemplates"))
    known = {"Ref": wanted.name, "RestApiId": _api_id(wanted), "Asked": text_of(given)}
    known["ResponseType"] = wanted.text("ResponseType")
    if wanted.before is None or wanted.before.attributes.get("Asked") != known["Asked"]:
        put = site.create if wanted.before is None else site.change
        put(SERVICE, "PutGatewayResponse", restApiId=known["RestApiId"], **given)
    return known


def _delete_gateway_response(site: Site, known: Known) -> None:
    there = {"restApiId": known.attributes.get("RestApiId"), "responseType": known.attributes.get("ResponseType")}
    # Records of earlier versions do not name the type.
    if there["responseType"]:
        site.take_away(SERVICE, "DeleteGatewayResponse", **there)


def authorizer(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create an authorizer; its settings are changed by patches."""
    api_id, given = _api_id(wanted), {"name": wanted.name, **_lower(wanted.given(*_AUTHORIZER))}
    before = wanted.before
    there = {"restApiId": api_id, "authorizerId": before.ref if before is not None else TO_COME}
    shown = None
    if before is not None and before.ref != TO_COME and before.attributes.get("RestApiId") == api_id:
        shown = site.found(SERVICE, "GetAuthorizer", **there)
    if shown is None:
        made = site.create(SERVICE, "CreateAuthorizer", restApiId=api_id, **given).get("id", TO_COME)
        return {"Ref": made, "AuthorizerId": made, "RestApiId": api_id}
    pools, own = given.pop("providerARNs", None) or [], shown.get("providerARNs") or []
    patches: list[JsonObject] = [
        {"op": "replace", "path": f"/{name}", "value": text_of(value)}
        for name, value in given.items()
        if shown.get(name) != value
    ]
    patches += [{"op": "remove", "path": f"/{name}"} for name in _REMOVED if name in shown and name not in given]
    patches += [{"op": "add", "path": "/providerARNs", "value": one} for one in pools if one not in own]
    patches += [{"op": "remove", "path": "/providerARNs", "value": one} for one in own if one not in pools]
    if patches:
        site.change(SERVICE, "UpdateAuthorizer", **there, patchOperations=patches)
    return {"Ref": there["authorizerId"], "AuthorizerId": there["authorizerId"], "RestApiId": api_id}


def _delete_authorizer(site: Site, known: Known) -> None:
    site.change(SERVICE, "DeleteAuthorizer", restApiId=known.attributes.get("RestApiId"), authorizerId=known.ref)


def _delete_api(site: Site, known: Known) -> None:
    site.change(SERVICE, "DeleteRestApi", restApiId=known.ref)


def _delete_resource(site: Site, known: Known) -> None:
    site.change(SERVICE, "DeleteResource", restApiId=known.attributes.get("RestApiId"), resourceId=known.ref)


def _delete_method(site: Site, known: Known) -> None:
    given = {name: known.attributes.get(name) for name in _PLACE}
    site.change(SERVICE, "DeleteMethod", **_lower(given))


def _delete_deployment(site: Site, known: Known) -> None:
    """Delete a deployment. A stage that still serves it serves the one before again; without one it is deleted."""
    api, before = {"restApiId": known.attributes.get("RestApiId")}, known.attributes.get("MovedFrom")
    is_there = before is not None and site.found(SERVICE, "GetDeployment", **api, deploymentId=before) is not None
    back = {"op": "replace", "path": "/deploymentId", "value": before}
    shown = site.found(SERVICE, "GetStages", **api, deploymentId=known.ref) or {}
    for one in shown.get("item") or ():
        if is_there:
            site.change(SERVICE, "UpdateStage", **api, stageName=one["stageName"], patchOperations=[back])
        else:
            site.change(SERVICE, "DeleteStage", **api, stageName=one["stageName"])
    site.change(SERVICE, "DeleteDeployment", **api, deploymentId=known.ref)


def _delete_stage(site: Site, known: Known) -> None:
    site.change(SERVICE, "DeleteStage", restApiId=known.attributes.get("RestApiId"), stageName=known.ref)


KINDS: Final = {
    "AWS::ApiGateway::RestApi": Kind("REST API", api, _delete_api),
    "AWS::ApiGateway::Resource": Kind("resource of an API", resource, _delete_resource),
    "AWS::ApiGateway::Authorizer": Kind("authorizer", authorizer, _delete_authorizer),
    "AWS::ApiGateway::Method": Kind("method", method, _delete_method),
    "AWS::ApiGateway::Deployment": Kind("deployment", deployment, _delete_deployment),
    "AWS::ApiGateway::Stage": Kind("stage", stage, _delete_stage),
    "AWS::ApiGateway::Model": _named("Model", "Name", "ContentType", "Schema", "Description", key="modelName"),
    "AWS::ApiGateway::RequestValidator": _named(
        "RequestValidator", "Name", "ValidateRequestBody", "ValidateRequestParameters", key="requestValidatorId"
    ),
    "AWS::ApiGateway::GatewayResponse": Kind("gateway response", gateway_response, _delete_gateway_response),
}
