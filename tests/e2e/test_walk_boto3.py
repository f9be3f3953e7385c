"""A walk through everything that workflows are made for, as boto3 takes it, on a server that verifies its callers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import boto3  # type: ignore[import-untyped]
import pytest
from botocore import UNSIGNED
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from botocore.httpsession import URLLib3Session

from tests.deadlines import PATIENCE_SECONDS, until
from tests.e2e.conftest import ROLE, Server, ended, session_of

KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("walk")
    (folder / "statewright.toml").write_text(f'[credentials]\n{KEY} = "{SECRET}"\n')
    running = Server(folder / "data", "--config", str(folder / "statewright.toml"))
    yield running
    assert running.stop() == 0
    assert "Traceback" not in running.log.read_text()


@pytest.fixture
def sfn(server: Server) -> Any:
    return server.client(key=KEY, secret=SECRET)


def create(sfn: Any, name: str, definition: dict[str, Any], **more: Any) -> str:
    text = json.dumps(definition)
    arn: str = sfn.create_state_machine(name=name, definition=text, roleArn=ROLE, **more)["stateMachineArn"]
    return arn


def test_the_walk(sfn):
    activity = sfn.create_activity(name="approve", tags=[{"key": "team", "value": "a"}])["activityArn"]
    order = {
        "StartAt": "Price",
        "States": {
            "Price": {"Type": "Pass", "Result": {"total": 12}, "ResultPath": "$.price", "Next": "Each"},
            "Each": {
                "Type": "Map", "ItemsPath": "$.items", "ResultPath": "$.done", "Next": "Approve",
                "ItemProcessor": {
                    "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
                    "StartAt": "One", "States": {"One": {"Type": "Pass", "End": True}},
                },
            },
            "Approve": {"Type": "Task", "Resource": activity, "HeartbeatSeconds": 60, "End": True},
        },
    }  # fmt: skip
    checked = sfn.validate_state_machine_definition(definition=json.dumps(order))
    assert checked["result"] == "OK"
    arn = create(sfn, "order", order, tags=[{"key": "team", "value": "a"}])
    assert create(sfn, "order", order) == arn, "the same again is the same"

    started = sfn.start_execution(stateMachineArn=arn, name="first", input='{"items": [1, 2, 3]}')
    assert abs(started["startDate"] - datetime.now(UTC)) < timedelta(minutes=1)
    execution = started["executionArn"]
    task = sfn.get_activity_task(activityArn=activity, workerName="worker-1")
    assert json.loads(task["input"]) == {"items": [1, 2, 3], "price": {"total": 12}, "done": [1, 2, 3]}
    sfn.send_task_heartbeat(taskToken=task["taskToken"])
    sfn.send_task_failure(taskToken=task["taskToken"], error="Declined", cause="no money")
    failed = ended(sfn, execution)
    assert (failed["status"], failed["error"], failed["cause"]) == ("FAILED", "Declined", "no money")
    assert failed["redriveStatus"] == "REDRIVABLE"

    (run,) = sfn.list_map_runs(executionArn=execution)["mapRuns"]
    shown = sfn.describe_map_run(mapRunArn=run["mapRunArn"])
    assert (shown["status"], shown["itemCounts"]["succeeded"]) == ("SUCCEEDED", 3)
    children = sfn.list_executions(mapRunArn=run["mapRunArn"])["executions"]
    assert [child["status"] for child in children] == ["SUCCEEDED"] * 3

    sfn.redrive_execution(executionArn=execution)
    task = sfn.get_activity_task(activityArn=activity)
    sfn.send_task_success(taskToken=task["taskToken"], output='{"by": "hand"}')
    done = ended(sfn, execution)
    assert (done["status"], done["redriveCount"], json.loads(done["output"])) == ("SUCCEEDED", 1, {"by": "hand"})
    with pytest.raises(sfn.exceptions.TaskTimedOut):
        sfn.send_task_success(taskToken=task["taskToken"], output="{}")
    by_four = {"PageSize": 4}
    pages = sfn.get_paginator("get_execution_history").paginate(executionArn=execution, PaginationConfig=by_four)
    events = [event for page in pages for event in page["events"]]
    assert [event["id"] for event in events] == list(range(1, len(events) + 1))
    assert "ExecutionRedriven" in [event["type"] for event in events]
    assert events[-1]["type"] == "ExecutionSucceeded"
    newest = sfn.get_execution_history(executionArn=execution, reverseOrder=True, maxResults=1)["events"]
    assert newest == events[-1:]

    second = sfn.start_execution(stateMachineArn=arn, name="second", input='{"items": []}')["executionArn"]
    sfn.get_activity_task(activityArn=activity)
    sfn.stop_execution(executionArn=second, error="Wrong", cause="input")
    assert sfn.describe_execution(executionArn=second)["status"] == "ABORTED"
    aborted = sfn.list_executions(stateMachineArn=arn, statusFilter="ABORTED")["executions"]
    assert [one["name"] for one in aborted] == ["second"]
    used = sfn.describe_state_machine_for_execution(executionArn=second)
    assert json.loads(used["definition"]) == order

    sfn.tag_resource(resourceArn=arn, tags=[{"key": "stage", "value": "test"}])
    sfn.untag_resource(resourceArn=arn, tagKeys=["team"])
    assert sfn.list_tags_for_resource(resourceArn=arn)["tags"] == [{"key": "stage", "value": "test"}]
    sfn.delete_activity(activityArn=activity)
    assert sfn.list_activities()["activities"] == []
    sfn.delete_state_machine(stateMachineArn=arn)


def test_versions_and_aliases(sfn):
    arn = create(sfn, "price", {"StartAt": "A", "States": {"A": {"Type": "Pass", "Result": 1, "End": True}}})
    one = sfn.publish_state_machine_version(stateMachineArn=arn, description="one")["stateMachineVersionArn"]
    new = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "Result": 2, "End": True}}})
    two = sfn.update_state_machine(stateMachineArn=arn, definition=new, publish=True)["stateMachineVersionArn"]
    versions = sfn.list_state_machine_versions(stateMachineArn=arn)["stateMachineVersions"]
    assert [version["stateMachineVersionArn"] for version in versions] == [two, one]
    routes = [{"stateMachineVersionArn": one, "weight": 100}]
    alias = sfn.create_state_machine_alias(name="prod", routingConfiguration=routes)["stateMachineAliasArn"]
    outputs = []
    for target in (alias, two, arn):
        shown = ended(sfn, sfn.start_execution(stateMachineArn=target)["executionArn"])
        outputs.append((shown["output"], shown.get("stateMachineAliasArn"), shown.get("stateMachineVersionArn")))
    assert outputs == [("1", alias, one), ("2", None, two), ("2", None, None)]
    sfn.update_state_machine_alias(
        stateMachineAliasArn=alias, routingConfiguration=[{"stateMachineVersionArn": two, "weight": 100}]
    )
    assert ended(sfn, sfn.start_execution(stateMachineArn=alias)["executionArn"])["output"] == "2"
    with pytest.raises(sfn.exceptions.ConflictException):
        sfn.delete_state_machine_version(stateMachineVersionArn=two)
    sfn.delete_state_machine_alias(stateMachineAliasArn=alias)
    sfn.delete_state_machine_version(stateMachineVersionArn=two)


def test_express_and_one_state(sfn):
    arn = create(sfn, "quick", {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}}, type="EXPRESS")
    done = sfn.start_sync_execution(stateMachineArn=arn, input='{"n": 1}')
    assert (done["status"], json.loads(done["output"])) == ("SUCCEEDED", {"n": 1})
    assert done["billingDetails"]["billedDurationInMilliseconds"] >= 100
    invoke = "arn:aws:states:::lambda:invoke"
    state = {"Type": "Task", "Resource": invoke, "Parameters": {"FunctionName": "f"}, "End": True}
    tested = sfn.test_state(
        definition=json.dumps(state), roleArn=ROLE, input="{}", mock={"result": '{"StatusCode": 200, "Payload": 7}'}
    )
    assert (tested["status"], json.loads(tested["output"])["Payload"]) == ("SUCCEEDED", 7)


def test_task_tokens(sfn):
    """A callback whose token goes to another execution, which keeps it for whoever answers."""
    waits = {
        "Type": "Task",
        "Resource": "arn:aws:states:::states:startExecution.waitForTaskToken",
        "Parameters": {"StateMachineArn.$": "$.machine", "Input": {"token.$": "$$.Task.Token"}},
        "End": True,
    }
    arn = create(sfn, "token", {"StartAt": "W", "States": {"W": waits}})
    inner = create(sfn, "keeper", {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})
    outer = sfn.start_execution(stateMachineArn=arn, input=json.dumps({"machine": inner}))["executionArn"]
    (kept,) = until(lambda: sfn.list_executions(stateMachineArn=inner, statusFilter="SUCCEEDED")["executions"])
    token = json.loads(sfn.describe_execution(executionArn=kept["executionArn"])["output"])["token"]
    sfn.send_task_success(taskToken=token, output='"answered"')
    assert ended(sfn, outer)["output"] == '"answered"'


# ------------------------------------------------------------------ who calls


def test_callers_without_the_secret_are_refused(server):
    def code_of(**keys: str) -> tuple[str, int]:
        with pytest.raises(ClientError) as caught:
            server.client(**keys).list_activities()
        return caught.value.response["Error"]["Code"], caught.value.response["ResponseMetadata"]["HTTPStatusCode"]

    assert code_of(key=KEY, secret="another")[0] == "InvalidSignatureException"
    assert code_of(key="AKIDSOMEBODY", secret=SECRET)[0] == "UnrecognizedClientException"
    unsigned = boto3.session.Session(region_name="us-east-1").client(
        "stepfunctions", endpoint_url=server.url, config=Config(signature_version=UNSIGNED)
    )
    with pytest.raises(ClientError) as caught:
        unsigned.list_activities()
    assert caught.value.response["Error"]["Code"] == "MissingAuthenticationTokenException"
    unsigned.close()


def signed(server: Server, *, body: bytes = b"{}", at: datetime | None = None, service: str = "states") -> AWSRequest:
    headers = {"X-Amz-Target": "AWSStepFunctions.ListActivities", "Content-Type": "application/x-amz-json-1.0"}
    request = AWSRequest("POST", f"{server.url}/", headers=headers, data=body)
    with mock.patch("botocore.auth.get_current_datetime", return_value=at or datetime.now(UTC)):
        SigV4Auth(Credentials(KEY, SECRET), service, "us-east-1").add_auth(request)
    return request


def send(request: AWSRequest) -> tuple[int, str]:
    session = URLLib3Session()
    try:
        answer = session.send(request.prepare())
        return answer.status_code, json.loads(answer.content).get("__type", "")
    finally:
        session.close()


def test_a_signature_holds_for_its_time_its_service_and_its_body(server):
    assert send(signed(server)) == (200, "")
    for at in (timedelta(minutes=-16), timedelta(minutes=16), timedelta(days=-400)):
        assert send(signed(server, at=datetime.now(UTC) + at))[1] == "InvalidSignatureException"
    assert send(signed(server, at=datetime.now(UTC) - timedelta(minutes=14))) == (200, "")
    changed = signed(server)
    changed.data = b'{"maxResults": 5}'
    changed.headers["Content-Length"] = "17"
    assert send(changed)[1] == "InvalidSignatureException"
    other_header = signed(server)
    other_header.headers.replace_header("X-Amz-Target", "AWSStepFunctions.ListStateMachines")
    assert send(other_header)[1] == "InvalidSignatureException"
    assert send(signed(server, service="sqs"))[0] != 200
    name = "AWS4-HMAC-SHA256"
    for value in ("", "Basic eDp5", name, f"{name} Credential=a/b/c/states/aws4_request", "x" * 9000):
        broken = signed(server)
        broken.headers.replace_header("Authorization", value)
        status, code = send(broken)
        assert (status < 500, status != 200, code != "InternalServerError") == (True, True, True), value[:40]


def test_a_presigned_request(server):
    """What is signed in the query, for a time: good until then, and only as it was signed."""

    def presigned(seconds: int, at: datetime) -> AWSRequest:
        request = AWSRequest("GET", f"{server.url}/?Action=ListQueues&Version=2012-11-05")
        with mock.patch("botocore.auth.get_current_datetime", return_value=at):
            SigV4QueryAuth(Credentials(KEY, SECRET), "sqs", "us-east-1", expires=seconds).add_auth(request)
        return request

    def status(request: AWSRequest) -> tuple[int, bytes]:
        session = URLLib3Session()
        try:
            answer = session.send(request.prepare())
            return answer.status_code, answer.content
        finally:
            session.close()

    now = datetime.now(UTC)
    good = status(presigned(60, now))
    assert b"Signature" not in good[1], good
    assert b"MissingAuthentication" not in good[1]
    late = status(presigned(60, now - timedelta(minutes=2)))
    assert late[0] in (400, 403)
    assert b"Signature expired" in late[1]
    forged = presigned(60, now)
    forged.url = forged.url.replace("ListQueues", "PurgeQueue")
    assert b"does not match" in status(forged)[1]


@pytest.mark.slow
def test_callers_bridge_a_server_that_is_killed_and_started_again(tmp_path: Path):
    """boto3 tries again by itself: a start that falls into the gap is made once the server is back."""
    first = Server(tmp_path / "data")
    arn = create(first.client(), "m", {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})
    session = session_of("a", "b")
    patient = session.client(
        "stepfunctions", endpoint_url=first.url, config=Config(retries={"mode": "standard", "total_max_attempts": 60})
    )
    patient.start_execution(stateMachineArn=arn, name="before")
    first.kill()
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(patient.start_execution, stateMachineArn=arn, name="meanwhile")
        second = Server(tmp_path / "data", "--port", str(first.port))
        assert call.result(PATIENCE_SECONDS)["executionArn"].endswith(":m:meanwhile")
    names = {one["name"] for one in second.client().list_executions(stateMachineArn=arn)["executions"]}
    assert names == {"before", "meanwhile"}
    patient.close()
    assert second.stop() == 0
