"""The definition of a REST API in a document: its settings, methods, models, validators and gateway responses.

Owns what each part of a document means for a REST API, and its refusals, which are those of the operations that put the
same part. What a definition changes in an API that exists is left to `rest_members.py`.

Source: API Gateway developer guide, "OpenAPI extensions for API Gateway"; texts of operations are recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from statewright.apis.authorizers.checks import check_rest_authorizer
from statewright.apis.calls import HTTP_PROXY, LAMBDA_PROXY
from statewright.apis.errors import bad_request
from statewright.apis.gateway_responses import STATUSES
from statewright.apis.integration_checks import checked_integration, checked_response
from statewright.apis.openapi.documents import (
    ANY_METHOD,
    INVALID,
    BasePath,
    OpenApi,
    Operation,
    list_of,
    number_of,
    table_of,
    text_of,
    texts_of,
)
from statewright.apis.openapi.models import Models
from statewright.apis.openapi.security import authorizers_of, guard_of, rest_authorizer
from statewright.errors import ApiError
from statewright.payload import JsonMapping, JsonObject, dump_json

X: Final = "x-amazon-apigateway-"
_TEXTS: Final = ("uri", "connectionId", "credentials", "cacheNamespace")
_UPPER: Final = ("type", "connectionType", "passthroughBehavior", "contentHandling", "httpMethod")
_MAPS: Final = ("requestParameters", "requestTemplates")
_KINDS: Final = ("AWS", "AWS_PROXY", "HTTP", "HTTP_PROXY", "MOCK")
_PLACES: Final = {"header": "header", "query": "querystring", "path": "path"}


@dataclass(slots=True)
class RestDefinition:
    """A REST API as a document describes it. Methods name their validators and authorizers."""

    settings: JsonObject = field(default_factory=dict)
    paths: dict[str, dict[str, JsonObject]] = field(default_factory=dict)
    """Methods by path and method."""
    models: Mapping[str, JsonMapping] = field(default_factory=dict)
    validators: dict[str, JsonObject] = field(default_factory=dict)
    authorizers: dict[str, JsonObject] = field(default_factory=dict)
    gateway_responses: dict[str, JsonObject] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def rest_definition(document: OpenApi, api_id: str, base_path: BasePath = "ignore") -> RestDefinition:
    """The definition in a document, for the API of an id. Raises: ApiError (`BadRequestException`)."""
    models = Models(document, api_id)
    made = RestDefinition(_settings(document), warnings=document.warnings, models=models.made)
    made.validators = _validators(document)
    made.gateway_responses = _gateway_responses(document)
    for name, (given, scheme) in authorizers_of(document).items():
        made.authorizers[name] = authorizer = rest_authorizer(name, given, scheme)
        try:
            check_rest_authorizer(authorizer)
        except ApiError as problem:
            raise bad_request(
                f"Errors found during import:\n\tUnable to create authorizer '{name[:200]}': {problem.message}"
            ) from None
    if document.value.get("security") is not None:
        document.warnings.append("security of the whole document is not used: give it to the operations")
    for path in document.table("paths"):
        if path.startswith("/"):
            made.paths.setdefault(document.base_path(base_path) + path, {})
    for operation in document.operations(base_path):
        method = _Method(document, models, made, operation).settings()
        made.paths.setdefault(operation.path, {})[operation.method] = method
    return made


def _settings(document: OpenApi) -> JsonObject:
    value = document.value
    made: JsonObject = {"name": document.title()}
    for name in ("description", "version"):
        text = document.info(name)
        if text is not None:
            made[name] = text
    types = value.get(f"{X}binary-media-types")
    if types is not None:
        made["binaryMediaTypes"] = list_of(types)
    if value.get(f"{X}api-key-source") is not None:
        source = str(value[f"{X}api-key-source"]).upper()
        if source not in ("HEADER", "AUTHORIZER"):
            raise bad_request(f"{INVALID} {X}api-key-source is {source[:50]}, not HEADER or AUTHORIZER.")
        made["apiKeySource"] = source
    size = value.get(f"{X}minimum-compression-size")
    if size is not None:
        if not isinstance(size, int) or not 0 <= size <= 10 << 20:
            raise bad_request("Invalid minimum compression size, must be between 0 and 10485760")
        made["minimumCompressionSize"] = size
    if value.get(f"{X}policy") is not None:
        policy = value[f"{X}policy"]
        made["policy"] = policy if isinstance(policy, str) else dump_json(policy)
    endpoint = _endpoint(document)
    if endpoint.get("disableExecuteApiEndpoint") is not None:
        made["disableExecuteApiEndpoint"] = endpoint["disableExecuteApiEndpoint"] in (True, "true")
    if endpoint.get("vpcEndpointIds"):
        made["endpointConfiguration"] = {
            "types": ["PRIVATE"], "ipAddressType": "dualstack", "vpcEndpointIds": list_of(endpoint["vpcEndpointIds"]),
        }  # fmt: skip
    return made


def _endpoint(document: OpenApi) -> JsonMapping:
    name = f"{X}endpoint-configuration"
    of_server = document.servers[0].get(name) if document.servers else None
    return table_of(document.value.get(name, of_server), name)


def _validators(document: OpenApi) -> dict[str, JsonObject]:
    found = {}
    for name, given in document.table(f"{X}request-validators").items():
        one = table_of(given, name)
        found[name] = {
            "name": name, "validateRequestBody": one.get("validateRequestBody") in (True, "true"),
            "validateRequestParameters": one.get("validateRequestParameters") in (True, "true"),
        }  # fmt: skip
    return found


def _gateway_responses(document: OpenApi) -> dict[str, JsonObject]:
    found = {}
    for kind, given in document.table(f"{X}gateway-responses").items():
        if kind not in STATUSES:
            document.warnings.append(f"Unknown gateway response type {kind}")
            continue
        one = table_of(given, kind)
        made: JsonObject = {
            name: texts_of(one[name], f"{kind}.{name}")
            for name in ("responseParameters", "responseTemplates")
            if one.get(name) is not None
        }
        if one.get("statusCode") is not None:
            made["statusCode"] = text_of(one["statusCode"], f"{kind}.statusCode")
        found[kind] = made
    return found


class _Method:
    """One operation as a method."""

    def __init__(self, document: OpenApi, models: Models, made: RestDefinition, operation: Operation) -> None:
        self._document = document
        self._models = models
        self._made = made
        self._operation = operation

    def settings(self) -> JsonObject:
        """The settings of the method. Raises: ApiError."""
        body, document = self._operation.body, self._document
        guard = guard_of(document, body.get("security"), body.get(f"{X}auth"))
        method: JsonObject = {
            "httpMethod": self._operation.method, "authorizationType": guard.authorization,
            "apiKeyRequired": guard.is_key,
        }  # fmt: skip
        if guard.authorizer:
            method["authorizer"] = guard.authorizer
        if guard.scopes:
            method["authorizationScopes"] = list(guard.scopes)
        if body.get("operationId"):
            method["operationName"] = str(body["operationId"])
        validator = body.get(f"{X}request-validator", document.value.get(f"{X}request-validator"))
        if validator is not None:
            if str(validator) not in self._made.validators:
                document.warnings.append(f"The request validator {validator} of {self._where()} does not exist")
            else:
                method["validator"] = str(validator)
        parameters = self._parameters()
        if parameters:
            method["requestParameters"] = parameters
        models = self._request_models()
        if models:
            method["requestModels"] = models
        method["methodResponses"] = self._responses()
        integration = document.integration(self._operation)
        if integration is not None:
            method["methodIntegration"] = self._integration(integration, method)
        return method

    def _where(self) -> str:
        return f"'{self._operation.method}' for resource at path '{self._operation.path}'"

    def _parameters(self) -> JsonObject:
        found: JsonObject = {}
        for one in self._operation.parameters:
            place = _PLACES.get(str(one.get("in")))
            if place is not None:
                name = text_of(one.get("name"), "the name of a parameter")
                found[f"method.request.{place}.{name}"] = one.get("required") in (True, "true")
        return found

    def _request_models(self) -> dict[str, str]:
        body = self._operation.body
        if not self._document.is_swagger:
            given = table_of(self._document.followed(body.get("requestBody")), "requestBody")
            return self._models.bodies(given.get("content"))
        kinds = body.get("consumes", self._document.value.get("consumes"))
        for one in self._operation.parameters:
            if one.get("in") == "body":
                return self._models.of_kinds(one.get("schema"), kinds)
        return {}

    def _responses(self) -> JsonObject:
        found: JsonObject = {}
        document, body = self._document, self._operation.body
        kinds = body.get("produces", document.value.get("produces"))
        for status, given in table_of(body.get("responses"), "responses").items():
            if status == "default" or status.startswith("x-"):
                continue
            one = table_of(document.followed(given), f"the response {status}")
            made: JsonObject = {"statusCode": status}
            headers = table_of(one.get("headers"), "headers")
            if headers:
                made["responseParameters"] = {f"method.response.header.{name}": False for name in headers}
            if document.is_swagger:
                models = self._models.of_kinds(one.get("schema"), kinds)
            else:
                models = self._models.bodies(one.get("content"))
            if models:
                made["responseModels"] = models
            found[status] = made
        return found

    def _integration(self, given: JsonMapping, method: JsonObject) -> JsonObject:
        settings = integration_settings(given)
        if settings.get("type") not in _KINDS:
            raise bad_request(
                f"Errors found during import:\n\tUnable to put integration on {self._where()}: Enumeration value for "
                f"type must be one of {', '.join(_KINDS)}, not {str(settings.get('type'))[:50]}"
            )
        try:
            made = checked_integration(settings, "")
        except ApiError as problem:
            raise self._refused("Unable to put integration on", problem) from None
        if not settings.get("cacheNamespace"):
            made.pop("cacheNamespace", None)
        responses: JsonObject = {}
        for pattern, one in table_of(given.get("responses"), "responses").items():
            response = integration_response(pattern, table_of(one, f"the response {pattern}"))
            if (
                settings["type"] in (LAMBDA_PROXY, HTTP_PROXY)
                and response["statusCode"] not in method["methodResponses"]
            ):
                continue
            if response["statusCode"] in responses:
                self._document.warnings.append(
                    f"Several integration responses of {self._where()} have the status {response['statusCode']}: the "
                    "last one is used"
                )
            try:
                responses[response["statusCode"]] = checked_response(response, method)
            except ApiError as problem:
                raise self._refused("Unable to put integration response on", problem) from None
        if responses:
            made["integrationResponses"] = responses
        return made

    def _refused(self, start: str, problem: ApiError) -> ApiError:
        return bad_request(f"Errors found during import:\n\t{start} {self._where()}: {problem.message}")


def integration_settings(given: JsonMapping) -> JsonObject:
    """The settings of an integration as PutIntegration takes them. Raises: ApiError."""
    made: JsonObject = {name: text_of(given[name], name) for name in _TEXTS if given.get(name) is not None}
    made.update({name: text_of(given[name], name).upper() for name in _UPPER if given.get(name) is not None})
    if made.get("httpMethod") == ANY_METHOD.upper():
        made["httpMethod"] = "ANY"
    for name in _MAPS:
        if given.get(name) is not None:
            made[name] = texts_of(given[name], name)
    if isinstance(given.get("cacheKeyParameters"), list):
        made["cacheKeyParameters"] = [str(one) for one in given["cacheKeyParameters"]]
    if given.get("tlsConfig") is not None:
        made["tlsConfig"] = dict(table_of(given["tlsConfig"], "tlsConfig"))
    if given.get("timeoutInMillis") is not None:
        made["timeoutInMillis"] = number_of(given, "timeoutInMillis")
    return made


def integration_response(pattern: str, given: JsonMapping) -> JsonObject:
    """The settings of an integration response; the pattern `default` is that of all others. Raises: ApiError."""
    made: JsonObject = {"statusCode": text_of(given.get("statusCode", "200"), "statusCode")}
    if pattern != "default":
        made["selectionPattern"] = pattern
    for name in ("responseParameters", "responseTemplates"):
        if given.get(name) is not None:
            made[name] = texts_of(given[name], name)
    if given.get("contentHandling") is not None:
        made["contentHandling"] = str(given["contentHandling"]).upper()
    return made
