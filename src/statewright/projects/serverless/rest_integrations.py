"""Integrations of events `http`: what the method of a function or of a state machine calls, and its responses.

The templates that the framework and its plugin write where an event gives none are `rest_templates.py`'s.

Source: Serverless Framework guide, "REST API (API Gateway v1)", "Lambda Integration"; documentation of
serverless-step-functions, "API Gateway".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from statewright.payload import Json, JsonMapping
from statewright.projects.serverless.rest_templates import JSON, function_event, machine_event, machine_start
from statewright.projects.serverless.service import Service
from statewright.projects.sources import Steps

_TYPES: Final = {"LAMBDA": "AWS", "LAMBDA_PROXY": "AWS_PROXY"}
_KNOWN: Final = ("AWS", "AWS_PROXY", "HTTP", "HTTP_PROXY", "MOCK")
_OF_PROXIES: Final = {
    "AWS_PROXY": ("parameters", "schema", "schemas"), "HTTP_PROXY": ("parameters", "schema", "schemas", "uri"),
}  # fmt: skip
"""Members of `request` that proxies have; the framework drops others."""
_PATTERNS: Final[Mapping[str, str]] = {
    "200": "",
    **{status: rf"[\s\S]*\[{status}\][\s\S]*" for status in ("400", "401", "403", "404", "422")},
    "500": r"[\s\S]*(Process\s?exited\s?before\s?completing\s?request|\[500\])[\s\S]*",
    "502": r"[\s\S]*\[502\][\s\S]*",
    "504": r"([\s\S]*\[504\][\s\S]*)|(.*Task timed out after \d+\.\d+ seconds$)",
}
"""The statuses of functions without a proxy, by their errors' messages. Source: guide, "Status codes"."""


def table(value: Json) -> JsonMapping:
    """An object, or an empty one in the place of anything else."""
    return value if isinstance(value, dict) else {}


def method_settings(service: Service, key: str, arn: Json, settings: JsonMapping, at: Steps) -> dict[str, Json] | None:
    """The integration and the responses of a function's method, as properties of `AWS::ApiGateway::Method`.

    `None` for an integration in error.
    """
    default = "AWS" if settings.get("async") else "AWS_PROXY"
    named = str(settings.get("integration") or default).upper().replace("-", "_")
    kind = _TYPES.get(named, named)
    if kind not in _KNOWN:
        message = f"the event http of {key} has no integration {named.lower()}: it may be lambda, lambda-proxy, "
        service.sources.error(service.place(at), message + "http, http-proxy or mock")
        return None
    request = table(settings.get("request"))
    integration: dict[str, Json] = {"Type": kind, "IntegrationHttpMethod": "POST"}
    if settings.get("timeoutInMillis"):
        integration["TimeoutInMillis"] = settings["timeoutInMillis"]
    if kind in ("AWS", "AWS_PROXY"):
        integration["Uri"] = _called(":lambda:path/2015-03-31/functions/", arn, "/invocations")
    elif kind != "MOCK":
        if not request.get("uri"):
            service.sources.error(service.place(at), f"the integration {named.lower()} of {key} needs a request.uri")
            return None
        integration["Uri"] = request.get("uri")
        integration["IntegrationHttpMethod"] = str(request.get("method") or settings["method"]).upper()
        if settings.get("connectionType"):
            integration["ConnectionType"] = str(settings["connectionType"]).upper().replace("-", "_")
            integration["ConnectionId"] = settings.get("connectionId")
    parameters = _parameters(request) if kind not in ("AWS_PROXY", "MOCK") else {}
    if settings.get("async"):
        parameters["integration.request.header.X-Amz-Invocation-Type"] = "'Event'"
    if parameters:
        integration["RequestParameters"] = parameters
    if kind in _OF_PROXIES:
        lost = [f"request.{name}" for name in request if name not in _OF_PROXIES[kind]]
        lost += ["response"] if settings.get("response") else []
        if lost:
            service.sources.warning(
                service.place(at), f"{', '.join(lost)} of {key}: a proxy does not use it, so the framework drops it"
            )
        return {"Integration": integration}
    return _templated(kind, integration, settings, request)


