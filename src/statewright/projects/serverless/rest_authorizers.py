"""Authorization of events `http`: the properties of a method, and the authorizer that they name.

Source: Serverless Framework guide, "HTTP Endpoints with Custom Authorizers".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from statewright.payload import Json
from statewright.projects.serverless.service import Service, normalized
from statewright.projects.sources import Steps

_COGNITO: Final = "COGNITO_USER_POOLS"
_IDENTITY: Final = "method.request.header.Authorization"
_TTL_SECONDS: Final = 300


def authorization(service: Service, given: Json, api: Json, at: Steps) -> dict[str, Json] | None:
    """The properties of a method with this `authorizer`, which is added to the service; `None` for one in error."""
    if not given:
        return {"AuthorizationType": "NONE"}
    settings: Mapping[str, Json] = given if isinstance(given, dict) else _of_text(str(given))
    kind = str(settings.get("type") or "").upper()
    if kind == "AWS_IAM":
        return {"AuthorizationType": "AWS_IAM"}
    scopes = {"AuthorizationScopes": settings["scopes"]} if settings.get("scopes") else {}
    if kind and settings.get("authorizerId"):
        custom = "CUSTOM" if kind in ("TOKEN", "REQUEST") else kind
        return {"AuthorizationType": custom, "AuthorizerId": settings["authorizerId"], **scopes}
    arn, name = settings.get("arn"), settings.get("name")
    if arn is None and isinstance(name, str):
        arn = {"Fn::GetAtt": [service.names.get(name, name), "Arn"]}
    if name is None and isinstance(arn, str):
        name = arn.rpartition(":")[2].rpartition("-")[2]
    if arn is None or not isinstance(name, str):
        service.sources.error(service.place(at), "an authorizer needs a name or an arn")
        return None
    is_pool = kind == _COGNITO or (isinstance(arn, str) and ":cognito-idp:" in arn)
    own = f"{normalized(name)}ApiGatewayAuthorizer"
    if own not in service.sections.get("Resources", {}):
        service.add(own, "AWS::ApiGateway::Authorizer", _authorizer(name, arn, kind, is_pool, settings, api), at)
    return {"AuthorizationType": _COGNITO if is_pool else "CUSTOM", "AuthorizerId": {"Ref": own}, **scopes}


def _of_text(text: str) -> Mapping[str, Json]:
    """Settings of an authorizer that is only a word: `aws_iam`, an ARN, or the name of a function."""
    if text.upper() == "AWS_IAM":
        return {"type": "AWS_IAM"}
    return {"arn": text} if ":" in text else {"name": text}


def _authorizer(
    name: str, arn: Json, kind: str, is_pool: bool, settings: Mapping[str, Json], api: Json
) -> dict[str, Json]:  # fmt: skip
    seconds = settings.get("resultTtlInSeconds", _TTL_SECONDS)
    properties: dict[str, Json] = {"Name": name, "RestApiId": api, "AuthorizerResultTtlInSeconds": seconds}
    if settings.get("identitySource"):
        properties["IdentitySource"] = settings["identitySource"]
    elif not (kind == "REQUEST" and str(seconds) == "0"):
        properties["IdentitySource"] = _IDENTITY
    if settings.get("identityValidationExpression"):
        properties["IdentityValidationExpression"] = settings["identityValidationExpression"]
    if is_pool:
        return {**properties, "Type": _COGNITO, "ProviderARNs": [arn]}
    parts = ["arn:", {"Ref": "AWS::Partition"}, ":apigateway:", {"Ref": "AWS::Region"},
             ":lambda:path/2015-03-31/functions/", arn, "/invocations"]  # fmt: skip
    return {**properties, "Type": kind or "TOKEN", "AuthorizerUri": {"Fn::Join": ["", parts]}}
