"""Resources that the service has, and what Express executions may use of them."""

from __future__ import annotations

import pytest

from statewright.asl.resources import parse_resource
from statewright.asl.validate import validate_value
from tests.unit.asl.definitions import FUNCTION, SCHEMA, found, machine, messages, task


@pytest.mark.parametrize(
    "arn",
    [
        FUNCTION,
        FUNCTION + ":live",
        "arn:aws-us-gov:lambda:us-gov-west-1:1:function:f",
        "arn:aws:lambda:your-region:your-account:function:f",
        "arn:aws:states:eu-west-1:000000000000:activity:approve",
        "arn:aws:states:::lambda:invoke.waitForTaskToken",
        "arn:aws:states:::states:startExecution.sync:2",
        "arn:aws:states:::aws-sdk:dynamodb:describeExport",
        "arn:aws:states:::aws-sdk:s3:listBuckets.waitForTaskToken",
        "arn:aws:states:::http:invoke",
        "arn:aws:states:::sagemaker:createTrainingJob.sync",
        "arn:aws:states:::statewright:acquire",
        "${FunctionArn}",
        "arn:aws:lambda:${AWS::Region}:${AWS::AccountId}:function:f",
    ],
)
def test_known_resources(arn):
    assert messages(task(Resource=arn)) == []


@pytest.mark.parametrize(
    ("arn", "plain"),
    [
        ("arn:aws:states:us-east-1:123456789012:lambda:invoke", "arn:aws:states:::lambda:invoke"),
        ("arn:aws-cn:states:cn-north-1::sqs:sendMessage", "arn:aws-cn:states:::sqs:sendMessage"),
        (
            "arn:aws-us-gov:states:us-gov-west-1:123456789012:aws-sdk:s3:getObject",
            "arn:aws-us-gov:states:::aws-sdk:s3:getObject",
        ),
        ("arn:aws:states::123456789012:states:startExecution.sync:2", "arn:aws:states:::states:startExecution.sync:2"),
    ],
)
def test_an_integration_with_a_region_or_an_account_is_taken_with_a_warning(arn, plain):
    (warning,) = validate_value(machine(task(Resource=arn)))
    assert (warning.code, warning.severity, warning.location) == (
        "REGION_IN_RESOURCE", "WARNING", "/States/S/Resource",
    )  # fmt: skip
    assert arn in warning.message
    assert warning.hint == f"write {plain}"
    assert parse_resource(arn).short_name == parse_resource(plain).short_name
    assert validate_value(machine(task(Resource=plain))) == []


def test_an_integration_with_a_region_is_held_to_the_rules_of_express_machines():
    arn = "arn:aws:states:us-east-1:123456789012:sqs:sendMessage.waitForTaskToken"
    message = "Express state machine does not support '.waitForTaskToken' service integration "
    assert (SCHEMA, message, "/States/S/Resource") in found(machine(task(Resource=arn)), machine_type="EXPRESS")


@pytest.mark.parametrize(
    ("arn", "hint"),
    [
        ("<aws-lambda-arn>", "write the function's ARN here"),
        ("<activity-arn>", "write the activity's ARN here"),
        ("work", "write the full ARN"),
        ("arn:aws:states:::dynamodb:query", "aws-sdk:dynamodb:query"),
        ("arn:aws:states:::dynamodb:getitem", "did you mean getItem?"),
        ("arn:aws:states:::lambda:invoke.sync", "cannot be called with .sync"),
        ("arn:aws:states:::lamda:invoke", "did you mean lambda?"),
        ("arn:aws:states:::aws-sdk:s3:getObject.sync", None),
        ("arn:aws:swf:us-east-1:1:task:x", None),
        ("arn:aws:states:us-east-1:123456789012:stateMachine:Child", None),
        ("arn:aws:states:us-east-1:123456789012:execution:Child:run", None),
        ("{% $states.input.arn %}", "Resource must be a constant"),
        (5, "Resource must be a constant string"),
    ],
)
def test_unknown_resources(arn, hint):
    diagnostics = [d for d in validate_value(machine(task(Resource=arn)), lints=False) if d.severity == "ERROR"]
    assert [(d.code, d.location) for d in diagnostics] == [(SCHEMA, "/States/S/Resource")]
    shown = arn if isinstance(arn, str) else "int"
    assert diagnostics[0].message == (
        f"The resource provided {shown} is not recognized. The value is not a valid resource ARN, "
        "or the resource is not available in this region."
    )
    assert (diagnostics[0].hint is None) if hint is None else (hint in str(diagnostics[0].hint))


@pytest.mark.parametrize(
    ("arn", "message"),
    [
        (
            "arn:aws:states:::states:startExecution.sync",
            "Express state machine does not support '.sync' service integration",
        ),
        (
            "arn:aws:states:::states:startExecution.sync:2",
            "Express state machine does not support '.sync' service integration",
        ),
        (
            "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
            "Express state machine does not support '.waitForTaskToken' service integration ",
        ),
        ("arn:aws:states:us-east-1:1:activity:a", "Express state machine does not support Activity ARN"),
    ],
)
def test_what_express_machines_refuse(arn, message):
    inner = {"Type": "Parallel", "Branches": [{"StartAt": "T", "States": {"T": task(Resource=arn)}}], "End": True}
    place = "/States/S/Branches[0]/States/T/Resource"
    assert found(machine(inner), machine_type="EXPRESS") == [(SCHEMA, message, place)]
    assert found(machine(inner)) == []
    assert found(machine(task()), machine_type="EXPRESS") == []
