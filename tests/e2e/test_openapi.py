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
    assert len(gateway.get_rest_apis()["items"]) == before
