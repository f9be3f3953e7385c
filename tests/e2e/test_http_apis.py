"""HTTP APIs through boto3 and plain HTTP, against a real server: routes, stages, events and answers of functions."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest
from botocore.exceptions import ClientError

from tests.e2e.conftest import Server, machine
from tests.e2e.test_lambda import ARN, made

SHOWN = """
def handler(event, context):
    return {"event": event}
"""
AS_ASKED = """
import json

def handler(event, context):
    return json.loads(event["body"])
"""


@dataclass
class Answer:
    status: int
    headers: dict[str, list[str]]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def called(
    server: Server, api: str, method: str, path: str, headers: dict[str, str] | None = None, body: bytes | None = None
) -> Answer:
    """Call an API behind its own host."""
    return asked(server, f"{api}.execute-api.localhost:{server.port}", method, path, headers, body)


def asked(
    server: Server, host: str, method: str, path: str, headers: dict[str, str] | None = None, body: bytes | None = None
) -> Answer:
    """Send a request to a server by the name of a host."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        connection.request(method, path, body, {"Host": host, **(headers or {})})
        found = connection.getresponse()
        names: dict[str, list[str]] = {}
        for name, value in found.getheaders():
            names.setdefault(name.lower(), []).append(value)
        return Answer(found.status, names, found.read())
    finally:
        connection.close()


@pytest.fixture
def gateway(server: Server) -> Any:
    return server.client("apigatewayv2")


def integrated(gateway: Any, api: str, function: str, *keys: str, version: str = "2.0") -> None:
    """Routes of an API to a function."""
    integration = gateway.create_integration(
        ApiId=api, IntegrationType="AWS_PROXY", IntegrationUri=ARN + function, PayloadFormatVersion=version
    )["IntegrationId"]
    for key in keys:
        gateway.create_route(ApiId=api, RouteKey=key, Target=f"integrations/{integration}")


def new_api(gateway: Any, **settings: Any) -> str:
    api: str = gateway.create_api(Name="shop", ProtocolType="HTTP", **settings)["ApiId"]
    return api


def test_an_api_made_in_one_call_answers_every_path(server, gateway):
    function = made(server.client("lambda"), SHOWN)
    shown = gateway.create_api(Name="shop", ProtocolType="HTTP", Target=ARN + function)
    api = shown["ApiId"]
    assert shown["ApiEndpoint"] == f"http://{api}.execute-api.localhost:{server.port}"
    answer = called(
        server, api, "POST", "/a/b?x=1&x=2&y=%2B", {"Content-Type": "text/plain", "Cookie": "c=1; d=2", "X-Two": "v"},
        b"hello",
    )  # fmt: skip
    assert (answer.status, answer.headers["content-type"]) == (200, ["application/json"])
    event = answer.json["event"]
    context = event.pop("requestContext")
    headers = event.pop("headers")
    assert event == {
        "version": "2.0", "routeKey": "$default", "rawPath": "/a/b", "rawQueryString": "x=1&x=2&y=%2B",
        "cookies": ["c=1", "d=2"], "queryStringParameters": {"x": "1,2", "y": "+"}, "body": "hello",
        "isBase64Encoded": False,
    }  # fmt: skip
    assert headers["x-two"] == "v"
    assert headers["x-forwarded-for"] == "127.0.0.1"
    assert headers["host"] == f"{api}.execute-api.localhost:{server.port}"
    assert "cookie" not in headers
    assert context["http"] == {
        "method": "POST", "path": "/a/b", "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1", "userAgent": "",
    }  # fmt: skip
    assert (context["stage"], context["apiId"], context["domainPrefix"]) == ("$default", api, api)


def test_the_most_specific_route_answers(server, gateway):
    function = made(server.client("lambda"), SHOWN)
    api = new_api(gateway)
    keys = ("GET /pets/dog/1", "GET /pets/dog/{id}", "GET /pets/{proxy+}", "ANY /{all+}", "$default", "GET /")
    integrated(gateway, api, function, *keys)
    gateway.create_stage(ApiId=api, StageName="$default", AutoDeploy=True, StageVariables={"mode": "test"})

    def route_of(method: str, path: str) -> Any:
        event = called(server, api, method, path).json["event"]
        assert event["stageVariables"] == {"mode": "test"}
        return event["routeKey"], event.get("pathParameters")

    assert route_of("GET", "/pets/dog/1") == ("GET /pets/dog/1", None)
    assert route_of("GET", "/pets/dog/2%2F3") == ("GET /pets/dog/{id}", {"id": "2/3"})
    assert route_of("GET", "/pets/cat/1") == ("GET /pets/{proxy+}", {"proxy": "cat/1"})
    assert route_of("POST", "/pets/dog/1") == ("ANY /{all+}", {"all": "pets/dog/1"})
    assert route_of("POST", "/") == ("$default", None)
    assert route_of("GET", "/") == ("GET /", None)


