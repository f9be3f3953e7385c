"""Every refusal of the Lambda API through boto3: each served operation, each member, in every way it can be wrong.

The cases on shapes are made from the service's model in `lambda_cases.py`; those on what is not there are below.
"""

from __future__ import annotations

import base64
import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.e2e.conftest import Server
from tests.e2e.lambda_cases import ARN, SHAPES, constraints, input_of, missing, mistyped, served


class Caller:
    """One client for all cases: making one takes longer than a call."""

    def __init__(self, server: Server) -> None:
        self.aws = server.client("lambda")
        self.aws.meta.events.register("before-call.lambda", self._replace)
        self._body: bytes | None = None

    def _replace(self, params: dict[str, Any], **_: Any) -> None:
        if self._body is not None:
            params["body"] = self._body

    def refused(self, operation: str, request: dict[str, Any], body: Any = None) -> tuple[str, int, str]:
        """Code, status and text of a refusal. `body` goes out instead of what boto3 makes of the request."""
        self._body = None if body is None else json.dumps(body, default=_text).encode()
        try:
            with pytest.raises(ClientError) as caught:
                self.aws._make_api_call(operation, request)
        finally:
            self._body = None
        answer = caught.value.response
        return answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Message"]


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()


@pytest.fixture(scope="module")
def caller(server: Server) -> Iterator[Caller]:
    """With a function `here` of one version, one alias `live`, and a layer `here` of one version."""
    made = Caller(server)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("app.py", "def handler(event, context): return event")
    code = {"ZipFile": content.getvalue()}
    made.aws.create_function(
        FunctionName="here", Runtime="python3.11", Role="arn:aws:iam::000000000000:role/r", Handler="app.handler",
        Code=code, Publish=True,
    )  # fmt: skip
    made.aws.create_alias(FunctionName="here", Name="live", FunctionVersion="1")
    made.aws.publish_layer_version(LayerName="here", Content=code)
    yield made
    made.aws.delete_function(FunctionName="here")


@pytest.mark.parametrize("operation", served())
def test_constraints(caller: Caller, operation: str) -> None:
    wrong = []
    for _, request, said in (case for case in CONSTRAINTS if case[0] == operation):
        found = caller.refused(operation, request)
        if found != ("ValidationException", 400, said):
            wrong.append((request, said, found))
    assert not wrong, wrong[:5]


@pytest.mark.parametrize("operation", served())
def test_missing_members(caller: Caller, operation: str) -> None:
    for _, request, said in (case for case in MISSING if case[0] == operation):
        assert caller.refused(operation, request) == ("ValidationException", 400, said)


@pytest.mark.parametrize("operation", served())
def test_mistyped_members(caller: Caller, operation: str) -> None:
    members = input_of(operation)["members"]
    for _, request, said in (case for case in MISTYPED if case[0] == operation):
        head = {name: value for name, value in request.items() if "location" in members[name]}
        body = {name: value for name, value in request.items() if name not in head}
        assert caller.refused(operation, head, body) == ("SerializationException", 400, said), request


CONSTRAINTS, MISSING, MISTYPED = list(constraints()), list(missing()), list(mistyped())


def test_the_cases_are_many() -> None:
    """A slip in reading the model must not leave the tests above with nothing to do."""
    assert len(CONSTRAINTS) > 450
    assert len(MISSING) > 25
    assert len(MISTYPED) > 280
    in_paths = {
        (operation, name)
        for operation in served()
        for name, member in input_of(operation)["members"].items()
        if member.get("location") == "uri"
    }
    tested = {(operation, name) for operation, request, _ in (*CONSTRAINTS, *MISTYPED) for name in request}
    assert in_paths <= tested


# ---------------------------------------------------------------------- what is not there

NO_FUNCTION = "Function not found: {}function:{}"
OTHER = "The resource you requested does not exist."
STREAM = "arn:aws:kinesis:us-east-1:000000000000:stream/s"
UNKNOWN = ("ResourceNotFoundException", 404)
NAMED_IN_PATH = [
    operation for operation in served() if "FunctionName" in input_of(operation).get("required", ())
    and input_of(operation)["members"]["FunctionName"].get("location") == "uri"
]  # fmt: skip
ENOUGH: dict[str, dict[str, Any]] = {
    "AddPermission": {"StatementId": "s", "Action": "lambda:InvokeFunction", "Principal": "s3.amazonaws.com"},
    "CreateAlias": {"Name": "a", "FunctionVersion": "1"},
    "CreateFunctionUrlConfig": {"AuthType": "NONE"},
    "DeleteAlias": {"Name": "a"},
    "GetAlias": {"Name": "a"},
    "DeleteProvisionedConcurrencyConfig": {"Qualifier": "1"},
    "GetProvisionedConcurrencyConfig": {"Qualifier": "1"},
    "PutFunctionConcurrency": {"ReservedConcurrentExecutions": 1},
    "PutFunctionEventInvokeConfig": {"MaximumRetryAttempts": 1},
    "PutFunctionRecursionConfig": {"RecursiveLoop": "Allow"},
    "PutProvisionedConcurrencyConfig": {"Qualifier": "1", "ProvisionedConcurrentExecutions": 1},
    "RemovePermission": {"StatementId": "s"},
    "UpdateAlias": {"Name": "a"},
    "UpdateFunctionCode": {"ZipFile": b"x"},
}
"""What each operation on a function needs besides its name."""


