"""Templates and parameters that are refused, in the service's words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from statewright.payload import Json
from statewright.stacks import threads
from tests.unit.stacks.systems import clouds, created, queue, status, template, told

Q = queue()
FORMAT = "Template format error: "


def of(**properties: Any) -> str:
    return template({"Q": queue(**properties)})


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('{"Resources": {"Q": }}', f"{FORMAT}JSON not well-formed. (line 1, column 21)"),
        ("a: [b", f"{FORMAT}YAML not well-formed."),
        (of(DelaySeconds=10**30), f"{FORMAT}a number has more than 64 bits"),
        ("https://bucket.s3.amazonaws.com/t.json", f"{FORMAT}unsupported structure."),
        ("{}", f"{FORMAT}At least one Resources member must be defined."),
        (template({"A": {}}), f"{FORMAT}[/Resources/A] Every Resources object must contain a Type member."),
        (template({"A": {**Q, "Invalid": 1}}), "Invalid template resource property 'Invalid'"),
        (template({"my-id": Q}), f"{FORMAT}Resource name my-id is non alphanumeric."),
        (template({"Q": Q}, Outputs={"O": {"Value": None}}), "[/Outputs/O/Value] 'null' values are not allowed in"),
        (of(QueueName={"Ref": "X"}), f"{FORMAT}Unresolved resource dependencies [X] in the Resources block of the"),
        (
            template({"Q": Q}, Outputs={"O": {"Value": {"Ref": "X"}}}),
            "Unresolved resource dependencies [X] in the Outputs block of the template",
        ),
        (template({"Q": {**Q, "DependsOn": "X"}}), f"{FORMAT}Unresolved resource dependencies [X] in the Resources"),
        (of(QueueName={"Fn::If": ["C", "a", "b"]}), "Template error: unresolved condition dependency C in Fn::If"),
        (
            of(QueueName={"Fn::Select": ["0"]}),
            "Template error: Fn::Select requires a list argument with two elements: an integer index and a list",
        ),
        (
            template({"Q": {**Q, "Condition": "C"}}, Conditions={"C": {"Fn::Equals": ["a"]}}),
            "Template error: every Fn::Equals object requires a list of 2 string parameters.",
        ),
        (
            template({"Q": Q}, Conditions={"Unused": {"Fn::Equals": ["a"]}}),
            "Template error: every Fn::Equals object requires a list of 2 string parameters.",
        ),
        (
            of(QueueName={"Fn::GetAtt": ["Q", ""]}),
            "Template error: every Fn::GetAtt object requires two non-empty parameters, the resource name and the",
        ),
        (
            template({"Q": Q, "Fn::Transform": {"Name": "AWS::Include", "Parameters": {"Location": "s3://b/k"}}}),
            "Transform AWS::Include failed with: S3 bucket [b] does not exist.",
        ),
        (template({"Q": Q}, Mappings={"A": "b"}), f"{FORMAT}Every Mappings member A must be a map"),
        (
            of(QueueName={"Fn::FindInMap": ["Map", "Key", "Name"]}),
            "Template error: Unable to get mapping for Map::Key::Name",
        ),
        (
            template({"A": queue(QueueName={"Ref": "B"}), "B": queue(QueueName={"Ref": "A"})}),
            "Circular dependency between resources: [A, B]",
        ),
        (json.dumps({"Transform": "Mine", "Resources": {"Q": Q}}), "Requires capabilities : [CAPABILITY_AUTO_EXPAND]"),
    ],
)
def test_a_template_is_refused(body: str, text: str) -> None:
    with clouds() as (_, cloud):
        with pytest.raises(ClientError) as refused:
            cloud.create_stack(StackName="shop", TemplateBody=body)
        assert refused.value.response["Error"]["Message"].startswith(text)
        assert cloud.list_stacks()["StackSummaries"] == []


@pytest.mark.parametrize(
    ("declared", "given", "text"),
    [
        ({"Type": "String"}, None, "Parameters: [P] must have values"),
        ({"Type": "Number"}, "x", "Parameter 'P' must be a number."),
        ({"Type": "String", "AllowedValues": ["a"]}, "b", "Parameter 'P' must be one of AllowedValues"),
        ({"Type": "String", "MinLength": 3}, "b", "Parameter 'P' must contain at least 3 characters"),
        (
            {"Type": "String", "AllowedPattern": "[a-z]+", "ConstraintDescription": "letters"}, "1",
            "Parameter P failed to satisfy constraint: letters",
        ),
        ({"Type": "String", "AllowedPattern": "(a+)+b"}, "a" * 4_000, "Parameter 'P' must match pattern (a+)+b"),
        ({"Type": "AWS::SSM::Parameter::Value<String>"}, None, "Parameter P should either have input value or default"),
    ],
)  # fmt: skip
def test_a_parameter_is_refused(declared: Any, given: str | None, text: str) -> None:
    body = template({"Q": Q}, Parameters={"P": declared})
    values = [{"ParameterKey": "P", "ParameterValue": given}] if given is not None else []
    with clouds() as (_, cloud):
        with pytest.raises(ClientError) as refused:
            cloud.create_stack(StackName="shop", TemplateBody=body, Parameters=values)
        assert refused.value.response["Error"]["Message"].startswith(text)


def test_hidden_and_stored_parameters_are_shown_so() -> None:
    parameters = {
        "Hidden": {"Type": "String", "NoEcho": True},
        "Stored": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/name"},
    }
    body = template({"Q": queue(QueueName={"Ref": "Stored"})}, Parameters=parameters,
                    Outputs={"O": {"Value": {"Ref": "Hidden"}}})  # fmt: skip
    with clouds() as (system, cloud):
        system.client("ssm").put_parameter(Name="/name", Value="orders", Type="String")
        created(cloud, "shop", body, Parameters=[{"ParameterKey": "Hidden", "ParameterValue": "s"}])
        (stack,) = cloud.describe_stacks(StackName="shop")["Stacks"]
        assert stack["Parameters"] == [
            {"ParameterKey": "Hidden", "ParameterValue": "****"},
            {"ParameterKey": "Stored", "ParameterValue": "/name", "ResolvedValue": "orders"},
        ]
        assert stack["Outputs"][0]["OutputValue"] == "s"
        system.client("ssm").put_parameter(Name="/name", Value="other", Type="String", Overwrite=True)
        again = [{"ParameterKey": "Hidden", "UsePreviousValue": True}]
        made = cloud.create_change_set(StackName="shop", ChangeSetName="c", TemplateBody=body, Parameters=again)
        (change,) = cloud.describe_change_set(ChangeSetName=made["Id"])["Changes"]
        assert change["ResourceChange"]["Replacement"] == "True"
        cloud.execute_change_set(ChangeSetName=made["Id"])
        assert status(cloud, "shop") == "UPDATE_COMPLETE"


def test_templates_come_from_buckets_of_this_server_alone() -> None:
    with clouds() as (system, cloud):
        system.client("s3").create_bucket(Bucket="templates")
        system.client("s3").put_object(Bucket="templates", Key="a/t.json", Body=template({"Q": Q}).encode())
        for number, url in enumerate(
            ("https://templates.s3.us-east-1.amazonaws.com/a/t.json", "https://s3.amazonaws.com/templates/a/t.json")
        ):
            cloud.create_stack(StackName=f"shop{number}", TemplateURL=url)
            assert status(cloud, f"shop{number}") == "CREATE_COMPLETE"
        for url in ("https://example.com/t.json", "file:///etc/passwd", "http://169.254.169.254/a/b"):
            with pytest.raises(ClientError, match="TemplateURL must be a supported URL"):
                cloud.create_stack(StackName="other", TemplateURL=url)
        with pytest.raises(ClientError, match="S3 error: The specified key does not exist"):
            cloud.create_stack(StackName="other", TemplateURL="https://s3.amazonaws.com/templates/b")


def test_a_change_of_tags_has_a_scope_of_its_own() -> None:
    tags = [{"Key": "team", "Value": "a"}]
    with clouds() as (_, cloud):
        created(cloud, "shop", template({"Q": Q}))
        for name, properties, scope in (
            ("tags", {"Tags": tags}, ["Tags"]),
            ("both", {"VisibilityTimeout": "9", "Tags": tags}, ["Properties", "Tags"]),
        ):
            cloud.create_change_set(StackName="shop", ChangeSetName=name, TemplateBody=of(**properties))
            (change,) = cloud.describe_change_set(StackName="shop", ChangeSetName=name)["Changes"]
            assert sorted(change["ResourceChange"]["Scope"]) == scope
            targets = [one["Target"] for one in change["ResourceChange"]["Details"]]
            assert {"Attribute": "Tags", "RequiresRecreation": "Never"} in targets


def test_a_summary_names_what_identifies_resources() -> None:
    with clouds() as (_, cloud):
        body = template({"Q": Q, "R": Q, "K": {"Type": "AWS::KMS::Key"}})
        assert cloud.get_template_summary(TemplateBody=body)["ResourceIdentifierSummaries"] == [
            {"ResourceType": "AWS::SQS::Queue", "LogicalResourceIds": ["Q", "R"], "ResourceIdentifiers": ["QueueUrl"]},
            {"ResourceType": "AWS::KMS::Key", "LogicalResourceIds": ["K"]},
        ]


def test_a_change_set_makes_no_stack_with_a_name_that_stacks_cannot_have() -> None:
    with clouds() as (_, cloud):
        for name in ("arn:aws:cloudformation:us-east-1:000000000000:stack/gone/0", "a" * 129):
            with pytest.raises(ClientError, match="at 'stackName' failed to satisfy constraint"):
                cloud.create_change_set(
                    StackName=name, ChangeSetName="first", ChangeSetType="CREATE", TemplateBody=template({"Q": Q})
                )
        assert cloud.list_stacks()["StackSummaries"] == []


@pytest.mark.parametrize(
    ("kind", "properties", "why"),
    [
        (
            "Function",
            {"CodeUri": "src/"},
            "'CodeUri' is not a valid S3 Uri of the form 's3://bucket/key' with optional",
        ),
        ("Function", {}, "Either 'InlineCode' or 'CodeUri' must be set."),
        ("StateMachine", {"DefinitionUri": "a.json"}, "'DefinitionUri' is not a valid S3 Uri of the form"),
    ],
)
def test_files_that_were_not_uploaded_are_refused(kind: str, properties: dict[str, str], why: str) -> None:
    text = template(
        {"One": {"Type": f"AWS::Serverless::{kind}", "Properties": properties}}, Transform="AWS::Serverless-2016-10-31"
    )
    with clouds() as (_, cloud), pytest.raises(ClientError) as refused:
        cloud.create_stack(
            StackName="shop", TemplateBody=text, Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]
        )
    assert refused.value.response["Error"]["Message"].startswith(
        "Transform AWS::Serverless-2016-10-31 failed with: Invalid Serverless Application Specification document. "
        f"Number of errors found: 1. Resource with id [One] is invalid. {why}"
    )


def test_parameters_that_violate_a_rule_are_refused() -> None:
    rule: Json = {
        "RuleCondition": {"Fn::Equals": [{"Ref": "Stage"}, "prod"]},
        "Assertions": [
            {"Assert": {"Fn::Contains": [["a", "b"], {"Ref": "Size"}]}, "AssertDescription": "Size is a or b in prod"}
        ],
    }
    body = template(
        {"Q": queue()}, Rules={"Sizes": rule},
        Parameters={"Stage": {"Type": "String"}, "Size": {"Type": "String", "Default": "c"}},
    )  # fmt: skip
    with clouds() as (_, cloud):
        given = [{"ParameterKey": "Stage", "ParameterValue": "prod"}]
        with pytest.raises(ClientError, match="rule Sizes: Size is a or b in prod"):
            created(cloud, "shop", body, Parameters=given)
        created(cloud, "shop", body, Parameters=[*given, {"ParameterKey": "Size", "ParameterValue": "a"}])
        created(cloud, "test", body, Parameters=[{"ParameterKey": "Stage", "ParameterValue": "test"}])
        wrong = body.replace('"Fn::Contains": [["a", "b"],', '"Fn::EachMemberIn": [["a", "b"],')
        with pytest.raises(ClientError, match="the rule Sizes cannot be evaluated"):
            created(cloud, "other", wrong, Parameters=given)


def test_rules_have_conditions_within_conditions() -> None:
    """The rule that the CDK writes into every template."""
    older: Json = {"Fn::Contains": [["1", "2", "3"], {"Ref": "Version"}]}
    rule: Json = {"Assertions": [{"Assert": {"Fn::Not": [older]}, "AssertDescription": "bootstrap again"}]}
    both: Json = {"Assertions": [{"Assert": {"Fn::Or": [older, {"Fn::Equals": [{"Ref": "Version"}, "21"]}]}}]}
    body = template(
        {"Q": queue()}, Rules={"Older": rule, "Known": both},
        Parameters={"Version": {"Type": "String", "Default": "21"}},
    )  # fmt: skip
    with clouds() as (_, cloud):
        created(cloud, "shop", body)
        with pytest.raises(ClientError, match="rule Older: bootstrap again"):
            created(cloud, "old", body, Parameters=[{"ParameterKey": "Version", "ParameterValue": "2"}])
        with pytest.raises(ClientError, match="rule Known: an assertion does not hold"):
            created(cloud, "new", body, Parameters=[{"ParameterKey": "Version", "ParameterValue": "22"}])


def test_one_object_is_not_included_without_end() -> None:
    include = {"Fn::Transform": {"Name": "AWS::Include", "Parameters": {"Location": "s3://parts/many.json"}}}
    with clouds() as (system, cloud):
        s3 = system.client("s3")
        s3.create_bucket(Bucket="parts")
        s3.put_object(Bucket="parts", Key="many.json", Body=json.dumps({"Many": "x" * 600_000}).encode())
        body = template({f"Q{number}": {**Q, "Metadata": include} for number in range(30)})
        with pytest.raises(ClientError, match="make more than 16,777,216 characters"):
            created(cloud, "shop", body)
        s3.put_object(Bucket="parts", Key="many.json", Body=json.dumps({"Few": [1]}).encode())
        created(cloud, "shop", body)
        assert status(cloud, "shop") == "CREATE_COMPLETE"


def test_an_object_that_is_too_long_to_be_read_fails_its_resource(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "MOST_BODY", 1_000)
    properties = {
        "RoleArn": "arn:aws:iam::000000000000:role/any", "DefinitionS3Location": {"Bucket": "parts", "Key": "long"},
    }  # fmt: skip
    with clouds() as (system, cloud):
        s3 = system.client("s3")
        s3.create_bucket(Bucket="parts")
        s3.put_object(Bucket="parts", Key="long", Body=b" " * 1_001)
        created(cloud, "shop", template({"M": {"Type": "AWS::StepFunctions::StateMachine", "Properties": properties}}))
        (reason,) = [one[2] for one in told(cloud, "shop") if one[:2] == ("M", "CREATE_FAILED")]
        assert reason == "its definition s3://parts/long cannot be read: EntityTooLarge"
