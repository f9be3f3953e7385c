from typing import Any

import pytest

from statewright.api.mock_shapes import check_mock
from statewright.asl.resources import parse_resource
from statewright.errors import ApiError

ARN = "Field 'ExecutionArn'"
FUNCTION = "aws-sdk:lambda:getFunction"
PREFIX = "Mock result schema validation error: "


def problem(resource: Any, result: Any, mode: Any = "STRICT") -> Any:
    arn = resource if resource.startswith("arn:") else f"arn:aws:states:::{resource}"
    try:
        check_mock(parse_resource(arn), result, mode)
    except ApiError as refused:
        code, message = refused.code, refused.message
    else:
        return None
    assert code == "ValidationException"
    return message.removeprefix(PREFIX)


@pytest.mark.parametrize(
    ("resource", "result", "said"),
    [
        ("states:startExecution", {}, "Required field 'ExecutionArn' is missing"),
        ("states:startExecution", {"ExecutionArn": "a"}, "Required field 'StartDate' is missing"),
        ("states:startExecution", {"ExecutionArn": "a", "StartDate": 5}, None),
        ("states:startExecution", {"ExecutionArn": "a", "StartDate": True}, "Field 'StartDate' must be a string"),
        ("states:startExecution", {"ExecutionArn": "", "StartDate": 5}, f"{ARN} is smaller than the minimum length"),
        ("states:startExecution", {"ExecutionArn": "a" * 300, "StartDate": 5}, f"{ARN} exceeds the maximum length"),
        ("aws-sdk:sfn:startExecution", {"ExecutionArn": 5}, "Required field 'StartDate' is missing"),
        ("lambda:invoke", {"StatusCode": "200"}, "Field 'StatusCode' must be a number"),
        ("lambda:invoke", {"StatusCode": True}, "Field 'StatusCode' must be a number"),
        ("lambda:invoke", {"Payload": {"any": ["thing"]}}, None),
        ("aws-sdk:lambda:invoke", {"Payload": {"any": ["thing"]}}, "Field 'Payload' must be a string"),
        (FUNCTION, {"Configuration": {"MemorySize": 127}}, "Field 'MemorySize' is less than the minimum value"),
        (FUNCTION, {"Configuration": {"MemorySize": 10_241}}, "Field 'MemorySize' exceeds the maximum value"),
        (FUNCTION, {"Configuration": {"MemorySize": 10_240}}, None),
        (FUNCTION, {"Configuration": "x"}, "Field 'Configuration' must be an object"),
        ("aws-sdk:s3:getObject", {"StorageClass": "PAPER"}, "Field 'StorageClass' is not an expected value"),
        ("aws-sdk:s3:getObject", {"Metadata": {"a": 1}}, "Field 'a' must be a string"),
        ("aws-sdk:s3:getObject", {"Metadata": []}, "Field 'Metadata' must be an object"),
        ("aws-sdk:s3:getObject", {"DeleteMarker": "no"}, "Field 'DeleteMarker' must be a boolean"),
        ("events:putEvents", {"Entries": {}}, "Field 'Entries' must be an array"),
        ("events:putEvents", {"Entries": [{"EventId": "a"}, {"EventId": 5}]}, "Field 'EventId' must be a string"),
        ("events:putEvents", {"Nonsense": 1}, None),
        ("events:putEvents", {"entries": 1}, None),
        ("dynamodb:getItem", {"Item": {"a": {"L": [{"N": 5}]}}}, "Field 'N' must be a string"),
        ("dynamodb:getItem", "text", "Mocked result must be a JSON object."),
        ("aws-sdk:rds:describeDBClusters", {"DbClusters": [{"Status": 5}]}, "Field 'Status' must be a string"),
    ],
)  # fmt: skip
def test_a_result_is_checked_against_the_model(resource, result, said):
    assert problem(resource, result) == said


def test_the_first_problem_in_the_results_order_is_reported():
    result = {"Entries": [{"EventId": 1}], "FailedEntryCount": "x"}
    assert problem("events:putEvents", result) == "Field 'EventId' must be a string"
    backwards = dict(reversed(result.items()))
    assert problem("events:putEvents", backwards) == "Field 'FailedEntryCount' must be a number"


def test_present_requires_no_members():
    assert problem("states:startExecution", {}, "PRESENT") is None
    assert problem("states:startExecution", {"ExecutionArn": 5}, "PRESENT") == "Field 'ExecutionArn' must be a string"


def test_none_checks_nothing():
    assert problem("states:startExecution", {"ExecutionArn": 5}, "NONE") is None


DESCRIBED = {"ExecutionArn": "a", "StateMachineArn": "m", "Status": "SUCCEEDED", "StartDate": 5}


def test_a_sync_mock_has_the_shape_of_the_polled_answer():
    assert problem("states:startExecution.sync", {"ExecutionArn": "a", "StartDate": 5}) == (
        "Required field 'StateMachineArn' is missing"
    )
    assert problem("states:startExecution.sync", {**DESCRIBED, "Status": "FINE"}) == (
        "Field 'Status' is not an expected value"
    )
    assert problem("states:startExecution.sync", {**DESCRIBED, "Output": {}}) == "Field 'Output' must be a string"
    assert problem("states:startExecution.sync:2", {**DESCRIBED, "Output": {}}) is None
    assert problem("glue:startJobRun.sync", {"JobRun": {"Attempt": "x"}}) == "Field 'Attempt' must be a number"


@pytest.mark.parametrize(
    "resource",
    [
        "http:invoke",
        "apigateway:invoke",
        "eks:call",
        "eks:runJob.sync",
        "sqs:sendMessage.waitForTaskToken",
        "arn:aws:lambda:us-east-1:000000000000:function:f",
        "arn:aws:states:us-east-1:000000000000:activity:a",
        "aws-sdk:nosuch:doIt",
        "aws-sdk:s3:deleteBucket",
    ],
)
def test_results_without_a_model_may_be_anything(resource):
    assert problem(resource, [1, 2]) is None
