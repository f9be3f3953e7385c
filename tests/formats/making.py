"""Makes a data folder as this version of Statewright stores it, with something of everything in it.

    python -m tests.formats.making NAME [--services states,lambda,sqs,s3] [--postgres]

starts the server that `statewright` is here, fills it, notes what it answers about each resource, kills it, and writes
`tests/formats/folders/NAME.tar.xz` with the folder and `answers.json`; with `--postgres`, the server's store is a
PostgreSQL database, of which the folder has a dump as SQL. `test_folders.py` starts every such folder. A folder is made
once for each format that was published, by the code that published it, and never changed afterwards: check that code
out, and name its sources in PYTHONPATH.

    python -m tests.formats.making NAME --services sqs,sessions,answered

makes a folder in which the call of a task has happened and its execution has not taken the answer: the server is killed
between the two.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import botocore.session
from botocore.config import Config as ClientConfig
from botocore.exceptions import HTTPClientError

from tests.postgres_server import binaries, shared_server

FOLDERS: Final = Path(__file__).parent / "folders"
ANSWERS: Final = "answers.json"
DUMP: Final = "database.sql"
ACCOUNT: Final = "000000000000"
REGION: Final = "us-east-1"
ROLE: Final = f"arn:aws:iam::{ACCOUNT}:role/any"
WAIT_SECONDS: Final = 3_600
HANDLER: Final = "def handler(event, context):\n    return {'seen': event}\n"
RUN: Final = "from statewright.cli.main import main; main()"
FAILING: Final = "def handler(event, context):\n    raise ValueError('not today')\n"


def queue_arn(name: str) -> str:
    return f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"


def plain(value: Any) -> Any:
    """An answer as JSON that is the same wherever the server listens."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items() if name != "ResponseMetadata"}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, str):
        return re.sub(r"https?://[^/]+/", "http://server/", value)
    return value


