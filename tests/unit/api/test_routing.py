from __future__ import annotations

from dataclasses import replace

import pytest

from statewright.api.routing import Route, bucket_in_host, route, signing_service
from statewright.errors import ApiError


def signed_for(service: str) -> dict[str, str]:
    scope = f"AKID/20260101/us-east-1/{service}/aws4_request"
    return {"authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"}


def test_the_scope_of_the_signature_comes_first():
    headers = {**signed_for("states"), "x-amz-target": "AWSStepFunctions.ListActivities"}
    assert route("POST", "/", "", headers) == Route("states", "json", "us-east-1")


def test_the_target_is_enough():
    assert route("POST", "/", "", {"x-amz-target": "AWSStepFunctions.ListActivities"}) == Route("states", "json")


def test_a_presigned_query_has_a_scope_too():
    query = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKID%2F20260101%2Fus-east-1%2Fstates%2Faws4_request"
    assert signing_service(query, {}) == "states"
    found = route("POST", "/", query, {"x-amz-target": "AWSStepFunctions.TestState"})
    assert found == Route("states", "json", "us-east-1")
    assert route("POST", "/", query.replace("us-east-1", "default"), {}).region == "", "the server's default region"


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, "NotFound"),
        ({"x-amz-target": "ListActivities"}, "NotFound"),
        ({"x-amz-target": "AWSGlue.GetTables"}, "UnknownOperationException"),
        ({**signed_for("states"), "x-amz-target": "AWSGlue.GetTables"}, "UnknownOperationException"),
    ],
)
def test_requests_without_a_service(headers, code):
    with pytest.raises(ApiError) as caught:
        route("POST", "/", "", headers)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "authorization", ["", "Bearer x", "AWS4-HMAC-SHA256 Credential=", "AWS4-HMAC-SHA256 Credential=a/b/c"]
)
def test_broken_scopes_name_no_service(authorization):
    assert signing_service("", {"authorization": authorization}) is None


FORM = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}


@pytest.mark.parametrize(
    ("method", "path", "query", "headers", "expected"),
    [
        ("POST", "/", "", {**signed_for("sqs"), "x-amz-target": "AmazonSQS.SendMessage"}, Route("sqs", "json")),
        ("POST", "/", "", {"x-amz-target": "AmazonSQS.SendMessage"}, Route("sqs", "json")),
        ("POST", "/000000000000/jobs", "", {**signed_for("sqs"), **FORM}, Route("sqs", "query")),
        ("POST", "/000000000000/jobs", "", FORM, Route("sqs", "query")),
        ("POST", "/2015-03-31/functions/f/invocations", "", {}, Route("lambda", "rest")),
        ("GET", "/2015-03-31/functions", "", signed_for("lambda"), Route("lambda", "rest")),
        ("GET", "/bucket/a/key", "", {}, Route("s3", "rest")),
        ("GET", "/", "", signed_for("s3"), Route("s3", "rest")),
        ("GET", "/", "", {"host": "bucket.localhost:4566"}, Route("s3", "rest")),
        ("GET", "/health", "", signed_for("s3"), Route("s3", "rest")),
        ("POST", "/", "", signed_for("glue"), Route("glue", "foreign")),
    ],
)
def test_every_service_is_found(method, path, query, headers, expected):
    found = route(method, path, query, headers)
    is_signed = "authorization" in headers or "X-Amz-Credential=" in query
    assert found == replace(expected, region="us-east-1" if is_signed else "")


@pytest.mark.parametrize("path", ["/console", "/console/api/x", "/favicon.ico"])
def test_own_pages_are_not_buckets(path):
    with pytest.raises(ApiError) as caught:
        route("GET", path, "", {})
    assert caught.value.code == "NotFound"


@pytest.mark.parametrize(
    ("host", "bucket"),
    [
        ("my.bucket.localhost:4566", "my.bucket"),
        ("b-1.s3.localhost", "b-1"),
        ("files.s3.eu-west-1.amazonaws.com", "files"),
        ("files.s3.amazonaws.com:443", "files"),
        ("localhost:4566", None),
        ("127.0.0.1:4566", None),
        ("sync-localhost:4566", None),
        ("s3.us-east-1.amazonaws.com", None),
        ("[::1]:4566", None),
    ],
)
def test_a_host_may_name_a_bucket(host, bucket):
    assert bucket_in_host(host) == bucket
