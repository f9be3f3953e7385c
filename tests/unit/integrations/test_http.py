import json
from dataclasses import replace
from typing import Any

import pytest

from statewright.config import Config, Connection
from statewright.engine.dispatch import Failed, Succeeded
from statewright.errors import ExecutionFailure
from statewright.integrations.blocking import BlockingCalls
from statewright.integrations.http import HttpTasks, result_of, traced
from statewright.integrations.http_client import HttpClient
from statewright.integrations.http_requests import (
    NoAnswer,
    Parameters,
    Request,
    Response,
    build_request,
    read_parameters,
)
from statewright.limits import OPEN
from statewright.virtual_clock import run_virtual
from tests.unit.integrations.stub import Reply, replied, serving, task

CONNECTIONS = {
    "basic": Connection("basic", "basic", user="u", password="p"),
    "key": Connection("key", "api-key", header="X-Key", value="k", query={"q": "mine"}, body={"b": 2}),
}


def exchange(parameters: Any, config: Any = None) -> Any:
    async def main(clock):
        blocking = BlockingCalls(clock)
        try:
            tasks = HttpTasks(config or Config(connections=CONNECTIONS), blocking, lambda: 0)
            return await tasks.exchange(task("http:invoke", parameters))
        finally:
            blocking.close()

    return run_virtual(main)


def call(parameters: Any, answer: Any = lambda _: replied({"ok": True}), config: Any = None) -> Any:
    with serving(answer) as stub:
        given = {"Method": "GET", **parameters, "ApiEndpoint": stub.url + parameters.get("ApiEndpoint", "/a")}
        result, seen = exchange(given, config)
        return result, stub.asked, seen


def test_a_call_and_its_result():
    result, asked, _ = call(
        {"Method": "POST", "RequestBody": {"a": 1}, "Headers": {"X-One": "1", "X-Many": ["a", "b"]}}
    )
    assert isinstance(result, Succeeded)
    assert result.output["StatusCode"] == 200
    assert result.output["StatusText"] == "OK"
    assert result.output["ResponseBody"] == {"ok": True}
    assert result.output["Headers"]["Content-Type"] == ["application/json"]
    (request,) = asked
    assert (request.method, request.path, request.json) == ("POST", "/a", {"a": 1})
    assert request.headers["User-Agent"] == "Amazon|StepFunctions|HttpInvoke|us-east-1"
    assert request.headers["Range"] == "bytes=0-262144"
    assert request.headers["Content-Type"] == "application/json; charset=UTF-8"
    assert (request.headers["X-One"], request.headers["X-Many"]) == ("1", "a, b")


def test_a_body_that_is_no_json_is_a_text():
    result, _, _ = call(
        {}, lambda _: Reply(200, "grüß".encode("latin-1"), {"Content-Type": "text/plain; charset=latin-1"})
    )
    assert result.output["ResponseBody"] == "grüß"


@pytest.mark.parametrize("status", [301, 404, 500])
def test_what_is_not_2xx_fails_the_task(status):
    result, asked, _ = call({}, lambda _: Reply(status, b"why", {"Location": "/elsewhere"}))
    assert result == Failed(f"States.Http.StatusCode.{status}", "why")
    assert len(asked) == 1


@pytest.mark.parametrize("content_type", ["image/png", "video/mp4", "application/octet-stream", "audio/ogg"])
def test_binary_answers_are_refused(content_type):
    result, _, _ = call({}, lambda _: Reply(200, b"\x00\x01", {"Content-Type": content_type}))
    assert (result.error, result.how) == ("States.Runtime", "refused")


@pytest.mark.parametrize("headers", [{}, {"Content-Type": "text/plain; charset=nonsense"}])
def test_an_answer_that_cannot_be_decoded_is_refused(headers):
    result, _, _ = call({}, lambda _: Reply(200, b"\xff\xfe", headers))
    assert result.error == "States.Runtime"


def test_an_answer_over_the_limit():
    result, _, _ = call({}, lambda _: Reply(200, b"x" * 262_145))
    assert result.error == "States.DataLimitExceeded"
    assert "'http'" in result.cause


def test_an_answer_over_the_services_limit_with_limits_open():
    result, _, _ = call({}, lambda _: Reply(200, b"x" * 300_000), Config(limits=OPEN))
    assert len(result.output["ResponseBody"]) == 300_000