@pytest.mark.parametrize("operation", NAMED_IN_PATH)
def test_a_function_that_is_not_there(caller: Caller, operation: str) -> None:
    code, status, said = caller.refused(operation, {"FunctionName": "nobody", **ENOUGH.get(operation, {})})
    assert (code, status) == UNKNOWN
    if operation in ("PutFunctionEventInvokeConfig", "UpdateFunctionEventInvokeConfig"):
        assert said == "The function doesn't exist."
    else:
        assert said.removesuffix(":$LATEST").removesuffix(":1") == NO_FUNCTION.format(ARN, "nobody")


def test_an_alias_that_is_not_there_is_deleted_already(caller: Caller) -> None:
    caller.aws.delete_alias(FunctionName="here", Name="dead")


@pytest.mark.parametrize("operation", ["ListTags", "TagResource", "UntagResource"])
def test_tags_of_what_is_not_there(caller: Caller, operation: str) -> None:
    needed: dict[str, dict[str, Any]] = {"TagResource": {"Tags": {"a": "b"}}, "UntagResource": {"TagKeys": ["a"]}}
    more = needed.get(operation, {})
    mapping = "event-source-mapping:00000000-0000-4000-8000-000000000000"
    for resource, said in (("function:nobody", NO_FUNCTION.format(ARN, "nobody")), (mapping, OTHER)):
        assert caller.refused(operation, {"Resource": ARN + resource, **more}) == (*UNKNOWN, said)


@pytest.mark.parametrize("name", [
    "arn:aws:lambda:eu-west-1:000000000000:function:here", "arn:aws:lambda:us-east-1:111111111111:function:here",
    "111111111111:here",
])  # fmt: skip
@pytest.mark.parametrize("operation", NAMED_IN_PATH)
def test_a_function_of_another_place(caller: Caller, operation: str, name: str) -> None:
    code, status, said = caller.refused(operation, {"FunctionName": name, **ENOUGH.get(operation, {})})
    if "eu-west-1" in name:
        far = "Functions from 'eu-west-1' are not reachable in this region ('us-east-1')"
        assert (code, status, said) == (*UNKNOWN, far)
    else:
        assert (code, status) == ("AccessDeniedException", 403)
        assert said == f"{name} belongs to another account than 000000000000."


@pytest.mark.parametrize("name", [
    "arn:aws:sqs:us-east-1:000000000000:here", f"{ARN}layer:here:1",
    "arn:aws:states:us-east-1:000000000000:stateMachine:x",
])  # fmt: skip
@pytest.mark.parametrize("operation", NAMED_IN_PATH)
def test_an_arn_of_another_kind(caller: Caller, operation: str, name: str) -> None:
    shape = SHAPES[input_of(operation)["members"]["FunctionName"]["shape"]]
    said = f"Member must satisfy regular expression pattern: {shape['pattern']}"
    wanted = f"1 validation error detected: Value '{name}' at 'functionName' failed to satisfy constraint: {said}"
    found = caller.refused(operation, {"FunctionName": name, **ENOUGH.get(operation, {})})
    assert found == ("ValidationException", 400, wanted)