def test_a_stage_serves_its_deployment_until_the_next_one(server, gateway):
    function = made(server.client("lambda"), SHOWN)
    api = new_api(gateway)
    integrated(gateway, api, function, "GET /old")
    first = gateway.create_deployment(ApiId=api)["DeploymentId"]
    gateway.create_stage(ApiId=api, StageName="prod", DeploymentId=first)
    integrated(gateway, api, function, "GET /new")
    assert called(server, api, "GET", "/prod/old").json["event"]["rawPath"] == "/prod/old"
    missing = called(server, api, "GET", "/prod/new")
    assert (missing.status, missing.body) == (404, b'{"message":"Not Found"}')
    gateway.create_deployment(ApiId=api, StageName="prod")
    assert called(server, api, "GET", "/prod/new").status == 200
    assert called(server, api, "GET", "/other/new").status == 404
    gateway.delete_api(ApiId=api)
    assert called(server, api, "GET", "/prod/new").status == 404


def test_functions_answer_in_both_formats(server, gateway):
    function = made(server.client("lambda"), AS_ASKED)
    api = new_api(gateway)
    integrated(gateway, api, function, "POST /two")
    integrated(gateway, api, function, "POST /one", version="1.0")
    gateway.create_stage(ApiId=api, StageName="$default", AutoDeploy=True)

    def answered(path: str, given: Any) -> Answer:
        return called(server, api, "POST", path, {"Content-Type": "application/json"}, json.dumps(given).encode())

    given = {"statusCode": 201, "headers": {"X-A": "1"}, "body": "made"}
    full = answered("/two", {**given, "cookies": ["a=1", "b=2"]})
    assert (full.status, full.body, full.headers["x-a"], full.headers["set-cookie"]) == (
        201, b"made", ["1"], ["a=1", "b=2"],
    )  # fmt: skip
    assert answered("/two", {"any": "object"}).body == b'{"any":"object"}'
    assert answered("/two", {"statusCode": 200, "body": "AP8=", "isBase64Encoded": True}).body == b"\x00\xff"
    multi = answered("/one", {**given, "multiValueHeaders": {"X-M": ["1", "2"]}})
    assert (multi.status, multi.headers["x-m"], multi.headers["x-a"]) == (201, ["1", "2"], ["1"])
    for path, bad in (
        ("/one", {"any": "object"}),
        ("/two", {"statusCode": "no"}),
        ("/two", {"statusCode": 200, "headers": {"X-A": "a\r\nSet-Cookie: b=1"}}),
        ("/two", {"statusCode": 200, "headers": {"X: A": "a"}}),
    ):
        failed = answered(path, bad)
        assert (failed.status, failed.body) == (500, b'{"message":"Internal Server Error"}')
    framed = answered("/two", {"statusCode": 200, "headers": {"Transfer-Encoding": "chunked", "Content-Length": "1"},
                               "body": "abc"})  # fmt: skip
    assert (framed.status, framed.body, framed.headers["content-length"]) == (200, b"abc", ["3"])


def test_a_function_that_takes_longer_than_the_integration_may(server, gateway):
    function = made(server.client("lambda"), "import time\ndef handler(event, context):\n    time.sleep(600)\n")
    api = new_api(gateway)
    integration = gateway.create_integration(
        ApiId=api, IntegrationType="AWS_PROXY", IntegrationUri=ARN + function, PayloadFormatVersion="2.0",
        TimeoutInMillis=50,
    )["IntegrationId"]  # fmt: skip
    gateway.create_route(ApiId=api, RouteKey="$default", Target=f"integrations/{integration}")
    gateway.create_stage(ApiId=api, StageName="$default", AutoDeploy=True)
    late = called(server, api, "GET", "/")
    assert (late.status, late.body) == (503, b'{"message":"Service Unavailable"}')


