"""AWS, HTTP and MOCK integrations of REST APIs, with mapping templates, against a real server's own services."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from tests.e2e.conftest import ROLE, Server, machine
from tests.e2e.test_http_apis import Answer, called
from tests.e2e.test_lambda import ARN, made
from tests.e2e.test_rest_apis import INVOKED, Rest

FORM = {"integration.request.header.Content-Type": "'application/x-www-form-urlencoded'"}


@pytest.fixture
def gateway(server: Server) -> Any:
    return server.client("apigateway")


def uri(service: str, rest: str) -> str:
    return f"arn:aws:apigateway:us-east-1:{service}:{rest}"


def responses(api: Rest, where: dict[str, Any], *given: dict[str, Any]) -> None:
    """The integration responses of a method."""
    for one in given:
        headers = dict.fromkeys(one.get("responseParameters", {}), False)
        api.gateway.put_method_response(**where, statusCode=one["statusCode"], responseParameters=headers)
        api.gateway.put_integration_response(**where, **one)


def aws(api: Rest, path: str, service: str, rest: str, template: str | None = None, **more: Any) -> dict[str, Any]:
    """POST of a path, to a service of this server, with a default response."""
    templates = {} if template is None else {"requestTemplates": {"application/json": template}}
    where = api.method(
        "POST", path,
        {"type": "AWS", "integrationHttpMethod": "POST", "uri": uri(service, rest), "credentials": ROLE,
         **templates, **more},
    )  # fmt: skip
    responses(api, where, {"statusCode": "200"})
    return where


def post(server: Server, api: Rest, path: str, body: Any, **headers: str) -> Answer:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    return called(server, api.id, "POST", f"/prod{path}", {"Content-Type": "application/json", **headers}, sent)


def test_executions(server, gateway):
    sfn = server.client("stepfunctions")
    arn = machine(sfn, {"Type": "Pass"})
    express = machine(sfn, {"Type": "Pass", "Result": {"done": True}}, express=True)
    api = Rest(gateway)
    template = (
        '{"input": "$util.escapeJavaScript($input.json(\'$\')).replaceAll("\\\\\'", "\'")", "stateMachineArn": "%s"}'
    )
    aws(api, "/start", "states", "action/StartExecution", template.replace("'$'", "'$'") % arn)
    where = aws(api, "/sync", "states", "action/StartSyncExecution", template % express)
    output = (
        "#set($root = $input.path('$'))#if($root.status == 'FAILED')#set($context.responseOverride.status = 500)#end"
    )
    gateway.put_integration_response(
        **where, statusCode="200", responseTemplates={"application/json": f"{output}$input.path('$.output')"}
    )
    api.deploy()
    started = post(server, api, "/start", {"text": 'it\'s "so" / ä'})
    assert started.status == 200
    assert set(started.json) == {"executionArn", "startDate"}
    assert isinstance(started.json["startDate"], float)
    shown = sfn.describe_execution(executionArn=started.json["executionArn"])
    assert json.loads(shown["input"]) == {"text": 'it\'s "so" / ä'}
    assert post(server, api, "/sync", {}).json == {"done": True}
    refused = post(server, api, "/start", b"no json")
    assert (refused.status, refused.headers["x-amzn-errortype"]) == (400, ["BadRequestException"])
    assert refused.json["message"].startswith("Could not parse request body into json: ")


def test_messages_of_a_queue_by_a_form_and_by_json(server, gateway):
    sqs = server.client("sqs")
    url = sqs.create_queue(QueueName=f"q-{uuid4()}")["QueueUrl"]
    account, name = url.rsplit("/", 2)[1:]
    api = Rest(gateway)
    form = (
        "Action=SendMessage&MessageBody=$util.urlEncode($input.body)"
        "&MessageAttribute.1.Name=kind&MessageAttribute.1.Value.DataType=String&MessageAttribute.1.Value.StringValue=order"
    )
    aws(api, "/form", "sqs", f"path/{account}/{name}", form, requestParameters=FORM)
    send = {
        "integration.request.querystring.QueueUrl": f"'{url}'",
        "integration.request.querystring.MessageBody": "method.request.body.text",
    }
    aws(api, "/action", "sqs", "action/SendMessage", requestParameters=send)
    target = {
        "integration.request.header.X-Amz-Target": "'AmazonSQS.SendMessage'",
        "integration.request.header.Content-Type": "'application/x-amz-json-1.0'",
    }
    body = f'{{"QueueUrl": "{url}", "MessageBody": $input.json("$.text")}}'
    aws(api, "/json", "sqs", "path/", body, requestParameters=target)
    aws(api, "/none", "sqs", "path/000000000000/none", form, requestParameters=FORM)
    api.deploy()
    answer = post(server, api, "/form", {"text": "one & two"}).json["SendMessageResponse"]
    assert set(answer["SendMessageResult"]) >= {"MessageId", "MD5OfMessageBody", "SequenceNumber"}
    assert set(answer["ResponseMetadata"]) == {"RequestId"}
    assert "SendMessageResponse" in post(server, api, "/action", {"text": "by action"}).json
    assert set(post(server, api, "/json", {"text": "by json"}).json) >= {"MessageId", "MD5OfMessageBody"}
    found: dict[str, Any] = {}
    while len(found) < 3:
        got = sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], WaitTimeSeconds=5
        )
        found |= {one["Body"]: one for one in got["Messages"]}
    assert set(found) == {'{"text": "one & two"}', "by action", "by json"}
    assert found['{"text": "one & two"}']["MessageAttributes"]["kind"]["StringValue"] == "order"
    missing = post(server, api, "/none", {"text": "x"})
    assert missing.status == 200
    assert missing.json["Error"]["Code"] == "AWS.SimpleQueueService.NonExistentQueue"


def test_items_of_a_table(server, gateway):
    table = f"t-{uuid4()}"
    server.client("dynamodb").create_table(
        TableName=table, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    )  # fmt: skip
    api = Rest(gateway)
    item = '{"id": {"S": "$context.requestId"}, "name": {"S": "$input.path(\'$.name\')"}}'
    aws(api, "/put", "dynamodb", "action/PutItem", '{"TableName": "$stageVariables.table", "Item": ' + item + "}")
    where = aws(api, "/scan", "dynamodb", "action/Scan", '{"TableName": "$stageVariables.table"}')
    shown = """#set($root = $input.path('$'))
{"count": $root.Count, "names": [
#foreach($item in $root.Items)
"$item.name.S"#if($foreach.hasNext),#end
#end
]}"""
    gateway.put_integration_response(**where, statusCode="200", responseTemplates={"application/json": shown})
    aws(api, "/raw", "dynamodb", "action/Query", '{"TableName": "none"}')
    api.deploy(variables={"table": table})
    put = post(server, api, "/put", {"name": "Ada"})
    assert (put.status, put.json) == (200, {})
    assert post(server, api, "/scan", {}).json == {"count": 1, "names": ["Ada"]}
    assert post(server, api, "/raw", {}).json["__type"].endswith("ResourceNotFoundException")


def test_functions_without_a_proxy(server, gateway):
    code = """