@pytest.mark.parametrize(
    ("operation", "request_", "code", "status", "said"),
    [
        *[(operation, {"FunctionName": "here", "Qualifier": qualifier}, *UNKNOWN,
           NO_FUNCTION.format(ARN, f"here:{qualifier}"))
          for operation in ("Invoke", "GetFunction", "GetFunctionConfiguration") for qualifier in ("99", "dead")],
        *[(operation, {"FunctionName": "here", "Qualifier": qualifier, **ENOUGH.get(operation, {})}, *UNKNOWN,
           NO_FUNCTION.format(ARN, f"here:{qualifier}"))
          for operation in ("AddPermission", "PutFunctionEventInvokeConfig", "UpdateFunctionEventInvokeConfig",
                            "DeleteFunctionEventInvokeConfig") for qualifier in ("99", "dead")],
        *[(operation, {"FunctionName": "here", "Name": "dead"}, *UNKNOWN,
           f"Cannot find alias arn: {ARN}function:here:dead") for operation in ("GetAlias", "UpdateAlias")],
        ("CreateAlias", {"FunctionName": "here", "Name": "x", "FunctionVersion": "99"}, *UNKNOWN,
         NO_FUNCTION.format(ARN, "here:99")),
        ("GetPolicy", {"FunctionName": "here", "Qualifier": "live"}, *UNKNOWN, OTHER),
        ("RemovePermission", {"FunctionName": "here", "StatementId": "s"}, *UNKNOWN,
         "No policy is associated with the given resource."),
        ("DeleteFunction", {"FunctionName": "here", "Qualifier": "$LATEST"}, "InvalidParameterValueException", 400,
         "$LATEST version cannot be deleted without deleting the function."),
        ("CreateEventSourceMapping",
         {"FunctionName": "here", "EventSourceArn": "arn:aws:sqs:us-east-1:000000000000:nobody"},
         "InvalidParameterValueException", 400,
         "Error occurred while ReceiveMessage. SQS Error Code: AWS.SimpleQueueService.NonExistentQueue. "
         "SQS Error Message: The specified queue does not exist."),
        ("ListEventSourceMappings", {"Marker": "zz"}, "InvalidParameterValueException", 400, "The marker is invalid."),
        *[(operation, {"Marker": "zz", **more}, "InvalidParameterValueException", 400,
           "The marker 'zz' did not come from this list.")
          for operation, more in (("ListFunctions", {}), ("ListAliases", {"FunctionName": "here"}), ("ListLayers", {}),
                                  ("ListVersionsByFunction", {"FunctionName": "here"}),
                                  ("ListLayerVersions", {"LayerName": "here"}),
                                  ("ListFunctionEventInvokeConfigs", {"FunctionName": "here"}))],
        *[(operation, {"FunctionName": "here:1", "Qualifier": "live"}, "InvalidParameterValueException", 400,
           "The derived qualifier from the function name does not match the specified qualifier.")
          for operation in ("Invoke", "GetFunction", "GetFunctionConfiguration")],
        *[(operation, {"UUID": "00000000-0000-4000-8000-000000000000"}, *UNKNOWN, OTHER)
          for operation in ("GetEventSourceMapping", "UpdateEventSourceMapping", "DeleteEventSourceMapping")],
        *[(operation, request, *UNKNOWN, f"Layer version {ARN}layer:{named} does not exist.")
          for operation, request, named in (
              ("GetLayerVersion", {"LayerName": "here", "VersionNumber": 99}, "here:99"),
              ("GetLayerVersion", {"LayerName": "nobody", "VersionNumber": 1}, "nobody:1"),
              ("GetLayerVersionByArn", {"Arn": f"{ARN}layer:here:99"}, "here:99"),
              ("GetLayerVersionByArn", {"Arn": f"{ARN}layer:nobody:1"}, "nobody:1"),
          )],
        ("GetFunctionEventInvokeConfig", {"FunctionName": "here"}, *UNKNOWN,
         f"The function {ARN}function:here:$LATEST doesn't have an EventInvokeConfig"),
        ("GetFunctionEventInvokeConfig", {"FunctionName": "here", "Qualifier": "live"}, *UNKNOWN,
         f"The function {ARN}function:here:live doesn't have an EventInvokeConfig"),
        ("CreateEventSourceMapping", {"FunctionName": "here", "EventSourceArn": STREAM},
         "InvalidParameterValueException", 400,
         f"This version of Statewright has event source mappings for SQS queues and DynamoDB streams only, not for "
         f"{STREAM}"),
        ("CreateEventSourceMapping", {"FunctionName": "here"}, "InvalidParameterValueException", 400,
         "EventSourceArn is required."),
    ],
)  # fmt: skip
def test_what_is_not_there(
    caller: Caller, operation: str, request_: dict[str, Any], code: str, status: int, said: str
) -> None:
    assert caller.refused(operation, request_) == (code, status, said)


def test_tags_of_a_mapping(caller: Caller, server: Server) -> None:
    """Its ARN is not taken for a function's."""
    sqs = server.client("sqs")
    url = sqs.create_queue(QueueName="tagged")["QueueUrl"]
    source = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    made = caller.aws.create_event_source_mapping(FunctionName="here", EventSourceArn=source, Tags={"a": "1"})
    arn = made["EventSourceMappingArn"]
    caller.aws.tag_resource(Resource=arn, Tags={"b": "2"})
    caller.aws.untag_resource(Resource=arn, TagKeys=["a"])
    assert caller.aws.list_tags(Resource=arn)["Tags"] == {"b": "2"}
    caller.aws.delete_event_source_mapping(UUID=made["UUID"])
    sqs.delete_queue(QueueUrl=url)
