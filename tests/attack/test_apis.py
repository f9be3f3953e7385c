"""Attacks on the data plane of APIs, and through it on the server: hosts, framing, escapes, header values, pages."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from tests.attack.conftest import send
from tests.deadlines import PATIENCE_SECONDS
from tests.e2e.conftest import Server


@pytest.fixture(scope="module")
def api(lenient: Server) -> str:
    """A REST API whose mock maps a parameter of the query to a header of the response."""
    gateway: Any = lenient.client("apigateway")
    made = gateway.create_rest_api(name="attacked")
    where = {"restApiId": made["id"], "resourceId": made["rootResourceId"], "httpMethod": "GET"}
    gateway.put_method(**where, authorizationType="NONE", requestParameters={"method.request.querystring.v": False})
    template = '{"statusCode": 200}\n#set($context.responseOverride.header.X-V = $input.params("v"))'
    gateway.put_integration(**where, type="MOCK", requestTemplates={"application/json": template})
    gateway.put_method_response(**where, statusCode="200", responseParameters={"method.response.header.X-V": False})
    gateway.put_integration_response(**where, statusCode="200")
    gateway.create_deployment(restApiId=made["id"], stageName="s")
    found: str = made["id"]
    return found


def host_of(server: Server, api: str) -> dict[str, str]:
    return {"Host": f"{api}.execute-api.localhost:{server.port}"}


def test_a_host_of_an_api_never_leads_to_operations(lenient, api):
    target = {"X-Amz-Target": "AmazonSQS.ListQueues", "Content-Type": "application/x-amz-json-1.0"}
    for host in (
        f"{api}.execute-api.localhost:{lenient.port}", f"{api.upper()}.EXECUTE-API.LOCALHOST",
        f"{api}.execute-api.localhost.", f"x.{api}.execute-api.localhost", f"{api}.execute-api.us-east-1.amazonaws.com",
        "none.execute-api.localhost", f"{api}.execute-api.evil.example",
    ):  # fmt: skip
        answer = send(lenient, "POST", "/", {"Host": host, **target}, b"{}")
        assert answer.status in (403, 404), host
        assert b"QueueUrls" not in answer.body
        health = send(lenient, "GET", "/health", {"Host": host})
        assert health.status in (403, 404), host


def test_two_hosts_are_refused(lenient, api):
    first = f"{api}.execute-api.localhost".encode()
    with socket.create_connection(("127.0.0.1", lenient.port), PATIENCE_SECONDS) as raw:
        raw.sendall(b"GET /s HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: " + first + b"\r\nConnection: close\r\n\r\n")
        answer = b"".join(iter(lambda: raw.recv(65_536), b""))
    assert answer.startswith(b"HTTP/1.1 400 ")


def test_escapes_do_not_leave_an_api(lenient, api):
    for path in (f"/_apis/{api}/%2e%2e/%2e%2e/health", f"/_apis/{api}/s%2F..%2F..%2Fhealth", f"/_apis%2F{api}/s"):
        answer = send(lenient, "GET", path)
        assert answer.status in (403, 404), path
        assert b'"operations"' not in answer.body


def test_a_value_of_the_query_ends_no_header(lenient, api):
    assert send(lenient, "GET", "/s?v=a", host_of(lenient, api)).headers["x-v"] == "a"
    answer = send(lenient, "GET", "/s?v=a%0d%0aSet-Cookie:%20b=1", host_of(lenient, api))
    assert answer.status == 500
    assert "set-cookie" not in answer.headers


def test_a_page_at_the_servers_own_origin_is_sandboxed(lenient, api):
    answer = send(lenient, "GET", f"/_apis/{api}/s")
    assert answer.status == 200
    assert answer.headers["content-security-policy"] == "sandbox"
    assert "content-security-policy" not in send(lenient, "GET", "/s", host_of(lenient, api)).headers


def test_pages_elsewhere_call_no_api_that_does_not_let_them_in(lenient, api):
    page = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site", "User-Agent": "Mozilla/5.0"}
    for headers in (host_of(lenient, api), {}):
        path = "/s" if headers else f"/_apis/{api}/s"
        assert send(lenient, "GET", path, {**headers, **page}).status == 403
        link = {**headers, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
        assert send(lenient, "GET", path, link).status == 403
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert send(lenient, "GET", "/s", {**host_of(lenient, api), **followed}).status == 200
    assert send(lenient, "GET", f"/_apis/{api}/s", followed).status == 403


def test_headers_of_a_function_are_bounded_in_number_and_size(lenient):
    gateway: Any = lenient.client("apigateway")
    made = gateway.create_rest_api(name="long heads")
    where = {"restApiId": made["id"], "resourceId": made["rootResourceId"], "httpMethod": "POST"}
    gateway.put_method(**where, authorizationType="NONE")
    template = '{"statusCode": 200}\n#set($context.responseOverride.header.X = $input.path("$.x"))'
    gateway.put_integration(**where, type="MOCK", requestTemplates={"application/json": template})
    gateway.put_method_response(**where, statusCode="200")
    gateway.put_integration_response(**where, statusCode="200")
    gateway.create_deployment(restApiId=made["id"], stageName="s")
    for size, status in ((60_000, 200), (3_000_000, 500)):
        body = b'{"x": "' + b"a" * size + b'"}'
        answer = send(lenient, "POST", "/s", {**host_of(lenient, made["id"]), "Content-Type": "application/json"}, body)
        assert answer.status == status


def test_checks_of_bodies_are_bounded(lenient):
    gateway: Any = lenient.client("apigateway")
    made = gateway.create_rest_api(name="checked")
    checks = gateway.create_request_validator(restApiId=made["id"], name="all", validateRequestBody=True)["id"]
    again = [{"allOf": [{"$ref": "#/definitions/a"}]}] * 2
    for name, schema in (("Twice", {"$ref": "#/definitions/a", "definitions": {"a": {"anyOf": again}}}),
                         ("List", {"type": "array", "items": {"type": "integer"}})):  # fmt: skip
        gateway.create_model(restApiId=made["id"], name=name, contentType="application/json", schema=json.dumps(schema))
        resource = gateway.create_resource(restApiId=made["id"], parentId=made["rootResourceId"], pathPart=name)
        where = {"restApiId": made["id"], "resourceId": resource["id"], "httpMethod": "POST"}
        gateway.put_method(**where, authorizationType="NONE", requestValidatorId=checks,
                           requestModels={"application/json": name})  # fmt: skip
        gateway.put_integration(**where, type="MOCK", requestTemplates={"application/json": "{statusCode: 200}"})
        gateway.put_method_response(**where, statusCode="200")
        gateway.put_integration_response(**where, statusCode="200")
    gateway.create_deployment(restApiId=made["id"], stageName="s")
    host = {**host_of(lenient, made["id"]), "Content-Type": "application/json"}
    assert send(lenient, "POST", "/s/Twice", host, b"[1]").status == 400
    # A long body that fits is let through, however many steps its check takes.
    assert send(lenient, "POST", "/s/List", host, b"[" + b"1," * 200_000 + b"1]").status == 200