def handler(event, context):
    if event.get("fail"):
        raise ValueError(event["fail"])
    return {"seen": event}
"""
    function = made(server.client("lambda"), code)
    api = Rest(gateway)
    where = api.method(
        "POST", "/f",
        {"type": "AWS", "integrationHttpMethod": "POST", "uri": INVOKED.format(ARN + function),
         "requestTemplates": {"application/json": '{"fail": $input.json("$.fail"), "id": "$input.params(\'id\')"}'}},
    )  # fmt: skip
    for path, template in (("/nothing", "$input.body.attr"), ("/empty", "")):
        silent = api.method("POST", path, {
            "type": "AWS", "integrationHttpMethod": "POST", "uri": INVOKED.format(ARN + function),
            "requestTemplates": {"application/json": template},
        })  # fmt: skip
        responses(api, silent, {"statusCode": "200"})
    error = {"application/json": '{"error": "$input.path(\'$.errorMessage\')"}'}
    responses(
        api, where, {"statusCode": "200"},
        {"statusCode": "400", "selectionPattern": ".*four hundred.*", "responseTemplates": error},
        {"statusCode": "500", "selectionPattern": ".+"},
    )  # fmt: skip
    api.deploy()
    assert post(server, api, "/f?id=7", {"fail": ""}).json == {"seen": {"fail": "", "id": "7"}}
    for path in ("/nothing", "/empty"):
        assert post(server, api, path, {"attr": 1}).json == {"seen": {}}
    bad = post(server, api, "/f", {"fail": "a four hundred"})
    assert (bad.status, bad.json) == (400, {"error": "a four hundred"})
    worse = post(server, api, "/f", {"fail": "boom"})
    assert (worse.status, worse.json["errorMessage"]) == (500, "boom")


def test_objects_of_a_bucket_and_their_conversions(server, gateway):
    s3 = server.client("s3")
    bucket = f"b-{uuid4()}"
    s3.create_bucket(Bucket=bucket)
    api = Rest(gateway, binaryMediaTypes=["image/png"])
    path = {"integration.request.path.key": "method.request.path.key"}
    kept = {"statusCode": "200", "responseParameters": {
        "method.response.header.Content-Type": "integration.response.header.Content-Type",
        "method.response.header.ETag": "integration.response.header.ETag",
    }}  # fmt: skip
    for method in ("PUT", "GET"):
        where = api.method(
            method, "/{key}",
            {"type": "AWS", "integrationHttpMethod": method, "uri": uri("s3", f"path/{bucket}/{{key}}"),
             "requestParameters": path, "passthroughBehavior": "WHEN_NO_MATCH"},
            requestParameters={"method.request.path.key": True},
        )  # fmt: skip
        responses(api, where, kept)
    api.deploy()
    raw = b"\x89PNG\xff\x00"
    png = {"Content-Type": "image/png", "Accept": "image/png"}
    put = called(server, api.id, "PUT", "/prod/a.png", png, raw)
    assert put.status == 200
    assert put.headers["etag"][0].strip('"')
    assert s3.get_object(Bucket=bucket, Key="a.png")["Body"].read() == raw
    got = called(server, api.id, "GET", "/prod/a.png", png)
    assert (got.status, got.body, got.headers["content-type"]) == (200, raw, ["image/png"])
    called(server, api.id, "PUT", "/prod/text", {"Content-Type": "text/plain"}, raw)
    assert s3.get_object(Bucket=bucket, Key="text")["Body"].read() == raw.decode("utf-8", "replace").encode()
    missing = called(server, api.id, "GET", "/prod/missing")
    assert missing.status == 200
    assert b"<Code>NoSuchKey</Code>" in missing.body


def test_topics_and_events(server, gateway):
    topic = server.client("sns").create_topic(Name=f"t-{uuid4()}")["TopicArn"]
    api = Rest(gateway)
    publish = f"Action=Publish&TopicArn=$util.urlEncode('{topic}')&Message=$util.urlEncode($input.body)"
    aws(api, "/topic", "sns", "path//", publish, requestParameters=FORM)
    entry = '{"Source": "shop", "DetailType": "Order", "Detail": "$util.escapeJavaScript($input.json(\'$\'))"}'
    aws(api, "/events", "events", "action/PutEvents", '{"Entries": [' + entry + "]}")
    api.deploy()
    assert set(post(server, api, "/topic", {"a": 1}).json["PublishResponse"]["PublishResult"]) >= {"MessageId"}
    put = post(server, api, "/events", {"a": 1}).json
    assert (put["FailedEntryCount"], list(put["Entries"][0])) == (0, ["EventId"])


def test_another_server_behind_templates(server, gateway):
    seen: dict[str, Any] = {}

    class Backend(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            length = int(self.headers.get("content-length", 0))
            seen.update(path=self.path, headers=dict(self.headers), body=self.rfile.read(length))
            self.send_response(404)
            self.send_header("X-Kind", "none")
            self.end_headers()
            self.wfile.write(b'{"why": "gone"}')

        def log_message(self, *_: Any) -> None: ...

    backend = ThreadingHTTPServer(("127.0.0.1", 0), Backend)
    threading.Thread(target=backend.serve_forever, daemon=True).start()
    try:
        api = Rest(gateway)
        where = api.method(
            "POST", "/orders/{id}",
            {"type": "HTTP", "integrationHttpMethod": "PUT", "uri": f"http://127.0.0.1:{backend.server_port}/o/{{id}}",
             "requestParameters": {"integration.request.path.id": "method.request.path.id",
                                   "integration.request.querystring.v": "'1'",
                                   "integration.request.header.X-Key": "method.request.header.X-Key"},
             "requestTemplates": {"application/json": '{"n": $input.json("$.n")}'}},
        )  # fmt: skip
        responses(
            api, where, {"statusCode": "200"},
            {"statusCode": "410", "selectionPattern": "4\\d\\d",
             "responseParameters": {"method.response.header.X-Was": "integration.response.header.x-kind"},
             "responseTemplates": {"application/json": "$input.path('$.why')"}},
        )  # fmt: skip
        api.deploy()
        answer = post(server, api, "/orders/5", {"n": 1}, **{"X-Key": "k", "X-Other": "o"})
    finally:
        backend.shutdown()
        backend.server_close()
    assert (answer.status, answer.body, answer.headers["x-was"]) == (410, b"gone", ["none"])
    assert (seen["path"], seen["body"]) == ("/o/5?v=1", b'{"n": 1}')
    assert seen["headers"]["User-Agent"] == f"AmazonAPIGateway_{api.id}"
    assert seen["headers"]["X-Key"] == "k"
    assert "X-Other" not in seen["headers"]


def test_mocks(server, gateway):
    api = Rest(gateway)
    template = '{"statusCode": #if($input.params("bad") == "yes")400#{else}200#end}'
    where = api.method("GET", "/m", {"type": "MOCK", "requestTemplates": {"application/json": template}})
    responses(
        api, where, {"statusCode": "200", "responseTemplates": {"application/json": '{"stage": "$context.stage"}'}},
        {"statusCode": "400", "selectionPattern": "400", "responseTemplates": {"application/json": "bad"}},
    )  # fmt: skip
    api.deploy()
    good = called(server, api.id, "GET", "/prod/m")
    assert (good.status, good.json) == (200, {"stage": "prod"})
    assert "x-amzn-trace-id" not in good.headers
    assert called(server, api.id, "GET", "/prod/m?bad=yes").status == 400
    assert called(server, api.id, "GET", "/prod/m", {"Content-Type": "text/plain"}).status == 500


def test_a_template_that_does_too_much_is_stopped_while_others_are_answered(server, gateway):
    api = Rest(gateway)
    loops = "#foreach($i in [1..1000])" * 4 + "x" + "#end" * 4
    for path, text in (("/slow", loops), ("/large", '#set($s = "0123456789")' + '#set($s = "$s$s")' * 40)):
        where = api.method("GET", path, {"type": "MOCK", "requestTemplates": {"application/json": text}})
        responses(api, where, {"statusCode": "200"})
    api.deploy()
    for path in ("/slow", "/large"):
        stopped = called(server, api.id, "GET", f"/prod{path}")
        assert (stopped.status, stopped.body) == (500, b'{"message": "Internal server error"}')


def test_what_cannot_work_is_refused_when_it_is_put(server, gateway):
    api = Rest(gateway)
    for integration, text in (
        ({"type": "MOCK", "requestTemplates": {"application/json": "{\n#foo($x)}"}}, "line 2, column 1"),
        ({"type": "MOCK", "requestTemplates": {"application/json": "$util.qr(1)"}}, "$util has the functions"),
        ({"type": "AWS", "integrationHttpMethod": "POST", "uri": "arn:aws:apigateway:r:states:StartExecution"},
         "AWS ARN for integration must contain path or action"),
    ):  # fmt: skip
        with pytest.raises(ClientError, match="BadRequestException") as caught:
            api.method("GET", "/" + uuid4().hex, integration)
        assert text in caught.value.response["Error"]["Message"]
    where = api.method("GET", "/m", {"type": "MOCK"})
    gateway.put_method_response(**where, statusCode="200")
    with pytest.raises(ClientError, match="Invalid selection pattern"):
        gateway.put_integration_response(**where, statusCode="200", selectionPattern="(?=x)")
    with pytest.raises(ClientError, match="line 1, column 1"):
        gateway.put_integration_response(**where, statusCode="200", responseTemplates={"application/json": "#if(true)"})


def test_a_long_template_is_compiled_and_rendered_apart(server, gateway):
    api = Rest(gateway)
    text = "#set($n = 0)" + "#set($n = $n + 1)" * 5_000 + '{"statusCode": 200}'
    shown = "$context.stage " * 1_000 + "$input.params('q')"
    where = api.method("GET", "/m", {"type": "MOCK", "requestTemplates": {"application/json": text}})
    responses(api, where, {"statusCode": "200", "responseTemplates": {"application/json": shown}})
    api.deploy()
    answer = called(server, api.id, "GET", "/prod/m?q=yes")
    assert (answer.status, answer.body) == (200, b"prod " * 1_000 + b"yes")
    with pytest.raises(ClientError, match="#end ends nothing"):
        api.method("GET", "/bad", {"type": "MOCK", "requestTemplates": {"application/json": text + "#end"}})


def test_services_and_regions_that_are_not_here_are_errors_of_configuration(server, gateway):
    api = Rest(gateway)
    aws(api, "/service", "kinesis", "action/PutRecord")
    where = api.method(
        "POST", "/region",
        {"type": "AWS", "integrationHttpMethod": "POST",
         "uri": "arn:aws:apigateway:NOWHERE:dynamodb:action/ListTables"},
    )  # fmt: skip
    responses(api, where, {"statusCode": "200"})
    api.deploy()
    for path in ("/service", "/region"):
        answer = post(server, api, path, {})
        assert (answer.status, answer.headers["x-amzn-errortype"]) == (500, ["InternalServerErrorException"])
