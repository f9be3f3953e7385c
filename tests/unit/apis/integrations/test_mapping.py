"""Requests and responses of REST integrations that are no proxies, with a service that records what it was sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from statewright.apis.calls import CallContext, Integration, IntegrationFailed, IntegrationResponse, Request, Response
from statewright.apis.integrations.aws import AwsIntegration, WireRequest
from statewright.apis.integrations.backends import MockIntegration
from statewright.apis.integrations.mapping import Mappings, selection_pattern
from statewright.engine.heavy.steps import on_loop
from statewright.query.linear_regex import RegexSyntaxError

DEFAULT = IntegrationResponse(200)
STATES = "arn:aws:apigateway:us-east-1:states:action/StartExecution"


async def here(work: Callable[..., Any], *arguments: Any) -> Any:
    return on_loop(work, *arguments)


class Wire:
    def __init__(self) -> None:
        self.sent: WireRequest
        self.answer = Response(200, [("Content-Type", "application/json"), ("x-tag", "t")], b'{"id": 7}')

    async def __call__(self, sent: WireRequest, _timeout_ms: int) -> Response:
        self.sent = sent
        return self.answer

    async def stop(self) -> None:
        pass


class Functions:
    def __init__(self) -> None:
        self.invoked: tuple[str, bytes] = ("", b"")
        self.payload = b'{"done": true}'
        self.error: str | None = None

    async def invoke(self, name: str, payload: bytes, _timeout_ms: int) -> Any:
        from statewright.functions.outcomes import Invoked

        self.invoked = name, payload
        return Invoked(200, self.payload, self.error, None, "$LATEST", "r")


def request(body: bytes = b"", query: str = "", method: str = "POST", **headers: str) -> Request:
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Request(method, "/orders/5", "/orders/5", query, named, body, "192.0.2.9", "api.localhost")


def context(**more: Any) -> CallContext:
    return CallContext(
        "123456789012", "us-east-1", "api1", "prod", "dep1", "11111111-2222-4333-8444-555555555555", 1_700_000_000_000,
        "api.localhost", "/prod/orders/5", path_parameters={"id": "5"}, stage_variables={"queue": "orders"}, **more,
    )  # fmt: skip


def aws(uri: str = STATES, responses: tuple[IntegrationResponse, ...] = (DEFAULT,), **more: Any) -> Integration:
    return Integration("AWS", uri, responses=responses, **more)


def called(
    integration: Integration, sent: Request, given: CallContext | None = None
) -> tuple[Response, Wire, Functions]:
    wire, functions = Wire(), Functions()
    if integration.uri.endswith("failing/invocations"):
        functions.payload, functions.error = b'{"errorMessage": "no such order", "errorType": "E"}', "Unhandled"
    target: Any = functions
    backend = AwsIntegration(Mappings(here, here), wire, target)
    return asyncio.run(backend.call(integration, sent, given or context())), wire, functions


def mocked(sent: Request, given: CallContext | None = None, **more: Any) -> Response:
    integration = Integration("MOCK", **more)
    return asyncio.run(MockIntegration(Mappings(here, here)).call(integration, sent, given or context()))


def failure(work: Callable[[], object]) -> str:
    with pytest.raises(IntegrationFailed) as caught:
        work()
    return caught.value.kind


def test_a_template_makes_the_body_and_the_default_response_gives_it_back() -> None:
    template = '{"input": "$util.escapeJavaScript($input.json(\'$.order\'))", "name": "$context.requestId"}'
    response, wire, _ = called(aws(templates={"application/json": template}), request(b'{"order": {"n": 1}}'))
    assert wire.sent.action == "StartExecution"
    assert wire.sent.service == "states"
    assert wire.sent.body == b'{"input": "{\\"n\\":1}", "name": "11111111-2222-4333-8444-555555555555"}'
    assert (response.status, response.body) == (200, b'{"id": 7}')
    assert response.headers == [("Content-Type", "application/json")]


def test_parameters_of_every_source() -> None:
    parameters = {
        "integration.request.header.X-One": "method.request.header.x-a",
        "integration.request.header.X-All": "method.request.multivaluequerystring.q",
        "integration.request.querystring.last": "method.request.querystring.q",
        "integration.request.querystring.body": "method.request.body.n",
        "integration.request.querystring.whole": "method.request.body",
        "integration.request.querystring.id": "context.apiId",
        "integration.request.querystring.none": "method.request.querystring.none",
        "integration.request.path.queue": "stageVariables.queue",
        "integration.request.path.account": "context.accountId",
        "integration.request.header.X-Fixed": "'a b'",
    }
    uri = "arn:aws:apigateway:eu-west-1:sqs:path/{account}/{queue}"
    _, wire, _ = called(aws(uri, parameters=parameters), request(b'{"n": 1}', "q=1&q=2", X_A="h"))
    assert (wire.sent.service, wire.sent.region, wire.sent.path) == ("sqs", "eu-west-1", "/123456789012/orders")
    assert wire.sent.headers == {
        "x-one": "h", "x-all": "1,2", "x-fixed": "a b", "content-type": "application/json",
    }  # fmt: skip
    assert wire.sent.query == "last=2&body=1&whole=%7B%22n%22%3A+1%7D&id=api1"


def test_overrides_of_a_request_template_replace_parameters() -> None:
    template = (
        "#set($context.requestOverride.header.X-One = 'new')#set($context.requestOverride.querystring.q = ['a', 'b'])"
        "#set($context.requestOverride.path.key = 'k')"
    )
    integration = aws(
        "arn:aws:apigateway:us-east-1:s3:path/bucket/{key}",
        parameters={"integration.request.header.X-One": "'old'", "integration.request.path.key": "'old'"},
        templates={"application/json": template},
    )
    _, wire, _ = called(integration, request(b"{}"))
    assert (wire.sent.path, wire.sent.query, wire.sent.headers["x-one"]) == ("/bucket/k", "q=a%2Cb", "new")


@pytest.mark.parametrize(
    "header", ["Content-Length", "transfer-encoding", "Authorization", "TE", "Expect", "Connection"]
)
def test_headers_of_the_connection_cannot_be_mapped(header: str) -> None:
    mapped = aws(parameters={f"integration.request.header.{header}": "'x'"})
    assert failure(lambda: called(mapped, request(b"{}"))) == "API_CONFIGURATION_ERROR"
    made = aws(templates={"application/json": f"#set($context.requestOverride.header['{header}'] = 'x')"})
    assert failure(lambda: called(made, request(b"{}"))) == "API_CONFIGURATION_ERROR"


@pytest.mark.parametrize("value", ["../other", "a/../b", "%2e%2e", "..", "a/..%2F../b", "a\\..\\b"])
def test_a_value_cannot_leave_the_path_of_the_integration(value: str) -> None:
    integration = aws(
        "arn:aws:apigateway:us-east-1:s3:path/bucket/{key}",
        parameters={"integration.request.path.key": "method.request.querystring.key"},
    )
    assert failure(lambda: called(integration, request(query=f"key={value.replace('%', '%25')}"))) == (
        "INTEGRATION_FAILURE"
    )


@pytest.mark.parametrize(
    ("passthrough", "content_type", "templates", "outcome"),
    [
        ("WHEN_NO_MATCH", "application/json; charset=utf-8", {"application/json": "T"}, b"T"),
        ("WHEN_NO_MATCH", "", {"application/json": "T"}, b"T"),
        ("WHEN_NO_MATCH", "application/xml", {"application/json": "T"}, b"<a/>"),
        ("WHEN_NO_TEMPLATES", "application/xml", {"application/json": "T"}, "UNSUPPORTED_MEDIA_TYPE"),
        ("WHEN_NO_TEMPLATES", "application/xml", {}, b"<a/>"),
        ("NEVER", "application/xml", {"application/json": "T"}, "UNSUPPORTED_MEDIA_TYPE"),
        ("NEVER", "application/xml", {}, "UNSUPPORTED_MEDIA_TYPE"),
        ("NEVER", "application/xml", {"Application/XML": "T"}, b"T"),
    ],
)
def test_bodies_without_a_template(
    passthrough: str, content_type: str, templates: Mapping[str, str], outcome: bytes | str
) -> None:
    integration = aws(passthrough=passthrough, templates=templates)
    headers = {"Content_Type": content_type} if content_type else {}
    if isinstance(outcome, str):
        assert failure(lambda: called(integration, request(b"<a/>", **headers))) == outcome
    else:
        assert called(integration, request(b"<a/>", **headers))[1].sent.body == outcome


def test_a_body_that_is_no_json_is_the_clients_mistake_in_a_request_and_the_gateways_in_a_response() -> None:
    template = {"application/json": "$input.json('$.a')"}
    assert failure(lambda: called(aws(templates=template), request(b"a=b"))) == "BAD_REQUEST_BODY"
    responses = (IntegrationResponse(200, templates=template),)
    uri = "arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/f/invocations"
    wire, functions = Wire(), Functions()
    functions.payload = b"not json"
    target: Any = functions
    backend = AwsIntegration(Mappings(here, here), wire, target)
    integration = aws(uri, responses)
    assert failure(lambda: asyncio.run(backend.call(integration, request(), context()))) == "API_CONFIGURATION_ERROR"


def test_a_template_that_fails_is_an_error_of_configuration() -> None:
    assert failure(lambda: called(aws(templates={"application/json": "#if("}), request())) == "API_CONFIGURATION_ERROR"
    failing = aws(templates={"application/json": "#set($s = 'a')$s.substring(5)"})
    assert failure(lambda: called(failing, request())) == "API_CONFIGURATION_ERROR"


def test_a_function_is_invoked_and_its_errors_choose_the_response() -> None:
    arn = "arn:aws:lambda:us-east-1:1:function:{}"
    uri = f"arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/{arn}/invocations"
    responses = (
        DEFAULT,
        IntegrationResponse(
            404, selection_pattern(".*no such.*"), templates={"application/json": "$input.path('$.errorMessage')"}
        ),
        IntegrationResponse(500, selection_pattern(".+")),
    )
    response, _, functions = called(aws(uri.format("ok"), responses), request(b'{"a": 1}'))
    assert functions.invoked == ("arn:aws:lambda:us-east-1:1:function:ok", b'{"a": 1}')
    assert (response.status, response.body) == (200, b'{"done": true}')
    response, _, _ = called(aws(uri.format("failing"), responses), request(b"{}"))
    assert (response.status, response.body) == (404, b"no such order")


def test_an_event_invocation_goes_over_the_wire() -> None:
    uri = "arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/f/invocations"
    integration = aws(uri, parameters={"integration.request.header.X-Amz-Invocation-Type": "'Event'"})
    _, wire, functions = called(integration, request(b"{}"))
    assert wire.sent.path == "/2015-03-31/functions/f/invocations"
    assert functions.invoked == ("", b"")


def test_the_status_of_a_service_chooses_the_response() -> None:
    responses = (IntegrationResponse(201, selection_pattern("2\\d{2}")), DEFAULT)
    assert called(aws(responses=responses), request(b"{}"))[0].status == 201
    none = (IntegrationResponse(400, selection_pattern("4..")),)
    assert failure(lambda: called(aws(responses=none), request(b"{}"))) == "API_CONFIGURATION_ERROR"


def test_parameters_and_overrides_of_a_response() -> None:
    chosen = IntegrationResponse(
        200,
        parameters={
            "method.response.header.X-Tag": "integration.response.header.X-Tag",
            "method.response.header.X-Id": "integration.response.body.id",
            "method.response.header.X-None": "integration.response.header.none",
            "method.response.header.Content-Type": "'text/plain'",
            "method.response.header.X-Stage": "context.stage",
        },
        templates={"application/json": "#set($context.responseOverride.status = 202)"
                   "#set($context.responseOverride.header.X-Id = 'over')id $input.path('$.id')"},
    )  # fmt: skip
    response, _, _ = called(aws(responses=(chosen,)), request(b"{}"))
    assert (response.status, response.body) == (202, b"id 7")
    assert dict(response.headers) == {"X-Tag": "t", "X-Id": "over", "Content-Type": "text/plain", "X-Stage": "prod"}


@pytest.mark.parametrize("value", ["a\\r\\nX-Evil: 1", "a\\nb"])
def test_a_header_cannot_bring_another(value: str) -> None:
    text = f"#set($v = $util.parseJson('\"{value}\"'))#set($context.responseOverride.header.x = $v)"
    chosen = IntegrationResponse(200, templates={"application/json": text})
    assert failure(lambda: called(aws(responses=(chosen,)), request(b"{}"))) == "API_CONFIGURATION_ERROR"


def test_the_template_of_a_response_is_that_of_accept() -> None:
    chosen = IntegrationResponse(200, templates={"application/json": "J", "application/xml": "<x/>"})
    assert called(aws(responses=(chosen,)), request(b"{}"))[0].body == b"J"
    response, _, _ = called(aws(responses=(chosen,)), request(b"{}", Accept="application/xml, */*"))
    assert (response.body, response.headers) == (b"<x/>", [("Content-Type", "application/xml")])


def test_conversions_of_bodies() -> None:
    raw, text = b"\xff\x00", b"/wA="
    binary = context(binary_types=("image/png",))
    assert called(aws(), request(raw))[1].sent.body == "\ufffd\x00".encode()
    assert called(aws(), request(raw, Content_Type="image/png"), replace(binary))[1].sent.body == raw
    to_text, to_binary = aws(content_handling="CONVERT_TO_TEXT"), aws(content_handling="CONVERT_TO_BINARY")
    assert called(to_text, request(raw, Content_Type="image/png"), replace(binary))[1].sent.body == text
    assert called(to_binary, request(text))[1].sent.body == raw
    assert failure(lambda: called(to_binary, request(b"?"))) == "API_CONFIGURATION_ERROR"


def test_a_mock_answers_by_the_status_of_its_template() -> None:
    responses = (IntegrationResponse(400, selection_pattern("4.."), templates={"application/json": "bad"}), DEFAULT)
    assert mocked(request(), templates={"application/json": "{statusCode: 200}"}, responses=responses).status == 200
    template = '{"statusCode": #if($input.params("bad") == "1")404#{else}200#end}'
    found = mocked(request(query="bad=1"), templates={"application/json": template}, responses=responses)
    assert (found.status, found.body) == (400, b"bad")
    assert failure(lambda: mocked(request(), templates={"application/json": "{}"}, responses=responses)) == (
        "API_CONFIGURATION_ERROR"
    )


def test_a_mock_has_overrides_of_its_request_and_no_body() -> None:
    text = (
        "#set($context.responseOverride.status = 444)#set($context.requestOverride.querystring['k'] = 'v')"
        '{"statusCode": 200}'
    )
    seen = (
        IntegrationResponse(200, templates={"application/json": "$context.requestOverride.querystring.k $input.body"}),
    )
    found = mocked(request(b'{"secret": 1}'), templates={"application/json": text}, responses=seen)
    assert (found.status, found.body) == (444, b"v {}")
    found = mocked(request(b'{"secret": 1}'), templates={"application/json": text}, responses=(DEFAULT,))
    assert (found.status, found.body) == (444, b"")


def test_selection_patterns_are_javas_without_backtracking() -> None:
    assert selection_pattern("(?s).*x.*").fullmatch("a\nx\n")
    assert not selection_pattern(".*x.*").fullmatch("a\nx\n")
    assert selection_pattern("(?i)ERROR").fullmatch("error")
    assert selection_pattern("").fullmatch("")
    with pytest.raises(RegexSyntaxError):
        selection_pattern("(?=x)")
