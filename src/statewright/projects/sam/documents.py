"""OpenAPI documents of serverless APIs: the properties that give them, and events that become operations of them.

Source: Serverless Application Model developer guide, "Api", "HttpApi" (`DefinitionBody`, `DefinitionUri`,
`MergeDefinitions`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from statewright.payload import Json
from statewright.projects.cloudformation import Stack
from statewright.projects.sam import rest_parts

PROPERTIES: Final = ("DefinitionBody", "DefinitionUri", "FailOnWarnings", "MergeDefinitions", "Mode")
_PASSED: Final = ("FailOnWarnings", "Mode")
_INTEGRATION: Final = {
    "Type": "type", "IntegrationHttpMethod": "httpMethod", "Uri": "uri", "Credentials": "credentials",
    "RequestTemplates": "requestTemplates", "RequestParameters": "requestParameters",
    "PassthroughBehavior": "passthroughBehavior", "TimeoutInMillis": "timeoutInMillis",
}  # fmt: skip
_RESPONSES: Final = "x-amazon-apigateway-gateway-responses"
_RESPONSE: Final = {
    "StatusCode": "statusCode", "ResponseTemplates": "responseTemplates", "ResponseParameters": "responseParameters",
}  # fmt: skip


class Documents:
    """The documents of the APIs of one template, by the ids of the APIs."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._given: dict[str, dict[str, Json]] = {}

    def __contains__(self, api: object) -> bool:
        return api in self._given

    def declare(self, api: str, given: Mapping[str, Json]) -> None:
        """Note the document that the properties of an API give it, if they do."""
        if given.get("DefinitionBody") or given.get("DefinitionUri"):
            self._given[api] = {name: given[name] for name in PROPERTIES if name in given}

    def merges(self, api: str) -> bool:
        """True for a REST API whose document takes the events of functions and machines."""
        return self._given[api].get("MergeDefinitions") in (True, "true")

    def properties(self, api: str) -> dict[str, Json]:
        """The properties that give the plain API its document."""
        given = self._given[api]
        made: dict[str, Json] = {name: given[name] for name in _PASSED if name in given}
        if given.get("DefinitionBody"):
            return {**made, "Body": given["DefinitionBody"]}
        return {**made, "BodyS3Location": given["DefinitionUri"]}

    def add(self, api: str, models: Mapping[str, Json], responses: Mapping[str, Json]) -> None:
        """Write models and gateway responses into a document that is inline, so that an import keeps them."""
        body = self._given[api].get("DefinitionBody")
        if not isinstance(body, dict):
            return
        made = dict(body)
        if responses:
            written = {kind: _lower(rest_parts.gateway_response(kind, one)) for kind, one in responses.items()}
            made[_RESPONSES] = {**_table(body.get(_RESPONSES)), **written}
        if models and "swagger" in body:
            made["definitions"] = {**_table(body.get("definitions")), **models}
        elif models:
            components = _table(body.get("components"))
            made["components"] = {**components, "schemas": {**_table(components.get("schemas")), **models}}
        self._given[api]["DefinitionBody"] = made

    def text(self, api: str) -> Json:
        """The contents of a document: itself, or the text of its local file."""
        given = self._given[api]
        uri = given.get("DefinitionUri")
        if given.get("DefinitionBody") or not isinstance(uri, str) or self._stack.is_served:
            return given.get("DefinitionBody") or uri
        try:
            return (self._stack.template.path.parent / uri).read_text("utf-8")
        except (OSError, ValueError):
            # A file that cannot be read is reported where it is given to the API.
            return uri

    def write(self, api: str, path: str, method: str, operation: Mapping[str, Json]) -> None:
        """Write an operation into a document that is inline; others stay as they are, as in the transform."""
        body = self._given[api].get("DefinitionBody")
        paths = body.get("paths", {}) if isinstance(body, dict) else None
        if not isinstance(body, dict) or not isinstance(paths, dict):
            return
        path = path if path.startswith("/") else f"/{path}"
        name = "x-amazon-apigateway-any-method" if method == "ANY" else method.lower()
        item = {**_table(paths.get(path))}
        item[name] = {"responses": {}, **_table(item.get(name)), **operation}
        self._given[api]["DefinitionBody"] = {**body, "paths": {**paths, path: item}}


def _lower(given: Mapping[str, Json]) -> dict[str, Json]:
    """Members with names as documents write them; keys in their values stay."""
    return {name[:1].lower() + name[1:]: value for name, value in given.items() if name != "ResponseType"}


def _table(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def http_operation(target: Json, given: Mapping[str, Json]) -> dict[str, Json]:
    """The operation of an HTTP API that calls a function for an event."""
    integration = {
        "type": "aws_proxy", "httpMethod": "POST", "uri": target,
        "payloadFormatVersion": given.get("PayloadFormatVersion", "2.0"),
    }  # fmt: skip
    if "TimeoutInMillis" in given:
        integration["timeoutInMillis"] = given["TimeoutInMillis"]
    return {"x-amazon-apigateway-integration": integration}


def rest_operation(method: Mapping[str, Json]) -> dict[str, Json]:
    """The operation of a REST API that is the method of a plain resource, with its integration and responses."""
    given = method["Integration"]
    integration: dict[str, Json] = {own: given[name] for name, own in _INTEGRATION.items() if name in given}
    integration["responses"] = {
        one.get("SelectionPattern", "default"): {own: one[name] for name, own in _RESPONSE.items() if name in one}
        for one in given.get("IntegrationResponses") or ()
    }
    responses = {str(one["StatusCode"]): {"description": ""} for one in method.get("MethodResponses") or ()}
    return {"x-amazon-apigateway-integration": integration, **({"responses": responses} if responses else {})}
