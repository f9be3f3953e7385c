from __future__ import annotations

import sys

import pytest

from statewright.api.models import load_model
from statewright.api.shapes import keep_as_is, length, operation_names, problem_text, validator, writer
from statewright.errors import ApiError
from tests.deadlines import completed


def refused(operation: str, request: object, **settings: bool) -> ApiError:
    with pytest.raises(ApiError) as caught:
        validator("states", operation, **settings)(request)
    return caught.value


@pytest.mark.parametrize(
    ("operation", "request_", "text"),
    [
        (
            "ListExecutions",
            {"maxResults": 1001},
            "1 validation error detected: Value '1001' at 'maxResults' failed to satisfy constraint: "
            "Member must have value less than or equal to 1000",
        ),
        (
            "ListExecutions",
            {"maxResults": -1},
            "1 validation error detected: Value '-1' at 'maxResults' failed to satisfy constraint: "
            "Member must have value greater than or equal to 0",
        ),
        (
            "ListExecutions",
            {"statusFilter": "DONE"},
            "1 validation error detected: Value 'DONE' at 'statusFilter' failed to satisfy constraint: "
            "Member must satisfy enum value set: [SUCCEEDED, TIMED_OUT, PENDING_REDRIVE, ABORTED, FAILED, RUNNING]",
        ),
        (
            "CreateStateMachineAlias",
            {"name": "12", "routingConfiguration": [{"stateMachineVersionArn": "a", "weight": 100}]},
            "1 validation error detected: Value '12' at 'name' failed to satisfy constraint: Member must satisfy "
            r"regular expression pattern: ^(?=.*[a-zA-Z_\-\.])[a-zA-Z0-9_\-\.]+$",
        ),
        (
            "CreateStateMachineAlias",
            {"name": "a", "routingConfiguration": [{"stateMachineVersionArn": "a", "weight": 101}]},
            "1 validation error detected: Value '101' at 'routingConfiguration.1.member.weight' failed to satisfy "
            "constraint: Member must have value less than or equal to 100",
        ),
        (
            "TagResource",
            {"resourceArn": "a", "tags": [{"key": "k"}, None, {"key": ""}]},
            "2 validation errors detected: Value null at 'tags.2.member' failed to satisfy constraint: Member must "
            "not be null; Value '' at 'tags.3.member.key' failed to satisfy constraint: Member must have length "
            "greater than or equal to 1",
        ),
        (
            "UntagResource",
            {"resourceArn": "a", "tagKeys": ["fine", ""]},
            "1 validation error detected: Value '[fine, ]' at 'tagKeys' failed to satisfy constraint: Member must "
            "satisfy constraint: [Member must have length less than or equal to 128, Member must have length greater "
            "than or equal to 1, Member must not be null]",
        ),
        (
            "StartExecution",
            {},
            "1 validation error detected: Value null at 'stateMachineArn' failed to satisfy constraint: Member must "
            "not be null",
        ),
        (
            "StartExecution",
            {"stateMachineArn": "a", "input": "x" * 262_145},
            "1 validation error detected: Value at 'input' failed to satisfy constraint: Member must have length "
            "less than or equal to 262144",
        ),
        (
            "StartExecution",
            {"stateMachineArn": "a", "traceHeader": "naïve"},
            "1 validation error detected: Value 'naïve' at 'traceHeader' failed to satisfy constraint: Member must "
            r"satisfy regular expression pattern: \p{ASCII}*",
        ),
    ],
)
def test_violated_constraints(operation, request_, text):
    problem = refused(operation, request_)
    assert (problem.code, problem.message) == ("ValidationException", text)


@pytest.mark.parametrize(
    ("operation", "request_", "text"),
    [
        ("StartExecution", {"stateMachineArn": 5}, "NUMBER_VALUE can not be converted to a String"),
        ("StartExecution", {"stateMachineArn": True}, "TRUE_VALUE can not be converted to a String"),
        ("StartExecution", {"input": {}}, "Start of structure or map found where not expected."),
        ("StartExecution", {"input": []}, "Start of list found where not expected"),
        ("ListExecutions", {"maxResults": "5"}, "STRING_VALUE can not be converted to an Integer"),
        ("ListExecutions", {"maxResults": 1.5}, "NUMBER_VALUE can not be converted to an Integer"),
        ("ListExecutions", {"maxResults": 2**31}, "NUMBER_VALUE can not be converted to an Integer"),
        ("UpdateMapRun", {"mapRunArn": "a", "toleratedFailureCount": "1"},
         "STRING_VALUE can not be converted to a Long"),
        ("UpdateMapRun", {"mapRunArn": "a", "toleratedFailurePercentage": "1"},
         "STRING_VALUE can not be converted to a Float"),
        ("CreateStateMachine", {"publish": "yes"}, "STRING_VALUE can not be converted to a Boolean"),
        ("CreateStateMachine", {"publish": False, "name": False}, "FALSE_VALUE can not be converted to a String"),
        ("TagResource", {"tags": {}}, "Expected list or null"),
        ("TagResource", {"tags": ["a"]}, "Expected null"),
        ("TagResource", {"tags": [[]]}, "Start of list found where not expected"),
    ],
)  # fmt: skip
def test_values_of_another_type(operation, request_, text):
    problem = refused(operation, request_)
    assert (problem.code, problem.message) == ("SerializationException", text)


