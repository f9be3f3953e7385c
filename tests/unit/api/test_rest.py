from __future__ import annotations

import asyncio

import orjson
import pytest

from statewright.api.protocols import rest_routes
from statewright.api.protocols.rest import JsonBodies, RestWire
from statewright.api.protocols.wire import Answer, Incoming
from statewright.errors import ApiError

LAYER_QUERY = {"find": ["LayerVersion"], "Arn": ["x"]}
PART_QUERY = {"partNumber": ["1"], "uploadId": ["u"]}


def text(answer: Answer) -> bytes:
    assert isinstance(answer.body, bytes)
    return answer.body


def incoming(method: str, path: str, query: str = "", headers: dict[str, str] | None = None, body: bytes = b""):
    async def receive():
        return {"type": "http.request", "body": body}

    return Incoming(method, path, query, headers or {}, receive, 1 << 20)


def read(service: str, *request, **more):
    return asyncio.run(RestWire(service, JsonBodies(service)).read(incoming(*request, **more)))


@pytest.mark.parametrize(
    ("service", "method", "path", "query", "headers", "operation", "places"),
    [
        ("lambda", "POST", "/2015-03-31/functions/f/invocations", {}, {}, "Invoke", {"FunctionName": "f"}),
        ("lambda", "GET", "/2015-03-31/functions/", {}, {}, "ListFunctions", {}),
        ("lambda", "GET", "/2015-03-31/functions/a%3Ab/", {}, {}, "GetFunction", {"FunctionName": "a:b"}),
        ("lambda", "GET", "/2018-10-31/layers", {}, {}, "ListLayers", {}),
        ("lambda", "GET", "/2018-10-31/layers", LAYER_QUERY, {}, "GetLayerVersionByArn", {}),
        ("s3", "GET", "/", {}, {}, "ListBuckets", {}),
        ("s3", "GET", "/b", {}, {}, "ListObjects", {"Bucket": "b"}),
        ("s3", "GET", "/b/", {"list-type": ["2"]}, {}, "ListObjectsV2", {"Bucket": "b"}),
        ("s3", "GET", "/b/k/", {}, {}, "GetObject", {"Bucket": "b", "Key": "k/"}),
        ("s3", "GET", "/b/k", {"tagging": [""]}, {}, "GetObjectTagging", {"Bucket": "b", "Key": "k"}),
        ("s3", "PUT", "/b/k", {}, {}, "PutObject", {"Bucket": "b", "Key": "k"}),
        ("s3", "PUT", "/b/k", {}, {"x-amz-copy-source": "b/x"}, "CopyObject", {"Bucket": "b", "Key": "k"}),
        ("s3", "PUT", "/b/a%2Fb", PART_QUERY, {}, "UploadPart", {"Bucket": "b", "Key": "a/b"}),
        ("s3", "POST", "/b", {"delete": [""]}, {}, "DeleteObjects", {"Bucket": "b"}),
        ("s3", "POST", "/b/k", {"uploads": [""]}, {}, "CreateMultipartUpload", {"Bucket": "b", "Key": "k"}),
        ("s3", "HEAD", "/b/k", {}, {}, "HeadObject", {"Bucket": "b", "Key": "k"}),
    ],
)  # fmt: skip
def test_requests_are_routed_to_operations(service, method, path, query, headers, operation, places):
    found = rest_routes.match(service, method, path, query, headers)
    assert found is not None
    assert (found.operation, dict(found.places)) == (operation, places)


def test_requests_without_an_operation():
    assert rest_routes.match("lambda", "PATCH", "/2015-03-31/functions/f", {}, {}) is None
    with pytest.raises(ApiError, match="no operation at PATCH") as caught:
        read("lambda", "PATCH", "/2015-03-31/functions/f")
    assert caught.value.status == 404


