"""OpenAPI documents as APIs, through boto3 and plain HTTP, against a real server."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.e2e.conftest import ROLE, Server
from tests.e2e.test_http_apis import called
from tests.e2e.test_lambda import ARN, made
from tests.e2e.test_rest_apis import INVOKED, SHOWN_1

STARTED = "arn:aws:apigateway:us-east-1:states:action/StartExecution"
PASSES = json.dumps({"StartAt": "End", "States": {"End": {"Type": "Pass", "End": True}}})


@pytest.fixture
def gateway(server: Server) -> Any:
    return server.client("apigateway")


def function(server: Server) -> str:
    return INVOKED.format(ARN + made(server.client("lambda"), SHOWN_1))


def machine(server: Server) -> str:
    created = server.client("stepfunctions").create_state_machine(
        name="orders-of-a-document", definition=PASSES, roleArn=ROLE
    )
    arn: str = created["stateMachineArn"]
    return arn


def document(function_uri: str, machine_arn: str) -> dict[str, Any]:
    start = {"application/json": json.dumps({"stateMachineArn": machine_arn, "input": "IN"}).replace(
        '"IN"', '"$util.escapeJavaScript($input.json(\'$\'))"')}  # fmt: skip
    return {
        "openapi": "3.0.1", "info": {"title": "orders", "version": "1"},
        "paths": {
            "/orders/{id}": {
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
                "x-amazon-apigateway-any-method": {"x-amazon-apigateway-integration": {
                    "type": "aws_proxy", "httpMethod": "POST", "uri": function_uri,
                }},
            },
            "/orders": {"post": {
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}}},
                "x-amazon-apigateway-request-validator": "body",
                "responses": {"200": {"description": "started"}, "400": {"description": "refused"}},
                "x-amazon-apigateway-integration": {
                    "type": "aws", "httpMethod": "POST", "uri": STARTED, "credentials": ROLE,
                    "passthroughBehavior": "never", "requestTemplates": start,
                    "responses": {"default": {"statusCode": 200}, "4\\d{2}": {"statusCode": "400"}},
                },
            }},
        },
        "components": {"schemas": {
            "Order": {"type": "object", "required": ["item"], "properties": {"item": {
                "$ref": "#/components/schemas/Item",
            }}},
            "Item": {"type": "string", "minLength": 2},
        }},
        "x-amazon-apigateway-request-validators": {"body": {"validateRequestBody": True}},
    }  # fmt: skip


def test_a_document_becomes_an_api_that_answers(server: Server, gateway: Any) -> None:
    arn = machine(server)
    body = json.dumps(document(function(server), arn)).encode()
    shown = gateway.import_rest_api(body=body, failOnWarnings=True)
    assert (shown["name"], shown["version"], shown["ResponseMetadata"]["HTTPStatusCode"]) == ("orders", "1", 201)
    gateway.create_deployment(restApiId=shown["id"], stageName="prod")
    event = called(server, shown["id"], "DELETE", "/prod/orders/7").json
    assert (event["resource"], event["pathParameters"]) == ("/orders/{id}", {"id": "7"})
    started = called(server, shown["id"], "POST", "/prod/orders", body=b'{"item": "tea"}')
    assert started.status == 200, started.body
    told = server.client("stepfunctions").describe_execution(executionArn=started.json["executionArn"])
    assert (told["stateMachineArn"], json.loads(told["input"])) == (arn, {"item": "tea"})
    refused = called(server, shown["id"], "POST", "/prod/orders", body=b'{"item": "t"}')
    assert (refused.status, refused.json) == (400, {"message": "Invalid request body"})
    models = {one["name"] for one in gateway.get_models(restApiId=shown["id"])["items"]}
    assert models == {"Empty", "Error", "Item", "Order"}


def test_what_is_no_document_is_refused(gateway: Any) -> None:
    before = len(gateway.get_rest_apis()["items"])
    for body in (b"[]", b"{}", b'{"openapi": "3.0.0"', b"\xff"):
        with pytest.raises(ClientError, match=r"Invalid OpenAPI input\."):
            gateway.import_rest_api(body=body)
    doubtful = json.dumps({"swagger": "2.0", "info": {"title": "t"}, "security": [], "paths": {}}).encode()
    with pytest.raises(ClientError, match="Warnings found during import:\n\tsecurity of the whole document"):
        gateway.import_rest_api(body=doubtful, failOnWarnings=True)
    with pytest.raises(ClientError, match="more values than"):
        gateway.import_rest_api(body=b'{"swagger": "2.0", "x": [' + b"[]," * 1_000_000 + b"[]]}")
    assert len(gateway.get_rest_apis()["items"]) == before
    assert len(gateway.import_rest_api(body=doubtful)["warnings"]) == 1


def test_a_document_overwrites_an_api_or_is_merged_into_it(server: Server, gateway: Any) -> None:
    def mock(status: int) -> dict[str, Any]:
        return {"responses": {str(status): {"description": "x"}}, "x-amazon-apigateway-integration": {
            "type": "mock", "requestTemplates": {"application/json": json.dumps({"statusCode": status})},
            "responses": {"default": {"statusCode": status}},
        }}  # fmt: skip

    def body(**paths: Any) -> bytes:
        return json.dumps({"swagger": "2.0", "info": {"title": "mocks"}, "paths": {
            f"/{name}": one for name, one in paths.items()
        }}).encode()  # fmt: skip

    def answers() -> dict[str, int]:
        gateway.create_deployment(restApiId=api, stageName="prod")
        return {path: called(server, api, "GET", f"/prod/{path}").status for path in ("a", "b", "c")}

    api = gateway.import_rest_api(body=body(a={"get": mock(201)}, b={"get": mock(202)}))["id"]
    root = gateway.get_rest_api(restApiId=api)["rootResourceId"]
    assert answers() == {"a": 201, "b": 202, "c": 403}
    gateway.put_rest_api(restApiId=api, mode="merge", body=body(b={"get": mock(203)}, c={"get": mock(204)}))
    assert answers() == {"a": 201, "b": 203, "c": 204}
    gateway.put_rest_api(restApiId=api, mode="overwrite", body=body(c={"get": mock(205)}))
    assert answers() == {"a": 403, "b": 403, "c": 205}
    assert gateway.get_rest_api(restApiId=api)["rootResourceId"] == root


def test_an_http_api_is_imported_and_imported_again(server: Server) -> None:
    client = server.client("apigatewayv2")
    uri = function(server)
    given: dict[str, Any] = {
        "openapi": "3.0.1", "info": {"title": "shop", "version": "1"},
        "paths": {
            "/orders/{id}": {"get": {"x-amazon-apigateway-integration": {
                "$ref": "#/components/x-amazon-apigateway-integrations/shop",
            }}},
            "/$default": {"x-amazon-apigateway-any-method": {"x-amazon-apigateway-integration": {
                "$ref": "#/components/x-amazon-apigateway-integrations/shop",
            }}},
            "/closed": {"get": {"security": [{"jwt": []}], "x-amazon-apigateway-integration": {
                "$ref": "#/components/x-amazon-apigateway-integrations/shop",
            }}},
        },
        "tags": [{"name": "team", "x-amazon-apigateway-tag-value": "blue"}, {"name": "bare"}],
        "x-amazon-apigateway-cors": {"allowOrigins": ["https://shop.example"], "maxAge": 60},
        "components": {
            "x-amazon-apigateway-integrations": {"shop": {
                "type": "aws_proxy", "httpMethod": "POST", "uri": uri, "payloadFormatVersion": 2.0,
            }},
            "securitySchemes": {"jwt": {"type": "oauth2", "x-amazon-apigateway-authorizer": {
                "type": "jwt", "identitySource": "$request.header.Authorization",
                "jwtConfiguration": {"issuer": "https://login.example", "audience": ["shop"]},
            }}},
        },
    }  # fmt: skip
    made = client.import_api(Body=json.dumps(given), FailOnWarnings=True)
    assert (made["Name"], made["Tags"]) == ("shop", {"team": "blue", "bare": ""})
    assert made["CorsConfiguration"] == {"AllowOrigins": ["https://shop.example"], "MaxAge": 60}
    client.create_stage(ApiId=made["ApiId"], StageName="$default", AutoDeploy=True)
    assert called(server, made["ApiId"], "GET", "/orders/7").json["routeKey"] == "GET /orders/{id}"
    assert called(server, made["ApiId"], "PUT", "/other").json["routeKey"] == "$default"
    assert called(server, made["ApiId"], "GET", "/closed").status in (401, 403)
    assert len(client.get_integrations(ApiId=made["ApiId"])["Items"]) == 1
    given["paths"] = {"/other": given["paths"]["/orders/{id}"]}
    client.reimport_api(ApiId=made["ApiId"], Body=json.dumps(given))
    assert called(server, made["ApiId"], "GET", "/orders/7").status == 404
    assert called(server, made["ApiId"], "GET", "/other").json["routeKey"] == "GET /other"
    with pytest.raises(ClientError, match="Swagger"):
        client.import_api(Body=json.dumps({"swagger": "2.0", "info": {"title": "old"}, "paths": {}}))


@pytest.mark.parametrize("kind", ["swagger", "oas30"])
@pytest.mark.parametrize("accepts", ["application/json", "application/yaml"])
def test_an_export_is_imported_as_the_same_api(server: Server, gateway: Any, kind: str, accepts: str) -> None:
    given = document(function(server), machine(server))
    given["x-amazon-apigateway-binary-media-types"] = ["image/png"]
    schemes = {"key": {"type": "apiKey", "name": "x-api-key", "in": "header"}}
    given["components"]["securitySchemes"] = schemes
    given["paths"]["/orders"]["post"]["security"] = [{"key": []}]
    first = gateway.import_rest_api(body=json.dumps(given).encode())["id"]
    gateway.create_deployment(restApiId=first, stageName="prod")
    exported = gateway.get_export(
        restApiId=first, stageName="prod", exportType=kind, accepts=accepts, parameters={"extensions": "apigateway"}
    )
    assert exported["contentType"] == accepts
    body = exported["body"].read()
    second = gateway.import_rest_api(body=body, failOnWarnings=True)
    assert (second["name"], second["binaryMediaTypes"]) == ("orders", ["image/png"])

    def shown(api: str) -> Any:
        found = {}
        for one in gateway.get_resources(restApiId=api, embed=["methods"])["items"]:
            for name, method in one.get("resourceMethods", {}).items():
                method["methodIntegration"].pop("cacheNamespace")
                method["validator"] = bool(method.pop("requestValidatorId", None))
                found[one["path"], name] = method
        return found, {one["name"] for one in gateway.get_models(restApiId=api)["items"]}

    assert shown(second["id"]) == shown(first)
    plain = gateway.get_export(restApiId=first, stageName="prod", exportType=kind)["body"].read()
    assert b"x-amazon-apigateway-integration" not in plain
    with pytest.raises(ClientError, match="No API specification"):
        gateway.get_export(restApiId=first, stageName="prod", exportType="raml")
