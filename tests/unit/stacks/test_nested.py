"""Nested stacks: made, changed, undone and deleted with their parent."""

from __future__ import annotations

import re
from typing import Any

import pytest
from botocore.exceptions import ClientError

from statewright.payload import Json
from tests.unit.stacks.systems import clouds, created, queue, status, template, told

BAD: Json = {
    "Type": "AWS::StepFunctions::StateMachine",
    "Properties": {"RoleArn": "arn:aws:iam::000000000000:role/any", "DefinitionString": "{}"},
    "DependsOn": "Work",
}
CHILD = template(
    {"Work": queue(DelaySeconds={"Ref": "Delay"})},
    Parameters={"Delay": {"Type": "Number", "Default": 1}},
    Outputs={"Name": {"Value": {"Fn::GetAtt": ["Work", "QueueName"]}}},
)
BROKEN = template(
    {"Work": queue(DelaySeconds={"Ref": "Delay"}), "Bad": BAD},
    Parameters={"Delay": {"Type": "Number", "Default": 1}},
    Outputs={"Name": {"Value": {"Fn::GetAtt": ["Work", "QueueName"]}}},
)


def kept(system: Any, key: str, body: str) -> str:
    """Put a template into a bucket; its address."""
    s3 = system.client("s3")
    if "templates" not in [one["Name"] for one in s3.list_buckets()["Buckets"]]:
        s3.create_bucket(Bucket="templates")
    s3.put_object(Bucket="templates", Key=key, Body=body.encode())
    return f"https://templates.s3.us-east-1.amazonaws.com/{key}"


def nested(url: str, **properties: Json) -> Json:
    return {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": url, **properties}}


def parent(url: str, delay: str = "3", **more: Json) -> str:
    return template(
        {"Inner": nested(url, Parameters={"Delay": delay}), **more},
        Outputs={"Work": {"Value": {"Fn::GetAtt": ["Inner", "Outputs.Name"]}}},
    )


def inner(cloud: Any, name: str = "shop", logical: str = "Inner") -> str:
    found: str = cloud.describe_stack_resource(StackName=name, LogicalResourceId=logical)["StackResourceDetail"][
        "PhysicalResourceId"
    ]
    return found


def queues(system: Any) -> list[str]:
    return [one.rpartition("/")[2] for one in system.client("sqs").list_queues().get("QueueUrls", [])]


def test_a_nested_stack_is_made_shown_and_deleted_with_its_parent() -> None:
    with clouds() as (system, cloud):
        arn = created(cloud, "shop", parent(kept(system, "child.json", CHILD)), Tags=[{"Key": "team", "Value": "a"}])
        assert status(cloud, "shop") == "CREATE_COMPLETE", told(cloud, "shop")
        (outer,) = cloud.describe_stacks(StackName="shop")["Stacks"]
        (work,) = queues(system)
        assert outer["Outputs"] == [{"OutputKey": "Work", "OutputValue": work}]
        assert not {"ParentId", "RootId"} & set(outer)
        child = inner(cloud)
        (shown,) = cloud.describe_stacks(StackName=child)["Stacks"]
        assert re.fullmatch(r"shop-Inner-[A-Z0-9]{12}", shown["StackName"])
        assert (shown["ParentId"], shown["RootId"], shown["StackStatus"]) == (arn, arn, "CREATE_COMPLETE")
        assert shown["Parameters"] == [{"ParameterKey": "Delay", "ParameterValue": "3"}]
        assert shown["Tags"] == [{"Key": "team", "Value": "a"}]
        assert work.startswith(f"{shown['StackName']}-Work-")
        said = [one[1:] for one in told(cloud, "shop") if one[0] == "Inner"]
        assert said == [
            ("CREATE_IN_PROGRESS", ""), ("CREATE_IN_PROGRESS", "Resource creation Initiated"), ("CREATE_COMPLETE", ""),
        ]  # fmt: skip
        assert [one[1] for one in told(cloud, child) if one[0] == shown["StackName"]] == [
            "CREATE_IN_PROGRESS", "CREATE_COMPLETE",
        ]  # fmt: skip
        cloud.delete_stack(StackName="shop")
        assert (status(cloud, arn), status(cloud, child), queues(system)) == ("DELETE_COMPLETE", "DELETE_COMPLETE", [])


@pytest.mark.parametrize(
    "url",
    [
        "https://s3.amazonaws.com/templates/child.json",
        "https://s3.eu-west-1.amazonaws.com/templates/child.json",
        "https://s3-us-west-2.amazonaws.com/templates/child.json",
        "https://templates.s3.amazonaws.com/child.json",
        "http://localhost:4566/templates/child.json",
    ],
)
def test_a_nested_template_is_found_by_every_form_of_its_address(url: str) -> None:
    with clouds() as (system, cloud):
        kept(system, "child.json", CHILD)
        created(cloud, "shop", parent(url))
        assert status(cloud, "shop") == "CREATE_COMPLETE"


def test_a_nested_stack_that_fails_fails_its_parent() -> None:
    with clouds() as (system, cloud):
        arn = created(cloud, "shop", parent(kept(system, "child.json", BROKEN)))
        assert (status(cloud, arn), queues(system)) == ("ROLLBACK_COMPLETE", [])
        child = inner(cloud, arn)
        words = f"Embedded stack {child} was not successfully created: "
        (reason,) = [one[2] for one in told(cloud, "shop") if one[:2] == ("Inner", "CREATE_FAILED")]
        assert reason == f"{words}The following resource(s) failed to create: [Bad]."
        name = child.split("/")[1]
        assert [one[1] for one in told(cloud, child) if one[0] == name] == [
            "CREATE_IN_PROGRESS", "CREATE_FAILED", "DELETE_IN_PROGRESS", "DELETE_COMPLETE",
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://example.com/child.json", "TemplateURL must be a supported URL."),
        ("https://[templates/child.json", "TemplateURL must be a supported URL."),
        ("https://templates.s3.amazonaws.com/none.json", "S3 error: The specified key does not exist."),
        ("https://templates.s3.amazonaws.com/list.json", "Template format error: unsupported structure."),
    ],
)
def test_a_nested_template_that_cannot_be_had_fails_the_resource(url: str, reason: str) -> None:
    with clouds() as (system, cloud):
        kept(system, "list.json", "[]")
        arn = created(cloud, "shop", parent(url))
        assert status(cloud, arn) == "ROLLBACK_COMPLETE"
        (found,) = [one[2] for one in told(cloud, "shop") if one[:2] == ("Inner", "CREATE_FAILED")]
        assert found.startswith(reason)
        assert [one["StackName"] for one in cloud.list_stacks()["StackSummaries"]] == ["shop"]


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"NotificationARNs": 5}, "Value of property NotificationARNs must be of type List"),
        ({"TimeoutInMinutes": 10**15}, "Value of property TimeoutInMinutes must be of type Integer"),
        ({"TimeoutInMinutes": {"a": 1}}, "Value of property TimeoutInMinutes must be of type Integer"),
    ],
)
def test_a_nested_stack_with_wrong_properties_fails(properties: Any, reason: str) -> None:
    with clouds() as (system, cloud):
        url = kept(system, "child.json", CHILD)
        arn = created(cloud, "shop", template({"Inner": nested(url, **properties)}))
        assert status(cloud, arn) == "ROLLBACK_COMPLETE"
        assert [one[2] for one in told(cloud, "shop") if one[:2] == ("Inner", "CREATE_FAILED")] == [reason]