def test_members_come_from_everywhere():
    operation, request = read(
        "lambda", "POST", "/2015-03-31/functions/f/invocations", "Qualifier=1",
        {"x-amz-invocation-type": "Event"}, body=b"[1]",
    )  # fmt: skip
    assert operation == "Invoke"
    assert request == {"FunctionName": "f", "Qualifier": "1", "InvocationType": "Event", "Payload": b"[1]"}
    _, request = read("lambda", "GET", "/2015-03-31/functions", "MaxItems=5&Marker=m%20n")
    assert request == {"MaxItems": 5, "Marker": "m n"}
    _, request = read("lambda", "DELETE", "/2017-03-31/tags/arn%3Ax", "tagKeys=a&tagKeys=b")
    assert request == {"Resource": "arn:x", "TagKeys": ["a", "b"]}
    with pytest.raises(ApiError, match="is not a integer"):
        read("lambda", "GET", "/2015-03-31/functions", "MaxItems=many")


@pytest.mark.parametrize("body", [b"{", b"[]", b"1"])
def test_a_json_body_is_one_object(body):
    with pytest.raises(ApiError) as caught:
        read("lambda", "POST", "/2015-03-31/functions", body=body)
    assert caught.value.code == "SerializationException"


def test_answers_go_where_the_model_says():
    wire = RestWire("lambda", JsonBodies("lambda"))
    answer = wire.answer(
        "Invoke", {"StatusCode": 202, "Payload": b"{}", "ExecutedVersion": "3", "FunctionError": None, "LogResult": "x"}
    )
    assert (answer.status, answer.body) == (202, b"{}")
    assert set(answer.headers) == {(b"x-amz-executed-version", b"3"), (b"x-amz-log-result", b"x")}
    created = wire.answer("CreateFunction", {"FunctionName": "f", "Timeout": 3})
    assert (created.status, orjson.loads(text(created))) == (201, {"FunctionName": "f", "Timeout": 3})
    assert wire.answer("DeleteAlias", {}).status == 204


def test_errors_speak_the_services_dialect():
    wire = RestWire("lambda", JsonBodies("lambda"))
    lost = wire.refusal(ApiError("ResourceNotFoundException", "Function not found: x"), "id", "/")
    assert (lost.status, orjson.loads(text(lost))) == (404, {"Message": "Function not found: x", "Type": "User"})
    assert (b"x-amzn-errortype", b"ResourceNotFoundException") in lost.headers
    busy = ApiError("TooManyRequestsException", "Rate Exceeded.", details={"Reason": "R", "retryAfterSeconds": "1"})
    throttled = wire.refusal(busy, "id", "/")
    assert (throttled.status, orjson.loads(text(throttled))["Reason"]) == (429, "R")
    assert (b"retry-after", b"1") in throttled.headers


@pytest.mark.parametrize(
    ("mode", "members"),
    [
        ("ENABLED", {"ChecksumMode": "ENABLED"}),
        # The SDK for C++, which pyarrow and pandas read with.
        ("enabled", {"ChecksumMode": "ENABLED"}),
        ("DISABLED", {}),
        ("", {}),
    ],
)
def test_a_switch_in_a_header_is_on_or_off_in_any_case(mode, members):
    found = read("s3", "GET", "/b/k", headers={"x-amz-checksum-mode": mode})
    assert found == ("GetObject", {"Bucket": "b", "Key": "k", **members})


def test_the_values_of_headers_have_no_case_and_unknown_ones_are_left_to_the_check():
    _, request = read("s3", "PUT", "/b/k", headers={"x-amz-storage-class": "standard", "x-amz-acl": "Private"})
    assert (request["StorageClass"], request["ACL"]) == ("STANDARD", "private")
    _, request = read("s3", "PUT", "/b/k", headers={"x-amz-storage-class": "cheap"})
    assert request["StorageClass"] == "cheap"
    _, request = read(
        "lambda", "POST", "/2015-03-31/functions/f/invocations", headers={"x-amz-invocation-type": "event"}
    )
    assert request["InvocationType"] == "Event"


def test_no_line_break_gets_into_a_header():
    answer = RestWire("lambda", JsonBodies("lambda")).answer("Invoke", {"StatusCode": 200, "LogResult": "a\r\nb: c"})
    assert answer.headers == [(b"x-amz-log-result", b"a  b: c")]