def test_a_refused_connection_fails_the_task():
    with serving(lambda _: Reply()) as stub:
        url = stub.url
    result, seen = exchange({"Method": "GET", "ApiEndpoint": url})
    assert result.error == "States.Http.Socket"
    assert seen is None


def test_a_silent_server_is_given_up():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with pytest.raises(NoAnswer, match=r"^TimeoutError: timed out$"):
            HttpClient().send(Request("GET", url, {}, None), 10, seconds=0.05)


def test_a_connection_authorises():
    _, asked, _ = call({"InvocationConfig": {"ConnectionArn": "arn:aws:events:us-east-1:0:connection/basic/123"}})
    assert asked[0].headers["Authorization"] == "Basic dTpw"


def test_a_connections_values_win():
    given = {
        "Method": "POST",
        "Authentication": {"ConnectionArn": "arn:aws:events:us-east-1:0:connection/key/123"},
        "Headers": {"x-key": "from the state"},
        "QueryParameters": {"q": "theirs", "r": [1, "two"]},
        "RequestBody": {"a": 1, "b": 1},
    }
    _, asked, seen = call(given)
    assert asked[0].headers["X-Key"] == "k"
    assert "x-key" not in asked[0].headers
    assert asked[0].path == "/a?r=1&r=two&q=mine"
    assert asked[0].json == {"a": 1, "b": 2}
    hidden = traced(seen, reveal_secrets=False)
    assert "X-Key: k" not in hidden["request"]["headers"]
    assert "q=mine" not in hidden["request"]["url"]
    assert json.loads(hidden["request"]["body"]) == {"a": 1, "b": 1}
    shown = traced(seen, reveal_secrets=True)
    assert "X-Key: k" in shown["request"]["headers"]
    assert shown["response"]["statusCode"] == "200"
    assert shown["response"]["body"] == '{"ok": true}'


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("nosuch", "Events.ConnectionResource.ResourceNotFound"),
    ],
)
def test_a_connection_that_cannot_be_used(name, error):
    result, asked, _ = call({"InvocationConfig": {"ConnectionArn": f"arn:aws:events:us-east-1:0:connection/{name}/1"}})
    assert result.error == error
    assert asked == []


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ([], "must be an object"),
        ({"Method": "GET"}, 'The field "ApiEndpoint" is required'),
        ({"ApiEndpoint": "http://h", "Method": "TRACE"}, "must be one of [GET, POST"),
        ({"ApiEndpoint": "http://h", "Method": "GET", "Body": 1}, 'The field "Body" is not supported'),
        ({"ApiEndpoint": "http://h", "Method": "GET", "Headers": []}, "'Headers' must be an object"),
        ({"ApiEndpoint": "http://h", "Method": "GET", "Headers": {"Host": "x"}}, "'Host' must not be set"),
        ({"ApiEndpoint": "http://h", "Method": "GET", "Headers": {"X-Amz-Date": "x"}}, "'X-Amz-Date' must not be set"),
        ({"ApiEndpoint": "http://h", "Method": "GET", "Headers": {"a b": "x"}}, "not a header name"),
        ({"ApiEndpoint": "http://h", "Method": "GET", "Headers": {"A": "x\r\nB: y"}}, "holds a line break"),
        ({"ApiEndpoint": "http://h", "Method": "GET", "QueryParameters": 5}, "'QueryParameters' must be"),
        (
            {"ApiEndpoint": "http://h", "Method": "GET", "Transform": {"RequestBodyEncoding": "X"}},
            "must be NONE or URL",
        ),
        (
            {"ApiEndpoint": "http://h", "Method": "GET", "Transform": {"RequestEncodingOptions": {"ArrayFormat": "X"}}},
            "ArrayFormat must be one of",
        ),
        ({"ApiEndpoint": "http://h", "Method": "GET", "InvocationConfig": {"ConnectionArn": 5}}, "must be a string"),
    ],
)
def test_parameters_that_do_not_fit(parameters, reason):
    with pytest.raises(ExecutionFailure) as caught:
        read_parameters(parameters)
    assert reason in caught.value.cause
    result, _ = exchange(parameters)
    assert (result.error, result.how) == ("States.Runtime", "refused")


@pytest.mark.parametrize("endpoint", ["h/a", "ftp://h", "http://", "http://u:p@h", "http://h:x/", "http://h:0/"])
def test_addresses_that_are_none(endpoint):
    with pytest.raises(ExecutionFailure):
        build_request(Parameters("GET", endpoint, None, {}, ()), None, "us-east-1")


