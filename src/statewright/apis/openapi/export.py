"""REST APIs as OpenAPI documents: the members that a stage serves, written as an import reads them.

Source: API Gateway developer guide, "Export a REST API"; API reference, GetExport.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from statewright.apis.openapi.documents import ANY_METHOD
from statewright.apis.records import (
    AUTHORIZER,
    GATEWAY_RESPONSE,
    MODEL,
    RESOURCE,
    VALIDATOR,
    Snapshot,
)
from statewright.payload import Json, JsonMapping, JsonObject, parse_json

X: Final = "x-amazon-apigateway-"
_PLACES: Final = {"header": "header", "querystring": "query", "path": "path"}
_INTEGRATION: Final = (
    "uri", "httpMethod", "connectionId", "connectionType", "credentials", "requestParameters", "requestTemplates",
    "passthroughBehavior", "contentHandling", "timeoutInMillis", "tlsConfig",
)  # fmt: skip
_HEADER: Final = re.compile(r"[\w-]+")
_LOWER: Final = ("type", "passthroughBehavior")
_RESPONSE: Final = ("statusCode", "responseParameters", "responseTemplates", "contentHandling")


@dataclass(frozen=True, slots=True)
class Exported:
    """A stage of an API at an address. `extensions` are those that its document is to have."""

    settings: JsonMapping
    snapshot: Snapshot
    address: str
    stage: str
    extensions: frozenset[str]

    def has(self, extension: str) -> bool:
        """True if the document has an extension."""
        return extension in self.extensions or "apigateway" in self.extensions


def rest_document(given: Exported, *, is_swagger: bool) -> JsonObject:
    """The document of a stage of a REST API."""
    settings, snapshot = given.settings, given.snapshot
    info = {"title": settings.get("name"), **{n: settings[n] for n in ("description", "version") if n in settings}}
    paths: dict[str, JsonObject] = {}
    for resource in sorted(snapshot.get(RESOURCE, {}).values(), key=lambda one: str(one["path"])):
        methods = resource.get("methods") or {}
        if methods:
            paths[resource["path"]] = {
                _name(name): _operation(method, given, is_swagger=is_swagger) for name, method in methods.items()
            }
    schemas = {name: _schema(one, is_swagger=is_swagger) for name, one in snapshot.get(MODEL, {}).items()}
    schemes = _schemes(given)
    document: JsonObject
    if is_swagger:
        document = {
            "swagger": "2.0", "info": info, "host": given.address, "basePath": f"/{given.stage}", "schemes": ["http"],
            "paths": paths, **({"securityDefinitions": schemes} if schemes else {}), "definitions": schemas,
        }  # fmt: skip
    else:
        server = {"url": f"http://{given.address}/{{basePath}}", "variables": {"basePath": {"default": given.stage}}}
        document = {
            "openapi": "3.0.1", "info": info, "servers": [server], "paths": paths,
            "components": {"schemas": schemas, **({"securitySchemes": schemes} if schemes else {})},
        }  # fmt: skip
    if "apigateway" in given.extensions:
        document.update(_whole(given))
    return document


def _whole(given: Exported) -> JsonObject:
    """The extensions of the document as a whole."""
    settings, snapshot = given.settings, given.snapshot
    found = {
        "binary-media-types": settings.get("binaryMediaTypes"), "policy": settings.get("policy"),
        "minimum-compression-size": settings.get("minimumCompressionSize"),
        "gateway-responses": {kind: dict(one) for kind, one in snapshot.get(GATEWAY_RESPONSE, {}).items()},
        "request-validators": {
            one["name"]: {name: value for name, value in one.items() if name != "name"}
            for one in snapshot.get(VALIDATOR, {}).values()
            if one.get("name")
        },
    }  # fmt: skip
    return {f"{X}{name}": value for name, value in found.items() if value not in (None, {}, [])}


def _name(method: str) -> str:
    return ANY_METHOD if method == "ANY" else method.lower()


def _operation(method: JsonMapping, given: Exported, *, is_swagger: bool) -> JsonObject:
    made: JsonObject = {}
    if method.get("operationName"):
        made["operationId"] = method["operationName"]
    parameters: list[JsonObject] = []
    for source, required in (method.get("requestParameters") or {}).items():
        place, _, name = source.removeprefix("method.request.").partition(".")
        typed: JsonObject = {"type": "string"} if is_swagger else {"schema": {"type": "string"}}
        if place in _PLACES:
            parameters.append({"name": name, "in": _PLACES[place], "required": bool(required), **typed})
    models: JsonMapping = method.get("requestModels") or {}
    if models and is_swagger:
        name = next(iter(models.values()))
        parameters.append({"in": "body", "name": name, "required": True, "schema": _reference(name, is_swagger=True)})
        made["consumes"] = [*models]
    elif models:
        made["requestBody"] = {"content": _content(models), "required": True}
    if parameters:
        made["parameters"] = parameters
    made["responses"] = {
        status: _declared(one, is_swagger=is_swagger) for status, one in (method.get("methodResponses") or {}).items()
    }
    asked = _asked(method, given)
    if asked:
        made["security"] = asked
    validator = given.snapshot.get(VALIDATOR, {}).get(method.get("requestValidatorId") or "", {}).get("name")
    if validator and "apigateway" in given.extensions:
        made[f"{X}request-validator"] = validator
    integration = method.get("methodIntegration")
    if integration is not None and given.has("integrations"):
        made[f"{X}integration"] = _integration(integration)
    return made


def _content(models: JsonMapping) -> JsonObject:
    return {kind: {"schema": _reference(name, is_swagger=False)} for kind, name in models.items()}


def _reference(name: str, *, is_swagger: bool) -> JsonObject:
    return {"$ref": f"#/definitions/{name}" if is_swagger else f"#/components/schemas/{name}"}


def _declared(given: JsonMapping, *, is_swagger: bool) -> JsonObject:
    made: JsonObject = {"description": f"{given['statusCode']} response"}
    typed: JsonObject = {"type": "string"} if is_swagger else {"schema": {"type": "string"}}
    headers = {name.rpartition(".")[2]: typed for name in given.get("responseParameters") or {}}
    if headers:
        made["headers"] = headers
    models: JsonMapping = given.get("responseModels") or {}
    if models and is_swagger:
        made["schema"] = _reference(next(iter(models.values())), is_swagger=True)
    elif models:
        made["content"] = _content(models)
    return made


def _integration(given: JsonMapping) -> JsonObject:
    made: JsonObject = {"type": given["type"]}
    made.update({name: given[name] for name in _INTEGRATION if given.get(name) not in (None, {})})
    for name in _LOWER:
        if name in made:
            made[name] = made[name].lower()
    responses = {
        one.get("selectionPattern") or "default": {name: one[name] for name in _RESPONSE if one.get(name) is not None}
        for one in (given.get("integrationResponses") or {}).values()
    }
    if responses:
        made["responses"] = responses
    return made


def _asked(method: JsonMapping, given: Exported) -> list[JsonObject]:
    found: list[JsonObject] = []
    kind = method.get("authorizationType") or "NONE"
    authorizer = given.snapshot.get(AUTHORIZER, {}).get(method.get("authorizerId") or "")
    if authorizer is not None:
        found.append({authorizer["name"]: list(method.get("authorizationScopes") or ())})
    elif kind != "NONE":
        found.append({"sigv4" if kind == "AWS_IAM" else "closed": []})
    if method.get("apiKeyRequired"):
        found.append({"api_key": []})
    return found


def _schemes(given: Exported) -> JsonObject:
    """The security schemes that methods ask for, and the authorizers."""
    found: JsonObject = {}
    for resource in given.snapshot.get(RESOURCE, {}).values():
        for method in (resource.get("methods") or {}).values():
            if method.get("apiKeyRequired"):
                found["api_key"] = {"type": "apiKey", "name": "x-api-key", "in": "header"}
            kind = method.get("authorizationType") or "NONE"
            if kind == "AWS_IAM":
                found["sigv4"] = {
                    "type": "apiKey", "name": "Authorization", "in": "header", f"{X}authtype": "awsSigv4",
                }  # fmt: skip
            elif kind != "NONE" and not method.get("authorizerId"):
                found["closed"] = {"type": "apiKey", "name": "Authorization", "in": "header"}
    for one in given.snapshot.get(AUTHORIZER, {}).values():
        header = str(one.get("identitySource") or "").removeprefix("method.request.header.")
        scheme: JsonObject = {
            "type": "apiKey", "name": header if _HEADER.fullmatch(header) else "Unused", "in": "header",
            f"{X}authtype": one.get("authType") or "custom",
        }  # fmt: skip
        if given.has("authorizers"):
            kept = {name: value for name, value in one.items() if name not in ("name", "type", "authType")}
            scheme[f"{X}authorizer"] = {"type": str(one["type"]).lower(), **kept}
        found[one["name"]] = scheme
    return found


def _schema(model: JsonMapping, *, is_swagger: bool) -> Json:
    return _inner(parse_json(model.get("schema") or "{}"), is_swagger=is_swagger)


def _inner(value: Json, *, is_swagger: bool) -> Json:
    """A schema with references within the document in the place of addresses of models."""
    if isinstance(value, Mapping):
        reference = value.get("$ref")
        if isinstance(reference, str) and "/models/" in reference:
            return _reference(reference.rpartition("/")[2], is_swagger=is_swagger)
        return {name: _inner(part, is_swagger=is_swagger) for name, part in value.items()}
    return [_inner(one, is_swagger=is_swagger) for one in value] if isinstance(value, list) else value