def test_an_update_changes_a_nested_stack_also_if_only_its_template_changed() -> None:
    with clouds() as (system, cloud):
        url = kept(system, "child.json", CHILD)
        created(cloud, "shop", parent(url))
        child, (work,) = inner(cloud), queues(system)
        cloud.update_stack(StackName="shop", TemplateBody=parent(url, "5"))
        assert status(cloud, "shop") == status(cloud, child) == "UPDATE_COMPLETE"
        kept(
            system,
            "child.json",
            CHILD.replace('"Work": {"Type"', '"More": {"Type": "AWS::SQS::Queue"}, "Work": {"Type"'),
        )
        cloud.update_stack(StackName="shop", UsePreviousTemplate=True)
        assert (status(cloud, "shop"), inner(cloud), len(queues(system))) == ("UPDATE_COMPLETE", child, 2)
        assert work in queues(system)
        name = child.split("/")[1]
        assert [one[1] for one in told(cloud, child) if one[0] == name][2:] == [
            "UPDATE_IN_PROGRESS", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "UPDATE_COMPLETE",
        ] * 2  # fmt: skip


def test_an_update_that_changes_nothing_leaves_the_nested_stack_alone() -> None:
    with clouds() as (system, cloud):
        url = kept(system, "child.json", CHILD)
        created(cloud, "shop", parent(url))
        before = told(cloud, inner(cloud))
        cloud.update_stack(StackName="shop", TemplateBody=parent(url, More=queue()))
        assert [one[1] for one in told(cloud, "shop") if one[0] == "Inner"][3:] == [
            "UPDATE_IN_PROGRESS", "UPDATE_COMPLETE",
        ]  # fmt: skip
        assert told(cloud, inner(cloud)) == before


def test_a_failed_update_of_a_nested_stack_undoes_both() -> None:
    with clouds() as (system, cloud):
        url = kept(system, "child.json", CHILD)
        created(cloud, "shop", parent(url))
        child, before = inner(cloud), queues(system)
        kept(system, "child.json", BROKEN)
        cloud.update_stack(StackName="shop", TemplateBody=parent(url, "7"))
        assert status(cloud, "shop") == status(cloud, child) == "UPDATE_ROLLBACK_COMPLETE"
        assert queues(system) == before
        (reason,) = [one[2] for one in told(cloud, "shop") if one[:2] == ("Inner", "UPDATE_FAILED")]
        assert reason.startswith(
            f"Embedded stack {child} was not successfully updated. Currently in UPDATE_ROLLBACK_IN_PROGRESS with "
            "reason: The following resource(s) failed to create: [Bad]."
        )
        (shown,) = cloud.describe_stacks(StackName=child)["Stacks"]
        assert shown["Parameters"] == [{"ParameterKey": "Delay", "ParameterValue": "3"}]


