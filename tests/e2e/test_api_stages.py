"""Stages of APIs through boto3 and plain HTTP, against a real server: throttles by route and by method."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.deadlines import until
from tests.e2e.conftest import Server
from tests.e2e.test_http_apis import called, new_api
from tests.e2e.test_rest_apis import Rest

MOCK = {"type": "MOCK", "requestTemplates": {"application/json": '{"statusCode": 200}'}}
SLOW = {"ThrottlingRateLimit": 0.001, "ThrottlingBurstLimit": 2}
TOO_MANY = (429, b'{"message":"Too Many Requests"}')


@pytest.fixture
def http(server: Server) -> Any:
    return server.client("apigatewayv2")


@pytest.fixture
def rest(server: Server) -> Any:
    return server.client("apigateway")


def statuses(server: Server, api: str, path: str, times: int, method: str = "GET", **headers: str) -> list[int]:
    return [called(server, api, method, path, headers).status for _ in range(times)]


def to_queue(server: Server, http: Any, api: str, *keys: str) -> None:
    """Routes that read a queue: the quickest integration."""
    queue = server.client("sqs").create_queue(QueueName=f"of-{api}")["QueueUrl"]
    integration = http.create_integration(
        ApiId=api, IntegrationType="AWS_PROXY", IntegrationSubtype="SQS-ReceiveMessage", PayloadFormatVersion="1.0",
        CredentialsArn="arn:aws:iam::000000000000:role/r", RequestParameters={"QueueUrl": queue},
    )["IntegrationId"]  # fmt: skip
    for key in keys:
        http.create_route(ApiId=api, RouteKey=key, Target=f"integrations/{integration}")


def mocked(rest: Any, *methods: tuple[str, str], **settings: Any) -> Rest:
    """A REST API of mocks."""
    api = Rest(rest)
    for method, path in methods:
        where = api.method(method, path, MOCK, **settings)
        rest.put_method_response(**where, statusCode="200")
        rest.put_integration_response(**where, statusCode="200")
    api.deploy()
    return api


def patched(call: Any, *operations: tuple[Any, ...], **where: Any) -> Any:
    listed = [dict(zip(("op", "path", "value"), one, strict=False)) for one in operations]
    return call(**where, patchOperations=listed)


def test_routes_of_an_http_api_are_throttled_by_the_settings_of_its_stage(server, http):
    api = new_api(http)
    to_queue(server, http, api, "GET /a", "GET /b", "GET /c")
    http.create_stage(ApiId=api, StageName="$default", AutoDeploy=True, DefaultRouteSettings=SLOW)
    shown = http.update_stage(ApiId=api, StageName="$default", RouteSettings={"GET /b": {"ThrottlingBurstLimit": 1}})
    assert shown["DefaultRouteSettings"] == {"DetailedMetricsEnabled": False, **SLOW}
    assert statuses(server, api, "/a", 3) == [200, 200, 429]
    answer = called(server, api, "GET", "/a")
    assert (answer.status, answer.body) == TOO_MANY
    assert statuses(server, api, "/b", 2) == [200, 429]
    assert statuses(server, api, "/c", 3) == [200, 200, 429]
    http.update_stage(ApiId=api, StageName="$default", RouteSettings={"GET /c": {"ThrottlingBurstLimit": 100}})
    # What other changes compile again goes on with the tokens that it has.
    assert statuses(server, api, "/a", 1) == [429]
    assert statuses(server, api, "/c", 3) == [200, 200, 200]
    http.delete_route_settings(ApiId=api, StageName="$default", RouteKey="GET /c")
    assert list(http.get_stage(ApiId=api, StageName="$default")["RouteSettings"]) == ["GET /b"]
    assert statuses(server, api, "/c", 3) == [200, 200, 429]
    with pytest.raises(ClientError, match="NotFoundException"):
        http.delete_route_settings(ApiId=api, StageName="$default", RouteKey="GET /c")
    http.update_stage(ApiId=api, StageName="$default", DefaultRouteSettings={"ThrottlingRateLimit": 0})
    assert statuses(server, api, "/a", 1) == [429]


@pytest.mark.parametrize("limit", [-5, 1e300])
def test_wrong_rates_are_refused(server, http, rest, limit):
    with pytest.raises(ClientError, match=r"BadRequestException.*rate limit"):
        http.create_stage(ApiId=new_api(http), StageName="s", DefaultRouteSettings={"ThrottlingRateLimit": limit})
    api = mocked(rest, ("GET", "/"))
    for value in (str(limit), "many", "nan"):
        with pytest.raises(ClientError, match="BadRequestException"):
            patched(
                rest.update_stage, ("replace", "/*/*/throttling/rateLimit", value), restApiId=api.id, stageName="prod"
            )


def test_methods_of_a_rest_api_are_throttled_by_method_settings(server, rest):
    api = mocked(rest, ("GET", "/pets"), ("POST", "/pets"), ("GET", "/"))
    where = {"restApiId": api.id, "stageName": "prod"}
    assert rest.get_stage(**where)["methodSettings"] == {}
    shown = patched(
        rest.update_stage, ("replace", "/*/*/throttling/rateLimit", "0.001"),
        ("replace", "/*/*/throttling/burstLimit", "2"), ("replace", "/~1pets/GET/throttling/burstLimit", "1"),
        ("replace", "/~1/GET/throttling/rateLimit", "-1"), ("replace", "/~1/GET/throttling/burstLimit", "-1"),
        ("replace", "/~1pets/GET/logging/loglevel", "INFO"), ("replace", "/~1pets/GET/metrics/enabled", "true"),
        **where,
    )  # fmt: skip
    assert shown["methodSettings"]["~1pets/GET"] == {
        "metricsEnabled": True, "loggingLevel": "INFO", "dataTraceEnabled": False, "throttlingBurstLimit": 1,
        "throttlingRateLimit": 10_000.0, "cachingEnabled": False, "cacheTtlInSeconds": 300,
        "cacheDataEncrypted": False, "requireAuthorizationForCacheControl": True,
        "unauthorizedCacheControlHeaderStrategy": "SUCCEED_WITH_RESPONSE_HEADER",
    }  # fmt: skip
    assert statuses(server, api.id, "/prod/pets", 2) == [200, 429]
    assert statuses(server, api.id, "/prod/pets", 3, "POST") == [200, 200, 429]
    assert statuses(server, api.id, "/prod/", 5) == [200] * 5
    answer = called(server, api.id, "GET", "/prod/pets")
    assert (answer.status, answer.body) == TOO_MANY
    assert answer.headers["x-amzn-errortype"] == ["TooManyRequestsException"]
    rest.put_gateway_response(
        restApiId=api.id, responseType="THROTTLED", statusCode="503",
        responseTemplates={"application/json": '{"why":$context.error.messageString}'},
    )  # fmt: skip
    api.deploy()
    answer = called(server, api.id, "GET", "/prod/pets")
    assert (answer.status, json.loads(answer.body)) == (503, {"why": "Too Many Requests"})
    patched(rest.update_stage, ("remove", "/~1pets/GET"), ("remove", "/*/*"), **where)
    assert statuses(server, api.id, "/prod/pets", 3) == [200, 200, 200]


def test_an_api_without_a_host_of_its_own_answers_at_the_path_alone(server, http, rest):
    api = new_api(http, DisableExecuteApiEndpoint=True)
    to_queue(server, http, api, "GET /a")
    http.create_stage(ApiId=api, StageName="$default", AutoDeploy=True)
    other = mocked(rest, ("GET", "/a"))
    shown = patched(rest.update_rest_api, ("replace", "/disableExecuteApiEndpoint", "true"), restApiId=other.id)
    assert shown["disableExecuteApiEndpoint"] is True
    answer = called(server, api, "GET", "/a")
    assert (answer.status, answer.body) == (404, b'{"message":"Not Found"}')
    answer = called(server, other.id, "GET", "/prod/a")
    assert (answer.status, answer.body) == (403, b'{"message":"Forbidden"}')
    for path in (f"/_apis/{api}/a", f"/_apis/{other.id}/prod/a"):
        assert called(server, "x", "GET", path, {"Host": f"127.0.0.1:{server.port}"}).status == 200
    http.update_api(ApiId=api, DisableExecuteApiEndpoint=False)
    assert called(server, api, "GET", "/a").status == 200


def at_once(*calls: Callable[[], Any]) -> list[str]:
    """The outcomes of calls from as many threads: "done", or the code of a refusal."""

    def outcome(call: Callable[[], Any]) -> str:
        try:
            call()
        except ClientError as error:
            return str(error.response["Error"]["Code"])
        return "done"

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(outcome, calls))


def test_changes_of_one_api_at_once_wait_for_one_another(server, http, rest):
    api = Rest(rest)
    where = {"restApiId": api.id, "resourceId": api.paths["/"]}
    methods = ("GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "HEAD")
    assert at_once(*(lambda method=one: api.method(method, "/", MOCK) for one in methods)) == ["done"] * 7
    assert sorted(rest.get_resource(**where)["resourceMethods"]) == sorted(methods)
    assert all("methodIntegration" in rest.get_method(**where, httpMethod=one) for one in methods)
    same = at_once(*(lambda: rest.create_resource(restApiId=api.id, parentId=where["resourceId"], pathPart="a"),) * 6)
    assert sorted(same) == ["ConflictException"] * 5 + ["done"]
    deployed = rest.create_deployment(restApiId=api.id)["id"]
    stage = {"restApiId": api.id, "stageName": "prod"}
    made = at_once(*(lambda: rest.create_stage(**stage, deploymentId=deployed),) * 6)
    assert sorted(made) == ["ConflictException"] * 5 + ["done"]
    names = [f"v{number}" for number in range(8)]
    changed = at_once(*(
        lambda name=one: patched(rest.update_stage, ("replace", f"/variables/{name}", "1"), **stage) for one in names
    ))  # fmt: skip
    assert changed == ["done"] * 8
    assert sorted(rest.get_stage(**stage)["variables"]) == names
    other = new_api(http)
    routes = at_once(*(lambda: http.create_route(ApiId=other, RouteKey="GET /a"),) * 6)
    assert sorted(routes) == ["ConflictException"] * 5 + ["done"]
    value = f"key-of-{api.id}-12345678"
    keys = at_once(*(lambda: rest.create_api_key(name="k", value=value),) * 4)
    assert sorted(keys) == ["ConflictException"] * 3 + ["done"]


ALL = ("requestId", "httpMethod", "status", "path", "responseLength", "responseLatency", "integration.status",
       "integrationLatency", "identity.sourceIp", "identity.userAgent", "error.message", "error.responseType", "stage",
       "routeKey", "resourcePath", "authorizer.principalId", "protocol", "requestTimeEpoch", "apiId")  # fmt: skip
JSON_FORMAT = json.dumps({name: f"$context.{name}" for name in ALL})


def lines_of(server: Server, group: str, count: int) -> list[dict[str, Any]]:
    logs = server.client("logs")

    def read() -> list[Any]:
        return [one["message"] for one in logs.filter_log_events(logGroupName=group)["events"]]

    until(lambda: len(read()) >= count, f"{count} lines of {group}")
    return [json.loads(one) for one in read()]


def test_requests_are_logged_in_the_format_of_the_stage(server, http, rest):
    group = f"/apis/{new_api(http)}"
    arn = f"arn:aws:logs:us-east-1:000000000000:log-group:{group}"
    server.client("logs").create_log_group(logGroupName=group)
    api = new_api(http)
    to_queue(server, http, api, "GET /a")
    log = {"DestinationArn": f"{arn}:*", "Format": JSON_FORMAT}
    http.create_stage(ApiId=api, StageName="$default", AutoDeploy=True, AccessLogSettings=log)
    agent = {"User-Agent": 'cu"rl'}
    assert called(server, api, "GET", "/a", agent).status == 200
    assert called(server, api, "GET", "/none").status == 404
    first, second = lines_of(server, group, 2)
    assert len(first["requestId"]) > 10
    for name in ("requestTimeEpoch", "responseLatency", "integrationLatency"):
        assert first[name].isdigit()
    assert {name: first[name] for name in ALL[1:5]} == {
        "httpMethod": "GET", "status": "200", "path": "/a", "responseLength": "2",
    }  # fmt: skip
    assert {name: first[name] for name in ALL[8:]} == {
        "identity.sourceIp": "127.0.0.1", "identity.userAgent": 'cu"rl', "error.message": "-",
        "error.responseType": "-", "stage": "$default", "routeKey": "GET /a", "resourcePath": "GET /a",
        "authorizer.principalId": "-", "protocol": "HTTP/1.1", "requestTimeEpoch": first["requestTimeEpoch"],
        "apiId": api,
    }  # fmt: skip
    assert (second["status"], second["error.message"], second["integration.status"]) == ("404", "Not Found", "-")
    http.delete_access_log_settings(ApiId=api, StageName="$default")
    assert "AccessLogSettings" not in http.get_stage(ApiId=api, StageName="$default")

    other = mocked(rest, ("GET", "/a"))
    where = {"restApiId": other.id, "stageName": "prod"}
    shown = patched(
        rest.update_stage, ("replace", "/accessLogSettings/destinationArn", arn),
        ("replace", "/accessLogSettings/format", JSON_FORMAT), **where,
    )  # fmt: skip
    assert shown["accessLogSettings"] == {"destinationArn": arn, "format": JSON_FORMAT}
    assert called(server, other.id, "GET", "/prod/a").status == 200
    assert called(server, other.id, "POST", "/prod/a").status == 403
    *_, third, fourth = lines_of(server, group, 4)
    assert (third["resourcePath"], third["status"], third["path"]) == ("/a", "200", "/prod/a")
    assert (fourth["error.message"], fourth["error.responseType"]) == (
        "Missing Authentication Token", "MISSING_AUTHENTICATION_TOKEN",
    )  # fmt: skip
    patched(rest.update_stage, ("remove", "/accessLogSettings"), **where)
    assert "accessLogSettings" not in rest.get_stage(**where)


def test_wrong_access_logs_are_refused(http, rest):
    with pytest.raises(ClientError, match="ARN of a log group"):
        http.create_stage(ApiId=new_api(http), StageName="s", AccessLogSettings={"DestinationArn": "shop"})
    api = mocked(rest, ("GET", "/a"))
    for text in ("$context.status", "$context.requestId" + "x" * 4_000):
        with pytest.raises(ClientError, match="access log format"):
            patched(
                rest.update_stage, ("replace", "/accessLogSettings/format", text), restApiId=api.id, stageName="prod"
            )
