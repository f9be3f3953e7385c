"""Resources lose what their template drops, and keep what others have set."""

from __future__ import annotations

import json

import pytest
from botocore.exceptions import ClientError

from statewright.payload import Json
from tests.unit.stacks.systems import clouds, created, template

ALLOW: Json = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}]}
TRUST: Json = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}


def role(**more: Json) -> Json:
    """A role with a name."""
    return {
        "Type": "AWS::IAM::Role",
        "Properties": {"RoleName": "work", "AssumeRolePolicyDocument": TRUST, **more},
    }  # fmt: skip


def test_a_role_loses_what_its_template_drops() -> None:
    managed = "arn:aws:iam::aws:policy/ReadOnlyAccess"
    rich = role(
        Policies=[{"PolicyName": "inline", "PolicyDocument": ALLOW}], ManagedPolicyArns=[managed], Description="d",
        PermissionsBoundary=managed,
    )  # fmt: skip
    named = {"StackName": "shop", "Capabilities": ["CAPABILITY_NAMED_IAM"]}
    with clouds() as (system, cloud):
        iam = system.client("iam")
        cloud.create_stack(**named, TemplateBody=template({"Role": rich}))
        shown = iam.get_role(RoleName="work")["Role"]
        assert (shown["Description"], shown["PermissionsBoundary"]["PermissionsBoundaryArn"]) == ("d", managed)
        assert iam.list_role_policies(RoleName="work")["PolicyNames"] == ["inline"]
        iam.put_role_policy(RoleName="work", PolicyName="mine", PolicyDocument=json.dumps(ALLOW))

        cloud.update_stack(**named, TemplateBody=template({"Role": role()}))
        shown = iam.get_role(RoleName="work")["Role"]
        assert (shown.get("Description", ""), "PermissionsBoundary" in shown) == ("", False)
        assert iam.list_attached_role_policies(RoleName="work")["AttachedPolicies"] == []
        assert iam.list_role_policies(RoleName="work")["PolicyNames"] == ["mine"], "not of the template"


def test_policies_of_their_own_move_between_roles_and_go_with_the_stack() -> None:
    def policy(*roles: str) -> Json:
        return {
            "Type": "AWS::IAM::Policy",
            "Properties": {"PolicyName": "own", "PolicyDocument": ALLOW, "Roles": list(roles)},
        }  # fmt: skip

    named = {"StackName": "shop", "Capabilities": ["CAPABILITY_NAMED_IAM"]}
    with clouds() as (system, cloud):
        iam = system.client("iam")
        for name in ("one", "two"):
            iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(TRUST))

        def holders() -> list[str]:
            return [name for name in ("one", "two") if iam.list_role_policies(RoleName=name)["PolicyNames"]]

        cloud.create_stack(**named, TemplateBody=template({"Own": policy("one")}))
        assert holders() == ["one"]
        cloud.update_stack(**named, TemplateBody=template({"Own": policy("two")}))
        assert holders() == ["two"]
        cloud.delete_stack(StackName="shop")
        assert holders() == []


def test_a_bucket_loses_the_settings_that_its_template_drops() -> None:
    cors: Json = {"CorsConfiguration": {"CorsRules": [{"AllowedMethods": ["GET"], "AllowedOrigins": ["*"]}]}}

    def bucket(properties: Json) -> str:
        return template(
            {"Files": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "shop-files", **properties}}}
        )

    with clouds() as (system, cloud):
        created(cloud, "shop", bucket(cors))
        store = system.client("s3")
        assert len(store.get_bucket_cors(Bucket="shop-files")["CORSRules"]) == 1
        cloud.update_stack(StackName="shop", TemplateBody=bucket({}))
        with pytest.raises(ClientError, match="NoSuchCORSConfiguration"):
            store.get_bucket_cors(Bucket="shop-files")