def test_a_nested_stack_is_rolled_back_when_its_parent_fails_after_it() -> None:
    with clouds() as (system, cloud):
        url = kept(system, "child.json", CHILD)
        created(cloud, "shop", parent(url))
        child, (work,) = inner(cloud), queues(system)
        other = CHILD.replace('"Work"', '"Other"')
        kept(system, "child.json", other)
        bad = {**BAD, "DependsOn": "Inner"}
        cloud.update_stack(StackName="shop", TemplateBody=parent(url, "7", Bad=bad))
        assert status(cloud, "shop") == status(cloud, child) == "UPDATE_ROLLBACK_COMPLETE"
        assert queues(system) == [work]
        (shown,) = cloud.describe_stacks(StackName=child)["Stacks"]
        assert shown["Outputs"] == [{"OutputKey": "Name", "OutputValue": work}]
        name = child.split("/")[1]
        assert [one[1] for one in told(cloud, child) if one[0] == name][2:] == [
            "UPDATE_IN_PROGRESS", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "UPDATE_ROLLBACK_IN_PROGRESS",
            "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "UPDATE_ROLLBACK_COMPLETE",
        ]  # fmt: skip
        kept(system, "child.json", CHILD)
        cloud.update_stack(StackName="shop", TemplateBody=parent(url, "9"))
        assert status(cloud, "shop") == status(cloud, child) == "UPDATE_COMPLETE"


def test_a_template_that_contains_itself_is_refused() -> None:
    with clouds() as (system, cloud):
        url = "https://templates.s3.amazonaws.com/self.json"
        kept(system, "self.json", template({"Inner": nested(url)}))
        arn = created(cloud, "shop", template({"First": nested(url)}))
        assert (status(cloud, arn), queues(system)) == ("ROLLBACK_COMPLETE", [])
        reasons = [
            one[2]
            for stack in cloud.list_stacks()["StackSummaries"]
            for one in told(cloud, stack["StackId"])
            if one[1] == "CREATE_FAILED"
        ]
        assert any("contains itself" in one for one in reasons)


def test_a_nested_stack_may_not_be_deeper_than_allowed() -> None:
    with clouds() as (system, cloud):
        for depth in range(6):
            below = nested(f"https://templates.s3.amazonaws.com/{depth + 1}.json") if depth < 5 else queue()
            kept(system, f"{depth}.json", template({f"Inner{depth}": below}))
        created(cloud, "fits", template({"First": nested("https://templates.s3.amazonaws.com/1.json")}))
        assert status(cloud, "fits") == "CREATE_COMPLETE"
        arn = created(cloud, "deep", template({"First": nested("https://templates.s3.amazonaws.com/0.json")}))
        assert (status(cloud, arn), len(queues(system))) == ("ROLLBACK_COMPLETE", 1)


def test_a_nested_stack_that_is_gone_is_not_missed_in_a_deletion() -> None:
    with clouds() as (system, cloud):
        arn = created(cloud, "shop", parent(kept(system, "child.json", CHILD)))
        cloud.delete_stack(StackName=inner(cloud))
        assert queues(system) == []
        with pytest.raises(ClientError, match="does not exist"):
            cloud.describe_stacks(StackName=inner(cloud).split("/")[1])
        cloud.delete_stack(StackName="shop")
        assert status(cloud, arn) == "DELETE_COMPLETE"


def test_a_serverless_application_is_a_nested_stack() -> None:
    with clouds() as (system, cloud):
        application: Json = {
            "Type": "AWS::Serverless::Application",
            "Properties": {
                "Location": kept(system, "child.json", CHILD),
                "Parameters": {"Delay": 4},
                "Tags": {"a": "b"},
            },
        }
        body = template({"Inner": application}, Transform="AWS::Serverless-2016-10-31")
        created(cloud, "shop", body, Capabilities=["CAPABILITY_AUTO_EXPAND"])
        assert status(cloud, "shop") == "CREATE_COMPLETE"
        (shown,) = cloud.describe_stacks(StackName=inner(cloud))["Stacks"]
        assert shown["Parameters"][0]["ParameterValue"] == "4"
        assert shown["Tags"] == [{"Key": "a", "Value": "b"}]
        application["Properties"]["Location"] = {"ApplicationId": "a", "SemanticVersion": "1.0.0"}
        body = template({"Inner": application}, Transform="AWS::Serverless-2016-10-31")
        with pytest.raises(ClientError, match="Serverless Application Repository, which is not here"):
            created(cloud, "other", body, Capabilities=["CAPABILITY_AUTO_EXPAND"])


def test_the_protection_of_a_nested_stack_is_that_of_its_root() -> None:
    with clouds() as (system, cloud):
        url = kept(system, "child.json", CHILD)
        created(cloud, "shop", parent(url), EnableTerminationProtection=True)
        with pytest.raises(ClientError, match="is that of its root stack"):
            cloud.update_termination_protection(StackName=inner(cloud), EnableTerminationProtection=False)
        with pytest.raises(ClientError, match="while TerminationProtection is enabled"):
            cloud.delete_stack(StackName=inner(cloud))
