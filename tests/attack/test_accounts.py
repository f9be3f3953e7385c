"""Accounts as a boundary: no name, ARN, address, handle or token leads an access key into another account."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.deadlines import PATIENCE_SECONDS
from tests.e2e.conftest import ROLE, Server, ended
from tests.e2e.systems import RUNTIME, zipped

OURS, THEIRS = "000000000000", "111122223333"
KEYS = {OURS: ("AKIAOURS", "s3cret-of-ours"), THEIRS: ("AKIATHEIRS", "s3cret-of-theirs")}
SETTINGS = f"""
[credentials]
AKIAOURS = "s3cret-of-ours"
AKIATHEIRS = {{ secret = "s3cret-of-theirs", account = "{THEIRS}" }}
"""
ZIP = {"ZipFile": zipped(code="def handler(event, context):\n    return 'theirs'\n")}
TABLE: dict[str, Any] = {
    "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}],
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
}  # fmt: skip
KEY = {"k": {"S": "1"}}


class Account:
    """The clients of one account."""

    def __init__(self, server: Server, number: str) -> None:
        self._server, self.number = server, number

    def client(self, service: str) -> Any:
        key, secret = KEYS[self.number]
        return self._server.client(service, key=key, secret=secret)

    def arn(self, service: str, rest: str) -> str:
        return f"arn:aws:{service}:us-east-1:{self.number}:{rest}"

    def machine(self, name: str, **state: Any) -> str:
        definition = {"StartAt": "S", "States": {"S": {**state, "End": True}}}
        made = self.client("stepfunctions").create_state_machine(
            name=name, definition=json.dumps(definition), roleArn=ROLE
        )
        arn: str = made["stateMachineArn"]
        return arn


class World:
    """What the other account has, and ours to attack it from."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.ours, self.theirs = Account(server, OURS), Account(server, THEIRS)
        of = self.theirs.client
        self.url = of("sqs").create_queue(QueueName="jobs")["QueueUrl"]
        self.our_url = self.ours.client("sqs").create_queue(QueueName="jobs")["QueueUrl"]
        of("dynamodb").create_table(TableName="table", **TABLE)
        of("dynamodb").put_item(TableName="table", Item=KEY)
        self.stream = of("dynamodb").describe_table(TableName="table")["Table"]["LatestStreamArn"]
        streams = of("dynamodbstreams")
        self.shard = streams.describe_stream(StreamArn=self.stream)["StreamDescription"]["Shards"][0]["ShardId"]
        self.iterator = streams.get_shard_iterator(
            StreamArn=self.stream, ShardId=self.shard, ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        self.topic = of("sns").create_topic(Name="topic")["TopicArn"]
        self.secret = of("secretsmanager").create_secret(Name="secret", SecretString="theirs")["ARN"]
        of("ssm").put_parameter(Name="/parameter", Value="theirs", Type="String")
        of("logs").create_log_group(logGroupName="/group")
        of("s3").create_bucket(Bucket="theirs")
        of("s3").put_object(Bucket="theirs", Key="k", Body=b"theirs")
        self.upload = of("s3").create_multipart_upload(Bucket="theirs", Key="upload")["UploadId"]
        self.ours.client("s3").create_bucket(Bucket="ours")
        self.function = of("lambda").create_function(
            FunctionName="function", Runtime=RUNTIME, Role=ROLE.replace(OURS, THEIRS), Handler="code.handler", Code=ZIP
        )["FunctionArn"]
        of("events").create_event_bus(Name="bus")
        self.ours.client("events").put_rule(Name="rule", EventPattern='{"source":["a"]}')
        self.activity = of("stepfunctions").create_activity(name="activity")["activityArn"]
        self.machine = self.theirs.machine("machine", Type="Task", Resource=self.activity)
        self.execution = of("stepfunctions").start_execution(stateMachineArn=self.machine)["executionArn"]
        self.token = of("stepfunctions").get_activity_task(activityArn=self.activity)["taskToken"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("accounts")
    settings = folder / "statewright.toml"
    settings.write_text(SETTINGS)
    server = Server(folder / "data", "--store", "memory", "--config", str(settings))
    yield World(server)
    assert server.stop() == 0, server.log.read_text()
    assert "Traceback" not in server.log.read_text()


def refusal(call: Any, **given: Any) -> str:
    with pytest.raises(ClientError) as caught:
        call(**given)
    code: str = caught.value.response["Error"]["Code"]
    return code


MISSING = "ResourceNotFoundException"
FLEXIBLE = {"Mode": "OFF"}
OBJECT = {"Bucket": "theirs", "Key": "k"}
ATTACKS: list[tuple[str, str, dict[str, Any], str]] = [
    ("sqs", "send_message", {"QueueUrl": "{url}", "MessageBody": "x"}, "AccessDenied"),
    ("sqs", "receive_message", {"QueueUrl": "{url}"}, "AccessDenied"),
    ("sqs", "purge_queue", {"QueueUrl": "{url}"}, "AccessDenied"),
    ("sqs", "delete_queue", {"QueueUrl": "{url}"}, "AccessDenied"),
    ("sqs", "get_queue_url", {"QueueName": "jobs", "QueueOwnerAWSAccountId": THEIRS},
     "AWS.SimpleQueueService.NonExistentQueue"),
    ("sqs", "start_message_move_task", {"SourceArn": "{sqs:jobs}"}, MISSING),
    ("dynamodb", "get_item", {"TableName": "table", "Key": KEY}, MISSING),
    ("dynamodb", "get_item", {"TableName": "{dynamodb:table/table}", "Key": KEY}, MISSING),
    ("dynamodb", "put_item", {"TableName": "{dynamodb:table/table}", "Item": KEY}, MISSING),
    ("dynamodb", "execute_statement", {"Statement": 'SELECT * FROM "table"'}, MISSING),
    ("dynamodb", "delete_table", {"TableName": "{dynamodb:table/table}"}, MISSING),
    ("dynamodbstreams", "describe_stream", {"StreamArn": "{stream}"}, MISSING),
    ("dynamodbstreams", "get_shard_iterator",
     {"StreamArn": "{stream}", "ShardId": "{shard}", "ShardIteratorType": "TRIM_HORIZON"}, MISSING),
    ("dynamodbstreams", "get_records", {"ShardIterator": "{iterator}"}, MISSING),
    ("sns", "publish", {"TopicArn": "{topic}", "Message": "x"}, "NotFound"),
    ("sns", "delete_topic", {"TopicArn": "{topic}"}, ""),
    ("secretsmanager", "get_secret_value", {"SecretId": "{secret}"}, MISSING),
    ("ssm", "get_parameter", {"Name": "{ssm:parameter/parameter}"}, "ParameterNotFound"),
    ("stepfunctions", "describe_state_machine", {"stateMachineArn": "{machine}"}, "StateMachineDoesNotExist"),
    ("stepfunctions", "start_execution", {"stateMachineArn": "{machine}"}, "StateMachineDoesNotExist"),
    ("stepfunctions", "describe_execution", {"executionArn": "{execution}"}, "ExecutionDoesNotExist"),
    ("stepfunctions", "get_execution_history", {"executionArn": "{execution}"}, "ExecutionDoesNotExist"),
    ("stepfunctions", "stop_execution", {"executionArn": "{execution}"}, "ExecutionDoesNotExist"),
    ("stepfunctions", "get_activity_task", {"activityArn": "{activity}"}, "ActivityDoesNotExist"),
    ("stepfunctions", "send_task_heartbeat", {"taskToken": "{token}"}, "TaskDoesNotExist"),
    ("stepfunctions", "send_task_success", {"taskToken": "{token}", "output": "1"}, "TaskDoesNotExist"),
    ("stepfunctions", "send_task_failure", {"taskToken": "{token}"}, "TaskDoesNotExist"),
    ("logs", "filter_log_events", {"logGroupIdentifier": "{logs:log-group:/group}"}, MISSING),
    ("logs", "describe_log_streams", {"logGroupName": "/group"}, MISSING),
    *[("s3", name, OBJECT, "AccessDenied") for name in ("get_object", "delete_object", "get_object_tagging")],
    ("s3", "head_object", OBJECT, "403"),
    *[("s3", name, {"Bucket": "theirs"}, "AccessDenied") for name in (
        "list_objects_v2", "list_object_versions", "get_bucket_policy", "get_bucket_location", "get_bucket_acl",
        "list_multipart_uploads", "delete_bucket", "get_bucket_versioning",
    )],
    ("s3", "put_object", {**OBJECT, "Body": b"ours"}, "AccessDenied"),
    ("s3", "copy_object", {"Bucket": "ours", "Key": "k", "CopySource": "theirs/k"}, "AccessDenied"),
    ("s3", "create_multipart_upload", OBJECT, "AccessDenied"),
    ("s3", "upload_part", {"Bucket": "ours", "Key": "upload", "UploadId": "{upload}", "PartNumber": 1}, "NoSuchUpload"),
    ("s3", "create_bucket", {"Bucket": "theirs"}, "BucketAlreadyExists"),
    ("lambda", "get_function", {"FunctionName": "{function}"}, "AccessDeniedException"),
    ("lambda", "invoke", {"FunctionName": "{function}"}, "AccessDeniedException"),
    ("lambda", "create_function",
     {"FunctionName": "f", "Runtime": RUNTIME, "Role": ROLE, "Handler": "c.h",
      "Code": {"S3Bucket": "theirs", "S3Key": "k"}}, "InvalidParameterValueException"),
    ("lambda", "create_function",
     {"FunctionName": "f", "Runtime": RUNTIME, "Role": f"arn:aws:iam::{THEIRS}:role/r", "Handler": "code.handler",
      "Code": ZIP}, "AccessDeniedException"),
    ("events", "put_targets", {"Rule": "rule", "Targets": [{"Id": "t", "Arn": "{sqs:jobs}"}]}, "ValidationException"),
    ("scheduler", "create_schedule",
     {"Name": "s", "ScheduleExpression": "rate(1 day)", "FlexibleTimeWindow": FLEXIBLE,
      "Target": {"Arn": "{sqs:jobs}", "RoleArn": ROLE}}, "ValidationException"),
    ("pipes", "create_pipe", {"Name": "p", "Source": "{sqs:jobs}", "Target": "{machine}", "RoleArn": ROLE},
     "ValidationException"),
    ("cloudwatch", "put_metric_alarm",
     {"AlarmName": "a", "Namespace": "n", "MetricName": "m", "Statistic": "Sum", "Period": 60, "EvaluationPeriods": 1,
      "Threshold": 1, "ComparisonOperator": "GreaterThanThreshold", "AlarmActions": ["{topic}"]}, "ValidationError"),
    ("sts", "assume_role", {"RoleArn": f"arn:aws:iam::{THEIRS}:role/r", "RoleSessionName": "session"}, "AccessDenied"),
]  # fmt: skip


def filled(world: World, value: Any) -> Any:
    """A value with the ARNs and tokens of the other account in their places."""
    if isinstance(value, dict):
        return {name: filled(world, one) for name, one in value.items()}
    if isinstance(value, list):
        return [filled(world, one) for one in value]
    if not isinstance(value, str) or not value.startswith("{"):
        return value
    service, colon, rest = value[1:-1].partition(":")
    return world.theirs.arn(service, rest) if colon else getattr(world, service)


@pytest.mark.parametrize(("service", "operation", "request_", "code"), ATTACKS)
def test_another_account_is_not_reached(world, service, operation, request_, code):
    call = getattr(world.ours.client(service), operation)
    given = filled(world, request_)
    if code:
        assert refusal(call, **given) == code
    else:
        call(**given)


def test_events_for_a_bus_of_another_account_fail(world):
    entry = {
        "Source": "a",
        "DetailType": "d",
        "Detail": "{}",
        "EventBusName": world.theirs.arn("events", "event-bus/bus"),
    }
    answer = world.ours.client("events").put_events(Entries=[entry])
    assert (answer["FailedEntryCount"], answer["Entries"][0]["ErrorCode"]) == (1, "AccessDeniedException")


def test_a_receipt_handle_is_none_of_another_account(world):
    sqs, ours = world.theirs.client("sqs"), world.ours.client("sqs")
    sqs.send_message(QueueUrl=world.url, MessageBody="kept")
    handle = sqs.receive_message(QueueUrl=world.url, VisibilityTimeout=900)["Messages"][0]["ReceiptHandle"]
    ours.delete_message(QueueUrl=world.our_url, ReceiptHandle=handle)
    ours.change_message_visibility(QueueUrl=world.our_url, ReceiptHandle=handle, VisibilityTimeout=0)
    assert "Messages" not in sqs.receive_message(QueueUrl=world.url)
    sqs.change_message_visibility(QueueUrl=world.url, ReceiptHandle=handle, VisibilityTimeout=0)
    assert sqs.receive_message(QueueUrl=world.url)["Messages"][0]["Body"] == "kept"


def test_tasks_do_not_reach_another_account(world):
    ours = world.ours.client("stepfunctions")
    tasks = {
        "to-queue": ("arn:aws:states:::sqs:sendMessage", {"QueueUrl": world.url, "MessageBody": "x"}),
        "to-function": (world.function, {}),
        "to-machine": ("arn:aws:states:::states:startExecution", {"StateMachineArn": world.machine}),
        "to-bucket": ("arn:aws:states:::aws-sdk:s3:getObject", {"Bucket": "theirs", "Key": "k"}),
    }
    for name, (resource, parameters) in tasks.items():
        machine = world.ours.machine(name, Type="Task", Resource=resource, Parameters=parameters)
        done = ended(ours, ours.start_execution(stateMachineArn=machine)["executionArn"])
        assert done["status"] == "FAILED", name
        assert "theirs" not in done.get("output", "")


def test_addresses_and_forms_have_the_rights_of_their_signer(world):
    ours, theirs = world.ours.client("s3"), world.theirs.client("s3")
    address = ours.generate_presigned_url("get_object", Params=OBJECT)
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(address, timeout=PATIENCE_SECONDS)
    for client, status in ((ours, 403), (theirs, 204)):
        fields = {**client.generate_presigned_post("theirs", "form")["fields"], "file": "content"}
        parts = [
            f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()
        ]
        connection = http.client.HTTPConnection("127.0.0.1", world.server.port, timeout=PATIENCE_SECONDS)
        headers = {"Content-Type": "multipart/form-data; boundary=x"}
        connection.request("POST", "/theirs", ("".join(parts) + "--x--\r\n").encode(), headers)
        assert connection.getresponse().status == status
        connection.close()


def test_what_was_attacked_is_as_it_was(world):
    of = world.theirs.client
    assert of("stepfunctions").describe_execution(executionArn=world.execution)["status"] == "RUNNING"
    assert len(of("stepfunctions").list_executions(stateMachineArn=world.machine)["executions"]) == 1
    assert of("s3").get_object(Bucket="theirs", Key="k")["Body"].read() == b"theirs"
    assert of("dynamodb").get_item(TableName="table", Key=KEY)["Item"] == KEY
    assert of("sns").get_topic_attributes(TopicArn=world.topic)["Attributes"]["Owner"] == THEIRS
    assert "jobs" in of("sqs").get_queue_url(QueueName="jobs")["QueueUrl"]
    of("stepfunctions").send_task_success(taskToken=world.token, output="1")
    assert ended(of("stepfunctions"), world.execution)["status"] == "SUCCEEDED"
