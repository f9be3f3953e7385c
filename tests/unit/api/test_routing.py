from __future__ import annotations

import pytest

from statewright.api.routing import Route, route, signing_service
from statewright.errors import ApiError


def signed_for(service: str) -> dict[str, str]:
    scope = f"AKID/20260101/us-east-1/{service}/aws4_request"
    return {"authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"}


def test_the_scope_of_the_signature_comes_first():
    headers = {**signed_for("states"), "x-amz-target": "AWSStepFunctions.ListActivities"}
    assert route("/", "", headers) == Route("states", "ListActivities")


def test_the_target_alone_will_do():
    assert route("/", "", {"x-amz-target": "AWSStepFunctions.ListActivities"}) == Route("states", "ListActivities")


def test_a_presigned_query_has_a_scope_too():
    query = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKID%2F20260101%2Fus-east-1%2Fstates%2Faws4_request"
    assert signing_service(query, {}) == "states"
    assert route("/", query, {"x-amz-target": "AWSStepFunctions.TestState"}) == Route("states", "TestState")


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, "NotFound"),
        ({"x-amz-target": "ListActivities"}, "NotFound"),
        (signed_for("glue"), "UnknownService"),
        ({"x-amz-target": "AWSGlue.GetTables"}, "UnknownOperationException"),
        ({**signed_for("states"), "x-amz-target": "AWSGlue.GetTables"}, "UnknownOperationException"),
    ],
)
def test_requests_for_nobody(headers, code):
    with pytest.raises(ApiError) as caught:
        route("/", "", headers)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "authorization", ["", "Bearer x", "AWS4-HMAC-SHA256 Credential=", "AWS4-HMAC-SHA256 Credential=a/b/c"]
)
def test_broken_scopes_name_no_service(authorization):
    assert signing_service("", {"authorization": authorization}) is None
