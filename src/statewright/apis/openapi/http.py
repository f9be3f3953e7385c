"""The definition of an HTTP API in a document: its settings, routes, integrations and authorizers.

Owns what each part of a document means for an HTTP API. What HTTP APIs do not have is in `info`, what is left out in
the document's warnings.

Source: API Gateway developer guide, "Use OpenAPI definitions for HTTP APIs"; "x-amazon-apigateway-cors object".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from statewright.apis.authorizers.checks import check_http_authorizer
from statewright.apis.errors import bad_request
from statewright.apis.http_apis import DEFAULT_ROUTE, TIMEOUT_MS
from statewright.apis.openapi.documents import (
    ANY_METHOD,
    INTEGRATION,
    INVALID,
    BasePath,
    OpenApi,
    Operation,
    number_of,
    table_of,
    text_of,
    texts_of,
)
from statewright.apis.openapi.security import Guard, authorizers_of, guard_of, kind_of
from statewright.apis.route_checks import check_integration, check_key, without_names
from statewright.errors import ApiError
from statewright.payload import JsonMapping, JsonObject

X: Final = "x-amazon-apigateway-"
_CORS: Final = {
    "allowOrigins": "AllowOrigins", "allowCredentials": "AllowCredentials", "exposeHeaders": "ExposeHeaders",
    "maxAge": "MaxAge", "allowMethods": "AllowMethods", "allowHeaders": "AllowHeaders",
}  # fmt: skip
_INTEGRATION: Final = {
    "type": "IntegrationType", "uri": "IntegrationUri", "httpMethod": "IntegrationMethod",
    "integrationSubtype": "IntegrationSubtype", "payloadFormatVersion": "PayloadFormatVersion",
    "credentials": "CredentialsArn", "connectionId": "ConnectionId", "connectionType": "ConnectionType",
}  # fmt: skip
_AUTHORIZER: Final = {
    "authorizerUri": "AuthorizerUri", "authorizerCredentials": "AuthorizerCredentialsArn",
    "authorizerPayloadFormatVersion": "AuthorizerPayloadFormatVersion",
    "identityValidationExpression": "IdentityValidationExpression",
}  # fmt: skip


@dataclass(slots=True)
class Route:
    """A route as a document describes it. `integration` and `authorizer` are names within the definition."""

    key: str
    guard: Guard
    integration: str = ""
    operation_name: str = ""


@dataclass(slots=True)
class HttpDefinition:
    """An HTTP API as a document describes it."""

    settings: JsonObject = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    routes: list[Route] = field(default_factory=list)
    integrations: dict[str, JsonObject] = field(default_factory=dict)
    authorizers: dict[str, JsonObject] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    info: list[str] = field(default_factory=list)


def http_definition(document: OpenApi, base_path: BasePath = "ignore") -> HttpDefinition:
    """The definition in a document. Raises: ApiError (`BadRequestException`)."""
    if document.is_swagger:
        raise bad_request(f"{INVALID} HTTP APIs are imported from OpenAPI 3.0, not from Swagger 2.0.")
    made = HttpDefinition(_settings(document), _tags(document), warnings=document.warnings)
    for name, (given, scheme) in authorizers_of(document).items():
        made.authorizers[name] = _authorizer(name, given, scheme)
    shapes: dict[str, str] = {}
    for operation in document.operations(base_path):
        key = f"{operation.method} {operation.path}"
        if operation.path == f"/{DEFAULT_ROUTE}":
            key = DEFAULT_ROUTE
        check_key(key)
        shape = without_names(key)
        if shape in shapes:
            raise bad_request(f"{INVALID} The routes {shapes[shape]} and {key} match the same requests.")
        shapes[shape] = key
        made.routes.append(_route(document, made, operation, key))
    return made


def _settings(document: OpenApi) -> JsonObject:
    made: JsonObject = {"Name": document.title()}
    for name in ("description", "version"):
        text = document.info(name)
        if text is not None:
            made[name.title()] = text
    cors = document.value.get(f"{X}cors")
    if cors is not None:
        made["CorsConfiguration"] = _cors(table_of(cors, f"{X}cors"))
    name = f"{X}endpoint-configuration"
    of_server = document.servers[0].get(name) if document.servers else None
    endpoint = table_of(document.value.get(name, of_server), name)
    if endpoint.get("disableExecuteApiEndpoint") is not None:
        made["DisableExecuteApiEndpoint"] = endpoint["disableExecuteApiEndpoint"] in (True, "true")
    return made


def _cors(given: JsonMapping) -> JsonObject:
    made: JsonObject = {}
    for name, value in given.items():
        if name not in _CORS:
            raise bad_request(f"{INVALID} {X}cors has no member {name[:50]}.")
        if name == "allowCredentials":
            made[_CORS[name]] = value in (True, "true")
        elif name == "maxAge":
            made[_CORS[name]] = number_of(given, name)
        else:
            made[_CORS[name]] = [str(one) for one in value] if isinstance(value, list) else str(value).split(",")
    if made.get("AllowCredentials") and "*" in (made.get("AllowOrigins") or ()):
        raise bad_request("Invalid CORS configuration: AllowCredentials cannot be true if AllowOrigins is *")
    return made


def _tags(document: OpenApi) -> dict[str, str]:
    given = document.value.get("tags")
    found = {}
    for one in given if isinstance(given, list) else ():
        tag = table_of(one, "tags")
        if tag.get("name") is not None:
            found[str(tag["name"])] = str(tag.get(f"{X}tag-value") or "")
    return found


def _authorizer(name: str, given: JsonMapping, scheme: JsonMapping) -> JsonObject:
    kind = kind_of(scheme)
    if kind not in ("JWT", "REQUEST"):
        raise bad_request(f"{INVALID} The authorizer {name[:200]} is of type {kind[:50]}, not jwt or request.")
    made: JsonObject = {"Name": name, "AuthorizerType": kind}
    for member, own in _AUTHORIZER.items():
        if given.get(member) is not None:
            made[own] = str(given[member])
    source = given.get("identitySource")
    if source is not None:
        parts = source if isinstance(source, list) else str(source).split(",")
        made["IdentitySource"] = [str(one).strip() for one in parts]
    elif kind == "JWT":
        made["IdentitySource"] = ["$request.header.Authorization"]
    if given.get("authorizerResultTtlInSeconds") is not None:
        made["AuthorizerResultTtlInSeconds"] = number_of(given, "authorizerResultTtlInSeconds")
    if given.get("enableSimpleResponses") is not None:
        made["EnableSimpleResponses"] = given["enableSimpleResponses"] in (True, "true")
    if kind == "JWT":
        configuration = table_of(given.get("jwtConfiguration"), "jwtConfiguration")
        audience = configuration.get("audience") or []
        issuer = configuration.get("issuer") or str(scheme.get("openIdConnectUrl") or "").removesuffix(
            "/.well-known/openid-configuration"
        )
        made["JwtConfiguration"] = {
            "Audience": [str(one) for one in audience] if isinstance(audience, list) else [str(audience)],
            "Issuer": str(issuer),
        }  # fmt: skip
    try:
        check_http_authorizer(made)
    except ApiError as problem:
        raise bad_request(f"{INVALID} The authorizer {name[:200]}: {problem.message}") from None
    return made


def _route(document: OpenApi, made: HttpDefinition, operation: Operation, key: str) -> Route:
    asked = operation.body.get("security", document.value.get("security"))
    route = Route(key, guard_of(document, asked, operation.body.get(f"{X}auth")))
    if route.guard.is_key:
        document.warnings.append(f"The route {key} asks for an API key, which HTTP APIs do not check")
    if operation.body.get("operationId"):
        route.operation_name = str(operation.body["operationId"])
    if operation.body.get("requestBody") is not None:
        made.info.append(f"The requestBody of {key} is not used: HTTP APIs do not check bodies")
    given = document.integration(operation)
    if given is None:
        document.warnings.append(f"The route {key} has no integration")
        return route
    written = operation.body[INTEGRATION]
    name = str(written["$ref"]) if isinstance(written, dict) and "$ref" in written else key
    if name not in made.integrations:
        settings = _integration(given)
        if settings.get("IntegrationType") not in ("AWS_PROXY", "HTTP_PROXY"):
            document.warnings.append(
                f"The integration of {key} is of type {settings.get('IntegrationType')}: HTTP APIs have AWS_PROXY and "
                "HTTP_PROXY only"
            )
            return route
        try:
            check_integration(settings)
        except ApiError as problem:
            raise bad_request(f"{INVALID} The integration of {key}: {problem.message}") from None
        made.integrations[name] = settings
    route.integration = name
    return route


def _integration(given: JsonMapping) -> JsonObject:
    """The settings of an integration as CreateIntegration takes them. Raises: ApiError."""
    made: JsonObject = {"ConnectionType": "INTERNET", "TimeoutInMillis": TIMEOUT_MS}
    for member, own in _INTEGRATION.items():
        if given.get(member) is not None:
            made[own] = text_of(given[member], member)
    for own in ("IntegrationType", "IntegrationMethod", "ConnectionType"):
        if own in made:
            made[own] = made[own].upper()
    if made.get("IntegrationMethod") == ANY_METHOD.upper():
        made["IntegrationMethod"] = "ANY"
    if given.get("requestParameters") is not None:
        made["RequestParameters"] = texts_of(given["requestParameters"], "requestParameters")
    if given.get("responseParameters") is not None:
        made["ResponseParameters"] = {
            status: texts_of(one, "responseParameters")
            for status, one in table_of(given["responseParameters"], "responseParameters").items()
        }
    if given.get("tlsConfig") is not None:
        server = table_of(given["tlsConfig"], "tlsConfig").get("serverNameToVerify")
        made["TlsConfig"] = {"ServerNameToVerify": server}
    if given.get("timeoutInMillis") is not None:
        made["TimeoutInMillis"] = timeout_ms = number_of(given, "timeoutInMillis")
        if not 50 <= timeout_ms <= TIMEOUT_MS:
            raise bad_request(f"{INVALID} timeoutInMillis must be a number between 50 and {TIMEOUT_MS}.")
    return made
