"""OpenAPI documents: base paths, references, limits, and what becomes of their parts."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from statewright.apis.openapi.documents import MOST_BYTES, BasePath, Home, OpenApi, read_openapi
from statewright.apis.openapi.http import HttpDefinition, http_definition
from statewright.apis.openapi.rest import RestDefinition, rest_definition
from statewright.errors import ApiError

HOME = Home("000000000000", "eu-west-1")
FUNCTION = (
    "arn:aws:apigateway:eu-west-1:lambda:path/2015-03-31/functions/"
    "arn:aws:lambda:eu-west-1:000000000000:function:f/invocations"
)
PROXY = {"x-amazon-apigateway-integration": {"type": "aws_proxy", "httpMethod": "POST", "uri": FUNCTION}}


def read(**parts: Any) -> OpenApi:
    given = {"openapi": "3.0.1", "info": {"title": "t"}, **parts}
    return read_openapi(json.dumps(given).encode(), HOME)


def rest(**parts: Any) -> RestDefinition:
    return rest_definition(read(**parts), "abc")


def http(**parts: Any) -> HttpDefinition:
    return http_definition(read(**parts))


@pytest.mark.parametrize(
    ("mode", "found"), [("ignore", "/test"), ("prepend", "/base/part/test"), ("split", "/part/test")]
)
def test_the_base_path(mode: BasePath, found: str) -> None:
    variable = {"url": "/{basePath}", "variables": {"basePath": {"default": "base/part"}}}
    for parts in (
        {"servers": [{"url": "https://a.example/base/part"}]}, {"servers": [{"url": "/"}, variable]},
        {"openapi": None, "swagger": "2.0", "basePath": "/base/part"},
    ):  # fmt: skip
        document = read(paths={"/test": {"get": {}}}, **parts)
        assert [one.path for one in document.operations(mode)] == [found]


def test_a_yaml_document_with_numbers_for_statuses_and_variables_of_the_cloud() -> None:
    text = """
openapi: 3.0.1
info: {title: t, version: 2020-01-01}
x-amazon-apigateway-binary-media-types: [image/png]
paths:
  /a/{id}:
    parameters: [{$ref: "#/components/parameters/Id"}]
    x-amazon-apigateway-any-method:
      operationId: all
      responses: {200: {description: ok, headers: {X-A: {schema: {type: string}}}}}
      x-amazon-apigateway-integration:
        type: MOCK
        passthroughBehavior: when_no_match
        requestTemplates: {application/json: '{"statusCode": 200, "region": "${AWS::Region}"}'}
        responses: {default: {statusCode: 200, responseParameters: {method.response.header.X-A: "'1'"}}}