@pytest.mark.parametrize(
    ("query", "wanted"),
    [("a=1&b=", "a=1&b="), ({"a": [1, True], "b": "c d"}, "a=1&a=true&b=c%20d"), ([{"a": "1"}, "b=2"], "a=1&b=2")],
)
def test_query_parameters_in_every_form(query, wanted):
    given = read_parameters({"ApiEndpoint": "http://h/p?z=0", "Method": "GET", "QueryParameters": query})
    assert build_request(given, None, "us-east-1").url == f"http://h/p?z=0&{wanted}"


@pytest.mark.parametrize(
    ("array_format", "wanted"),
    [
        (None, "a%5B0%5D=1&a%5B1%5D=2&o%5Bk%5D=v"),
        ("REPEAT", "a=1&a=2&o%5Bk%5D=v"),
        ("BRACKETS", "a%5B%5D=1&a%5B%5D=2&o%5Bk%5D=v"),
        ("COMMAS", "a=1%2C2&o%5Bk%5D=v"),
    ],
)
def test_url_encoded_bodies(array_format, wanted):
    transform: dict[str, Any] = {"RequestBodyEncoding": "URL_ENCODED"}
    if array_format:
        transform["RequestEncodingOptions"] = {"ArrayFormat": array_format}
    body = {"a": [1, 2], "o": {"k": "v"}}
    given = read_parameters({"ApiEndpoint": "http://h", "Method": "POST", "RequestBody": body, "Transform": transform})
    request = build_request(given, None, "us-east-1")
    assert request.body == wanted.encode()
    assert request.headers["Content-Type"] == "application/x-www-form-urlencoded"


def test_url_encoding_needs_an_object():
    given = {
        "ApiEndpoint": "http://h",
        "Method": "POST",
        "RequestBody": "x",
        "Transform": {"RequestBodyEncoding": "URL_ENCODED"},
    }
    with pytest.raises(ExecutionFailure, match="URL_ENCODED"):
        build_request(read_parameters(given), None, "us-east-1")


def test_a_text_body_with_a_content_type_of_its_own():
    given = {
        "ApiEndpoint": "http://h",
        "Method": "POST",
        "RequestBody": "plain",
        "Headers": {"content-type": "text/plain"},
    }
    request = build_request(read_parameters(given), None, "us-east-1")
    assert request.body == b"plain"
    assert request.headers["content-type"] == "text/plain"


def test_a_text_body_does_not_go_with_a_connections_body():
    given = read_parameters({"ApiEndpoint": "http://h", "Method": "POST", "RequestBody": "plain"})
    with pytest.raises(ExecutionFailure, match="connection adds"):
        build_request(given, CONNECTIONS["key"], "us-east-1")


def test_a_connections_body_alone():
    given = read_parameters({"ApiEndpoint": "http://h", "Method": "POST"})
    assert build_request(given, CONNECTIONS["key"], "us-east-1").body == b'{"b":2}'


def test_headers_that_http_cannot_carry_end_the_execution():
    result, _, _ = call({"Headers": {"X-A": "€"}})
    assert (result.error, result.how) == ("States.Runtime", "refused")


def test_headers_that_come_twice_are_gathered():
    response = Response(200, "OK", {"A": ["1", "2"]}, b"")
    result = result_of(task("http:invoke", {}), response, 10)
    assert isinstance(result, Succeeded)
    assert result.output["Headers"] == {"A": ["1", "2"]}


def test_a_request_that_a_restart_may_repeat_carries_its_key():
    async def main(clock):
        blocking = BlockingCalls(clock)
        try:
            tasks = HttpTasks(Config(), blocking, lambda: 0)
            for outbox, key, headers in ((7, "7", {}), (7, "7", {}), (8, "8", {}), (0, "9", {}), (9, "9", own)):
                given = {"Method": "POST", "ApiEndpoint": f"{stub.url}/a", "Headers": {"X-One": "1", **headers}}
                made = replace(task("http:invoke", given), outbox=outbox, idempotency_key=key)
                assert isinstance(await tasks.call(made), Succeeded)
        finally:
            blocking.close()

    own = {"idempotency-key": "mine"}
    with serving(lambda _: replied({"ok": True})) as stub:
        run_virtual(main)
        keys = [{n.lower(): v for n, v in one.headers.items()}.get("idempotency-key") for one in stub.asked]
    assert keys[0] is not None
    assert keys[0] == keys[1] != keys[2]
    assert keys[3:] == [None, "mine"]
