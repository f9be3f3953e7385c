"""REST APIs through boto3 and plain HTTP, against a real server: events, answers, routing and refusals."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.e2e.conftest import Server
from tests.e2e.test_http_apis import AS_ASKED, SHOWN, Answer, called
from tests.e2e.test_lambda import ARN, made

SHOWN_1 = """
import json

def handler(event, context):
    return {"statusCode": 200, "body": json.dumps(event)}
"""
INVOKED = "arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/{}/invocations"


@pytest.fixture
def gateway(server: Server) -> Any:
    return server.client("apigateway")


class Rest:
    """A REST API under construction."""

    def __init__(self, gateway: Any, **settings: Any) -> None:
        self.gateway = gateway
        shown = gateway.create_rest_api(name="shop", **settings)
        self.id: str = shown["id"]
        self.paths: dict[str, str] = {"/": shown["rootResourceId"]}

    def resource(self, path: str) -> str:
        if path not in self.paths:
            parent, _, part = path.rpartition("/")
            made = self.gateway.create_resource(restApiId=self.id, parentId=self.resource(parent or "/"), pathPart=part)
            self.paths[path] = made["id"]
        return self.paths[path]

    def method(self, method: str, path: str, integration: dict[str, Any], **settings: Any) -> dict[str, Any]:
        where = {"restApiId": self.id, "resourceId": self.resource(path), "httpMethod": method}
        self.gateway.put_method(**where, **{"authorizationType": "NONE", **settings})
        self.gateway.put_integration(**where, **integration)
        return where

    def function(self, method: str, path: str, function: str, **settings: Any) -> None:
        uri = INVOKED.format(ARN + function)
        self.method(method, path, {"type": "AWS_PROXY", "integrationHttpMethod": "POST", "uri": uri}, **settings)

    def deploy(self, stage: str = "prod", **settings: Any) -> str:
        deployed: str = self.gateway.create_deployment(restApiId=self.id, stageName=stage, **settings)["id"]
        return deployed


def test_the_event_of_a_function(server, gateway):
    api = Rest(gateway)
    api.function("ANY", "/{proxy+}", made(server.client("lambda"), SHOWN_1))
    deployment = api.deploy(variables={"mode": "test"})
    headers = {"X-Test": "1", "Accept": "application/json", "Content-Type": "application/json"}
    event = called(server, api.id, "POST", "/prod//a//b%2Bc@d/?x=1&x=2&y=%2B+z", headers, b'{"a":1}').json
    context = event.pop("requestContext")
    sent, multi = event.pop("headers"), event.pop("multiValueHeaders")
    assert event == {
        "resource": "/{proxy+}", "path": "/a//b%2Bc@d/", "httpMethod": "POST",
        "queryStringParameters": {"x": "2", "y": "+ z"},
        "multiValueQueryStringParameters": {"x": ["1", "2"], "y": ["+ z"]},
        "pathParameters": {"proxy": "a//b%2Bc@d"}, "stageVariables": {"mode": "test"}, "body": '{"a":1}',
        "isBase64Encoded": False,
    }  # fmt: skip
    assert (sent["X-Test"], multi["X-Test"], sent["X-Forwarded-Proto"]) == ("1", ["1"], "http")
    assert "content-length" not in {name.lower() for name in sent}
    assert (context["path"], context["stage"], context["deploymentId"]) == ("/prod//a//b%2Bc@d/", "prod", deployment)
    assert context["identity"]["sourceIp"] == "127.0.0.1"
    assert context["identity"]["userArn"] is None


def test_answers_of_functions(server, gateway):
    api = Rest(gateway)
    api.function("POST", "/", made(server.client("lambda"), AS_ASKED))
    api.deploy()

    def answered(given: Any) -> Answer:
        return called(server, api.id, "POST", "/prod", body=json.dumps(given).encode())

    full = answered({"statusCode": "201", "headers": {"x-m": "solo", "x-b": True}, "multiValueHeaders": {"X-M": ["m"]}})
    assert (full.status, full.body, full.headers["x-m"], full.headers["x-b"]) == (201, b"", ["m", "solo"], ["true"])
    assert (full.headers["content-type"], full.headers["content-length"]) == (["application/json"], ["0"])
    assert answered({"headers": {}}).status == 200
    remapped = answered({
        "statusCode": 200,
        "headers": {"Connection": "close", "Host": "h", "Transfer-Encoding": "x", "x-amzn-RequestId": "mine"},
    })  # fmt: skip
    assert remapped.headers["x-amzn-remapped-x-amzn-requestid"] == ["mine"]
    assert len(remapped.headers["x-amzn-requestid"]) == 1
    assert remapped.headers["x-amzn-remapped-connection"] == ["close"]
    assert "transfer-encoding" not in remapped.headers
    for bad in ({}, "text", {"statusCode": 200, "more": 1}, {"statusCode": "test"}, {"multiValueHeaders": {"a": "b"}}):
        failed = answered(bad)
        assert (failed.status, failed.body) == (502, b'{"message": "Internal server error"}')
        assert failed.headers["x-amzn-errortype"] == ["InternalServerErrorException"]


def test_headers_that_an_integration_adds_to_an_event(server, gateway):
    api = Rest(gateway)
    uri = INVOKED.format(ARN + made(server.client("lambda"), SHOWN_1))
    for path, names in (("/a", {"X-New": "'n'", "x-sent": "'gateway'"}), ("/b", {"Authorization": "'a'"})):
        parameters = {f"integration.request.header.{name}": value for name, value in names.items()}
        api.method("GET", path, {
            "type": "AWS_PROXY", "integrationHttpMethod": "POST", "uri": uri, "requestParameters": parameters,
        })  # fmt: skip
    api.deploy()
    shown = called(server, api.id, "GET", "/prod/a", {"X-Sent": "client"})
    headers = shown.json["headers"]
    assert (headers["X-New"], headers["X-Sent"], headers.get("x-sent")) == ("n", "client", None)
    assert shown.json["multiValueHeaders"]["X-New"] == ["n"]
    assert called(server, api.id, "GET", "/prod/b").status == 500
    # The request's id has other names than in answers of HTTP APIs.
    assert {"x-amzn-requestid", "x-amz-apigw-id"} <= shown.headers.keys()
    assert "apigw-requestid" not in shown.headers


def test_the_nearest_resource_with_the_method_answers(server, gateway):
    function = made(server.client("lambda"), SHOWN_1)
    api = Rest(gateway)
    for method, path in (
        ("GET", "/a/fixed"), ("POST", "/a/{proxy+}"), ("GET", "/{all+}"), ("GET", "/b/{id}"), ("GET", "/b/{id}/c"),
    ):  # fmt: skip
        api.function(method, path, function)
    api.deploy()

    def resource_of(method: str, path: str) -> str:
        found: str = called(server, api.id, method, f"/prod{path}").json["resource"]
        return found

    assert resource_of("GET", "/a/fixed/") == "/a/fixed"
    assert resource_of("POST", "/a/fixed") == "/a/{proxy+}"
    assert resource_of("GET", "/a/x") == "/{all+}"
    assert resource_of("GET", "/b/1") == "/b/{id}"
    assert resource_of("GET", "/b/1/d") == "/{all+}"
    for method, path in (("PUT", "/a/fixed"), ("GET", "/")):
        refused = called(server, api.id, method, f"/prod{path}")
        assert (refused.status, refused.body) == (403, b'{"message":"Missing Authentication Token"}')
        assert refused.headers["x-amzn-errortype"] == ["MissingAuthenticationTokenException"]
    assert called(server, api.id, "GET", "/none/x").status == 403


def test_mocks_answer_preflights_and_deployments_are_snapshots(server, gateway):
    api = Rest(gateway)
    where = api.method("OPTIONS", "/a", {"type": "MOCK", "requestTemplates": {"application/json": "{statusCode: 204}"}})
    allows = "method.response.header.Access-Control-Allow-Origin"
    gateway.put_method_response(**where, statusCode="204", responseParameters={allows: False})
    gateway.put_integration_response(**where, statusCode="204", responseParameters={allows: "'*'"})
    api.deploy()
    page = {"Origin": "http://localhost:3000", "Sec-Fetch-Site": "cross-site"}
    asked = called(server, api.id, "OPTIONS", "/prod/a", page)
    assert (asked.status, asked.headers["access-control-allow-origin"]) == (204, ["*"])
    assert called(server, api.id, "GET", "/prod/a", {**page, "Origin": "https://evil.example"}).status == 403
    gateway.delete_method(**where)
    assert called(server, api.id, "OPTIONS", "/prod/a").status == 204


def test_responses_need_no_declaration_but_for_their_headers(server, gateway):
    api = Rest(gateway)
    where = api.method("GET", "/a", {"type": "MOCK", "requestTemplates": {"application/json": "{statusCode: 200}"}})
    with pytest.raises(ClientError, match=r"parameter specified: method\.response\.header\.x"):
        gateway.put_integration_response(
            **where, statusCode="200", responseParameters={"method.response.header.x": "'1'"}
        )
    gateway.put_integration_response(**where, statusCode="200")
    api.deploy("with-hyphens_1")
    assert called(server, api.id, "GET", "/with-hyphens_1/a").status == 200


def test_keys_and_validators(server, gateway):
    api = Rest(gateway)
    function = made(server.client("lambda"), SHOWN_1)
    gateway.create_model(
        restApiId=api.id, name="Order", contentType="application/json",
        schema='{"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}',
    )  # fmt: skip
    validator = gateway.create_request_validator(
        restApiId=api.id, name="all", validateRequestBody=True, validateRequestParameters=True
    )["id"]
    api.function("POST", "/checked", function, requestValidatorId=validator,
                 requestModels={"application/json": "Order"},
                 requestParameters={"method.request.querystring.q": True, "method.request.header.X-H": True,
                                    "method.request.header.x-o": False})  # fmt: skip
    api.function("GET", "/keyed", function, apiKeyRequired=True)
    api.deploy()
    bare = called(server, api.id, "POST", "/prod/checked", body=b'{"id": 1}')
    assert (bare.status, bare.body) == (400, b'{"message": "Missing required request parameters: [X-H, q]"}')
    for body, status in ((b'{"id": 1}', 200), (b'{"id": "1"}', 400), (b"", 400), (b"{", 400)):
        checked = called(server, api.id, "POST", "/prod/checked?q=1", {"X-H": "1"}, body)
        assert checked.status == status
    assert checked.body == b'{"message": "Invalid request body"}'
    key = gateway.create_api_key(name="k", enabled=True)
    plan = gateway.create_usage_plan(name="p", apiStages=[{"apiId": api.id, "stage": "prod"}])["id"]
    assert called(server, api.id, "GET", "/prod/keyed", {"x-api-key": key["value"]}).status == 403
    gateway.create_usage_plan_key(usagePlanId=plan, keyId=key["id"], keyType="API_KEY")
    let_in = called(server, api.id, "GET", "/prod/keyed", {"x-api-key": key["value"]})
    assert let_in.json["requestContext"]["identity"]["apiKeyId"] == key["id"]
    gateway.update_api_key(apiKey=key["id"], patchOperations=[{"op": "replace", "path": "/enabled", "value": "false"}])
    refused = called(server, api.id, "GET", "/prod/keyed", {"x-api-key": key["value"]})
    assert (refused.status, refused.body) == (403, b'{"message":"Forbidden"}')


class Backend(BaseHTTPRequestHandler):
    """Answers what it received."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        seen = {"path": self.path, "headers": [*self.headers.items()], "body": body.decode()}
        text = json.dumps(seen).encode()
        self.send_response(207)
        self.send_header("Content-Length", str(len(text)))
        self.send_header("X-Back", "yes")
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def backend() -> Any:
    running = ThreadingHTTPServer(("127.0.0.1", 0), Backend)
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}"
    running.shutdown()
    running.server_close()


