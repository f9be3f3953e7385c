"""URLs of functions through boto3 and plain HTTP, against a real server: configurations, events, answers, policies."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.exceptions import ClientError

from tests.e2e.conftest import Server
from tests.e2e.test_http_apis import AS_ASKED, SHOWN, Answer, asked
from tests.e2e.test_lambda import ARN, ROLE, RUNTIME, made, zipped

FORBIDDEN = {
    "Message": "Forbidden. For troubleshooting Function URL authorization issues, see: "
    "https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html"
}


@pytest.fixture
def functions(server: Server) -> Any:
    return server.client("lambda")


def opened(functions: Any, name: str, **settings: Any) -> str:
    """Give a function a URL that everyone may call; returns its host with the port."""
    settings = {"AuthType": "NONE", **settings}
    shown = functions.create_function_url_config(FunctionName=name, **settings)
    qualifier = {"Qualifier": settings["Qualifier"]} if "Qualifier" in settings else {}
    functions.add_permission(
        FunctionName=name, StatementId="open", Action="lambda:InvokeFunctionUrl", Principal="*",
        FunctionUrlAuthType="NONE", **qualifier,
    )  # fmt: skip
    host: str = urlsplit(shown["FunctionUrl"]).netloc
    return host


def called(server: Server, host: str, method: str = "GET", path: str = "/", *rest: Any) -> Answer:
    """Call a URL behind its own host."""
    return asked(server, host, method, path, *rest)


def answered(server: Server, host: str, value: Any) -> Answer:
    """Have a function answer a value."""
    return called(server, host, "POST", "/", {"Content-Type": "application/json"}, json.dumps(value).encode())


def test_a_url_passes_the_request_to_its_function_at_both_of_its_addresses(server, functions):
    function = made(functions, SHOWN)
    host = opened(functions, function)
    url_id = host.partition(".")[0]
    assert host == f"{url_id}.lambda-url.us-east-1.localhost:{server.port}"
    sent = {"Content-Type": "text/plain", "Cookie": "c=1; d=2", "X-Two": "v"}
    answer = called(server, host, "POST", "/a%2Fb/c?x=1&x=2&y=%2B", sent, b"hello")
    assert (answer.status, answer.headers["content-type"]) == (200, ["application/json"])
    event = answer.json["event"]
    context, headers = event.pop("requestContext"), event.pop("headers")
    assert event == {
        "version": "2.0", "routeKey": "$default", "rawPath": "/a%2Fb/c", "rawQueryString": "x=1&x=2&y=%2B",
        "cookies": ["c=1", "d=2"], "queryStringParameters": {"x": "1,2", "y": "+"}, "body": "hello",
        "isBase64Encoded": False,
    }  # fmt: skip
    assert headers["x-two"] == "v"
    assert {"x-amzn-trace-id", "x-forwarded-for", "x-forwarded-port", "x-forwarded-proto"} <= headers.keys()
    assert answer.headers["x-amzn-requestid"] == [context["requestId"]]
    assert (context["accountId"], context["apiId"], context["stage"]) == ("anonymous", url_id, "$default")
    assert (context["domainName"], context["domainPrefix"]) == (host.partition(":")[0], url_id)

    by_path = asked(server, f"127.0.0.1:{server.port}", "GET", f"/_urls/{url_id}/x?y=1")
    shown = by_path.json["event"]
    assert (shown["rawPath"], shown["queryStringParameters"]) == ("/x", {"y": "1"})
    assert shown["requestContext"]["domainName"] == host.partition(":")[0]
    assert by_path.headers["content-security-policy"] == ["sandbox"]


def test_a_configuration_is_shown_changed_listed_and_deleted(server, functions):
    function = made(functions, SHOWN)
    cors = {"AllowOrigins": ["https://a.example"], "AllowMethods": ["GET"], "MaxAge": 5}
    first = functions.create_function_url_config(FunctionName=function, AuthType="AWS_IAM", Cors=cors)
    url = first["FunctionUrl"]
    assert first["ResponseMetadata"]["HTTPStatusCode"] == 201
    assert first.keys() == {"FunctionUrl", "FunctionArn", "AuthType", "Cors", "CreationTime", "ResponseMetadata"}
    assert (first["FunctionArn"], first["AuthType"], first["Cors"]) == (ARN + function, "AWS_IAM", cors)
    shown = functions.get_function_url_config(FunctionName=function)
    assert (shown["FunctionUrl"], shown["InvokeMode"]) == (url, "BUFFERED")
    assert shown["LastModifiedTime"] == shown["CreationTime"] == first["CreationTime"]
    changed = functions.update_function_url_config(FunctionName=function, AuthType="NONE", Cors={})
    assert (changed["FunctionUrl"], changed["AuthType"], "Cors" in changed) == (url, "NONE", False)
    listed = functions.list_function_url_configs(FunctionName=function)["FunctionUrlConfigs"]
    assert [one["FunctionUrl"] for one in listed] == [url]
    functions.delete_function_url_config(FunctionName=function)
    assert functions.list_function_url_configs(FunctionName=function)["FunctionUrlConfigs"] == []
    assert called(server, urlsplit(url).netloc).status == 403


def test_refusals_of_configurations(functions):
    function = made(functions, SHOWN)
    functions.publish_version(FunctionName=function)

    def refused(operation: str, **request: Any) -> tuple[int, str, str]:
        with pytest.raises(ClientError) as caught:
            getattr(functions, operation)(**{"FunctionName": function, **request})
        response = caught.value.response
        return response["ResponseMetadata"]["HTTPStatusCode"], response["Error"]["Code"], response["Error"]["Message"]

    missing = (404, "ResourceNotFoundException", "The resource you requested does not exist.")
    for operation in ("get_function_url_config", "update_function_url_config", "delete_function_url_config"):
        assert refused(operation) == missing
    for operation in ("get_function_url_config", "list_function_url_configs"):
        assert refused(operation, FunctionName="none")[:2] == (404, "ResourceNotFoundException")
    create = {"operation": "create_function_url_config", "AuthType": "NONE"}
    assert refused(**create, Qualifier="live") == (
        404, "ResourceNotFoundException", f"Function not found: {ARN}{function}:live",
    )  # fmt: skip
    for bad in ({"Qualifier": "1"}, {"Qualifier": "$LATEST"}, {"AuthType": "OPEN"}):
        assert refused(**{**create, **bad})[:2] == (400, "ValidationException")
    assert refused(**create, Cors={"AllowMethods": ["OPTIONS"]})[:2] == (400, "ValidationException")
    functions.create_function_url_config(FunctionName=function, AuthType="NONE")
    assert refused(**create) == (
        409, "ResourceConflictException", f"Failed to create function url config for [functionArn = {ARN}{function}]. "
        "Error message:  FunctionUrlConfig exists for this Lambda function",
    )  # fmt: skip


def test_results_become_responses(server, functions):
    host = opened(functions, made(functions, AS_ASKED))

    def answer_to(value: Any) -> tuple[int, str, bytes]:
        found = answered(server, host, value)
        return found.status, found.headers["content-type"][0], found.body

    for value, body in (
        ({"hello": "world"}, b'{"hello":"world"}'), (["hello", 3, True], b'["hello",3,true]'), (3.1, b"3.1"),
        (True, b"true"), ("plain", b"plain"), (None, b"null"), ({}, b"{}"),
    ):  # fmt: skip
        assert answer_to(value) == (200, "application/json", body)
    page = {"statusCode": 201, "headers": {"Content-Type": "text/html"}, "body": "<p>"}
    assert answer_to(page) == (201, "text/html", b"<p>")
    assert answer_to({"statusCode": "404", "body": "x"}) == (404, "application/json", b"x")
    assert answer_to({"statusCode": 200, "isBase64Encoded": True, "body": "AAH/"}) == (
        200, "application/json", b"\x00\x01\xff",
    )  # fmt: skip
    cookies = answered(server, host, {"statusCode": 200, "cookies": ["a=1; Path=/", "b=2"]})
    assert cookies.headers["set-cookie"] == ["a=1; Path=/", "b=2"]
    for broken in (
        {"statusCode": "ok"}, {"statusCode": 700}, {"statusCode": 200, "headers": {"a": "x\r\ny: z"}},
        {"statusCode": 200, "isBase64Encoded": True, "body": "%"},
    ):  # fmt: skip
        assert answer_to(broken)[::2] == (502, b"Internal Server Error")


def test_a_function_that_fails_is_answered_with_502(server, functions):
    for source in (
        "def handler(event, context):\n    raise ValueError(1)\n",
        "import os\nhandler = lambda e, c: os._exit(1)\n",
    ):
        answer = called(server, opened(functions, made(functions, source)))
        assert (answer.status, answer.body) == (502, b"Internal Server Error")
        assert "x-amzn-requestid" in answer.headers


def test_binary_bodies_are_base64(server, functions):
    host = opened(functions, made(functions, SHOWN))
    for kind, body in (("multipart/form-data; boundary=x", b"--x--"), ("application/octet-stream", b"\xff\x00")):
        event = called(server, host, "POST", "/", {"Content-Type": kind}, body).json["event"]
        assert event["isBase64Encoded"] is True


def test_only_a_policy_opens_a_url(server, functions):
    function = made(functions, SHOWN)
    shown = functions.create_function_url_config(FunctionName=function, AuthType="NONE")
    host = urlsplit(shown["FunctionUrl"]).netloc

    def allow(sid: str, **given: Any) -> None:
        permission = {"Action": "lambda:InvokeFunctionUrl", "Principal": "*", **given}
        functions.add_permission(FunctionName=function, StatementId=sid, **permission)

    def is_closed() -> bool:
        answer = called(server, host)
        assert answer.status == 200 or (answer.status, answer.json) == (403, FORBIDDEN)
        return answer.status == 403

    assert is_closed()
    allow("other-type", FunctionUrlAuthType="AWS_IAM")
    allow("other-action", Action="lambda:InvokeFunction", InvokedViaFunctionUrl=True)
    allow("one-account", Principal="123456789012", FunctionUrlAuthType="NONE")
    allow("a-source", FunctionUrlAuthType="NONE", SourceAccount="123456789012")
    assert is_closed()
    allow("all", FunctionUrlAuthType="NONE")
    assert not is_closed()
    functions.remove_permission(FunctionName=function, StatementId="all")
    assert is_closed()
    policy = json.loads(functions.get_policy(FunctionName=function)["Policy"])
    via = next(one for one in policy["Statement"] if one["Sid"] == "other-action")
    assert via["Condition"] == {"Bool": {"lambda:InvokedViaFunctionUrl": "true"}}


def test_an_alias_has_a_url_and_a_policy_of_its_own(server, functions):
    function = made(functions, "handler = lambda event, context: context.function_version\n")
    functions.publish_version(FunctionName=function)
    functions.create_alias(FunctionName=function, Name="live", FunctionVersion="1")
    own = opened(functions, function)
    live = opened(functions, function, Qualifier="live")
    assert own != live
    assert called(server, own).body == b"$LATEST"
    assert called(server, live).body == b"1"
    listed = functions.list_function_url_configs(FunctionName=function)["FunctionUrlConfigs"]
    assert {one["FunctionArn"] for one in listed} == {ARN + function, f"{ARN}{function}:live"}
    functions.update_alias(FunctionName=function, Name="live", FunctionVersion="$LATEST")
    assert called(server, live).body == b"$LATEST"
    functions.delete_alias(FunctionName=function, Name="live")
    assert (called(server, live).status, called(server, own).status) == (403, 200)
    functions.create_alias(FunctionName=function, Name="live", FunctionVersion="1")
    shown = functions.create_function_url_config(FunctionName=function, Qualifier="live", AuthType="NONE")
    assert called(server, urlsplit(shown["FunctionUrl"]).netloc).status == 403, "the policy went with the alias"
    functions.delete_function(FunctionName=function)
    assert called(server, own).status == 403
    code = {"ZipFile": zipped(SHOWN)}
    functions.create_function(FunctionName=function, Runtime=RUNTIME, Role=ROLE, Handler="app.handler", Code=code)
    assert functions.list_function_url_configs(FunctionName=function)["FunctionUrlConfigs"] == []
    assert called(server, own).status == 403


def test_a_throttled_function_answers_429(server, functions):
    function = made(functions, SHOWN)
    host = opened(functions, function)
    functions.put_function_concurrency(FunctionName=function, ReservedConcurrentExecutions=0)
    answer = called(server, host)
    assert (answer.status, answer.json) == (429, {"message": "Rate Exceeded."})
    assert answer.headers["x-amzn-errortype"] == ["TooManyRequestsException"]
    functions.delete_function_concurrency(FunctionName=function)
    assert called(server, host).status == 200


def test_bodies_and_events_of_more_than_six_megabytes_are_refused(server, functions):
    host = opened(functions, made(functions, "handler = lambda event, context: len(event['body'])\n"))
    text = {"Content-Type": "text/plain"}
    assert called(server, host, "POST", "/", text, b"x" * 6_000_000).body == b"6000000"
    assert called(server, host, "POST", "/", text, b"x" * 6_291_457).status == 413
    assert called(server, host, "POST", "/", {}, b"x" * 5_000_000).status == 413


def test_cors_is_answered_by_the_url_and_added_to_responses(server, functions):
    cors = {
        "AllowOrigins": ["https://a.example"], "AllowMethods": ["GET", "PUT"], "AllowHeaders": ["x-one"],
        "ExposeHeaders": ["x-two"], "MaxAge": 60, "AllowCredentials": True,
    }  # fmt: skip
    host = opened(functions, made(functions, AS_ASKED), Cors=cors)
    page = {"Origin": "https://a.example", "Sec-Fetch-Site": "cross-site", "User-Agent": "Mozilla/5.0"}
    preflight = called(server, host, "OPTIONS", "/x", {**page, "Access-Control-Request-Method": "PUT"})
    assert (preflight.status, preflight.body) == (200, b"")
    assert {name: value for name, value in preflight.headers.items() if name.startswith("access-control-")} == {
        "access-control-allow-origin": ["https://a.example"], "access-control-allow-credentials": ["true"],
        "access-control-allow-methods": ["GET,PUT"], "access-control-allow-headers": ["x-one"],
        "access-control-expose-headers": ["x-two"], "access-control-max-age": ["60"],
    }  # fmt: skip
    own = {"statusCode": 200, "headers": {"Access-Control-Allow-Origin": "*"}}
    answer = called(server, host, "POST", "/", {**page, "Content-Type": "application/json"}, json.dumps(own).encode())
    assert sorted(answer.headers["access-control-allow-origin"]) == ["*", "https://a.example"]
    assert answer.headers["access-control-expose-headers"] == ["x-two"]
    elsewhere = {**page, "Origin": "https://b.example"}
    assert called(server, host, "GET", "/", elsewhere).status == 403


def test_a_url_of_another_region_answers_at_its_own_host(server, functions):
    region = "eu-west-1"
    elsewhere = server.client("lambda", region=region)
    name = made(elsewhere, "handler = lambda event, context: context.invoked_function_arn\n")
    host = opened(elsewhere, name)
    url_id = host.partition(".")[0]
    arn = f"arn:aws:lambda:{region}:000000000000:function:{name}".encode()
    assert host.startswith(f"{url_id}.lambda-url.{region}.")
    assert called(server, host).body == arn
    assert asked(server, f"127.0.0.1:{server.port}", "GET", f"/_urls/{url_id}/").body == arn
    assert called(server, host.replace(region, "us-east-1")).status == 403
    assert called(server, host.replace(region, "ap-south-1")).status == 403


@pytest.mark.slow
def test_urls_survive_a_kill(tmp_path):
    server = Server(tmp_path / "data")
    functions = server.client("lambda")
    name = made(functions, "handler = lambda event, context: 'here'\n")
    url_id = opened(functions, name, Cors={"AllowOrigins": ["https://a.example"]}).partition(".")[0]
    server.kill()
    again = Server(tmp_path / "data")
    try:
        shown = again.client("lambda").get_function_url_config(FunctionName=name)
        assert shown["FunctionUrl"] == f"http://{url_id}.lambda-url.us-east-1.localhost:{again.port}/"
        assert shown["Cors"] == {"AllowOrigins": ["https://a.example"]}
        assert called(again, urlsplit(shown["FunctionUrl"]).netloc).body == b"here"
    finally:
        again.kill()
