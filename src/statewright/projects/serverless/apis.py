"""Events `httpApi`: the HTTP API of a service, its stage, and an integration and a route for each event. Also the URLs
of functions.

Source: Serverless Framework documentation, "HTTP API (API Gateway v2)" and "Lambda Function URLs".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from statewright.payload import Json
from statewright.projects.serverless.http_authorizers import authorization
from statewright.projects.serverless.service import Service, normalized, renamed
from statewright.projects.sources import Steps

API: Final = "HttpApi"
_CORS: Final = {
    "allowedOrigins": "AllowOrigins", "allowedHeaders": "AllowHeaders", "allowedMethods": "AllowMethods",
    "allowCredentials": "AllowCredentials", "exposedResponseHeaders": "ExposeHeaders", "maxAge": "MaxAge",
}  # fmt: skip
_HEADERS: Final = (
    "Content-Type",
    "X-Amz-Date",
    "Authorization",
    "X-Api-Key",
    "X-Amz-Security-Token",
    "X-Amzn-Trace-Id",
)


def add_route(service: Service, key: str, function_arn: Json, given: Json, at: Steps) -> str | None:
    """Make what an event `httpApi` of a function stands for; returns why it is left out, if it is."""
    settings: Mapping[str, Json] = given if isinstance(given, dict) else {}
    if isinstance(given, dict):
        method, path = str(settings.get("method", "*")).upper(), settings.get("path")
    else:
        method, _, path = str(given).partition(" ")
        method = method.upper()
    is_default = path in (None, "", "*")
    if not is_default and not isinstance(path, str):
        return "its path must be a text"
    provided = service.provider.get("httpApi")
    options: Mapping[str, Json] = provided if isinstance(provided, dict) else {}
    named = options.get("id")
    api: Json = {"Ref": API} if named is None else named
    if named is None and API not in service.sections.get("Resources", {}):
        _add_api(service, options, at)
    allowed = authorization(service, settings.get("authorizer"), options, api, at)
    if isinstance(allowed, str):
        return allowed
    letters = re.sub("[^A-Za-z0-9]", "", key.title())
    integration = f"HttpApiIntegration{letters}"
    if integration not in service.sections.get("Resources", {}):
        version = str(options.get("payload", "2.0"))
        properties = {
            "ApiId": api, "IntegrationType": "AWS_PROXY", "IntegrationUri": function_arn,
            "PayloadFormatVersion": version,
        }  # fmt: skip
        service.add(integration, "AWS::ApiGatewayV2::Integration", properties, at)
    word = "ANY" if method in ("*", "ANY") else method
    where = "/" + str(path).strip("/") if not is_default else ""
    route = {
        "ApiId": api, "RouteKey": "$default" if is_default else f"{word} {where}",
        "Target": {"Fn::Join": ["/", ["integrations", {"Ref": integration}]]}, **allowed,
    }  # fmt: skip
    own = re.sub("[^A-Za-z0-9]", "", where.replace("{", "Var").replace("+}", "Proxy").title()) or "Default"
    service.add(f"HttpApiRoute{word.title()}{own}", "AWS::ApiGatewayV2::Route", route, at)
    return None


def _add_api(service: Service, options: Mapping[str, Json], at: Steps) -> None:
    properties: dict[str, Json] = {"Name": options.get("name", f"{service.stage}-{service.name_}")}
    properties["ProtocolType"] = "HTTP"
    cors = options.get("cors")
    if cors in (True, "true"):
        properties["CorsConfiguration"] = {
            "AllowOrigins": ["*"], "AllowMethods": ["OPTIONS", "GET", "POST", "PUT", "PATCH", "DELETE"],
            "AllowHeaders": ["Content-Type", "X-Amz-Date", "Authorization", "X-Api-Key", "X-Amz-Security-Token"],
        }  # fmt: skip
    elif isinstance(cors, dict):
        properties["CorsConfiguration"] = renamed(cors, _CORS)
    service.add(API, "AWS::ApiGatewayV2::Api", properties, at)
    stage = {"ApiId": {"Ref": API}, "StageName": "$default", "AutoDeploy": True}
    service.add("HttpApiStage", "AWS::ApiGatewayV2::Stage", stage, at)


def add_url(service: Service, key: str, function: str, alias: str | None, given: Json, at: Steps) -> None:
    """Make the URL that the setting `url` of a function stands for, and the permission that opens it."""
    if given in (None, False, "false"):
        return
    settings: Mapping[str, Json] = given if isinstance(given, dict) else {}
    authorizer = settings.get("authorizer")
    if authorizer not in (None, "aws_iam"):
        service.sources.error(service.place(at), f"the authorizer of a function's url may be aws_iam, not {authorizer}")
        return
    auth_type = "AWS_IAM" if authorizer else "NONE"
    properties: dict[str, Json] = {"AuthType": auth_type, "TargetFunctionArn": {"Ref": function}}
    if alias is not None:
        properties["Qualifier"] = service.sections["Resources"][alias]["Properties"]["Name"]
    if settings.get("invokeMode"):
        properties["InvokeMode"] = settings["invokeMode"]
    cors = settings.get("cors")
    if cors in (True, "true"):
        properties["Cors"] = {"AllowOrigins": ["*"], "AllowMethods": ["*"], "AllowHeaders": list(_HEADERS)}
    elif isinstance(cors, dict):
        properties["Cors"] = renamed(cors, _CORS)
    service.add(f"{normalized(key)}LambdaFunctionUrl", "AWS::Lambda::Url", properties, at, needs=alias)
    if auth_type == "NONE":
        opening = {
            "Action": "lambda:InvokeFunctionUrl", "Principal": "*", "FunctionName": {"Ref": alias or function},
            "FunctionUrlAuthType": auth_type,
        }  # fmt: skip
        service.add(f"{normalized(key)}LambdaPermissionFnUrl", "AWS::Lambda::Permission", opening, at)