def test_an_execution_that_takes_longer_than_the_integration_may(server, gateway, sfn):
    express = machine(sfn, {"Type": "Wait", "Seconds": 250}, express=True)
    api = new_api(gateway)
    integration = gateway.create_integration(
        ApiId=api, IntegrationType="AWS_PROXY", IntegrationSubtype="StepFunctions-StartSyncExecution",
        CredentialsArn="arn:aws:iam::000000000000:role/r", PayloadFormatVersion="1.0", TimeoutInMillis=50,
        RequestParameters={"StateMachineArn": express},
    )["IntegrationId"]  # fmt: skip
    gateway.create_route(ApiId=api, RouteKey="$default", Target=f"integrations/{integration}")
    gateway.create_stage(ApiId=api, StageName="$default", AutoDeploy=True)
    late = called(server, api, "POST", "/")
    assert (late.status, late.body) == (503, b'{"message":"Service Unavailable"}')


def test_another_stage_serves_the_deployment_of_an_automatic_one(server, gateway):
    api = new_api(gateway, Target=ARN + made(server.client("lambda"), SHOWN))
    deployment = gateway.get_stage(ApiId=api, StageName="$default")["DeploymentId"]
    gateway.create_stage(ApiId=api, StageName="prod", DeploymentId=deployment)
    assert called(server, api, "GET", "/prod/a").json["event"]["routeKey"] == "$default"


def test_requests_start_executions(server, gateway, sfn):
    express = machine(sfn, {"Type": "Pass", "Result": {"done": True}}, express=True)
    standard = machine(sfn, {"Type": "Pass"})
    api = new_api(gateway)
    for key, subtype, parameters in (
        ("POST /sync", "StartSyncExecution", {"StateMachineArn": express, "Input": "$request.body"}),
        ("POST /start/{name}", "StartExecution",
         {"StateMachineArn": standard, "Name": "$request.path.name", "Input": "$request.body.order"}),
    ):  # fmt: skip
        integration = gateway.create_integration(
            ApiId=api, IntegrationType="AWS_PROXY", IntegrationSubtype=f"StepFunctions-{subtype}",
            CredentialsArn="arn:aws:iam::000000000000:role/r", PayloadFormatVersion="1.0", RequestParameters=parameters,
        )["IntegrationId"]  # fmt: skip
        gateway.create_route(ApiId=api, RouteKey=key, Target=f"integrations/{integration}")
    gateway.create_stage(ApiId=api, StageName="$default", AutoDeploy=True)
    done = called(server, api, "POST", "/sync", body=b'{"a": 1}').json
    assert (done["status"], done["output"], done["input"]) == ("SUCCEEDED", '{"done":true}', '{"a": 1}')
    begun = called(server, api, "POST", "/start/n-1", body=b'{"order": {"id": 7}}').json
    assert begun["executionArn"].endswith(":n-1")
    assert isinstance(begun["startDate"], float)
    assert json.loads(sfn.describe_execution(executionArn=begun["executionArn"])["input"]) == {"id": 7}
    refused = called(server, api, "POST", "/start/a%20b", body=b'{"order": {}}')
    assert (refused.status, refused.json["__type"]) == (400, "InvalidName")


def test_messages_and_events_are_sent(server, gateway):
    sqs = server.client("sqs")
    url = sqs.create_queue(QueueName=f"http-{new_api(gateway)}")["QueueUrl"]
    api = new_api(gateway)
    for key, subtype, parameters in (
        ("POST /queue", "SQS-SendMessage", {"QueueUrl": url, "MessageBody": "got ${request.body.a}"}),
        ("POST /bus", "EventBridge-PutEvents",
         {"Source": "shop", "DetailType": "$request.header.x-kind", "Detail": "$request.body"}),
    ):  # fmt: skip
        integration = gateway.create_integration(
            ApiId=api, IntegrationType="AWS_PROXY", IntegrationSubtype=subtype, PayloadFormatVersion="1.0",
            RequestParameters=parameters,
        )["IntegrationId"]  # fmt: skip
        gateway.create_route(ApiId=api, RouteKey=key, Target=f"integrations/{integration}")
    gateway.create_stage(ApiId=api, StageName="$default", AutoDeploy=True)
    assert "MessageId" in called(server, api, "POST", "/queue", body=b'{"a": 5}').json
    assert sqs.receive_message(QueueUrl=url)["Messages"][0]["Body"] == "got 5"
    sent = called(server, api, "POST", "/bus", {"X-Kind": "Ordered"}, b'{"a": 5}').json
    assert sent["FailedEntryCount"] == 0


def first_class(gateway: Any, api: str, key: str, subtype: str, **parameters: str) -> None:
    """A route of an API to an operation of a service."""
    integration = gateway.create_integration(
        ApiId=api, IntegrationType="AWS_PROXY", IntegrationSubtype=subtype, PayloadFormatVersion="1.0",
        RequestParameters=parameters,
    )["IntegrationId"]  # fmt: skip
    gateway.create_route(ApiId=api, RouteKey=key, Target=f"integrations/{integration}")


