"""Stacks from their creation to their deletion, in the service's words."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from tests.unit.stacks.systems import clouds, created, queue, status, template, told

WORK = template(
    {
        "Work": queue(VisibilityTimeout="60"),
        "News": {"Type": "AWS::SNS::Topic"},
        "Both": {
            "Type": "AWS::SNS::Subscription",
            "Properties": {
                "TopicArn": {"Ref": "News"}, "Protocol": "sqs", "Endpoint": {"Fn::GetAtt": ["Work", "Arn"]},
            },
        },
        "Key": {"Type": "AWS::KMS::Key"},
    },
    Outputs={"Url": {"Value": {"Ref": "Work"}, "Export": {"Name": "work-url"}}},
)  # fmt: skip


def test_a_stack_is_made_of_resources_of_this_server() -> None:
    with clouds() as (system, cloud):
        arn = created(cloud, "shop", WORK, Tags=[{"Key": "team", "Value": "a"}])
        (stack,) = cloud.describe_stacks(StackName="shop")["Stacks"]
        (url,) = system.client("sqs").list_queues()["QueueUrls"]
        assert (stack["StackId"], stack["StackStatus"]) == (arn, "CREATE_COMPLETE")
        assert stack["Outputs"] == [{"OutputKey": "Url", "OutputValue": url, "ExportName": "work-url"}]
        assert url.rpartition("/")[2].startswith("shop-Work-")
        assert system.client("sqs").list_queue_tags(QueueUrl=url)["Tags"]["team"] == "a"
        assert told(cloud, "shop")[:4] == [
            ("shop", "CREATE_IN_PROGRESS", "User Initiated"),
            ("Work", "CREATE_IN_PROGRESS", ""),
            ("Work", "CREATE_IN_PROGRESS", "Resource creation Initiated"),
            ("Work", "CREATE_COMPLETE", ""),
        ]
        assert ("Key", "CREATE_COMPLETE", "AWS::KMS::Key is not supported") in told(cloud, "shop")
        assert told(cloud, "shop")[-1] == ("shop", "CREATE_COMPLETE", "")


def test_a_deleted_stack_has_no_resources_and_is_found_by_its_id() -> None:
    with clouds() as (system, cloud):
        arn = created(cloud, "shop", WORK)
        cloud.delete_stack(StackName="shop")
        assert "QueueUrls" not in system.client("sqs").list_queues()
        with pytest.raises(ClientError, match="Stack with id shop does not exist"):
            cloud.describe_stacks(StackName="shop")
        (stack,) = cloud.describe_stacks(StackName=arn)["Stacks"]
        assert (stack["StackStatus"], "EnableTerminationProtection" in stack) == ("DELETE_COMPLETE", False)
        deleted = [id_ for id_, state, _ in told(cloud, arn) if state == "DELETE_COMPLETE"]
        assert deleted == ["Key", "Both", "News", "Work", "shop"]


def test_a_change_set_makes_a_stack_and_changes_it() -> None:
    with clouds() as (system, cloud):
        made = cloud.create_change_set(
            StackName="shop", ChangeSetName="first", ChangeSetType="CREATE", TemplateBody=template({"Work": queue()})
        )
        assert status(cloud, "shop") == "REVIEW_IN_PROGRESS"
        shown = cloud.describe_change_set(ChangeSetName=made["Id"])
        assert (shown["Status"], shown["ExecutionStatus"]) == ("CREATE_COMPLETE", "AVAILABLE")
        assert shown["Changes"] == [
            {
                "Type": "Resource",
                "ResourceChange": {
                    "Action": "Add", "LogicalResourceId": "Work", "ResourceType": "AWS::SQS::Queue", "Scope": [],
                    "Details": [],
                },
            }
        ]  # fmt: skip
        cloud.execute_change_set(ChangeSetName=made["Id"])
        assert status(cloud, "shop") == "CREATE_COMPLETE"
        cloud.create_change_set(
            StackName="shop", ChangeSetName="second", TemplateBody=template({"Work": queue(DelaySeconds=5)})
        )
        (change,) = cloud.describe_change_set(StackName="shop", ChangeSetName="second")["Changes"]
        assert change["ResourceChange"]["Replacement"] == "False"
        cloud.execute_change_set(StackName="shop", ChangeSetName="second")
        assert [one for one in told(cloud, "shop") if one[1].startswith("UPDATE")] == [
            ("shop", "UPDATE_IN_PROGRESS", "User Initiated"),
            ("Work", "UPDATE_IN_PROGRESS", ""),
            ("Work", "UPDATE_COMPLETE", ""),
            ("shop", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", ""),
            ("shop", "UPDATE_COMPLETE", ""),
        ]
        (url,) = system.client("sqs").list_queues()["QueueUrls"]
        found = system.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["DelaySeconds"])
        assert found["Attributes"] == {"DelaySeconds": "5"}


def test_a_change_set_without_changes_cannot_be_executed() -> None:
    with clouds() as (_, cloud):
        created(cloud, "shop", WORK)
        made = cloud.create_change_set(StackName="shop", ChangeSetName="same", TemplateBody=WORK)
        shown = cloud.describe_change_set(ChangeSetName=made["Id"])
        assert (shown["Status"], shown["ExecutionStatus"], shown["Changes"]) == ("FAILED", "UNAVAILABLE", [])
        assert shown["StatusReason"].startswith("The submitted information didn't contain changes.")
        with pytest.raises(ClientError, match=r"cannot be executed in its current status of \[FAILED\]"):
            cloud.execute_change_set(ChangeSetName=made["Id"])
        with pytest.raises(ClientError, match=r"No updates are to be performed\."):
            cloud.update_stack(StackName="shop", TemplateBody=WORK)


def test_nothing_of_another_owner_is_adopted() -> None:
    with clouds() as (system, cloud):
        system.client("sqs").create_queue(QueueName="theirs")
        created(cloud, "shop", template({"First": queue(), "Work": queue(QueueName="theirs")}))
        assert ("Work", "CREATE_FAILED", "theirs already exists") in told(cloud, "shop")
        assert status(cloud, "shop") == "ROLLBACK_COMPLETE"
        assert [one.rpartition("/")[2] for one in system.client("sqs").list_queues()["QueueUrls"]] == ["theirs"]
