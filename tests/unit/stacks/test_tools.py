"""What deployment tools rely on: consents, answers and texts that they look for."""

from __future__ import annotations

import json

import pytest
from botocore.exceptions import ClientError

from statewright.stacks.swaps import patched
from tests.unit.stacks.systems import clouds, created, queue, status, template

SERVERLESS = template(
    {"Orders": {"Type": "AWS::Serverless::SimpleTable"}}, Transform="AWS::Serverless-2016-10-31"
)  # fmt: skip


def test_a_change_set_needs_no_consent_to_transforms() -> None:
    with clouds() as (_, cloud):
        with pytest.raises(ClientError, match=r"Requires capabilities : \[CAPABILITY_AUTO_EXPAND\]"):
            created(cloud, "shop", SERVERLESS)
        cloud.create_change_set(
            StackName="shop", ChangeSetName="first", ChangeSetType="CREATE", TemplateBody=SERVERLESS
        )  # fmt: skip
        cloud.execute_change_set(StackName="shop", ChangeSetName="first")
        assert status(cloud, "shop") == "CREATE_COMPLETE"


def test_a_hot_swap_changes_a_resource_past_its_stack() -> None:
    with clouds() as (system, cloud):
        created(cloud, "shop", template({"Work": queue(VisibilityTimeout="60")}))
        (url,) = system.client("sqs").list_queues()["QueueUrls"]
        events = len(cloud.describe_stack_events(StackName="shop")["StackEvents"])
        control = system.client("cloudcontrol")
        patch = json.dumps([{"op": "replace", "path": "/VisibilityTimeout", "value": 90}])
        named = {"TypeName": "AWS::SQS::Queue", "Identifier": url}
        event = control.update_resource(**named, PatchDocument=patch)["ProgressEvent"]
        assert (event["OperationStatus"], json.loads(event["ResourceModel"])) == ("SUCCESS", {"VisibilityTimeout": 90})

        def timeout() -> str:
            answer = system.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["VisibilityTimeout"])
            found: str = answer["Attributes"]["VisibilityTimeout"]
            return found

        assert timeout() == "90"
        assert len(cloud.describe_stack_events(StackName="shop")["StackEvents"]) == events
        shown = control.get_resource(**named)["ResourceDescription"]["Properties"]
        assert json.loads(shown) == {"VisibilityTimeout": "60"}
        cloud.update_stack(StackName="shop", TemplateBody=template({"Work": queue(VisibilityTimeout="70")}))
        assert timeout() == "70"
        with pytest.raises(ClientError, match="Properties that cannot be changed in place: QueueName"):
            control.update_resource(**named, PatchDocument='[{"op": "add", "path": "/QueueName", "value": "other"}]')
        with pytest.raises(ClientError, match="No stack of this server has made a resource"):
            control.get_resource(TypeName="AWS::SQS::Queue", Identifier="other")


def test_patches() -> None:
    given = {"Tags": [{"Key": "a", "Value": "1"}], "a/b": {"c": 1}}
    patch = [
        {"op": "test", "path": "/Tags/0/Key", "value": "a"},
        {"op": "add", "path": "/Tags/-", "value": {"Key": "b", "Value": "2"}},
        {"op": "replace", "path": "/Tags/0/Value", "value": "3"},
        {"op": "remove", "path": "/a~1b/c"},
    ]
    assert patched(given, patch) == {"Tags": [{"Key": "a", "Value": "3"}, {"Key": "b", "Value": "2"}], "a/b": {}}
    for path in ("/Tags/2", "/Tags/x/Key", "/None/x", "Tags"):
        with pytest.raises(Exception, match="path"):
            patched(given, [{"op": "replace", "path": path, "value": 1}])