class Maker:
    """Fills one server. `answers` are reads to be repeated: service, operation, request, answer."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.answers: list[tuple[str, str, dict[str, Any]]] = []
        self.token: str | None = None
        self._clients: dict[str, Any] = {}

    def client(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = botocore.session.get_session().create_client(
                service, endpoint_url=self.endpoint, region_name=REGION, aws_access_key_id="any",
                aws_secret_access_key="any",
                config=ClientConfig(inject_host_prefix=False, retries={"total_max_attempts": 1},
                                    s3={"addressing_style": "path"}),
            )  # fmt: skip
        return self._clients[service]

    def reads(self, service: str, operation: str, **request: Any) -> None:
        """Note a read whose answer is to stay."""
        self.answers.append((service, operation, request))

    def noted(self) -> list[dict[str, Any]]:
        """Every read with its answer of now."""
        return [
            {"service": service, "operation": operation, "request": plain(request),
             "answer": plain(getattr(self.client(service), operation)(**request))}
            for service, operation, request in self.answers
        ]  # fmt: skip

    # ------------------------------------------------------------------ services

    def sqs(self) -> None:
        """Queues with messages that wait, are delayed, are in flight; a FIFO queue; a task that moves messages."""
        sqs = self.client("sqs")
        dead = sqs.create_queue(QueueName="dead")["QueueUrl"]
        policy = json.dumps({"deadLetterTargetArn": queue_arn("dead"), "maxReceiveCount": "5"})
        orders = sqs.create_queue(
            QueueName="orders", Attributes={"RedrivePolicy": policy, "MessageRetentionPeriod": "1209600"},
            tags={"team": "blue"},
        )["QueueUrl"]  # fmt: skip
        fifo = sqs.create_queue(QueueName="ordered.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
        tokens = sqs.create_queue(QueueName="tokens")["QueueUrl"]
        sqs.send_message(QueueUrl=orders, MessageBody="in flight")
        assert sqs.receive_message(QueueUrl=orders, VisibilityTimeout=3_600)["Messages"]
        attribute = {"colour": {"DataType": "String", "StringValue": "red"}}
        sqs.send_message(QueueUrl=orders, MessageBody="waiting", MessageAttributes=attribute)
        sqs.send_message(QueueUrl=orders, MessageBody="delayed", DelaySeconds=900)
        for number in range(3):
            sqs.send_message(
                QueueUrl=fifo, MessageBody=str(number), MessageGroupId="g", MessageDeduplicationId=str(number)
            )
        for number in range(50):
            sqs.send_message(QueueUrl=dead, MessageBody=f"dead {number}")
        sqs.start_message_move_task(
            SourceArn=queue_arn("dead"), DestinationArn=queue_arn("orders"), MaxNumberOfMessagesPerSecond=1
        )
        self.reads("sqs", "list_queues")
        for url in (orders, fifo, tokens):
            name = url.rpartition("/")[2]
            kept = ["All"] if name != "orders" else ["RedrivePolicy", "MessageRetentionPeriod", "QueueArn"]
            self.reads("sqs", "get_queue_attributes", QueueUrl=url, AttributeNames=kept)
            self.reads("sqs", "list_queue_tags", QueueUrl=url)

    def lambda_(self) -> None:
        """Functions with versions, an alias, a layer, settings, a mapping; one with an event that is tried again."""
        client = self.client("lambda")
        runtime = "python{}.{}".format(*sys.version_info)
        layer = client.publish_layer_version(LayerName="shared", Content={"ZipFile": zipped("shared.py", "ONE = 1\n")})
        client.create_function(
            FunctionName="echo", Runtime=runtime, Role=ROLE, Handler="main.handler", Publish=True,
            Code={"ZipFile": zipped("main.py", HANDLER)}, Environment={"Variables": {"STAGE": "old"}},
            Layers=[layer["LayerVersionArn"]], Tags={"team": "blue"}, Timeout=30,
        )  # fmt: skip
        client.create_alias(FunctionName="echo", Name="live", FunctionVersion="1")
        client.put_function_event_invoke_config(FunctionName="echo", MaximumRetryAttempts=1)
        client.add_permission(
            FunctionName="echo", StatementId="one", Action="lambda:InvokeFunction", Principal="events.amazonaws.com"
        )
        client.create_function(
            FunctionName="fails", Runtime=runtime, Role=ROLE, Handler="main.handler",
            Code={"ZipFile": zipped("main.py", FAILING)},
        )  # fmt: skip
        client.create_event_source_mapping(
            EventSourceArn=queue_arn("orders"), FunctionName="echo", BatchSize=5, Enabled=False
        )
        client.invoke(FunctionName="fails", InvocationType="Event", Payload=b'{"try": "again"}')
        seen = client.invoke(FunctionName="echo", Payload=b'{"a": 1}')["Payload"].read()
        assert json.loads(seen) == {"seen": {"a": 1}}
        self.reads("lambda", "list_functions")
        self.reads("lambda", "list_versions_by_function", FunctionName="echo")
        self.reads("lambda", "list_aliases", FunctionName="echo")
        self.reads("lambda", "list_layer_versions", LayerName="shared")
        self.reads("lambda", "get_function_event_invoke_config", FunctionName="echo")
        self.reads("lambda", "get_policy", FunctionName="echo")
        self.reads("lambda", "list_event_source_mappings")

    def states(self) -> None:
        """Executions that wait for each kind of thing, closed ones, versions and aliases, an activity, a Map Run."""
        client = self.client("stepfunctions")
        activity = client.create_activity(name="by-hand", tags=[{"key": "team", "value": "blue"}])["activityArn"]
        wait = {"Type": "Wait", "Seconds": WAIT_SECONDS, "End": True}
        large = "x" * 5_000
        machines: dict[str, dict[str, Any]] = {
            "waits": {"A": {**wait, "Next": "B"}, "B": {"Type": "Pass", "End": True}},
            "closed": {"A": {"Type": "Pass", "Result": {"done": True}, "End": True}},
            "failed": {"A": {"Type": "Fail", "Error": "Mine", "Cause": "as told"}},
            "asks": {"A": {
                "Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken", "End": True,
                "Parameters": {"QueueUrl": f"http://server/{ACCOUNT}/tokens", "MessageBody.$": "$$.Task.Token"},
            }},
            "by-hand": {"A": {"Type": "Task", "Resource": activity, "End": True}},
            "many": {"A": {"Type": "Map", "ItemsPath": "$.items", "End": True,
                           "Iterator": {"StartAt": "W", "States": {"W": wait}}}},
            "both": {"A": {"Type": "Parallel", "End": True, "Branches": [
                {"StartAt": "W", "States": {"W": wait}},
                {"StartAt": "P", "States": {"P": {"Type": "Pass", "Result": large, "End": True}}},
            ]}},
            "spread": {"A": {"Type": "Map", "ItemsPath": "$.items", "Label": "Spread", "End": True, "MaxConcurrency": 2,
                             "ItemProcessor": {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
                                               "StartAt": "W", "States": {"W": wait}}}},
            "parent": {"A": {
                "Type": "Task", "Resource": "arn:aws:states:::states:startExecution.sync:2", "End": True,
                "Parameters": {"StateMachineArn": f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:waits",
                               "Name": "child", "Input": {"from": "parent"}},
            }},
            "calls": {"A": {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "End": True,
                            "Parameters": {"FunctionName": "absent"},
                            "Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": WAIT_SECONDS}]}},
        }  # fmt: skip
        machines["waits"]["A"].pop("End")
        given = {"items": [1, 2, 3], "large": large}
        for name, states in machines.items():
            definition = json.dumps({"StartAt": "A", "States": states})
            made = client.create_state_machine(
                name=name, definition=definition, roleArn=ROLE, tags=[{"key": "kind", "value": name}]
            )
            arn = made["stateMachineArn"]
            started = client.start_execution(stateMachineArn=arn, name="one", input=json.dumps(given))
            self.reads("stepfunctions", "describe_state_machine", stateMachineArn=arn)
            self.reads("stepfunctions", "list_tags_for_resource", resourceArn=arn)
            self.reads("stepfunctions", "list_executions", stateMachineArn=arn)
            self.reads("stepfunctions", "describe_execution", executionArn=started["executionArn"])
            self.reads("stepfunctions", "get_execution_history", executionArn=started["executionArn"])
        arn = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:closed"
        version = client.publish_state_machine_version(stateMachineArn=arn)["stateMachineVersionArn"]
        routes = [{"stateMachineVersionArn": version, "weight": 100}]
        client.create_state_machine_alias(name="live", routingConfiguration=routes)
        spread = f"arn:aws:states:{REGION}:{ACCOUNT}:execution:spread:one"
        until(lambda: client.list_map_runs(executionArn=spread)["mapRuns"])
        run = client.list_map_runs(executionArn=spread)["mapRuns"][0]["mapRunArn"]
        until(lambda: client.describe_map_run(mapRunArn=run)["executionCounts"]["running"] == 2)
        calls = f"arn:aws:states:{REGION}:{ACCOUNT}:execution:calls:one"
        until(lambda: "TaskFailed" in json.dumps(plain(client.get_execution_history(executionArn=calls))))
        until(lambda: self.client("sqs").get_queue_attributes(
            QueueUrl=f"{self.endpoint}/{ACCOUNT}/tokens", AttributeNames=["All"]
        )["Attributes"]["ApproximateNumberOfMessages"] == "1")  # fmt: skip
        self.reads("stepfunctions", "list_state_machines")
        self.reads("stepfunctions", "list_activities")
        self.reads("stepfunctions", "describe_map_run", mapRunArn=run)
        self.reads("stepfunctions", "list_executions", mapRunArn=run)
        self.reads("stepfunctions", "list_state_machine_versions", stateMachineArn=arn)
        self.reads("stepfunctions", "describe_state_machine_alias", stateMachineAliasArn=f"{arn}:live")

    def sessions(self) -> None:
        """Temporary credentials, sealed with the key of the folder."""
        self.token = self.client("sts").assume_role(
            RoleArn=ROLE, RoleSessionName="session", DurationSeconds=3_600
        )["Credentials"]["SessionToken"]  # fmt: skip

    def answered(self) -> None:
        """A task that has sent its message when the server dies (see `main`)."""
        client = self.client("stepfunctions")
        parameters = {"QueueUrl": f"http://server/{ACCOUNT}/tokens", "MessageBody": "once"}
        send = {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage", "Parameters": parameters, "End": True}
        definition = json.dumps({"StartAt": "A", "States": {"A": send}})
        arn = client.create_state_machine(name="sends", definition=definition, roleArn=ROLE)["stateMachineArn"]
        with contextlib.suppress(HTTPClientError):
            client.start_execution(stateMachineArn=arn, name="one")

    def queued(self) -> None:
        """An execution that waits to be admitted, and one that waits for a permit."""
        client = self.client("stepfunctions")
        wait = {"Type": "Wait", "Seconds": WAIT_SECONDS, "End": True}
        acquire = {"Type": "Task", "Resource": "arn:aws:states:::statewright:acquire", "Next": "W",
                   "Parameters": {"Name": "door", "Limit": 1}}  # fmt: skip
        for name, states, tags in (
            ("one-at-a-time", {"W": wait}, {"statewright:maxConcurrentExecutions": "1"}),
            ("guarded", {"A": acquire, "W": wait}, {}),
        ):
            definition = json.dumps({"StartAt": next(iter(states)), "States": states})
            arn = client.create_state_machine(
                name=name, definition=definition, roleArn=ROLE,
                tags=[{"key": key, "value": value} for key, value in tags.items()],
            )["stateMachineArn"]  # fmt: skip
            for one in ("first", "second"):
                client.start_execution(stateMachineArn=arn, name=one)
        held = f"arn:aws:states:{REGION}:{ACCOUNT}:execution:guarded:first"
        until(lambda: "WaitStateEntered" in json.dumps(plain(client.get_execution_history(executionArn=held))))

    def s3(self) -> None:
        """Buckets, objects in rows and in files, an upload under way."""
        s3 = self.client("s3")
        s3.create_bucket(Bucket="shelf")
        s3.put_bucket_tagging(Bucket="shelf", Tagging={"TagSet": [{"Key": "team", "Value": "blue"}]})
        s3.put_object(Bucket="shelf", Key="small", Body=b"few bytes", Metadata={"colour": "red"}, Tagging="a=b")
        s3.put_object(Bucket="shelf", Key="large", Body=b"many bytes" * 30_000, ContentType="text/plain")
        upload = s3.create_multipart_upload(Bucket="shelf", Key="unfinished")["UploadId"]
        s3.upload_part(Bucket="shelf", Key="unfinished", UploadId=upload, PartNumber=1, Body=b"first part")
        self.reads("s3", "list_buckets")
        self.reads("s3", "get_bucket_tagging", Bucket="shelf")
        self.reads("s3", "list_objects_v2", Bucket="shelf")
        for key in ("small", "large"):
            self.reads("s3", "head_object", Bucket="shelf", Key=key)
        self.reads("s3", "get_object_tagging", Bucket="shelf", Key="small")
        self.reads("s3", "list_multipart_uploads", Bucket="shelf")
        self.reads("s3", "list_parts", Bucket="shelf", Key="unfinished", UploadId=upload)
        self.versions()

    def versions(self) -> None:
        """A bucket with versions, of which one is large, a delete marker, and null versions."""
        s3 = self.client("s3")
        at = {"Bucket": "archive", "Key": "report"}
        s3.create_bucket(Bucket="archive")
        s3.put_object(**at, Body=b"from before")
        s3.put_bucket_versioning(Bucket="archive", VersioningConfiguration={"Status": "Enabled"})
        large = s3.put_object(**at, Body=b"many bytes" * 30_000, Tagging="a=b")["VersionId"]
        s3.put_object(**at, Body=b"newest")
        s3.put_object(Bucket="archive", Key="gone", Body=b"hidden")
        s3.delete_object(Bucket="archive", Key="gone")
        s3.put_bucket_versioning(Bucket="archive", VersioningConfiguration={"Status": "Suspended"})
        s3.put_object(Bucket="archive", Key="suspended", Body=b"null")
        self.reads("s3", "get_bucket_versioning", Bucket="archive")
        self.reads("s3", "list_object_versions", Bucket="archive")
        self.reads("s3", "list_objects_v2", Bucket="archive")
        for version in (large, "null"):
            self.reads("s3", "head_object", **at, VersionId=version)
        self.reads("s3", "get_object_tagging", **at, VersionId=large)
        self.locks()

    def locks(self) -> None:
        """A bucket with Object Lock: a version that is retained, one that is held."""
        s3 = self.client("s3")
        s3.create_bucket(Bucket="ledger", ObjectLockEnabledForBucket=True)
        until = datetime(2099, 1, 1, tzinfo=UTC)
        s3.put_object(
            Bucket="ledger", Key="retained", Body=b"a", ObjectLockMode="COMPLIANCE", ObjectLockRetainUntilDate=until
        )
        s3.put_object(Bucket="ledger", Key="held", Body=b"b", ObjectLockLegalHoldStatus="ON")
        self.reads("s3", "get_object_lock_configuration", Bucket="ledger")
        for key in ("retained", "held"):
            self.reads("s3", "head_object", Bucket="ledger", Key=key)

    def dynamodb(self) -> None:
        """A table with an index, a time to live and items."""
        client = self.client("dynamodb")
        client.create_table(
            TableName="customers", BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}],
            AttributeDefinitions=[{"AttributeName": one, "AttributeType": kind}
                                  for one, kind in (("id", "S"), ("at", "N"), ("town", "S"))],
            GlobalSecondaryIndexes=[{"IndexName": "by-town", "Projection": {"ProjectionType": "ALL"},
                                     "KeySchema": [{"AttributeName": "town", "KeyType": "HASH"}]}],
            Tags=[{"Key": "team", "Value": "blue"}],
        )  # fmt: skip
        client.update_time_to_live(
            TableName="customers", TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"}
        )
        for number in range(3):
            client.put_item(TableName="customers", Item={
                "id": {"S": "ada"}, "at": {"N": str(number)}, "town": {"S": "london"}, "raw": {"B": b"\0\xff"},
                "deep": {"M": {"list": {"L": [{"N": "1.50"}, {"NULL": True}]}}}, "until": {"N": "4102444800"},
            })  # fmt: skip
        self.reads("dynamodb", "describe_table", TableName="customers")
        self.reads("dynamodb", "describe_time_to_live", TableName="customers")
        self.reads("dynamodb", "scan", TableName="customers")
        self.reads("dynamodb", "query", TableName="customers", IndexName="by-town",
                   KeyConditionExpression="town = :t", ExpressionAttributeValues={":t": {"S": "london"}})  # fmt: skip
        self.stream()

    def stream(self) -> None:
        """A table with a stream of two changes, and a key of an index that has two attributes."""
        client = self.client("dynamodb")
        client.create_table(
            TableName="visits", BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": one, "AttributeType": "S"} for one in ("id", "town", "street")],
            GlobalSecondaryIndexes=[{
                "IndexName": "by-place", "Projection": {"ProjectionType": "ALL"},
                "KeySchema": [{"AttributeName": one, "KeyType": "HASH"} for one in ("town", "street")],
            }],
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )  # fmt: skip
        for street in ("high", "low"):
            place = {"id": {"S": "ada"}, "town": {"S": "london"}, "street": {"S": street}}
            client.put_item(TableName="visits", Item=place)
        arn = client.describe_table(TableName="visits")["Table"]["LatestStreamArn"]
        self.reads("dynamodb", "describe_table", TableName="visits")
        self.reads("dynamodb", "scan", TableName="visits", IndexName="by-place")
        self.reads("dynamodbstreams", "describe_stream", StreamArn=arn)
        self.reads("dynamodbstreams", "list_streams", TableName="visits")

    def events(self) -> None:
        """Schedules, a bus, rules, topics with subscriptions, one of which waits to be confirmed."""
        scheduler, events, sns = self.client("scheduler"), self.client("events"), self.client("sns")
        target = {"Arn": queue_arn("tokens"), "RoleArn": ROLE, "Input": "on time"}
        scheduler.create_schedule_group(Name="nightly", Tags=[{"Key": "team", "Value": "blue"}])
        scheduler.create_schedule(
            Name="once", GroupName="nightly", ScheduleExpression="at(2099-12-31T23:59:00)", Target=target,
            FlexibleTimeWindow={"Mode": "OFF"},
        )  # fmt: skip
        events.create_event_bus(Name="shop")
        events.put_rule(Name="sold", EventBusName="shop", EventPattern='{"source": ["till"]}')
        events.put_targets(Rule="sold", EventBusName="shop", Targets=[{"Id": "q", "Arn": queue_arn("tokens")}])
        events.put_rule(Name="yearly", ScheduleExpression="rate(365 days)")
        topic = sns.create_topic(Name="news", Tags=[{"Key": "team", "Value": "blue"}])["TopicArn"]
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue_arn("tokens"),
                      Attributes={"FilterPolicy": '{"kind": ["big"]}'})  # fmt: skip
        sns.subscribe(TopicArn=topic, Protocol="http", Endpoint="http://127.0.0.1:9/hook")
        self.reads("scheduler", "list_schedule_groups")
        self.reads("scheduler", "get_schedule", Name="once", GroupName="nightly")
        self.reads("events", "list_event_buses")
        self.reads("events", "list_rules", EventBusName="shop")
        self.reads("events", "list_targets_by_rule", Rule="sold", EventBusName="shop")
        self.reads("sns", "get_topic_attributes", TopicArn=topic)
        self.reads("sns", "list_subscriptions")

    def records(self) -> None:
        """Roles, users and policies, secrets, parameters, log groups, a dashboard."""
        iam, secrets, ssm = self.client("iam"), self.client("secretsmanager"), self.client("ssm")
        trust = json.dumps({"Version": "2012-10-17", "Statement": [
            {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
        ]})  # fmt: skip
        document = json.dumps({"Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}]})
        iam.create_role(RoleName="worker", AssumeRolePolicyDocument=trust, Tags=[{"Key": "team", "Value": "blue"}])
        iam.put_role_policy(RoleName="worker", PolicyName="inline", PolicyDocument=document)
        policy = iam.create_policy(PolicyName="reads", PolicyDocument=document)["Policy"]["Arn"]
        iam.attach_role_policy(RoleName="worker", PolicyArn=policy)
        iam.create_group(GroupName="staff")
        iam.create_user(UserName="ada")
        iam.add_user_to_group(GroupName="staff", UserName="ada")
        iam.create_account_alias(AccountAlias="our-house")
        secrets.create_secret(Name="door", SecretString="one")
        secrets.put_secret_value(SecretId="door", SecretBinary=b"\0two")
        ssm.put_parameter(Name="/app/url", Value="a", Type="String", Tags=[{"Key": "team", "Value": "blue"}])
        ssm.put_parameter(Name="/app/url", Value="b", Type="String", Overwrite=True)
        ssm.label_parameter_version(Name="/app/url", ParameterVersion=1, Labels=["first"])
        logs = self.client("logs")
        logs.create_log_group(logGroupName="/our/own", tags={"team": "blue"})
        logs.put_retention_policy(logGroupName="/our/own", retentionInDays=365)
        logs.create_log_stream(logGroupName="/our/own", logStreamName="one")
        body = json.dumps({"widgets": []})
        self.client("cloudwatch").put_dashboard(DashboardName="wall", DashboardBody=body)
        self.reads("iam", "get_role", RoleName="worker")
        self.reads("iam", "get_role_policy", RoleName="worker", PolicyName="inline")
        self.reads("iam", "list_attached_role_policies", RoleName="worker")
        self.reads("iam", "list_policy_versions", PolicyArn=policy)
        self.reads("iam", "list_entities_for_policy", PolicyArn=policy)
        self.reads("iam", "get_group", GroupName="staff")
        self.reads("iam", "list_groups_for_user", UserName="ada")
        self.reads("iam", "list_account_aliases")
        self.reads("secretsmanager", "describe_secret", SecretId="door")
        self.reads("secretsmanager", "get_secret_value", SecretId="door")
        self.reads("secretsmanager", "get_secret_value", SecretId="door", VersionStage="AWSPREVIOUS")
        self.reads("ssm", "get_parameter_history", Name="/app/url")
        self.reads("ssm", "list_tags_for_resource", ResourceType="Parameter", ResourceId="/app/url")
        self.reads("logs", "describe_log_streams", logGroupName="/our/own")
        self.reads("logs", "list_tags_log_group", logGroupName="/our/own")
        self.reads("cloudwatch", "get_dashboard", DashboardName="wall")

    def jobs(self) -> None:
        """Definitions, queues and clusters of ECS and Batch."""
        ecs, batch = self.client("ecs"), self.client("batch")
        ecs.create_cluster(clusterName="house", tags=[{"key": "team", "value": "blue"}])
        ecs.register_task_definition(family="job", containerDefinitions=[{"name": "c", "image": "any", "memory": 64}])
        batch.create_compute_environment(computeEnvironmentName="here", type="MANAGED")
        batch.create_job_queue(
            jobQueueName="night", priority=5, computeEnvironmentOrder=[{"order": 1, "computeEnvironment": "here"}]
        )
        batch.register_job_definition(
            jobDefinitionName="count", type="container", containerProperties={"image": "any", "command": ["true"]}
        )
        self.reads("ecs", "describe_clusters", clusters=["house"], include=["TAGS"])
        self.reads("ecs", "describe_task_definition", taskDefinition="job")
        self.reads("batch", "describe_compute_environments")
        self.reads("batch", "describe_job_queues")
        self.reads("batch", "describe_job_definitions")


def zipped(name: str, text: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text)
    return made.getvalue()


def until(condition: Callable[[], object]) -> None:
    """Wait for a condition, a minute at most."""
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise TimeoutError(f"{condition} did not come true")


def main() -> None:
    """Make the folder that the arguments name."""
    every = ("sqs", "lambda_", "states", "queued", "s3", "dynamodb", "events", "records", "jobs")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--services", default=",".join(every))
    parser.add_argument("--postgres", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "data"
        command = [sys.executable, "-c", RUN, "serve", "--data", str(folder), "--port", "0"]
        address = shared_server().new_database() if given.postgres else ""
        if address:
            command += ["--store", address]
        if "queued" in given.services:
            (Path(scratch) / "statewright.toml").write_text("extensions = true\n")
        dies = "answered" in given.services
        environment = {**os.environ, **({"STATEWRIGHT_FAIL_POINT": "result:1"} if dies else {})}
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=scratch, env=environment)
        try:
            assert server.stdout is not None
            found = re.search(r"ready on (http://\S+)", server.stdout.readline())
            assert found is not None, "the server did not start"
            maker = Maker(found[1])
            for service in given.services.split(","):
                if service != "answered":
                    getattr(maker, service)()
            answers = {"made_ms": round(time.time() * 1000), "reads": maker.noted(), "token": maker.token}
            if dies:
                maker.answered()
                server.wait()
        finally:
            server.send_signal(signal.SIGKILL)
            server.wait()
        if address:
            folder.mkdir(exist_ok=True)
            (folder / DUMP).write_text(dumped(address))
        packed(folder, answers, FOLDERS / f"{given.name}.tar.xz")


def dumped(address: str) -> str:
    """A database as SQL statements."""
    program = binaries() / "pg_dump"
    command: list[Path | str] = [
        program,
        "--inserts",
        "--rows-per-insert=100",
        "--no-owner",
        "--no-privileges",
        address,
    ]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # Commands of psql, which are no SQL.
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("\\"))


def packed(folder: Path, answers: dict[str, Any], target: Path) -> None:
    """Put a folder into an archive, without what the next start makes anew, and the answers beside it."""
    for database in folder.glob("*.db"):
        connection = sqlite3.connect(database)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("VACUUM")
        connection.close()
    for name in ("functions/logs", "metrics"):
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / ANSWERS).write_text(json.dumps(answers, indent=1))
    target.parent.mkdir(exist_ok=True)
    with tarfile.open(target, "w:xz") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.name != "lock":
                entry = archive.gettarinfo(path, str(path.relative_to(folder)))
                entry.uid = entry.gid = 0
                entry.uname = entry.gname = ""
                with path.open("rb") as content:
                    archive.addfile(entry, content)


if __name__ == "__main__":
    main()