def _templated(kind: str, integration: dict[str, Json], settings: JsonMapping, request: JsonMapping) -> dict[str, Json]:
    """The properties of a method whose requests and responses have templates."""
    integration["PassthroughBehavior"] = request.get("passThrough") or ("NEVER" if kind == "AWS" else "WHEN_NO_MATCH")
    if request.get("contentHandling"):
        integration["ContentHandling"] = request["contentHandling"]
    templates: dict[str, Json] = {}
    if kind == "AWS":
        claims = table(settings.get("authorizer")).get("claims")
        templates.update(function_event(claims if isinstance(claims, list) else []))
    for content_type, template in table(request.get("template")).items():
        if template is None:
            templates.pop(content_type, None)
        else:
            templates[content_type] = template
    if templates:
        integration["RequestTemplates"] = templates
    given = table(settings.get("response"))
    if not given and kind != "AWS":
        return {"Integration": integration, "MethodResponses": []}
    statuses = {str(status): table(one) for status, one in table(given.get("statusCodes")).items()}
    if not statuses:
        statuses = {status: {"pattern": pattern} for status, pattern in _PATTERNS.items()}
    elif all(one.get("pattern") != "" for one in statuses.values()):
        statuses["200"] = {"pattern": ""}
    headers = {**_shared(settings.get("cors")), **table(given.get("headers"))}
    responses: list[Json] = []
    declared: list[Json] = []
    for status, one in statuses.items():
        own = {f"method.response.header.{name}": v for name, v in {**headers, **table(one.get("headers"))}.items()}
        template = one.get("template")
        written = {JSON: given["template"]} if given.get("template") else {}
        written.update(template if isinstance(template, dict) else {JSON: template} if template else {})
        response: dict[str, Json] = {
            "StatusCode": status, "SelectionPattern": one.get("pattern") or "", "ResponseParameters": own,
            "ResponseTemplates": written,
        }  # fmt: skip
        if status.startswith("2") and given.get("contentHandling"):
            response["ContentHandling"] = given["contentHandling"]
        responses.append(response)
        declared.append({"StatusCode": status, "ResponseParameters": dict.fromkeys(own, True)})
    integration["IntegrationResponses"] = responses
    return {"Integration": integration, "MethodResponses": declared}


def machine_settings(id_: str, settings: JsonMapping) -> dict[str, Json]:
    """The integration and the responses of a state machine's method: `StartExecution`, unless it has an action."""
    action = settings.get("action")
    integration: dict[str, Json] = {
        "Type": "AWS", "IntegrationHttpMethod": "POST",
        "Uri": _called(f":states:action/{action or 'StartExecution'}"),
        "PassthroughBehavior": "WHEN_NO_TEMPLATES" if action else "NEVER",
        "RequestTemplates": _machine_templates(id_, settings),
    }  # fmt: skip
    if settings.get("iamRole"):
        integration["Credentials"] = settings["iamRole"]
    if settings.get("timeoutInMillis"):
        integration["TimeoutInMillis"] = settings["timeoutInMillis"]
    shared = {f"method.response.header.{name}": value for name, value in _shared(settings.get("cors")).items()}
    given = table(settings.get("response"))
    headers = {f"method.response.header.{name}": value for name, value in table(given.get("headers")).items()}
    statuses: JsonMapping = table(settings.get("responses")) or {
        "200": {
            "selectionPattern": "", "responseParameters": headers, "responseTemplates": table(given.get("template")),
        },
        "400": {},
    }  # fmt: skip
    responses: list[Json] = []
    declared: list[Json] = []
    for status, value in statuses.items():
        one = table(value)
        own = {**table(one.get("responseParameters")), **shared}
        named = str(one.get("statusCode", status))
        responses.append({
            "StatusCode": named, "SelectionPattern": one.get("selectionPattern", status), "ResponseParameters": own,
            "ResponseTemplates": table(one.get("responseTemplates")),
        })  # fmt: skip
        declared.append({"StatusCode": named, "ResponseParameters": dict.fromkeys(own, True)})
    integration["IntegrationResponses"] = responses
    return {"Integration": integration, "MethodResponses": declared}


def _machine_templates(id_: str, settings: JsonMapping) -> dict[str, Json]:
    given = table(settings.get("request")).get("template")
    values: Json = {"StateMachineArn": {"Ref": id_}, "AccountId": {"Ref": "AWS::AccountId"}}
    if given == "lambda_proxy":
        return {kind: {"Fn::Sub": [template, values]} for kind, template in machine_event().items()}
    if given is None and settings.get("action"):
        return {}
    started = {kind: {"Fn::Sub": [template, values]} for kind, template in machine_start().items()}
    return {**started, **table(given)}


def _called(*parts: Json) -> Json:
    return {"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ":apigateway:", {"Ref": "AWS::Region"}, *parts]]}


def _parameters(request: JsonMapping) -> dict[str, Json]:
    """Parameters of the integration, each from that of the method unless its value says otherwise."""
    made: dict[str, Json] = {}
    for group, values in table(request.get("parameters")).items():
        for name, value in table(values).items():
            where = f"request.{group.removesuffix('s')}.{name}"
            made[f"integration.{where}"] = table(value).get("mappedValue") or f"method.{where}"
    return made


def _shared(cors: Json) -> dict[str, Json]:
    """The headers of CORS that responses have beside the preflight."""
    if not cors:
        return {}
    settings = table(cors)
    origins = settings.get("origins") or settings.get("origin") or "*"
    shown = ",".join(str(one) for one in origins) if isinstance(origins, list) else origins
    headers: dict[str, Json] = {"Access-Control-Allow-Origin": f"'{shown}'"}
    if settings.get("allowCredentials"):
        headers["Access-Control-Allow-Credentials"] = "'true'"
    return headers
