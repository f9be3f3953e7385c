"""What deployment tools rely on: consents, answers and texts that they look for."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from botocore.exceptions import ClientError

from statewright.payload import Json
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
    patch: list[Mapping[str, Json]] = [
        {"op": "test", "path": "/Tags/0/Key", "value": "a"},
        {"op": "add", "path": "/Tags/-", "value": {"Key": "b", "Value": "2"}},
        {"op": "replace", "path": "/Tags/0/Value", "value": "3"},
        {"op": "remove", "path": "/a~1b/c"},
    ]
    assert patched(given, patch) == {"Tags": [{"Key": "a", "Value": "3"}, {"Key": "b", "Value": "2"}], "a/b": {}}
    for path in ("/Tags/2", "/Tags/x/Key", "/None/x", "Tags"):
        with pytest.raises(Exception, match="path"):
            patched(given, [{"op": "replace", "path": path, "value": 1}])


def test_a_serverless_function_gets_a_role_as_the_transform_makes_it() -> None:
    function = {
        "Type": "AWS::Serverless::Function",
        "Properties": {
            "InlineCode": "def handler(e, c): return 1",
            "Handler": "index.handler",
            "Runtime": "python3.12",
        },
    }
    text = template({"Price": function}, Transform="AWS::Serverless-2016-10-31")
    with clouds() as (system, cloud):
        created(cloud, "shop", text, Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"])
        rows = cloud.list_stack_resources(StackName="shop")["StackResourceSummaries"]
        found = {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in rows}
        role = system.client("iam").get_role(RoleName=found["PriceRole"])["Role"]["Arn"]
        assert system.client("lambda").get_function_configuration(FunctionName=found["Price"])["Role"] == role


def test_the_processed_template_has_no_transforms() -> None:
    with clouds() as (_, cloud):
        body = template(
            {
                "Prices": {"Type": "AWS::Serverless::SimpleTable", "DeletionPolicy": "Retain"},
                "Fn::ForEach::Queues": ["Name", ["A", "B"], {"Queue${Name}": {"Type": "AWS::SQS::Queue"}}],
                "News": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": {"Ref": "Topic"}}},
            },
            Transform=["AWS::LanguageExtensions", "AWS::Serverless-2016-10-31"],
            Parameters={"Topic": {"Type": "String", "Default": "news"}},
        )
        created(cloud, "shop", body, Capabilities=["CAPABILITY_AUTO_EXPAND"])
        found = cloud.get_template(StackName="shop", TemplateStage="Processed")
        processed = found["TemplateBody"]
        assert found["StagesAvailable"] == ["Original", "Processed"]
        assert set(processed) == {"Resources", "Parameters"}
        assert {id_: one["Type"] for id_, one in processed["Resources"].items()} == {
            "Prices": "AWS::DynamoDB::Table", "QueueA": "AWS::SQS::Queue", "QueueB": "AWS::SQS::Queue",
            "News": "AWS::SNS::Topic",
        }  # fmt: skip
        assert processed["Resources"]["Prices"]["DeletionPolicy"] == "Retain"
        assert processed["Resources"]["News"]["Properties"] == {"TopicName": {"Ref": "Topic"}}
        assert cloud.get_template(StackName="shop")["TemplateBody"] == json.loads(body)
