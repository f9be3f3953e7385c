"""Authorization of events `httpApi`: the properties of a route, and the authorizer that they name.

Source: Serverless Framework guide, "HTTP API (API Gateway v2)": JWT authorizers, Lambda authorizers, IAM.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from statewright.payload import Json
from statewright.projects.serverless.service import Service, normalized
from statewright.projects.sources import Steps

_IAM: Final = "aws_iam"
_JWT: Final = "jwt"
_HEADER: Final = "$request.header.Authorization"


def authorization(
    service: Service, given: Json, options: Mapping[str, Json], api: Json, at: Steps
) -> dict[str, Json] | str:
    """The properties of a route with this `authorizer`, which is added to the service; a text if it stays closed.

    `options` are those of `provider.httpApi`, with the authorizers by name.
    """
    if not given:
        return {}
    settings: Mapping[str, Json] = given if isinstance(given, dict) else {"name": given}
    if settings.get("type") == _IAM or settings.get("name") == _IAM:
        return {"AuthorizationType": "AWS_IAM"}
    scopes = {"AuthorizationScopes": settings["scopes"]} if settings.get("scopes") else {}
    if settings.get("id"):
        kind = "CUSTOM" if settings.get("type") == "request" else "JWT"
        return {"AuthorizationType": kind, "AuthorizerId": settings["id"], **scopes}
    name, listed = settings.get("name"), options.get("authorizers")
    wanted = listed.get(name) if isinstance(listed, dict) and isinstance(name, str) else None
    if not isinstance(wanted, dict):
        return f"provider.httpApi.authorizers has no {name}, so it stays closed"
    kind = str(wanted.get("type", _JWT)).lower()
    if kind not in (_JWT, "request"):
        return f"its authorizer {name} has the type {kind}, so it stays closed"
    own = f"HttpApiAuthorizer{normalized(str(name))}"
    if own not in service.sections.get("Resources", {}):
        make = _jwt if kind == _JWT else _request
        made = {"ApiId": api, "Name": wanted.get("name", name), **make(service, wanted)}
        present = {key: value for key, value in made.items() if value is not None}
        service.add(own, "AWS::ApiGatewayV2::Authorizer", present, at)
    return {"AuthorizationType": "JWT" if kind == _JWT else "CUSTOM", "AuthorizerId": {"Ref": own}, **scopes}


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [value]


def _jwt(_service: Service, wanted: Mapping[str, Json]) -> dict[str, Json]:
    return {
        "AuthorizerType": "JWT", "IdentitySource": _listed(wanted.get("identitySource", _HEADER)),
        "JwtConfiguration": {"Issuer": wanted.get("issuerUrl"), "Audience": _listed(wanted.get("audience"))},
    }  # fmt: skip


def _request(service: Service, wanted: Mapping[str, Json]) -> dict[str, Json]:
    arn, function = wanted.get("functionArn"), wanted.get("functionName")
    if arn is None:
        arn = {"Fn::GetAtt": [service.names.get(str(function), str(function)), "Arn"]}
    parts = ["arn:", {"Ref": "AWS::Partition"}, ":apigateway:", {"Ref": "AWS::Region"},
             ":lambda:path/2015-03-31/functions/", arn, "/invocations"]  # fmt: skip
    sources = wanted.get("identitySource")
    return {
        "AuthorizerType": "REQUEST", "AuthorizerUri": {"Fn::Join": ["", parts]},
        "AuthorizerPayloadFormatVersion": str(wanted.get("payloadVersion", "2.0")),
        "EnableSimpleResponses": wanted.get("enableSimpleResponses"),
        "AuthorizerResultTtlInSeconds": wanted.get("resultTtlInSeconds"),
        "IdentitySource": [] if sources is None else _listed(sources),
    }  # fmt: skip
