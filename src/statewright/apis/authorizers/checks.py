"""Checks of authorizers, and of the routes and methods that name them, when they are made or changed.

Source: API references, CreateAuthorizer, CreateRoute and PutMethod; where no text of the service is known, it is ours.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from statewright.apis.authorizers.guards import AWS_IAM, COGNITO, CUSTOM, JWT, NONE
from statewright.apis.authorizers.identity import HEADER, QUERY, http_sources, rest_sources
from statewright.apis.authorizers.lambda_authorizers import REQUEST, TOKEN
from statewright.apis.errors import bad_request
from statewright.apis.integrations.mapping import selection_pattern
from statewright.payload import JsonMapping, JsonObject
from statewright.query.linear_regex import RegexSyntaxError

MOST_TTL_SECONDS: Final = 3600
"""Source: API reference, AuthorizerResultTtlInSeconds."""
_LAMBDA: Final = (
    "AuthorizerUri", "AuthorizerCredentialsArn", "AuthorizerPayloadFormatVersion", "AuthorizerResultTtlInSeconds",
    "EnableSimpleResponses",
)  # fmt: skip
_REST_TYPES: Final = (TOKEN, REQUEST, COGNITO)


def _check_ttl(seconds: int | None) -> None:
    if seconds is not None and not 0 <= seconds <= MOST_TTL_SECONDS:
        raise bad_request(f"Authorizer result TTL must be between 0 and {MOST_TTL_SECONDS} seconds, inclusive")


def _check_name(name: str | None) -> None:
    if not name or len(name) > 128:
        raise bad_request("Authorizer name must have 1 to 128 characters")


# ------------------------------------------------------------------ HTTP APIs


def check_http_authorizer(settings: JsonMapping) -> None:
    """Refuse an authorizer of an HTTP API that cannot be asked. Raises: ApiError (`BadRequestException`)."""
    _check_name(settings.get("Name"))
    _check_ttl(settings.get("AuthorizerResultTtlInSeconds"))
    sources = http_sources(settings.get("IdentitySource") or ())
    if settings.get("IdentityValidationExpression"):
        raise bad_request("IdentityValidationExpression is not supported for HTTP APIs")
    if settings["AuthorizerType"] == JWT:
        given = [name for name in _LAMBDA if settings.get(name)]
        if given:
            raise bad_request(f"{', '.join(given)} is only supported for authorizers of type REQUEST")
        if len(sources) != 1 or sources[0].kind not in (HEADER, QUERY):
            raise bad_request("A JWT authorizer needs one identity source: a header or a parameter of the query")
        _check_issuer(settings.get("JwtConfiguration") or {})
        return
    if settings.get("JwtConfiguration"):
        raise bad_request("JwtConfiguration is only supported for authorizers of type JWT")
    _check_uri(settings.get("AuthorizerUri"), "AuthorizerUri")
    version = settings.get("AuthorizerPayloadFormatVersion")
    if version not in ("1.0", "2.0"):
        raise bad_request("AuthorizerPayloadFormatVersion is a required parameter for REQUEST authorizer: 1.0 or 2.0")
    if settings.get("EnableSimpleResponses") and version != "2.0":
        raise bad_request("EnableSimpleResponses is only supported for AuthorizerPayloadFormatVersion 2.0")
    if settings.get("AuthorizerResultTtlInSeconds") and not sources:
        raise bad_request("IdentitySource is required if AuthorizerResultTtlInSeconds is greater than 0")


def _check_issuer(given: JsonMapping) -> None:
    parts = urlsplit(given.get("Issuer") or "")
    if parts.scheme not in ("https", "http") or not parts.netloc:
        raise bad_request("Invalid issuer: JwtConfiguration needs an Issuer such as https://issuer.example.com")
    if not given.get("Audience"):
        raise bad_request("JwtConfiguration needs an Audience")


def check_route_authorization(settings: JsonMapping, authorizers: JsonMapping) -> None:
    """Refuse a route whose authorization does not fit its authorizer. Raises: ApiError (`BadRequestException`).

    `authorizers` are the settings of the API's authorizers by id.
    """
    kind, authorizer = settings.get("AuthorizationType") or NONE, settings.get("AuthorizerId")
    if kind in (JWT, CUSTOM):
        wanted = JWT if kind == JWT else REQUEST
        if authorizer is None or authorizers[authorizer]["AuthorizerType"] != wanted:
            raise bad_request(f"AuthorizationType {kind} needs the AuthorizerId of an authorizer of type {wanted}")
    if settings.get("AuthorizationScopes") and kind != JWT:
        raise bad_request("AuthorizationScopes is only supported for routes with AuthorizationType JWT")


# ------------------------------------------------------------------ REST APIs


def check_rest_authorizer(settings: JsonObject) -> None:
    """Refuse an authorizer of a REST API that cannot be asked. Raises: ApiError (`BadRequestException`)."""
    _check_name(settings.get("name"))
    kind = settings["type"]
    if kind not in _REST_TYPES:
        raise bad_request(f"This version of Statewright has no authorizers of type {kind[:40]} for REST APIs: use "
                          f"{', '.join(_REST_TYPES)}")  # fmt: skip
    ttl_seconds = settings.get("authorizerResultTtlInSeconds")
    _check_ttl(ttl_seconds)
    sources = rest_sources(settings.get("identitySource"))
    if kind in (TOKEN, COGNITO) and (len(sources) != 1 or sources[0].kind != HEADER):
        raise bad_request(f"An authorizer of type {kind} needs one header as its identity source: "
                          "method.request.header.NAME")  # fmt: skip
    if kind == COGNITO:
        if not settings.get("providerARNs"):
            raise bad_request("Invalid provider ARNs: COGNITO_USER_POOLS needs the ARN of a user pool")
    else:
        _check_uri(settings.get("authorizerUri"), "authorizerUri")
    if kind == REQUEST and not sources and ttl_seconds != 0:
        raise bad_request("identitySource is required where results are cached: name one, or set "
                          "authorizerResultTtlInSeconds to 0")  # fmt: skip
    pattern = settings.get("identityValidationExpression")
    if pattern:
        try:
            selection_pattern(pattern)
        except RegexSyntaxError as problem:
            raise bad_request(f"Invalid identity validation expression specified: {problem}") from None


def _check_uri(uri: str | None, name: str) -> None:
    if not uri:
        raise bad_request(f"{name} is required: the invocation ARN of a function")
    if not uri.startswith("arn:") or ":function:" not in uri:
        raise bad_request(f"Invalid Authorizer URI: {uri[:200]}. Authorizer URI should be a valid API Gateway ARN that "
                          "represents a Lambda function invocation.")  # fmt: skip


def check_method_authorization(method: JsonMapping, authorizers: JsonMapping) -> None:
    """Refuse a method whose authorization does not fit its authorizer. Raises: ApiError (`BadRequestException`)."""
    kind = method.get("authorizationType") or NONE
    if kind not in (NONE, AWS_IAM, CUSTOM, COGNITO):
        raise bad_request("Invalid authorization type specified. Valid options are NONE, AWS_IAM, CUSTOM, "
                          "COGNITO_USER_POOLS")  # fmt: skip
    if kind in (CUSTOM, COGNITO):
        found = authorizers.get(method.get("authorizerId") or "")
        if found is None or (found["type"] == COGNITO) is not (kind == COGNITO):
            raise bad_request("Invalid authorizer ID specified. Setting the authorization type to CUSTOM or "
                              "COGNITO_USER_POOLS requires a valid authorizer.")  # fmt: skip