def test_messages_are_received_deleted_and_purged(server, gateway):
    api = new_api(gateway)
    sqs = server.client("sqs")
    url = sqs.create_queue(QueueName=f"http-{api}", Attributes={"VisibilityTimeout": "0"})["QueueUrl"]
    first_class(gateway, api, "GET /messages", "SQS-ReceiveMessage", QueueUrl=url, MaxNumberOfMessages="1")
    first_class(
        gateway, api, "DELETE /messages", "SQS-DeleteMessage",
        QueueUrl=url, ReceiptHandle="$request.querystring.receipt",
    )  # fmt: skip
    first_class(gateway, api, "DELETE /all", "SQS-PurgeQueue", QueueUrl=url)
    gateway.create_stage(ApiId=api, StageName="$default", AutoDeploy=True)
    for text in ("one", "two"):
        sqs.send_message(QueueUrl=url, MessageBody=text)
    (message,) = called(server, api, "GET", "/messages").json["Messages"]
    receipt = urlencode({"receipt": message["ReceiptHandle"]})
    assert called(server, api, "DELETE", f"/messages?{receipt}").status == 200
    left = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert [one["Body"] for one in left] == [{"one": "two", "two": "one"}[message["Body"]]]
    assert called(server, api, "DELETE", "/all").status == 200
    assert "Messages" not in sqs.receive_message(QueueUrl=url)


def test_an_execution_is_stopped(server, gateway):
    sfn = server.client("stepfunctions")
    api = new_api(gateway)
    first_class(
        gateway, api, "POST /stop", "StepFunctions-StopExecution",
        ExecutionArn="$request.body.execution", Error="Cancelled", Cause="$request.body.why",
    )  # fmt: skip
    gateway.create_stage(ApiId=api, StageName="$default", AutoDeploy=True)
    arn = sfn.start_execution(stateMachineArn=machine(sfn, {"Type": "Wait", "Seconds": 3_600}))["executionArn"]
    body = json.dumps({"execution": arn, "why": "not needed"}).encode()
    assert called(server, api, "POST", "/stop", body=body).status == 200
    found = sfn.describe_execution(executionArn=arn)
    assert (found["status"], found["error"], found["cause"]) == ("ABORTED", "Cancelled", "not needed")


def test_requests_are_passed_to_another_server(server, gateway):
    function = made(server.client("lambda"), SHOWN)
    behind = gateway.create_api(Name="behind", ProtocolType="HTTP", Target=ARN + function)["ApiId"]
    api = new_api(gateway)
    integration = gateway.create_integration(
        ApiId=api, IntegrationType="HTTP_PROXY", IntegrationMethod="ANY", PayloadFormatVersion="1.0",
        IntegrationUri=f"http://127.0.0.1:{server.port}/_apis/{behind}/{{path}}",
    )["IntegrationId"]  # fmt: skip
    gateway.create_route(ApiId=api, RouteKey="ANY /{path+}", Target=f"integrations/{integration}")
    gateway.create_stage(ApiId=api, StageName="$default", AutoDeploy=True)
    answer = called(
        server,
        api,
        "PUT",
        "/a/b?x=1",
        {"Content-Type": "application/json", "X-Mine": "yes", "Connection": "X-Hop", "X-Hop": "no"},
        b"{}",
    )
    event = answer.json["event"]
    assert (event["rawPath"], event["rawQueryString"], event["body"]) == ("/a/b", "x=1", "{}")
    assert event["requestContext"]["http"]["method"] == "PUT"
    assert event["headers"]["x-mine"] == "yes"
    assert "x-hop" not in event["headers"]
    assert called(server, api, "GET", "/a/%2e%2e/b").status == 500


def test_a_route_with_authorization_stays_closed(server, gateway):
    function = made(server.client("lambda"), SHOWN)
    api = new_api(gateway)
    integrated(gateway, api, function, "GET /iam")
    [route] = gateway.get_routes(ApiId=api)["Items"]
    where = {"ApiId": api, "RouteId": route["RouteId"]}
    for kind in ("JWT", "CUSTOM"):
        with pytest.raises(ClientError, match=f"AuthorizationType {kind} needs the AuthorizerId"):
            gateway.update_route(**where, AuthorizationType=kind)
    with pytest.raises(ClientError, match="only supported for routes with AuthorizationType JWT"):
        gateway.update_route(**where, AuthorizationScopes=["read"])
    gateway.update_route(**where, AuthorizationType="AWS_IAM")
    gateway.create_stage(ApiId=api, StageName="$default", AutoDeploy=True)
    assert called(server, api, "GET", "/iam").status == 403