def test_another_server_gets_the_request_but_not_its_framing(server, gateway, backend):
    api = Rest(gateway)
    api.method("ANY", "/{proxy+}", {
        "type": "HTTP_PROXY", "integrationHttpMethod": "POST", "uri": backend + "/base/{proxy}?fixed=1",
        "requestParameters": {"integration.request.path.proxy": "method.request.path.proxy",
                              "integration.request.header.X-Mapped": "'literal'"},
    }, requestParameters={"method.request.path.proxy": True})  # fmt: skip
    api.deploy()
    headers = {"X-Own": "1", "Connection": "close, X-Own", "TE": "trailers", "Proxy-Authorization": "secret",
               "X-MAPPED": "client", "x-amzn-trace-id": "Root=1", "X-Amzn-Apigateway-Api-Id": "before"}  # fmt: skip
    answer = called(server, api.id, "PUT", "/prod/a%2Fb/c?x=1&x=2", headers, b"GET /admin HTTP/1.1\r\n\r\n")
    assert (answer.status, answer.headers["x-back"]) == (207, ["yes"])
    seen = answer.json
    assert seen["path"] == "/base/a%2Fb/c?fixed=1&x=2%2C1"
    assert seen["body"] == "GET /admin HTTP/1.1\r\n\r\n"
    names = [name.lower() for name, _ in seen["headers"]]
    assert [value for name, value in seen["headers"] if name.lower() == "x-mapped"] == ["literal"]
    assert dict(seen["headers"])["X-Amzn-Apigateway-Api-Id"] == f"before,{api.id}"
    assert (names.count("x-amzn-trace-id"), names.count("x-amzn-apigateway-api-id")) == (1, 1)
    assert not {"x-own", "te", "proxy-authorization", "transfer-encoding"} & set(names)
    assert names.count("content-length") == 1
    left = called(server, api.id, "PUT", "/prod/a/..%2F../admin")
    assert left.status == 504