components: {parameters: {Id: {name: id, in: path, required: true, schema: {type: string}}}}
"""
    made = rest_definition(read_openapi(text.encode(), HOME), "abc")
    assert made.settings == {"name": "t", "version": "2020-01-01", "binaryMediaTypes": ["image/png"]}
    method = made.paths["/a/{id}"]["ANY"]
    assert method["requestParameters"] == {"method.request.path.id": True}
    assert method["methodResponses"]["200"]["responseParameters"] == {"method.response.header.X-A": False}
    integration = method["methodIntegration"]
    assert '"eu-west-1"' in integration["requestTemplates"]["application/json"]
    assert (integration["passthroughBehavior"], [*integration["integrationResponses"]]) == ("WHEN_NO_MATCH", ["200"])


def test_swagger_has_models_validators_and_keys() -> None:
    made = rest_definition(read(
        openapi=None, swagger="2.0", consumes=["application/json"],
        paths={"/a": {"post": {
            "parameters": [
                {"in": "body", "name": "b", "schema": {"$ref": "#/definitions/Pet"}},
                {"in": "query", "name": "q", "required": True}, {"in": "header", "name": "h"},
            ],
            "security": [{"key": []}], "responses": {"200": {"schema": {"type": "array"}}}, **PROXY,
        }}},
        definitions={"Pet": {"properties": {"kind": {"$ref": "#/definitions/Kind"}}}, "Kind": {"type": "string"}},
        securityDefinitions={"key": {"type": "apiKey", "name": "x-api-key", "in": "header"}},
        **{
            "x-amazon-apigateway-request-validators": {"all": {"validateRequestBody": True}},
            "x-amazon-apigateway-request-validator": "all",
            "x-amazon-apigateway-gateway-responses": {"DEFAULT_4XX": {"statusCode": 418}, "NONE": {}},
        },
    ), "abc")  # fmt: skip
    method = made.paths["/a"]["POST"]
    assert (method["requestModels"], method["validator"]) == ({"application/json": "Pet"}, "all")
    assert method["requestParameters"] == {"method.request.querystring.q": True, "method.request.header.h": False}
    assert (method["apiKeyRequired"], method["authorizationType"]) == (True, "NONE")
    assert "https://apigateway.amazonaws.com/restapis/abc/models/Kind" in made.models["Pet"]["schema"]
    assert sorted(name[:5] for name in made.models) == ["Kind", "MODEL", "Pet"]
    assert made.gateway_responses == {"DEFAULT_4XX": {"statusCode": "418"}}
    assert made.warnings == ["Unknown gateway response type NONE"]


def test_schemas_without_a_name_never_share_one(monkeypatch: pytest.MonkeyPatch) -> None:
    class Digest:
        def __init__(self, text: bytes) -> None:
            self._text = text

        def hexdigest(self) -> str:
            return "abcdef" + self._text.hex()

    monkeypatch.setattr(hashlib, "sha256", Digest)
    given = [{"type": "string"}, {"type": "object"}, {"type": "string"}]
    content = [{"content": {"application/json": {"schema": one}}} for one in given]
    made = rest(paths={f"/{at}": {"post": {"requestBody": one}} for at, one in enumerate(content)})
    names = [made.paths[f"/{at}"]["POST"]["requestModels"]["application/json"] for at in range(3)]
    assert names[0] == names[2] == "MODELabcdef"
    assert [json.loads(made.models[name]["schema"]) for name in names] == given


def test_security_becomes_authorizers_and_what_cannot_be_checked_is_closed() -> None:
    schemes = {
        "token": {"type": "apiKey", "name": "Auth", "in": "header", "x-amazon-apigateway-authtype": "custom",
                  "x-amazon-apigateway-authorizer": {"type": "token", "authorizerUri": FUNCTION}},
        "iam": {"type": "apiKey", "name": "Authorization", "in": "header",
                "x-amazon-apigateway-authtype": "awsSigv4"},
        "basic": {"type": "http", "scheme": "basic"},
    }  # fmt: skip
    paths = {f"/{name}": {"get": {"security": [{name: []}], **PROXY}} for name in schemes}
    made = rest(paths=paths, components={"securitySchemes": schemes})
    found = {path: of["GET"]["authorizationType"] for path, of in made.paths.items()}
    assert found == {"/token": "CUSTOM", "/iam": "AWS_IAM", "/basic": "CUSTOM"}
    assert made.paths["/token"]["GET"]["authorizer"] == "token"
    assert "authorizer" not in made.paths["/basic"]["GET"]
    assert made.authorizers["token"]["identitySource"] == "method.request.header.Auth"
    assert len(made.warnings) == 1


def test_responses_of_one_status_are_named_and_any_method_is_passed_on() -> None:
    made = rest(paths={"/a": {"get": {"responses": {"400": {}}, "x-amazon-apigateway-integration": {
        "type": "http", "uri": "https://a.example", "httpMethod": "x-amazon-apigateway-any-method",
        "responses": {"400": {"statusCode": 400}, "4.*": {"statusCode": 400}},
    }}}})  # fmt: skip
    integration = made.paths["/a"]["GET"]["methodIntegration"]
    assert (integration["httpMethod"], integration["integrationResponses"]["400"]["selectionPattern"]) == ("ANY", "4.*")
    assert len(made.warnings) == 1


def test_an_operation_has_one_authorizer_and_keeps_its_key() -> None:
    schemes = {
        name: {"type": "apiKey", "name": name, "in": "header", "x-amazon-apigateway-authtype": "custom",
               "x-amazon-apigateway-authorizer": {"type": "token", "authorizerUri": FUNCTION}}
        for name in ("one", "other")
    }  # fmt: skip
    key = {"type": "apiKey", "name": "x-api-key", "in": "header"}
    components = {"securitySchemes": {**schemes, "key": key, "basic": {"type": "http"}}}
    for second in ("other", "basic"):
        with pytest.raises(ApiError, match="only one authorizer"):
            rest(paths={"/a": {"get": {"security": [{"one": []}, {second: []}]}}}, components=components)
    guarded = {"security": [{"key": []}], "x-amazon-apigateway-auth": {"type": "AWS_IAM"}}
    method = rest(paths={"/a": {"get": guarded}}, components=components).paths["/a"]["GET"]
    assert (method["authorizationType"], method["apiKeyRequired"]) == ("AWS_IAM", True)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"openapi": "3.1.0"}, "Version 3.1.0 of OpenAPI is not supported"),
        ({"openapi": None, "swagger": "1.2"}, "Version 1.2 of Swagger"),
        ({"paths": {"a": {"get": PROXY}}}, "must begin with a slash"),
        ({"paths": {"/a": {"$ref": "https://a.example/b.yaml"}}}, "leads out of the document"),
        ({"paths": {"/a": {"$ref": "#/paths/~1a"}}}, "leads to itself"),
        ({"paths": {"/a": {"$ref": "#/paths/~1b"}}}, "leads to nothing"),
        ({"paths": {"/a": []}}, "must be an object"),
        ({"paths": {"/a": {"get": {"security": [{"lost": []}]}}}}, "lost does not exist"),
        ({"paths": {"/a": {"get": {"security": {"token": []}}}}}, "security must be a list"),
        ({"paths": {"/a": {"get": {"security": "token"}}}}, "security must be a list"),
        ({"paths": {"/a": {"get": {"x-amazon-apigateway-auth": {"type": "CUSTOM"}}}}}, "not NONE or AWS_IAM"),
        ({"paths": {"/a": {"get": {"x-amazon-apigateway-integration": {"type": "ftp"}}}}}, "not FTP"),
        (
            {"paths": {"/a": {"get": {"x-amazon-apigateway-integration": {
                "type": "mock", "requestTemplates": {"application/json": "#if("},
            }}}}},
            "Unable to put integration on 'GET' for resource at path '/a': Invalid mapping template",
        ),
        (
            {"paths": {"/a": {"get": {"x-amazon-apigateway-integration": {
                "type": "mock", "responses": {"(": {"statusCode": 200}},
            }, "responses": {"200": {}}}}}},
            "Invalid selection pattern",
        ),
        ({"components": {"schemas": {"No-Name": {}}}}, "Model name must be alphanumeric"),
        ({"x-amazon-apigateway-api-key-source": "COOKIE"}, "not HEADER or AUTHORIZER"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_is_wrong(parts: dict[str, Any], reason: str) -> None:
    with pytest.raises(ApiError) as refused:
        rest(**parts)
    assert refused.value.code == "BadRequestException"
    assert reason in refused.value.message


def test_routes_that_match_the_same_requests_and_wrong_paths_are_refused() -> None:
    for paths in (["/a/{x}", "/a/{y}"], ["/a{x}"], ["/{x+}/a"]):
        with pytest.raises(ApiError):
            http(paths={path: {"get": {}} for path in paths})
    swagger = read_openapi(b'{"swagger": "2.0", "info": {"title": "t"}}', HOME)
    with pytest.raises(ApiError, match="Swagger"):
        http_definition(swagger)


@pytest.mark.parametrize("value", ["9" * 5_000, 10**12, 49, -1, 1.5, True, "1e3", [1]])
def test_time_limits_and_times_to_live_are_numbers_within_their_bounds(value: object) -> None:
    proxy = {**PROXY["x-amazon-apigateway-integration"], "payloadFormatVersion": "2.0", "timeoutInMillis": value}
    paths = {"/a": {"get": {"x-amazon-apigateway-integration": proxy}}}
    for define in (rest, http):
        with pytest.raises(ApiError, match=r"(?i)timeout"):
            define(paths=paths)
    for define, source in ((rest, "method.request.header.a"), (http, "$request.header.a")):
        ttl = {"authorizerResultTtlInSeconds": 3_601 if value == 49 else value}
        authorizer = {"type": "request", "authorizerUri": FUNCTION, "authorizerPayloadFormatVersion": "2.0",
                      "identitySource": source, **ttl}  # fmt: skip
        with pytest.raises(ApiError, match=r"(?i)ttl"):
            define(components={"securitySchemes": {"a": {"x-amazon-apigateway-authorizer": authorizer}}})
    with pytest.raises(ApiError, match="maxAge must be a number"):
        http(**{"x-amazon-apigateway-cors": {"maxAge": "soon"}})


def test_an_integration_that_http_apis_do_not_have_is_left_out() -> None:
    made = http(paths={"/a": {"get": {"x-amazon-apigateway-integration": {"type": "mock"}, "requestBody": {}}}})
    assert (made.routes[0].integration, len(made.warnings), len(made.info)) == ("", 1, 1)


def test_what_is_too_long_or_would_become_so_is_refused_at_once() -> None:
    bomb = "a: &a [x, x]\n" + "".join(
        f"b{at}: &b{at} [{', '.join([f'*b{at - 1}' if at else '*a'] * 9)}]\n" for at in range(12)
    )
    for body in (b"x" * (MOST_BYTES + 1), bomb.encode(), b"[" * 500, b"", b"\xff\xfe"):
        with pytest.raises(ApiError) as refused:
            read_openapi(body, HOME)
        assert refused.value.code == "BadRequestException"
