"""`statewright api ...` against a real server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.e2e.conftest import Command, Server
from tests.e2e.test_function_urls import opened
from tests.e2e.test_http_apis import SHOWN, first_class, integrated
from tests.e2e.test_lambda import ARN, made

ECHO = """
import json

def handler(event, context):
    shown = {name: event.get(name) for name in ("rawPath", "body", "rawQueryString")}
    status = 418 if event["rawPath"] == "/teapot" else 200
    return {"statusCode": status, "headers": {"x-agent": event["headers"].get("x-tenant", "none")},
            "body": json.dumps({**shown, "method": event["requestContext"]["http"]["method"]})}
"""


@pytest.fixture
def name() -> str:
    return f"api-{uuid4().hex[:10]}"


def web(server: Server, name: str, source: str = ECHO) -> str:
    """An HTTP API of a function; returns its id."""
    function = made(server.client("lambda"), source)
    gateway = server.client("apigatewayv2")
    found: str = gateway.create_api(Name=name, ProtocolType="HTTP", Target=ARN + function)["ApiId"]
    return found


def rest(server: Server, name: str, *stages: str) -> str:
    """A REST API with a mock at its root; returns its id."""
    gateway = server.client("apigateway")
    shown = gateway.create_rest_api(name=name)
    where = {"restApiId": shown["id"], "resourceId": shown["rootResourceId"], "httpMethod": "GET"}
    gateway.put_method(**where, authorizationType="NONE", apiKeyRequired=True)
    gateway.put_integration(**where, type="MOCK", requestTemplates={"application/json": '{"statusCode": 200}'})
    for stage in stages:
        gateway.create_deployment(restApiId=shown["id"], stageName=stage)
    found: str = shown["id"]
    return found


def test_everything_that_answers_http_is_listed(server: Server, statewright: Command, name: str) -> None:
    http_id, rest_id = web(server, name), rest(server, f"{name}-rest", "one", "two")
    function = made(server.client("lambda"), SHOWN)
    host = opened(server.client("lambda"), function)
    listed = json.loads(statewright("api", "list", "-o", "json").out)["apis"]
    found = [one for one in listed if one["id"] in (http_id, rest_id) or one["name"] == function]
    base = f"execute-api.localhost:{server.port}"
    assert found == [
        {"kind": "HTTP API", "id": http_id, "name": name, "stage": "$default", "address": f"http://{http_id}.{base}"},
        *(
            {"kind": "REST API", "id": rest_id, "name": f"{name}-rest", "stage": stage,
             "address": f"http://{rest_id}.{base}/{stage}"}
            for stage in ("one", "two")
        ),
        {"kind": "function URL", "id": host.partition(".")[0], "name": function, "stage": None,
         "address": f"http://{host}"},
    ]  # fmt: skip
    assert f"http://{host}\n" in statewright("api", "list").out, "addresses are not cut"


def test_routes_have_targets_and_authorization(server: Server, statewright: Command, name: str) -> None:
    gateway = server.client("apigatewayv2")
    api = gateway.create_api(Name=name, ProtocolType="HTTP")["ApiId"]
    function = made(server.client("lambda"), SHOWN)
    integrated(gateway, api, function, "GET /orders/{id}", "$default")
    first_class(gateway, api, "POST /orders", "StepFunctions-StartExecution", StateMachineArn="a", Input="b")
    gateway.create_route(ApiId=api, RouteKey="GET /empty")
    gateway.create_stage(ApiId=api, StageName="$default", AutoDeploy=True)
    shown = json.loads(statewright("api", "routes", name, "-o", "json").out)["routes"]
    assert [tuple(one.values()) for one in shown] == [
        ("ANY", "$default", f"function {function}", "NONE"), ("GET", "/empty", None, "NONE"),
        ("POST", "/orders", "StepFunctions-StartExecution", "NONE"),
        ("GET", "/orders/{id}", f"function {function}", "NONE"),
    ]  # fmt: skip
    bare = gateway.create_api(Name=f"{name}-bare", ProtocolType="HTTP")["ApiId"]
    integrated(gateway, bare, function, "GET /")
    assert json.loads(statewright("api", "routes", bare, "-o", "json").out)["routes"][0]["path"] == "/"
    assert "none: it has no stage yet" in statewright("api", "list").out
    refused = statewright("api", "call", bare, "/")
    assert (refused.code, "has no stage" in refused.err) == (2, True)
    rest_id = rest(server, f"{name}-rest", "one")
    lines = statewright("api", "routes", rest_id).out.splitlines()
    assert lines[0] == f"http://{rest_id}.execute-api.localhost:{server.port}/one"
    assert lines[2].split() == ["GET", "/", "mock", "NONE", "+", "API", "key"]


def test_a_call_sends_method_headers_and_body(server: Server, statewright: Command, name: str) -> None:
    web(server, name)
    Path("order.json").write_text('{"item": 7}')
    done = statewright("api", "call", name, "/orders?x=a b", "-d", "@order.json", "-H", "x-tenant: a")
    assert done.code == 0
    assert json.loads(done.out) == {
        "rawPath": "/orders", "body": '{"item": 7}', "rawQueryString": "x=a%20b", "method": "POST",
    }  # fmt: skip
    assert done.err.startswith("200 OK")
    assert "x-agent: a" in done.err
    shown = json.loads(statewright("api", "call", name, "DELETE", "/teapot", "-o", "json").out)
    assert (shown["status"], shown["body"]["method"], shown["headers"]["x-agent"]) == (418, "DELETE", ["none"])
    assert statewright("api", "call", name, "/teapot").code == 1


def test_a_call_names_the_execution_that_it_started(server: Server, statewright: Command, name: str) -> None:
    gateway = server.client("apigatewayv2")
    definition = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})
    role = "arn:aws:iam::000000000000:role/any"
    states = server.client("stepfunctions")
    arn = states.create_state_machine(name=name, definition=definition, roleArn=role)["stateMachineArn"]
    api = gateway.create_api(Name=name, ProtocolType="HTTP")["ApiId"]
    given = {"StateMachineArn": arn, "Input": "$request.body"}
    first_class(gateway, api, "POST /orders", "StepFunctions-StartExecution", **given)
    gateway.create_stage(ApiId=api, StageName="$default", AutoDeploy=True)
    done = statewright("api", "call", name, "POST", "/orders", "-d", "{}")
    execution = json.loads(done.out)["executionArn"]
    assert f"statewright execution show {execution}" in done.err
    assert statewright("execution", "show", execution).code == 0


def test_a_signed_call_opens_a_url_that_asks_for_it(server: Server, statewright: Command) -> None:
    functions: Any = server.client("lambda")
    function = made(functions, ECHO)
    functions.create_function_url_config(FunctionName=function, AuthType="AWS_IAM")
    assert statewright("api", "call", function, "/a").code == 1
    done = statewright("api", "call", function, "/a%2Fb?x=1&a=2", "--sign", "-d", "text")
    assert done.code == 0, done.err
    assert json.loads(done.out)["rawPath"] == "/a%2Fb"


def test_wrong_names_are_answered_with_near_ones(server: Server, statewright: Command, name: str) -> None:
    web(server, name)
    twice = f"{name}-two"
    first, second = web(server, twice), web(server, twice)
    rest(server, f"{name}-rest", "one", "two")
    for arguments, code, words in (
        (("routes", f"{name}x"), 3, f"did you mean {name}?"),
        (("call", "nothing-like-it", "/"), 3, "to see them: statewright api list"),
        (("call", twice, "/"), 2, f"{first} (HTTP API)"),
        (("call", twice, "/"), 2, f"{second} (HTTP API)"),
        (("call", f"{name}-rest", "/"), 2, "choose one by --stage: one, two"),
        (("call", name, "/", "--stage", "three"), 3, "it has: $default"),
        (("call", name, "GET", "/", "/b"), 2, "write [METHOD] PATH"),
        (("call", name, "POST"), 2, "POST needs a path"),
        (("call", name, "/", "-H", "nothing"), 2, "NAME: VALUE"),
        (("call", name, "/", "-H", "a: b\nc: d"), 2, "NAME: VALUE"),
        (("call", name, "/", "-d", "@none.json"), 3, "none.json"),
    ):
        done = statewright("api", *arguments)
        assert done.code == code, (arguments, done.err)
        assert words in " ".join(done.err.split()), arguments
