"""Failures of stacks: undone, kept where that was asked for, and continued."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.unit.stacks.systems import clouds, created, queue, status, template, told

ROLE = "arn:aws:iam::000000000000:role/any"


def machine(definition: Any) -> Any:
    return {
        "Type": "AWS::StepFunctions::StateMachine",
        "Properties": {"RoleArn": ROLE, "DefinitionString": json.dumps(definition)},
        "DependsOn": "Work",
    }


BAD = machine({"StartAt": "Nowhere", "States": {}})
GOOD = machine({"StartAt": "A", "States": {"A": {"Type": "Succeed"}}})


def queues(system: Any) -> list[str]:
    return [one.rpartition("/")[2] for one in system.client("sqs").list_queues().get("QueueUrls", [])]


def test_a_failed_creation_deletes_what_it_made() -> None:
    with clouds() as (system, cloud):
        arn = created(cloud, "shop", template({"Work": queue(), "Bad": BAD}))
        assert status(cloud, "shop") == "ROLLBACK_COMPLETE"
        assert queues(system) == []
        said = [one[:2] for one in told(cloud, "shop")]
        assert said[-5:] == [
            ("Bad", "CREATE_FAILED"), ("shop", "ROLLBACK_IN_PROGRESS"), ("Work", "DELETE_IN_PROGRESS"),
            ("Work", "DELETE_COMPLETE"), ("shop", "ROLLBACK_COMPLETE"),
        ]  # fmt: skip
        with pytest.raises(ClientError, match=f"Stack:{arn} is in ROLLBACK_COMPLETE state and can not be updated"):
            cloud.update_stack(StackName="shop", TemplateBody=template({"Work": queue()}))


def test_a_failed_creation_is_kept_where_that_was_asked_for() -> None:
    with clouds() as (system, cloud):
        body = template({"Work": queue(), "Bad": BAD})
        created(cloud, "kept", body, DisableRollback=True)
        assert (status(cloud, "kept"), len(queues(system))) == ("CREATE_FAILED", 1)
        arn = created(cloud, "gone", body, OnFailure="DELETE")
        assert (status(cloud, arn), len(queues(system))) == ("DELETE_COMPLETE", 1)
        cloud.update_stack(StackName="kept", TemplateBody=template({"Work": queue(), "Bad": GOOD}))
        assert status(cloud, "kept") == "UPDATE_COMPLETE"


def test_a_failed_update_restores_what_it_changed() -> None:
    with clouds() as (system, cloud):
        created(cloud, "shop", template({"Work": queue(DelaySeconds=1), "Old": queue(), "M": GOOD}))
        before = sorted(queues(system))
        cloud.update_stack(
            StackName="shop",
            TemplateBody=template({"Work": queue(DelaySeconds=2, FifoQueue=False), "New": queue(), "M": BAD}),
        )
        assert status(cloud, "shop") == "UPDATE_ROLLBACK_COMPLETE"
        assert sorted(queues(system)) == before
        url = next(one for one in system.client("sqs").list_queues()["QueueUrls"] if "Work" in one)
        found = system.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["DelaySeconds"])
        assert found["Attributes"] == {"DelaySeconds": "1"}
        assert [one["LogicalResourceId"] for one in cloud.describe_stack_resources(StackName="shop")[
            "StackResources"]] == ["M", "Old", "Work"]  # fmt: skip
        cloud.update_stack(StackName="shop", TemplateBody=template({"Work": queue(DelaySeconds=9), "M": GOOD}))
        assert (status(cloud, "shop"), "Old" in str(queues(system))) == ("UPDATE_COMPLETE", False)


def test_a_replacement_takes_a_new_name_and_the_old_one_is_deleted_in_the_cleanup() -> None:
    with clouds() as (system, cloud):
        created(cloud, "shop", template({"Work": queue()}))
        (old,) = queues(system)
        cloud.update_stack(StackName="shop", TemplateBody=template({"Work": queue(QueueName="orders")}))
        assert queues(system) == ["orders"]
        work = [(state, reason) for id_, state, reason in told(cloud, "shop") if id_ == "Work"][-5:]
        assert work == [
            ("UPDATE_IN_PROGRESS",
             "Requested update requires the creation of a new physical resource; hence creating one."),
            ("UPDATE_IN_PROGRESS", "Resource creation Initiated"),
            ("UPDATE_COMPLETE", ""), ("DELETE_IN_PROGRESS", ""), ("DELETE_COMPLETE", ""),
        ]  # fmt: skip
        cloud.update_stack(
            StackName="shop", TemplateBody=template({"Work": queue(QueueName="orders.fifo", FifoQueue=True)})
        )
        assert queues(system) == ["orders.fifo"]
        assert old not in queues(system)


def test_what_is_retained_is_skipped() -> None:
    with clouds() as (system, cloud):
        kept = {**queue(), "DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}
        created(cloud, "shop", template({"Work": kept}))
        named = {**kept, "Properties": {"QueueName": "orders"}}
        cloud.update_stack(StackName="shop", TemplateBody=template({"Work": named}))
        assert len(queues(system)) == 2
        arn = cloud.describe_stacks(StackName="shop")["Stacks"][0]["StackId"]
        cloud.delete_stack(StackName="shop")
        assert len(queues(system)) == 2
        skipped = [one for one in told(cloud, arn) if one[0] == "Work" and one[1].startswith("DELETE")]
        assert [state for _, state, _ in skipped] == ["DELETE_SKIPPED", "DELETE_SKIPPED"]


def test_a_bucket_with_objects_fails_to_be_deleted_until_it_is_retained() -> None:
    with clouds() as (system, cloud):
        created(cloud, "shop", template({"A": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "full"}}}))
        system.client("s3").put_object(Bucket="full", Key="a", Body=b"x")
        cloud.delete_stack(StackName="shop")
        (stack,) = cloud.describe_stacks(StackName="shop")["Stacks"]
        assert stack["StackStatus"] == "DELETE_FAILED"
        assert stack["StackStatusReason"] == "The following resource(s) failed to delete: [A]. "
        arn = stack["StackId"]
        cloud.delete_stack(StackName="shop", RetainResources=["A"])
        assert status(cloud, arn) == "DELETE_COMPLETE"
        assert ("A", "DELETE_SKIPPED", "") in told(cloud, arn)


def test_a_missing_property_and_a_missing_attribute_fail_in_the_services_words() -> None:
    with clouds() as (_, cloud):
        created(cloud, "a", template({"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Value": "1"}}}))
        failed = next(one for one in told(cloud, "a") if one[1] == "CREATE_FAILED")
        assert failed[2] == "Property validation failure: [The property {/Type} is required]"
        parameter = {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "1"}}
        created(cloud, "b", template({"P": parameter}, Outputs={"O": {"Value": {"Fn::GetAtt": ["P", "Invalid"]}}}))
        assert next(reason for _, state, reason in told(cloud, "b") if state == "ROLLBACK_IN_PROGRESS") == (
            "[Error] /Outputs/O/Value/Fn::GetAtt: Resource type AWS::SSM::Parameter does not support attribute "
            "{Invalid}. Rollback requested by user."
        )


def test_exports_are_imported_and_stay_while_they_are_used() -> None:
    with clouds() as (_, cloud):
        used = queue(QueueName={"Fn::ImportValue": "the-name"})
        created(cloud, "early", template({"Q": used}))
        assert status(cloud, "early") == "ROLLBACK_COMPLETE"
        topic = {"Type": "AWS::SNS::Topic"}
        outputs = {"O": {"Value": "orders", "Export": {"Name": "the-name"}}}
        arn = created(cloud, "owner", template({"T": topic}, Outputs=outputs))
        created(cloud, "user", template({"Q": used}))
        assert status(cloud, "user") == "CREATE_COMPLETE"
        assert cloud.list_exports()["Exports"] == [{"ExportingStackId": arn, "Name": "the-name", "Value": "orders"}]
        assert cloud.list_imports(ExportName="the-name")["Imports"] == ["user"]
        with pytest.raises(ClientError, match="Export the-name cannot be deleted as it is in use by user"):
            cloud.delete_stack(StackName="owner")
        changed = {"O": {"Value": "other", "Export": {"Name": "the-name"}}}
        cloud.update_stack(StackName="owner", TemplateBody=template({"T": topic}, Outputs=changed))
        assert status(cloud, "owner") == "UPDATE_ROLLBACK_COMPLETE"


def test_a_permission_whose_properties_are_not_read_lacks_none() -> None:
    permission = {
        "Type": "AWS::Lambda::Permission",
        "Properties": {"Action": "lambda:InvokeFunction", "FunctionName": "f", "Principal": "apigateway.amazonaws.com"},
    }
    with clouds() as (_, cloud):
        created(cloud, "shop", template({"Q": queue(), "Allowed": permission}))
        assert status(cloud, "shop") == "CREATE_COMPLETE"


def test_a_failed_update_leaves_a_stage_with_the_deployment_that_it_had() -> None:
    def api(deployment: str, **more: Any) -> str:
        place = {"RestApiId": {"Ref": "Api"}}
        method = {**place, "ResourceId": {"Fn::GetAtt": ["Api", "RootResourceId"]}, "HttpMethod": "GET"}
        return template({
            "Api": {"Type": "AWS::ApiGateway::RestApi", "Properties": {"Name": "web"}},
            "Get": {"Type": "AWS::ApiGateway::Method", "Properties": {**method, "Integration": {"Type": "MOCK"}}},
            deployment: {
                "Type": "AWS::ApiGateway::Deployment", "DependsOn": "Get", "Properties": {**place, "StageName": "live"},
            },
            **more,
        }, Outputs={"Id": {"Value": {"Ref": "Api"}}})  # fmt: skip

    with clouds() as (system, cloud):
        created(cloud, "shop", api("First"))
        assert status(cloud, "shop") == "CREATE_COMPLETE"
        place = {"restApiId": cloud.describe_stacks(StackName="shop")["Stacks"][0]["Outputs"][0]["OutputValue"]}
        gateway = system.client("apigateway")
        before = gateway.get_stage(**place, stageName="live")["deploymentId"]
        cloud.update_stack(StackName="shop", TemplateBody=api("Second", Bad={**BAD, "DependsOn": "Second"}))
        assert status(cloud, "shop") == "UPDATE_ROLLBACK_COMPLETE"
        assert gateway.get_stage(**place, stageName="live")["deploymentId"] == before
        assert [one["id"] for one in gateway.get_deployments(**place)["items"]] == [before]
        cloud.update_stack(StackName="shop", TemplateBody=api("Second"))
        assert status(cloud, "shop") == "UPDATE_COMPLETE"
        (left,) = gateway.get_deployments(**place)["items"]
        assert left["id"] == gateway.get_stage(**place, stageName="live")["deploymentId"] != before
