"""REST APIs of the Serverless Application Model: what the properties of an API and of its events become.

Owns CORS, models, gateway responses, the settings of stages, and the integrations of functions and state machines.

Source: Serverless Application Model developer guide, "AWS::Serverless::Api" and the events "Api".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from statewright.payload import Json

OF_API: Final = (
    "ApiKeySourceType", "BinaryMediaTypes", "Description", "DisableExecuteApiEndpoint", "MinimumCompressionSize",
    "Name",
)  # fmt: skip
"""Properties of `AWS::Serverless::Api` that its RestApi has under the same name."""
OF_STAGE: Final = {
    "AccessLogSetting": "AccessLogSetting", "CanarySetting": "CanarySetting", "MethodSettings": "MethodSettings",
    "TracingEnabled": "TracingEnabled", "Variables": "Variables",
}  # fmt: skip
"""Properties of `AWS::Serverless::Api` that its Stage has."""
ITS_OWN: Final = ("Cors", "GatewayResponses", "Models", "StageName")
"""Properties of `AWS::Serverless::Api` that become resources or names."""
_EVERY_METHOD: Final = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
_HEADERS: Final = {
    "AllowCredentials": "Access-Control-Allow-Credentials", "AllowHeaders": "Access-Control-Allow-Headers",
    "AllowMethods": "Access-Control-Allow-Methods", "AllowOrigin": "Access-Control-Allow-Origin",
    "MaxAge": "Access-Control-Max-Age",
}  # fmt: skip
_START: Final = '{"input": "%s", "stateMachineArn": "${Machine}"}'
_ESCAPED: Final = "$util.escapeJavaScript($input.json('$'))"
_UNESCAPED: Final = _ESCAPED + r""".replaceAll("\\'","'")"""
FUNCTIONS: Final = "lambda:path/2015-03-31/functions/"


def _table(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def preflight(headers: Mapping[str, Json], template: str = "") -> dict[str, Json]:
    """Properties of a method OPTIONS that answers with these headers, which are expressions: `'*'`.

    `template` is that of the response; it may override headers.
    """
    named = {f"method.response.header.{name}": value for name, value in headers.items()}
    response: Json = {
        "StatusCode": "200", "ResponseParameters": named, "ResponseTemplates": {"application/json": template},
    }  # fmt: skip
    return {
        "HttpMethod": "OPTIONS", "AuthorizationType": "NONE",
        "MethodResponses": [{"StatusCode": "200", "ResponseParameters": dict.fromkeys(named, True)}],
        "Integration": {
            "Type": "MOCK", "RequestTemplates": {"application/json": "{statusCode:200}"},
            "ContentHandling": "CONVERT_TO_TEXT", "IntegrationResponses": [response],
        },
    }  # fmt: skip


def shared(cors: Json, methods: Iterable[str]) -> dict[str, Json]:
    """The method OPTIONS of a path with these methods. `cors` is an origin or an object; values are in quotes."""
    given: Mapping[str, Json] = cors if isinstance(cors, dict) else {"AllowOrigin": cors}
    found = set(methods)
    allowed = _EVERY_METHOD if "ANY" in found else sorted({*found, "OPTIONS"})
    values = {"AllowMethods": f"'{','.join(allowed)}'", **given}
    if values.get("AllowCredentials") is not None:
        values["AllowCredentials"] = "'true'" if values["AllowCredentials"] in (True, "true") else None
    return preflight({name: values[key] for key, name in _HEADERS.items() if values.get(key) is not None})


def model(name: str, schema: Json) -> dict[str, Json]:
    """A model of `Models`."""
    return {"Name": name, "ContentType": "application/json", "Schema": schema}


def gateway_response(kind: str, given: Json) -> dict[str, Json]:
    """A response of `GatewayResponses`, whose parameters are grouped by headers, paths and query strings."""
    settings = _table(given)
    grouped = _table(settings.get("ResponseParameters"))
    parameters = {
        f"gatewayresponse.{place}.{name}": value
        for group, place in (("Headers", "header"), ("Paths", "path"), ("QueryStrings", "querystring"))
        for name, value in _table(grouped.get(group)).items()
    }
    made: dict[str, Json] = {
        "ResponseType": kind, "StatusCode": settings.get("StatusCode"),
        "ResponseTemplates": settings.get("ResponseTemplates"), "ResponseParameters": parameters or None,
    }  # fmt: skip
    return {name: value for name, value in made.items() if value is not None}


def called(uri: Json, given: Mapping[str, Json]) -> dict[str, Json]:
    """The method of a function: its integration is a proxy."""
    integration: dict[str, Json] = {"Type": "AWS_PROXY", "IntegrationHttpMethod": "POST", "Uri": uri}
    if "TimeoutInMillis" in given:
        integration["TimeoutInMillis"] = given["TimeoutInMillis"]
    return {"Integration": integration}


def started(machine: Json, uri: Json, given: Mapping[str, Json]) -> dict[str, Json]:
    """The method of a state machine: `StartExecution` with the body as input. 200 and 400 are answered as such."""
    is_unescaped = given.get("UnescapeMappingTemplate") in (True, "true")
    template = _START % (_UNESCAPED if is_unescaped else _ESCAPED)
    statuses = ("200", "400")
    return {
        "Integration": {
            "Type": "AWS", "IntegrationHttpMethod": "POST", "Uri": uri,
            "RequestTemplates": {"application/json": {"Fn::Sub": [template, {"Machine": machine}]}},
            "IntegrationResponses": [{"StatusCode": status, "SelectionPattern": status} for status in statuses],
        },
        "MethodResponses": [{"StatusCode": status} for status in statuses],
    }  # fmt: skip


def checked(given: Mapping[str, Json]) -> tuple[dict[str, Json], tuple[bool, bool] | None]:
    """The request parameters and the model of a method, and whether its body and its parameters are validated."""
    made: dict[str, Json] = {}
    parameters: dict[str, Json] = {}
    listed = given.get("RequestParameters")
    for one in listed if isinstance(listed, list) else ():
        for name, settings in one.items() if isinstance(one, dict) else ((one, None),):
            parameters[str(name)] = isinstance(settings, dict) and settings.get("Required") in (True, "true")
    if parameters:
        made["RequestParameters"] = parameters
    asked = given.get("RequestModel")
    settings = asked if isinstance(asked, dict) else {}
    if settings.get("Model"):
        made["RequestModels"] = {"application/json": settings["Model"]}
    validated = [settings.get(name) in (True, "true") for name in ("ValidateBody", "ValidateParameters")]
    return made, (validated[0], validated[1]) if any(validated) else None
