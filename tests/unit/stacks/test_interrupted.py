"""Creations that do not reach their end: out of time, deleted in the middle, waiting for an answer that never comes."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from botocore.exceptions import ClientError

from statewright.payload import Json, JsonObject
from statewright.stacks import running
from statewright.stacks.providers import Providers
from tests.unit.stacks.systems import clouds, created, queue, status, template, told

CODE = """
import json, urllib.request

def handler(event, context):
    if event["ResourceProperties"]["Says"] == "silent" and event["RequestType"] == "Create":
        return
    answer = {name: event[name] for name in ("StackId", "RequestId", "LogicalResourceId")}
    answer |= {"Status": "SUCCESS", "PhysicalResourceId": "thing", "Data": {"Echo": event["RequestType"]}}
    request = urllib.request.Request(event["ResponseURL"], json.dumps(answer).encode(), method="PUT")
    urllib.request.urlopen(request)
"""


def provided(says: str, **more: Json) -> str:
    function = {
        "Type": "AWS::Lambda::Function",
        "Properties": {
            "Runtime": "python3.12", "Handler": "index.handler", "Code": {"ZipFile": CODE},
            "Role": "arn:aws:iam::000000000000:role/any",
        },
    }  # fmt: skip
    thing = {
        "Type": "Custom::Thing",
        "Properties": {"ServiceToken": {"Fn::GetAtt": ["F", "Arn"]}, "Says": says, "ServiceTimeout": 1800},
        "DependsOn": "Work",
    }
    return template(
        {"Work": queue(), "F": function, "C": thing, **more}, Outputs={"Echo": {"Value": {"Fn::GetAtt": ["C", "Echo"]}}}
    )


def with_child(system: Any, body: str, **properties: Json) -> JsonObject:
    """Put the template of a nested stack into a bucket; the stack as a resource."""
    s3 = system.client("s3")
    if not s3.list_buckets()["Buckets"]:
        s3.create_bucket(Bucket="templates")
    s3.put_object(Bucket="templates", Key="child", Body=body.encode())
    given = {"TemplateURL": "https://s3.amazonaws.com/templates/child", **properties}
    return {"Type": "AWS::CloudFormation::Stack", "Properties": given}


def answers(system: Any) -> list[str]:
    found = system.client("s3").list_objects_v2(Bucket="statewright-custom-resources-000000000000-us-east-1")
    return [one["Key"] for one in found.get("Contents", ())]


def queues(system: Any) -> list[str]:
    found: list[str] = system.client("sqs").list_queues().get("QueueUrls", [])
    return found


def test_a_provider_answers_in_virtual_time_and_its_answers_do_not_stay() -> None:
    with clouds() as (system, cloud):
        arn = created(cloud, "shop", provided("something"))
        system.advance(5)
        (stack,) = cloud.describe_stacks(StackName="shop")["Stacks"]
        assert (stack["StackStatus"], stack["Outputs"][0]["OutputValue"]) == ("CREATE_COMPLETE", "Create")
        assert answers(system) == []
        cloud.delete_stack(StackName="shop")
        system.advance(5)
        assert (status(cloud, arn), answers(system)) == ("DELETE_COMPLETE", [])


def test_a_provider_that_never_answers_fails_after_its_timeout() -> None:
    with clouds() as (system, cloud):
        created(cloud, "shop", provided("silent"))
        system.advance("29m")
        assert status(cloud, "shop") == "CREATE_IN_PROGRESS"
        system.advance("2m")
        assert (status(cloud, "shop"), queues(system)) == ("ROLLBACK_COMPLETE", [])
        (reason,) = [one[2] for one in told(cloud, "shop") if one[:2] == ("C", "CREATE_FAILED")]
        assert reason == "CloudFormation did not receive a response from your Custom Resource."


def test_a_creation_ends_when_its_time_is_over() -> None:
    with clouds() as (system, cloud):
        created(cloud, "shop", provided("silent"), TimeoutInMinutes=2)
        system.advance(110)
        assert status(cloud, "shop") == "CREATE_IN_PROGRESS"
        system.advance(12)
        assert (status(cloud, "shop"), queues(system)) == ("ROLLBACK_COMPLETE", [])
        said = told(cloud, "shop")
        words = "Stack creation time exceeded the specified timeout. Rollback requested by user."
        assert ("shop", "ROLLBACK_IN_PROGRESS", words) in said
        assert ("C", "CREATE_FAILED", "Resource creation cancelled") in said


def test_a_stack_is_deleted_in_the_middle_of_its_creation() -> None:
    with clouds() as (system, cloud):
        arn = created(cloud, "shop", provided("silent", After={**queue(), "DependsOn": "C"}))
        assert status(cloud, "shop") == "CREATE_IN_PROGRESS"
        cloud.delete_stack(StackName="shop")
        system.advance(5)
        assert (status(cloud, arn), queues(system)) == ("DELETE_COMPLETE", [])
        assert not [one for one in told(cloud, arn) if one[0] == "After"]


def test_a_stack_is_deleted_while_a_nested_stack_is_created() -> None:
    with clouds() as (system, cloud):
        nested = with_child(system, provided("silent"))
        arn = created(cloud, "shop", template({"Inner": nested}))
        assert status(cloud, arn) == "CREATE_IN_PROGRESS"
        cloud.delete_stack(StackName="shop")
        system.advance(5)
        statuses = {one["StackStatus"] for one in cloud.list_stacks()["StackSummaries"]}
        assert (statuses, queues(system)) == ({"DELETE_COMPLETE"}, [])


def test_the_time_of_a_nested_stack_is_its_own_or_what_its_parent_has_left() -> None:
    with clouds() as (system, cloud):
        nested = with_child(system, provided("silent"), TimeoutInMinutes="1")
        created(cloud, "own", template({"Inner": nested}))
        system.advance(62)
        assert status(cloud, "own") == "ROLLBACK_COMPLETE"
        nested["Properties"]["TimeoutInMinutes"] = "20"
        created(cloud, "left", template({"Inner": nested}), TimeoutInMinutes=2)
        system.advance(122)
        assert (status(cloud, "left"), queues(system)) == ("ROLLBACK_COMPLETE", [])


def test_the_second_of_two_updates_at_once_is_refused() -> None:
    with clouds() as (system, cloud):
        arn = created(cloud, "shop", template({"Work": queue()}))
        problems: list[str] = []

        def update(delay: int) -> None:
            try:
                cloud.update_stack(StackName="shop", TemplateBody=template({"Work": queue(DelaySeconds=delay)}))
            except cloud.exceptions.ClientError as problem:
                problems.append(problem.response["Error"]["Message"])

        cloud.update_stack(StackName="shop", TemplateBody=provided("silent"))
        assert status(cloud, "shop") == "UPDATE_IN_PROGRESS"
        thread = threading.Thread(target=update, args=(1,))
        thread.start()
        thread.join()
        assert problems == [f"Stack:{arn} is in UPDATE_IN_PROGRESS state and can not be updated."]
        system.advance("31m")
        assert status(cloud, "shop") == "UPDATE_ROLLBACK_COMPLETE"


def test_an_update_that_is_cancelled_is_undone_with_its_nested_stacks() -> None:
    with clouds() as (system, cloud):
        nested = with_child(system, template({"Work": queue()}))
        body = template({"Inner": nested})
        created(cloud, "shop", body)
        with pytest.raises(ClientError, match="CancelUpdateStack cannot be called from current stack status"):
            cloud.cancel_update_stack(StackName="shop")
        with pytest.raises(ClientError, match="is in CREATE_COMPLETE state and can not continue update rollback"):
            cloud.continue_update_rollback(StackName="shop")
        before = queues(system)
        with_child(system, provided("silent"))
        cloud.update_stack(StackName="shop", TemplateBody=body)
        assert status(cloud, "shop") == "UPDATE_IN_PROGRESS"
        cloud.cancel_update_stack(StackName="shop")
        system.advance(5)
        statuses = {one["StackStatus"] for one in cloud.list_stacks()["StackSummaries"]}
        assert (statuses, queues(system)) == ({"UPDATE_ROLLBACK_COMPLETE"}, before)


def test_a_nested_stack_that_waits_for_its_parent_is_not_deleted_meanwhile() -> None:
    with clouds() as (system, cloud):
        nested = with_child(system, template({"Work": queue()}))
        created(cloud, "shop", template({"Inner": nested}))
        (row,) = cloud.describe_stack_resources(StackName="shop")["StackResources"]
        with_child(system, template({"Work": queue(), "More": queue()}))
        silent = json.loads(provided("silent", Inner=nested))
        silent["Resources"]["C"]["DependsOn"] = "Inner"
        cloud.update_stack(StackName="shop", TemplateBody=json.dumps(silent))
        child = row["PhysicalResourceId"]
        assert status(cloud, child) == "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"
        with pytest.raises(ClientError, match="while in status UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"):
            cloud.delete_stack(StackName=child)
        system.advance("31m")
        assert status(cloud, "shop") == status(cloud, child) == "UPDATE_ROLLBACK_COMPLETE"


def test_an_operation_may_follow_another_that_still_clears_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def slowly(providers: Providers, _stack: str) -> None:
        await providers._clock.sleep_until(providers._clock.now_ms() + 5_000)

    monkeypatch.setattr(Providers, "forget", slowly)
    with clouds() as (system, cloud):
        created(cloud, "shop", template({"Work": queue()}))
        assert status(cloud, "shop") == "CREATE_COMPLETE"
        for delay in (1, 2):
            cloud.update_stack(StackName="shop", TemplateBody=template({"Work": queue(DelaySeconds=delay)}))
            system.advance(1)
            assert status(cloud, "shop") == "UPDATE_COMPLETE"
        cloud.delete_stack(StackName="shop")
        system.advance(10)
        assert queues(system) == []


@pytest.mark.parametrize("is_update", [False, True])
def test_a_bug_leaves_a_stack_that_has_failed_and_can_be_deleted(
    monkeypatch: pytest.MonkeyPatch, *, is_update: bool
) -> None:
    async def broken(*_given: object) -> None:
        raise RuntimeError("a bug")

    with clouds() as (system, cloud):
        if is_update:
            created(cloud, "shop", template({"Work": queue()}))
        monkeypatch.setattr(running, "outputs_of", broken)
        if is_update:
            cloud.update_stack(StackName="shop", TemplateBody=template({"Work": queue(), "More": queue()}))
        else:
            created(cloud, "shop", template({"Work": queue()}))
        (stack,) = cloud.describe_stacks(StackName="shop")["Stacks"]
        assert (stack["StackStatus"], stack["StackStatusReason"]) == (
            "UPDATE_FAILED" if is_update else "CREATE_FAILED", "failed because of a bug in Statewright; see its log",
        )  # fmt: skip
        cloud.delete_stack(StackName="shop")
        assert queues(system) == []
