"""Events `httpApi`: the HTTP API of a service, its stage, and an integration and a route for each event.

Source: Serverless Framework documentation, "HTTP API (API Gateway v2)".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from statewright.payload import Json
from statewright.projects.serverless.service import Service
from statewright.projects.sources import Steps

API: Final = "HttpApi"


def add_route(service: Service, key: str, function_arn: Json, given: Json, at: Steps) -> str | None:
    """Make what an event `httpApi` of a function stands for; returns why it is left out, if it is."""
    settings: Mapping[str, Json] = given if isinstance(given, dict) else {}
    if settings.get("authorizer"):
        return "authorizers are not supported yet, so it stays closed"
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
        "Target": {"Fn::Join": ["/", ["integrations", {"Ref": integration}]]},
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
        names = {
            "allowedOrigins": "AllowOrigins", "allowedHeaders": "AllowHeaders", "allowedMethods": "AllowMethods",
            "allowCredentials": "AllowCredentials", "exposedResponseHeaders": "ExposeHeaders", "maxAge": "MaxAge",
        }  # fmt: skip
        properties["CorsConfiguration"] = {names[name]: value for name, value in cors.items() if name in names}
    service.add(API, "AWS::ApiGatewayV2::Api", properties, at)
    stage = {"ApiId": {"Ref": API}, "StageName": "$default", "AutoDeploy": True}
    service.add("HttpApiStage", "AWS::ApiGatewayV2::Stage", stage, at)
