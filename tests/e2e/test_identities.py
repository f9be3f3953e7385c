"""STS and IAM through boto3 and the AWS CLI: roles, policies, temporary credentials, a restart."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen
from uuid import uuid4

import boto3  # type: ignore[import-untyped]
import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.deadlines import completed
from tests.e2e.conftest import Server, ended, machine, session_of

TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Principal": {"Service": "states.amazonaws.com"}, "Action": "sts:AssumeRole"}
        ],
    }
)
ALLOW = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
ALLOWED = json.dumps(ALLOW)
ACCOUNT = "arn:aws:iam::000000000000:"
OF_AWS = "arn:aws:iam::aws:policy/AdministratorAccess"


@pytest.fixture(scope="module")
def iam(server: Server) -> Any:
    return server.client("iam")


def name() -> str:
    return f"n-{uuid4()}"


def refused(call: Any, **members: Any) -> tuple[str, int, str]:
    with pytest.raises(ClientError) as caught:
        call(**members)
    answer = caught.value.response
    return answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Message"]


def test_a_published_client_asks_who_it_is(server: Server, iam: Any) -> None:
    found = server.client("sts").get_caller_identity()
    assert (found["Account"], found["Arn"], found["UserId"]) == ("000000000000", f"{ACCOUNT}root", "000000000000")
    assert iam.list_account_aliases()["AccountAliases"] == []
    iam.create_account_alias(AccountAlias="home")
    assert iam.list_account_aliases()["AccountAliases"] == ["home"]
    iam.delete_account_alias(AccountAlias="home")
    assert refused(iam.delete_account_alias, AccountAlias="home")[:2] == ("NoSuchEntity", 404)


def test_a_role_and_all_its_policies(iam: Any) -> None:
    role, policy = name(), name()
    made = iam.create_role(
        RoleName=role, Path="/team/", AssumeRolePolicyDocument=TRUST, Description="d", Tags=[{"Key": "k", "Value": "v"}]
    )["Role"]
    assert (made["Arn"], made["AssumeRolePolicyDocument"]) == (f"{ACCOUNT}role/team/{role}", json.loads(TRUST))
    assert made["RoleId"].startswith("AROA")
    assert len(made["RoleId"]) == 21
    arn = iam.create_policy(PolicyName=policy, PolicyDocument=ALLOWED)["Policy"]["Arn"]
    iam.attach_role_policy(RoleName=role, PolicyArn=arn)
    iam.attach_role_policy(RoleName=role, PolicyArn=arn)
    iam.attach_role_policy(RoleName=role, PolicyArn=OF_AWS)
    iam.put_role_policy(RoleName=role, PolicyName="inline", PolicyDocument=ALLOWED)
    attached = iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]
    assert attached == [
        {"PolicyName": policy, "PolicyArn": arn},
        {"PolicyName": "AdministratorAccess", "PolicyArn": OF_AWS},
    ]
    assert iam.list_role_policies(RoleName=role)["PolicyNames"] == ["inline"]
    assert iam.get_role_policy(RoleName=role, PolicyName="inline")["PolicyDocument"] == ALLOW
    assert iam.get_policy(PolicyArn=arn)["Policy"]["AttachmentCount"] == 1
    assert [one["RoleName"] for one in iam.list_entities_for_policy(PolicyArn=arn)["PolicyRoles"]] == [role]
    assert iam.list_instance_profiles_for_role(RoleName=role)["InstanceProfiles"] == []
    assert [one["RoleName"] for one in iam.list_roles(PathPrefix="/team/")["Roles"]] == [role]

    iam.tag_role(RoleName=role, Tags=[{"Key": "b", "Value": ""}])
    iam.untag_role(RoleName=role, TagKeys=["k"])
    assert iam.list_role_tags(RoleName=role)["Tags"] == [{"Key": "b", "Value": ""}]
    iam.update_role(RoleName=role, Description="other", MaxSessionDuration=7200)
    iam.update_assume_role_policy(RoleName=role, PolicyDocument=TRUST.replace("states", "lambda"))
    found = iam.get_role(RoleName=role.upper())["Role"]
    assert (found["Description"], found["MaxSessionDuration"], found["RoleName"]) == ("other", 7200, role)
    assert found["AssumeRolePolicyDocument"]["Statement"][0]["Principal"] == {"Service": "lambda.amazonaws.com"}

    assert refused(iam.delete_role, RoleName=role) == (
        "DeleteConflict", 409, "Cannot delete entity, must detach all policies first.",
    )  # fmt: skip
    assert refused(iam.delete_policy, PolicyArn=arn)[0] == "DeleteConflict"
    for one in (arn, OF_AWS):
        iam.detach_role_policy(RoleName=role, PolicyArn=one)
    assert refused(iam.delete_role, RoleName=role)[2] == "Cannot delete entity, must delete policies first."
    iam.delete_role_policy(RoleName=role, PolicyName="inline")
    iam.delete_role(RoleName=role)
    iam.delete_policy(PolicyArn=arn)
    assert refused(iam.get_role, RoleName=role) == (
        "NoSuchEntity", 404, f"The role with name {role} cannot be found.",
    )  # fmt: skip


def test_versions_of_a_policy(iam: Any) -> None:
    arn = iam.create_policy(PolicyName=name(), PolicyDocument=ALLOWED)["Policy"]["Arn"]
    for _ in range(4):
        made = iam.create_policy_version(PolicyArn=arn, PolicyDocument=ALLOWED, SetAsDefault=True)["PolicyVersion"]
    assert (made["VersionId"], made["IsDefaultVersion"]) == ("v5", True)
    code, status, text = refused(iam.create_policy_version, PolicyArn=arn, PolicyDocument=ALLOWED)
    assert (code, status) == ("LimitExceeded", 409)
    assert "up to 5 versions" in text
    assert refused(iam.delete_policy_version, PolicyArn=arn, VersionId="v5")[0] == "DeleteConflict"
    iam.set_default_policy_version(PolicyArn=arn, VersionId="v2")
    iam.delete_policy_version(PolicyArn=arn, VersionId="v5")
    versions = iam.list_policy_versions(PolicyArn=arn)["Versions"]
    assert [(one["VersionId"], one["IsDefaultVersion"]) for one in versions] == [
        ("v4", False), ("v3", False), ("v2", True), ("v1", False),
    ]  # fmt: skip
    assert iam.get_policy_version(PolicyArn=arn, VersionId="v2")["PolicyVersion"]["Document"] == ALLOW
    assert refused(iam.delete_policy, PolicyArn=arn)[0] == "DeleteConflict"


def test_lists_come_in_pages(iam: Any) -> None:
    path = f"/{uuid4()}/"
    names = [f"r{number}-{uuid4()}" for number in range(5)]
    for one in names:
        iam.create_role(RoleName=one, Path=path, AssumeRolePolicyDocument=TRUST)
    pages = list(iam.get_paginator("list_roles").paginate(PathPrefix=path, PaginationConfig={"PageSize": 2}))
    assert [[one["RoleName"] for one in page["Roles"]] for page in pages] == [names[:2], names[2:4], names[4:]]


def test_users_and_groups(iam: Any) -> None:
    user, group = name(), name()
    iam.create_user(UserName=user, Tags=[{"Key": "k", "Value": "v"}])
    iam.create_group(GroupName=group)
    iam.add_user_to_group(UserName=user, GroupName=group)
    assert [one["UserName"] for one in iam.get_group(GroupName=group)["Users"]] == [user]
    assert [one["GroupName"] for one in iam.list_groups_for_user(UserName=user)["Groups"]] == [group]
    assert refused(iam.delete_group, GroupName=group)[0] == "DeleteConflict"
    assert refused(iam.delete_user, UserName=user)[0] == "DeleteConflict"
    iam.remove_user_from_group(UserName=user, GroupName=group)
    iam.delete_group(GroupName=group)
    iam.delete_user(UserName=user)
    assert iam.get_user()["User"]["Arn"] == f"{ACCOUNT}root"


def test_a_service_makes_its_role(iam: Any) -> None:
    made = iam.create_service_linked_role(AWSServiceName="ecs.amazonaws.com", CustomSuffix="x")["Role"]
    assert made["Arn"] == f"{ACCOUNT}role/aws-service-role/ecs.amazonaws.com/AWSServiceRoleForEcs_x"
    task = iam.delete_service_linked_role(RoleName=made["RoleName"])["DeletionTaskId"]
    assert iam.get_service_linked_role_deletion_status(DeletionTaskId=task)["Status"] == "SUCCEEDED"


def role(name: str = "r", trust: str = TRUST, **more: Any) -> dict[str, Any]:
    return {"RoleName": name, "AssumeRolePolicyDocument": trust, **more}


def policy(document: str) -> dict[str, Any]:
    return {"PolicyName": "p", "PolicyDocument": document}


@pytest.mark.parametrize(
    ("operation", "members", "code", "status", "text"),
    [
        ("get_role", {"RoleName": "none"}, "NoSuchEntity", 404, "The role with name none cannot be found."),
        ("get_user", {"UserName": "none"}, "NoSuchEntity", 404, "The user with name none cannot be found."),
        ("get_policy", {"PolicyArn": f"{ACCOUNT}policy/none"}, "NoSuchEntity", 404, "policy/none was not found."),
        ("create_role", role("a b"), "ValidationError", 400, r"satisfy regular expression pattern: [\w+=,.@-]+"),
        ("create_role", role("a b"), "ValidationError", 400, "1 validation error detected: Value 'a b' at 'roleName'"),
        ("create_role", role(trust="{"), "MalformedPolicyDocument", 400, "This policy contains invalid Json"),
        ("create_role", role(trust=ALLOWED), "MalformedPolicyDocument", 400, "Has prohibited field Resource"),
        ("create_role", role(MaxSessionDuration=60), "ValidationError", 400, "'60' at 'maxSessionDuration'"),
        ("create_policy", policy("[]"), "MalformedPolicyDocument", 400, "Syntax errors in policy."),
        ("create_policy", policy(TRUST), "MalformedPolicyDocument", 400, "should not specify a principal"),
        ("attach_role_policy", {"RoleName": "no", "PolicyArn": OF_AWS}, "NoSuchEntity", 404, "with name no cannot"),
        ("list_roles", {"Marker": "%%"}, "ValidationError", 400, "Invalid Marker"),
        ("list_roles", {"MaxItems": 0}, "ValidationError", 400, "'0' at 'maxItems'"),
        ("create_access_key", {}, "UnknownOperationException", 400, "does not have iam CreateAccessKey yet"),
    ],
)  # fmt: skip
def test_refusals(iam: Any, operation: str, members: dict[str, Any], code: str, status: int, text: str) -> None:
    found = refused(getattr(iam, operation), **members)
    assert found[:2] == (code, status)
    assert text in found[2]


def test_a_role_is_made_once(iam: Any) -> None:
    role = name()
    iam.create_role(RoleName=role, AssumeRolePolicyDocument=TRUST)
    assert refused(iam.create_role, RoleName=role, AssumeRolePolicyDocument=TRUST) == (
        "EntityAlreadyExists", 409, f"Role with name {role} already exists.",
    )  # fmt: skip
    assert refused(iam.attach_role_policy, RoleName=role, PolicyArn=f"{ACCOUNT}policy/none") == (
        "NoSuchEntity", 404, f"Policy {ACCOUNT}policy/none does not exist or is not attachable.",
    )  # fmt: skip


def with_keys(server: Server, service: str, given: dict[str, Any]) -> Any:
    session = session_of(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"])
    return session.client(service, endpoint_url=server.url, config=Config(retries={"total_max_attempts": 1}))


def test_an_assumed_role_without_credentials_configured(server: Server, iam: Any) -> None:
    sts = server.client("sts")
    role = name()
    made = iam.create_role(RoleName=role, AssumeRolePolicyDocument=TRUST)["Role"]
    given = sts.assume_role(RoleArn=made["Arn"], RoleSessionName="me")
    arn = f"arn:aws:sts::000000000000:assumed-role/{role}/me"
    assert given["AssumedRoleUser"] == {"AssumedRoleId": f"{made['RoleId']}:me", "Arn": arn}
    found = with_keys(server, "sts", given["Credentials"]).get_caller_identity()
    assert (found["Arn"], found["UserId"]) == (arn, f"{made['RoleId']}:me")
    too_long = refused(sts.assume_role, RoleArn=made["Arn"], RoleSessionName="me", DurationSeconds=7200)
    assert too_long[2] == "The requested DurationSeconds exceeds the MaxSessionDuration set for this role."
    assert refused(sts.assume_role, RoleArn="arn:aws:iam::1:role/x", RoleSessionName="me")[:1] == ("ValidationError",)
    code = refused(sts.decode_authorization_message, EncodedMessage="x")[0]
    assert code == "InvalidAuthorizationMessageException"


def test_a_token_of_somebody_else_s(server: Server) -> None:
    unsigned = Config(signature_version=UNSIGNED)
    sts = boto3.client("sts", endpoint_url=server.url, region_name="us-east-1", config=unsigned)
    given = sts.assume_role_with_web_identity(
        RoleArn=f"{ACCOUNT}role/r", RoleSessionName="me", WebIdentityToken="t" * 8
    )
    assert given["AssumedRoleUser"]["Arn"] == "arn:aws:sts::000000000000:assumed-role/r/me"
    form = urlencode({"Action": "Nonsense", "Version": "2010-05-08"}).encode()
    with pytest.raises(HTTPError) as caught:
        urlopen(Request(server.url, form))
    with caught.value as answer:
        assert b"https://iam.amazonaws.com/doc/2010-05-08/" in answer.read()


@pytest.mark.slow
def test_temporary_keys_verify_and_outlive_a_kill(tmp_path: Path) -> None:
    settings = tmp_path / "statewright.toml"
    settings.write_text('[credentials]\nAKID = "the secret"\n')
    server = Server(tmp_path / "data", "--config", str(settings))
    sts = server.client("sts", key="AKID", secret="the secret")
    given = sts.assume_role(RoleArn=f"{ACCOUNT}role/r", RoleSessionName="me")["Credentials"]
    bucket = f"b-{uuid4()}"
    with_keys(server, "s3", given).create_bucket(Bucket=bucket)
    server.kill()

    server = Server(tmp_path / "data", "--config", str(settings))
    s3 = with_keys(server, "s3", given)
    s3.put_object(Bucket=bucket, Key="k", Body=b"text")
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"text"
    assert with_keys(server, "stepfunctions", given).list_state_machines()["stateMachines"] == []
    arn = "arn:aws:sts::000000000000:assumed-role/r/me"
    assert with_keys(server, "sts", given).get_caller_identity()["Arn"] == arn

    forged = {**given, "SecretAccessKey": "x" * 40}
    assert refused(with_keys(server, "sts", forged).get_caller_identity)[:2] == ("SignatureDoesNotMatch", 403)
    without = {**given, "SessionToken": "bm9uZQ=="}
    assert refused(with_keys(server, "sts", without).get_caller_identity)[:2] == ("InvalidClientTokenId", 403)
    unsigned = boto3.client("sts", endpoint_url=server.url, region_name="us-east-1",
                            config=Config(signature_version=UNSIGNED))  # fmt: skip
    web = {"RoleArn": f"{ACCOUNT}role/r", "RoleSessionName": "me", "WebIdentityToken": "t" * 8}
    assert refused(unsigned.assume_role_with_web_identity, **web)[0] in (
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
    )
    assert server.stop() == 0


@pytest.mark.slow
def test_roles_outlive_a_kill(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    iam = server.client("iam")
    iam.create_role(RoleName="kept", AssumeRolePolicyDocument=TRUST)
    arn = iam.create_policy(PolicyName="p", PolicyDocument=ALLOWED)["Policy"]["Arn"]
    iam.attach_role_policy(RoleName="kept", PolicyArn=arn)
    server.kill()
    server = Server(tmp_path / "data")
    iam = server.client("iam")
    assert iam.list_attached_role_policies(RoleName="kept")["AttachedPolicies"][0]["PolicyArn"] == arn
    assert iam.get_policy(PolicyArn=arn)["Policy"]["AttachmentCount"] == 1
    assert server.stop() == 0


def test_tasks_call_both(server: Server, sfn: Any) -> None:
    who = {"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:sts:getCallerIdentity", "Parameters": {}}
    found = ended(sfn, sfn.start_execution(stateMachineArn=machine(sfn, who))["executionArn"])
    assert json.loads(found["output"])["Account"] == "000000000000"
    role = {
        "Type": "Task", "Resource": "arn:aws:states:::aws-sdk:iam:getRole", "Parameters": {"RoleName": "none"},
    }  # fmt: skip
    found = ended(sfn, sfn.start_execution(stateMachineArn=machine(sfn, role))["executionArn"])
    assert (found["status"], found["error"]) == ("FAILED", "Iam.NoSuchEntityException")


@pytest.mark.slow
def test_the_aws_cli(server: Server) -> None:
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("AWS_")},
        "AWS_ENDPOINT_URL": server.url, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }  # fmt: skip

    def aws(*words: str) -> Any:
        command = [sys.executable, "-m", "awscli", *words, "--output", "json"]
        done = completed(command, env=environment)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout or "null")

    assert aws("sts", "get-caller-identity")["Arn"] == f"{ACCOUNT}root"
    role = name()
    aws("iam", "create-role", "--role-name", role, "--assume-role-policy-document", TRUST)
    assert aws("iam", "get-role", "--role-name", role)["Role"]["RoleName"] == role