def test_a_valid_request_loses_unknown_members():
    request = {"stateMachineArn": "a", "name": None, "input": "{}", "shoeSize": 43}
    assert validator("states", "StartExecution")(request) == {"stateMachineArn": "a", "input": "{}"}


def test_whole_numbers_may_be_written_as_fractions():
    assert validator("states", "ListExecutions")({"maxResults": 5.0}) == {"maxResults": 5}


def test_the_open_limits_lift_sizes_of_payloads_alone():
    request = {"stateMachineArn": "a", "input": "x" * 300_000}
    assert validator("states", "StartExecution", lift_sizes=True)(request) == request
    assert refused("StartExecution", {"stateMachineArn": "a" * 300}, lift_sizes=True).code == "ValidationException"


def test_lengths_are_counted_in_utf16_units():
    assert length("a" * 80) == 80
    assert length("é" * 80) == 80
    assert length("😀" * 40) == 80
    validator("states", "CreateActivity")({"name": "😀" * 40})
    assert "less than or equal to 80" in refused("CreateActivity", {"name": "😀" * 41}).message


def test_instants_leave_in_seconds_and_nothing_is_null():
    write = writer("states", "GetExecutionHistory")
    answer = {"events": [{"id": 1, "timestamp": 1_700_000_000_123, "type": "ExecutionStarted"}], "nextToken": None}
    assert write(answer) == {"events": [{"id": 1, "timestamp": 1_700_000_000.123, "type": "ExecutionStarted"}]}
    assert answer["nextToken"] is None, "the answer itself is left as it was"


def test_an_answer_without_instants_is_written_too():
    assert writer("states", "GetActivityTask")({"taskToken": None}) == {}
    assert writer("states", "TagResource")({}) == {}


def test_operations_without_a_known_name():
    assert len(operation_names("states")) == 37
    assert operation_names("no-such-service") == frozenset()
    assert load_model("no-such-service") is None


def test_the_sentence_for_several():
    text = problem_text([(" 'a'", "x", "Member must be b"), ("", "y", "Member must be c")])
    assert text == (
        "2 validation errors detected: Value 'a' at 'x' failed to satisfy constraint: Member must be b; "
        "Value at 'y' failed to satisfy constraint: Member must be c"
    )


def test_models_of_other_services_compile_too():
    both = {"And": [{"Not": {"Tags": {"Key": "a", "Nobody": 1}}}]}
    known = validator("ce", "GetTags")({"TimePeriod": {"Start": "2026-01-01", "End": "2027-01-01"}, "Filter": both})
    assert known["Filter"] == {"And": [{"Not": {"Tags": {"Key": "a"}}}]}
    assert validator("kms", "Encrypt")({"KeyId": "k", "Plaintext": "aGk="})["Plaintext"] == b"hi"
    with pytest.raises(ApiError) as caught:
        validator("kms", "Encrypt")({"KeyId": "k", "EncryptionContext": [], "Plaintext": "aGk="})
    assert caught.value.message == "Expected map or null"
    with pytest.raises(ApiError) as caught:
        validator("kms", "Encrypt")({"KeyId": "k", "Plaintext": "?"})
    assert caught.value.message == "A blob is not base64 text"
    assert writer("kms", "Encrypt")({"CiphertextBlob": b"hi"}) == {"CiphertextBlob": "aGk="}


def test_a_service_may_keep_shapes_as_they_come():
    keep_as_is("dynamodbstreams", frozenset({"AttributeValue"}))
    record = {"dynamodb": {"Keys": {"a": {"B": b"kept"}}, "ApproximateCreationDateTime": 1500}}
    written = writer("dynamodbstreams", "GetRecords")({"Records": [record]})["Records"][0]["dynamodb"]
    assert written == {"Keys": {"a": {"B": b"kept"}}, "ApproximateCreationDateTime": 1.5}


WITHOUT_WIRES = """
from importlib import import_module
from statewright.api import shapes
from statewright.api.operations import load_all
from statewright.api.services import SERVICES

def registered():
    return {name: sorted(getattr(shapes, name)) for name in ("_REFUSALS", "_READERS", "_KEPT")}

load_all()
before = registered()
for one in SERVICES:
    if one.wires is not None:
        import_module(one.wires)
assert registered() == before, (registered(), before)
"""


def test_a_call_of_a_task_that_comes_before_any_request_is_checked_as_requests_are() -> None:
    # What a service does itself about requests is there with its operations, not with its protocol: the check of an
    # operation is made once.
    done = completed([sys.executable, "-c", WITHOUT_WIRES])
    assert done.returncode == 0, done.stderr