def test_what_an_http_api_refuses(gateway):
    api = new_api(gateway)
    route = gateway.create_route(ApiId=api, RouteKey="GET /a/{b}")
    for operation, request, code in (
        ("create_route", {"RouteKey": "GET /a/{c}"}, "ConflictException"),
        ("create_route", {"RouteKey": "FETCH /a"}, "BadRequestException"),
        ("create_route", {"RouteKey": "GET /{a+}/b"}, "BadRequestException"),
        ("create_route", {"RouteKey": "GET /b", "Target": "integrations/none"}, "NotFoundException"),
        ("create_integration", {"IntegrationType": "MOCK"}, "BadRequestException"),
        ("create_integration", {"IntegrationType": "AWS_PROXY", "IntegrationSubtype": "SQS-Nothing"},
         "BadRequestException"),
        ("create_integration", {"IntegrationType": "AWS_PROXY", "IntegrationSubtype": "SQS-SendMessage",
                                "RequestParameters": {"QueueUrl": "u"}}, "BadRequestException"),
        ("create_integration", {"IntegrationType": "HTTP_PROXY", "IntegrationUri": "http://127.0.0.1:1/",
                                "IntegrationMethod": "GET", "RequestParameters": {"append:header.x": "1"}},
         "BadRequestException"),
        ("get_stage", {"StageName": "none"}, "NotFoundException"),
    ):  # fmt: skip
        with pytest.raises(ClientError) as refused:
            getattr(gateway, operation)(ApiId=api, **request)
        assert refused.value.response["Error"]["Code"] == code, operation
    with pytest.raises(ClientError, match="no WebSocket APIs"):
        gateway.create_api(Name="w", ProtocolType="WEBSOCKET", RouteSelectionExpression="$request.body.action")
    gateway.delete_route(ApiId=api, RouteId=route["RouteId"])
    assert gateway.get_routes(ApiId=api)["Items"] == []


def test_the_path_of_the_server_leads_to_an_api_without_its_rights(server, gateway):
    function = made(server.client("lambda"), SHOWN)
    api = gateway.create_api(Name="shop", ProtocolType="HTTP", Target=ARN + function)["ApiId"]
    answer = called(server, api, "GET", f"/_apis/{api}/x", {"Host": f"127.0.0.1:{server.port}"})
    assert (answer.status, answer.json["event"]["rawPath"]) == (200, "/x")
    assert answer.headers["content-security-policy"] == ["sandbox"]
    # A host of an API leads to nothing else, even for a signed request.
    form = urlencode({"Action": "ListQueues", "Version": "2012-11-05"})
    own = called(server, api, "POST", "/", {"X-Amz-Target": "AmazonSQS.ListQueues", "Content-Type": "text/plain"},
                 form.encode())  # fmt: skip
    assert own.json["event"]["rawPath"] == "/"
    assert called(server, "unknown0id", "GET", "/health").status == 404


def test_the_gateway_answers_for_other_origins(server, gateway):
    function = made(server.client("lambda"), SHOWN)
    api = gateway.create_api(
        Name="shop", ProtocolType="HTTP", Target=ARN + function,
        CorsConfiguration={"AllowOrigins": ["http://localhost:3000", "https://shop.example"], "AllowMethods": ["GET"],
                           "AllowHeaders": ["x-a"], "MaxAge": 60},
    )["ApiId"]  # fmt: skip
    page = {"Origin": "http://localhost:3000", "Sec-Fetch-Site": "cross-site"}
    asked = called(server, api, "OPTIONS", "/a", {**page, "Access-Control-Request-Method": "GET"})
    assert (asked.status, asked.headers["access-control-allow-origin"]) == (204, ["http://localhost:3000"])
    assert asked.headers["access-control-allow-methods"] == ["GET"]
    assert called(server, api, "GET", "/a", page).headers["access-control-allow-origin"] == ["http://localhost:3000"]
    foreign = called(server, api, "GET", "/a", {**page, "Origin": "https://evil.example"})
    assert foreign.status == 403
    gateway.update_api(ApiId=api, CorsConfiguration={"AllowOrigins": ["*"]})
    assert called(server, api, "GET", "/a", page).headers["access-control-allow-origin"] == ["*"]
    assert called(server, api, "GET", "/a", {**page, "Origin": "https://evil.example"}).status == 403