def test_a_body_over_ten_megabytes_is_refused(server, gateway):
    api = Rest(gateway)
    api.function("POST", "/", made(server.client("lambda"), SHOWN))
    api.deploy()
    assert called(server, api.id, "POST", "/prod/", body=b"x" * (10 * 1024 * 1024 + 1)).status == 413
    # The event of a function may be six megabytes long.
    longer = called(server, api.id, "POST", "/prod/", body=b"x" * (7 * 1024 * 1024))
    assert (longer.status, longer.body) == (413, b'{"message":"Request Entity Too Large"}')


def test_what_a_rest_api_refuses(gateway):
    api = Rest(gateway)
    root, pets = api.paths["/"], api.resource("/pets")
    api.resource("/pets/{id}")
    api.resource("/all/{proxy+}")
    where = {"restApiId": api.id, "resourceId": pets, "httpMethod": "GET"}
    gateway.put_method(**where, authorizationType="NONE")
    lambda_uri = INVOKED.format(ARN + "f")
    for operation, request, text in (
        ("create_resource", {"parentId": root, "pathPart": "pets"},
         "Another resource with the same parent already has this name: pets"),
        ("create_resource", {"parentId": pets, "pathPart": "{other}"},
         "A sibling \\({id}\\) of this resource already has a variable path part -- only one is allowed"),
        ("create_resource", {"parentId": pets, "pathPart": "{rest+}"},
         "A sibling \\({id}\\) of this resource already has a variable path part -- only one is allowed"),
        ("put_method", {"resourceId": pets, "httpMethod": "PUT", "authorizationType": "NONE",
                        "requestParameters": {"method.request.header.a": True, "method.request.path.a": True}},
         "Parameter names must be unique across querystring, header and path"),
        ("put_method", {"resourceId": pets, "httpMethod": "PUT", "authorizationType": "NONE",
                        "requestParameters": {"x.header.y": True}},
         "Invalid mapping expression parameter specified: x.header.y"),
        ("put_integration", {**where, "type": "MOCK", "timeoutInMillis": 49},
         "Timeout should be between 50 ms and 900000 ms"),
        ("create_resource", {"parentId": api.paths["/all/{proxy+}"], "pathPart": "x"},
         "Cannot create a child of a resource with a greedy path variable"),
        ("create_resource", {"parentId": "none", "pathPart": "x"}, "Invalid Resource identifier specified"),
        ("put_method", {"resourceId": pets, "httpMethod": "FETCH", "authorizationType": "NONE"},
         "Invalid HttpMethod specified. Valid options are GET,PUT,POST,DELETE,PATCH,OPTIONS,HEAD,ANY"),
        ("get_method", {"resourceId": pets, "httpMethod": "PUT"}, "Invalid Method identifier specified"),
        ("get_integration", {"resourceId": pets, "httpMethod": "GET"}, "Invalid Integration identifier specified"),
        ("put_integration", {**where, "type": "AWS_PROXY", "uri": lambda_uri},
         "Enumeration value for HttpMethod must be non-empty"),
        ("put_integration", {**where, "type": "HTTP", "uri": "x", "integrationHttpMethod": "GET"},
         "Invalid HTTP endpoint specified for URI"),
        ("put_integration", {**where, "type": "AWS", "uri": "x", "integrationHttpMethod": "POST"},
         "AWS ARN for integration must contain path or action"),
        ("create_deployment", {}, "No integration defined for method"),
        ("update_rest_api", {"patchOperations": [{"op": "replace", "path": "/x", "value": "y"}]},
         "Invalid patch path  '/x' specified for op 'replace'. Must be one of"),
    ):  # fmt: skip
        with pytest.raises(ClientError, match=text):
            getattr(gateway, operation)(**{"restApiId": api.id, **request})
    with pytest.raises(ClientError, match="Invalid API identifier specified 000000000000:none"):
        gateway.get_rest_api(restApiId="none")
