"""Finding stacks and what belongs to them: by name, by pages, by exports, by tags."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from statewright.payload import Json
from tests.unit.stacks.systems import clouds, created, queue, status, template


def own_tags(name: str, arn: str, logical: str) -> dict[str, str]:
    start = "aws:cloudformation:"
    return {f"{start}stack-name": name, f"{start}stack-id": arn, f"{start}logical-id": logical}


def test_resources_have_the_tags_of_their_stack_and_callers_cannot_change_them() -> None:
    with clouds() as (system, cloud):
        table: Json = {
            "Type": "AWS::DynamoDB::Table",
            "Properties": {
                "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST",
            },
        }  # fmt: skip
        bucket: Json = {"Type": "AWS::S3::Bucket", "Properties": {"Tags": [{"Key": "a", "Value": "b"}]}}
        arn = created(
            cloud, "shop", template({"Work": queue(), "Files": bucket, "News": {"Type": "AWS::SNS::Topic"}, "T": table})
        )
        assert status(cloud, "shop") == "CREATE_COMPLETE"
        ids = {
            one["LogicalResourceId"]: one["PhysicalResourceId"]
            for one in cloud.describe_stack_resources(StackName="shop")["StackResources"]
        }
        sqs, s3 = system.client("sqs"), system.client("s3")
        assert sqs.list_queue_tags(QueueUrl=ids["Work"])["Tags"] == own_tags("shop", arn, "Work")
        tags: Any = s3.get_bucket_tagging(Bucket=ids["Files"])["TagSet"]
        assert {one["Key"]: one["Value"] for one in tags} == {"a": "b", **own_tags("shop", arn, "Files")}
        tags = system.client("sns").list_tags_for_resource(ResourceArn=ids["News"])["Tags"]
        assert {one["Key"]: one["Value"] for one in tags} == own_tags("shop", arn, "News")
        with pytest.raises(ClientError, match="aws:"):
            sqs.tag_queue(QueueUrl=ids["Work"], Tags={"aws:cloudformation:stack-name": "other"})
        sqs.untag_queue(QueueUrl=ids["Work"], TagKeys=["aws:cloudformation:stack-name"])
        s3.put_bucket_tagging(Bucket=ids["Files"], Tagging={"TagSet": [{"Key": "c", "Value": "d"}]})
        assert sqs.list_queue_tags(QueueUrl=ids["Work"])["Tags"] == own_tags("shop", arn, "Work")
        tags = s3.get_bucket_tagging(Bucket=ids["Files"])["TagSet"]
        assert {one["Key"]: one["Value"] for one in tags} == {"c": "d", **own_tags("shop", arn, "Files")}


def exporting(name: str) -> str:
    return template({"Q": queue()}, Outputs={"N": {"Value": {"Fn::GetAtt": ["Q", "Arn"]}, "Export": {"Name": name}}})


def test_an_export_in_use_stays_and_its_users_are_listed() -> None:
    with clouds() as (_, cloud):
        created(cloud, "owner", exporting("orders"))
        value = {"Fn::Select": [5, {"Fn::Split": [":", {"Fn::ImportValue": {"Fn::Sub": "${Which}"}}]}]}
        user = template(
            {"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": value}}},
            Parameters={"Which": {"Type": "String", "Default": "orders"}},
        )
        for name in ("user-b", "user-a"):
            created(cloud, name, user)
            assert status(cloud, name) == "CREATE_COMPLETE"
        assert cloud.list_imports(ExportName="orders")["Imports"] == ["user-b", "user-a"]
        words = "Export orders cannot be deleted as it is in use by user-b and user-a"
        with pytest.raises(ClientError, match=words):
            cloud.delete_stack(StackName="owner")
        cloud.update_stack(StackName="owner", TemplateBody=template({"Q": queue()}))
        assert status(cloud, "owner") == "UPDATE_ROLLBACK_COMPLETE"
        created(cloud, "second", exporting("orders"))
        assert status(cloud, "second") == "ROLLBACK_COMPLETE"
        for name in ("user-a", "user-b", "owner"):
            cloud.delete_stack(StackName=name)
        assert cloud.list_exports()["Exports"] == []
        with pytest.raises(ClientError, match="is not imported by any stack"):
            cloud.list_imports(ExportName="orders")


def test_a_name_is_free_again_after_a_deletion() -> None:
    with clouds() as (_, cloud):
        first = created(cloud, "shop", template({"Q": queue()}))
        with pytest.raises(ClientError, match=r"Stack \[shop\] already exists"):
            created(cloud, "shop", template({"Q": queue()}))
        cloud.delete_stack(StackName="shop")
        second = created(cloud, "shop", template({"Q": queue()}))
        assert (status(cloud, first), status(cloud, "shop"), status(cloud, second)) == (
            "DELETE_COMPLETE", "CREATE_COMPLETE", "CREATE_COMPLETE",
        )  # fmt: skip


def test_stacks_are_listed_in_pages_the_newest_first() -> None:
    with clouds() as (system, cloud):
        body = template({"H": {"Type": "AWS::CloudFormation::WaitConditionHandle"}})
        names = [f"stack-{number}" for number in range(103)]
        for name in names:
            created(cloud, name, body)
            system.advance(1)
        first = cloud.describe_stacks()
        rest = cloud.describe_stacks(NextToken=first["NextToken"])
        assert [one["StackName"] for one in (*first["Stacks"], *rest["Stacks"])] == names[::-1]
        assert "NextToken" not in rest
        with pytest.raises(ClientError, match="NextToken"):
            cloud.list_stacks(NextToken="nonsense")


def test_a_physical_id_leads_to_the_stack_that_has_the_resource_now() -> None:
    with clouds() as (_, cloud):
        body = template({"P": {"Type": "AWS::SSM::Parameter", "Properties": {
            "Name": "shared", "Type": "String", "Value": "a",
        }}})  # fmt: skip
        created(cloud, "first", body)
        cloud.delete_stack(StackName="first")
        with pytest.raises(ClientError, match="Stack for shared does not exist"):
            cloud.describe_stack_resources(PhysicalResourceId="shared")
        created(cloud, "second", body)
        (row,) = cloud.describe_stack_resources(PhysicalResourceId="shared")["StackResources"]
        assert row["StackName"] == "second"


def test_another_value_of_an_api_key_takes_another_key_and_lets_the_old_one_in_no_more() -> None:
    def keyed(value: str) -> str:
        link = {"KeyId": {"Ref": "Key"}, "KeyType": "API_KEY", "UsagePlanId": {"Ref": "Plan"}}
        return template({
            "Key": {"Type": "AWS::ApiGateway::ApiKey", "Properties": {"Value": value, "Enabled": True}},
            "Plan": {"Type": "AWS::ApiGateway::UsagePlan", "Properties": {"UsagePlanName": "p"}},
            "Link": {"Type": "AWS::ApiGateway::UsagePlanKey", "Properties": link},
        })  # fmt: skip

    with clouds() as (system, cloud):
        created(cloud, "shop", keyed("a" * 20))
        assert status(cloud, "shop") == "CREATE_COMPLETE"
        gateway = system.client("apigateway")
        (plan,) = gateway.get_usage_plans()["items"]
        (before,) = gateway.get_usage_plan_keys(usagePlanId=plan["id"])["items"]
        cloud.update_stack(StackName="shop", TemplateBody=keyed("b" * 20))
        assert status(cloud, "shop") == "UPDATE_COMPLETE"
        (key,) = gateway.get_api_keys(includeValues=True)["items"]
        (after,) = gateway.get_usage_plan_keys(usagePlanId=plan["id"])["items"]
        assert key["value"] == "b" * 20
        assert before["id"] != after["id"] == key["id"]
