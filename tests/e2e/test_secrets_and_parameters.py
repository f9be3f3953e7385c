"""Secrets Manager and Parameter Store through boto3, the AWS CLI and tasks; what they refuse; a kill."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.deadlines import completed
from tests.e2e.conftest import Server, ended, machine
from tests.e2e.test_identities import refused


@pytest.fixture(scope="module")
def ssm(server: Server) -> Any:
    return server.client("ssm")


@pytest.fixture(scope="module")
def secrets(server: Server) -> Any:
    return server.client("secretsmanager")


@pytest.fixture
def name() -> str:
    return f"n-{uuid4()}"


# ------------------------------------------------------------------ parameters


def test_versions_and_labels(ssm: Any, name: str) -> None:
    made = ssm.put_parameter(Name=name, Value="one", Type="String", Description="d", Tags=[{"Key": "k", "Value": "v"}])
    assert (made["Version"], made["Tier"]) == (1, "Standard")
    assert ssm.put_parameter(Name=name, Value="two", Overwrite=True)["Version"] == 2
    found = ssm.get_parameter(Name=name)["Parameter"]
    assert (found["Value"], found["Version"], found["Type"], found["DataType"]) == ("two", 2, "String", "text")
    arn = f"arn:aws:ssm:us-east-1:000000000000:parameter/{name}"
    assert found["ARN"] == arn
    assert ssm.get_parameter(Name=arn)["Parameter"]["Value"] == "two"
    assert ssm.label_parameter_version(Name=name, ParameterVersion=1, Labels=["live", "1bad"])["InvalidLabels"] == [
        "1bad"
    ]
    for selector, value in ((":1", "one"), (":live", "one"), (":2", "two")):
        one = ssm.get_parameter(Name=name + selector)["Parameter"]
        assert (one["Value"], one["Selector"]) == (value, selector)
    assert ssm.get_parameter(Name=f"{arn}:1")["Parameter"]["Value"] == "one"
    history = ssm.get_parameter_history(Name=name)["Parameters"]
    assert [(one["Version"], one["Value"], one["Labels"]) for one in history] == [(1, "one", ["live"]), (2, "two", [])]
    ssm.label_parameter_version(Name=name, Labels=["live"])
    assert ssm.get_parameter(Name=f"{name}:live")["Parameter"]["Value"] == "two"
    gone = ssm.unlabel_parameter_version(Name=name, ParameterVersion=2, Labels=["live", "other"])
    assert (gone["RemovedLabels"], gone["InvalidLabels"]) == (["live"], ["other"])
    assert refused(ssm.get_parameter, Name=f"{name}:live")[0] == "ParameterVersionNotFound"
    assert refused(ssm.get_parameter, Name=f"{name}:3")[0] == "ParameterVersionNotFound"
    tags = {"ResourceType": "Parameter", "ResourceId": name}
    ssm.add_tags_to_resource(**tags, Tags=[{"Key": "a", "Value": "b"}])
    ssm.remove_tags_from_resource(**tags, TagKeys=["k"])
    assert ssm.list_tags_for_resource(**tags)["TagList"] == [{"Key": "a", "Value": "b"}]
    ssm.delete_parameter(Name=name)
    assert refused(ssm.get_parameter, Name=name)[:2] == ("ParameterNotFound", 400)
    assert ssm.put_parameter(Name=name, Value="new", Type="String")["Version"] == 1


def test_a_secure_string_is_seen_by_who_asks(ssm: Any, name: str) -> None:
    ssm.put_parameter(Name=name, Value="hidden", Type="SecureString")
    assert ssm.get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"] == "hidden"
    assert "hidden" not in ssm.get_parameter(Name=name)["Parameter"]["Value"]
    assert "hidden" not in json.dumps(ssm.get_parameter_history(Name=name)["Parameters"], default=str)
    described = ssm.describe_parameters(ParameterFilters=[{"Key": "Name", "Values": [name]}])["Parameters"]
    assert described[0]["KeyId"] == "alias/aws/ssm"


def test_paths(ssm: Any, name: str) -> None:
    values = {f"/{name}/a": "1", f"/{name}/b": "2", f"/{name}/deep/c": "3", f"/{name}x/d": "4"}
    for key, value in values.items():
        ssm.put_parameter(Name=key, Value=value, Type="String")
    flat = ssm.get_parameters_by_path(Path=f"/{name}")["Parameters"]
    assert [one["Name"] for one in flat] == [f"/{name}/a", f"/{name}/b"]
    pages = ssm.get_paginator("get_parameters_by_path").paginate(
        Path=f"/{name}/", Recursive=True, PaginationConfig={"PageSize": 2}
    )
    assert [[one["Value"] for one in page["Parameters"]] for page in pages] == [["1", "2"], ["3"]]
    found = ssm.get_parameters(Names=[f"/{name}/a", "none", f"/{name}/a:1"])
    assert ([one["Value"] for one in found["Parameters"]], found["InvalidParameters"]) == (["1", "1"], ["none"])
    for option, count in (("Recursive", 3), ("OneLevel", 2)):
        filters = [{"Key": "Path", "Option": option, "Values": [f"/{name}"]}]
        assert len(ssm.describe_parameters(ParameterFilters=filters)["Parameters"]) == count
    begins = [{"Key": "Name", "Option": "BeginsWith", "Values": [f"/{name}"]}]
    assert len(ssm.describe_parameters(ParameterFilters=begins)["Parameters"]) == 4
    gone = ssm.delete_parameters(Names=[*values, "none"])
    assert (sorted(gone["DeletedParameters"]), gone["InvalidParameters"]) == (sorted(values), ["none"])


def test_a_hundred_versions(ssm: Any, name: str) -> None:
    ssm.put_parameter(Name=name, Value="0", Type="String")
    for number in range(1, 102):
        ssm.put_parameter(Name=name, Value=str(number), Overwrite=True)
    pages = list(ssm.get_paginator("get_parameter_history").paginate(Name=name))
    versions = [one["Version"] for page in pages for one in page["Parameters"]]
    assert versions == list(range(3, 103))
    ssm.label_parameter_version(Name=name, ParameterVersion=3, Labels=["keep"])
    assert refused(ssm.put_parameter, Name=name, Value="x", Overwrite=True)[0] == "ParameterMaxVersionLimitExceeded"


@pytest.mark.parametrize(
    ("members", "code", "text"),
    [
        ({"Name": "a/b"}, "ValidationException", "Parameter name must be a fully qualified name."),
        ({"Name": "a b"}, "ValidationException", "following 3 symbols .-_"),
        ({"Name": "/aws/x"}, "AccessDeniedException", "No access to reserved parameter name: /aws/x."),
        ({"Name": "/x" * 16}, "HierarchyLevelLimitExceededException", "maximum of 15 levels"),
        ({"Type": None}, "ValidationException", "A parameter type is required when you create a parameter."),
        ({"Type": "Text"}, "ValidationException", "Member must satisfy enum value set"),
        ({"Value": "x" * 4097}, "ValidationException", "maximum parameter value of 4096 characters"),
        ({"Value": "x" * 8193, "Tier": "Advanced"}, "ValidationException", "maximum parameter value of 8192"),
        ({"AllowedPattern": r"\d+"}, "ParameterPatternMismatchException", r"against allowedPattern: \d+"),
        (
            {"AllowedPattern": "("},
            "InvalidAllowedPatternException",
            "does not support the allowed pattern",
        ),
    ],
)
def test_what_no_parameter_can_be(ssm: Any, name: str, members: dict[str, Any], code: str, text: str) -> None:
    given = {"Name": name, "Value": "v", "Type": "String", **members}
    found = refused(ssm.put_parameter, **{key: value for key, value in given.items() if value is not None})
    assert (found[0], found[1]) == (code, 400)
    assert text in found[2]


def test_other_refusals_of_parameters(ssm: Any, name: str) -> None:
    ssm.put_parameter(Name=name, Value="v", Type="String")
    assert refused(ssm.put_parameter, Name=name, Value="v", Type="String")[0] == "ParameterAlreadyExists"
    tags = [{"Key": "k", "Value": "v"}]
    assert "tags and overwrite" in refused(ssm.put_parameter, Name=name, Value="v", Overwrite=True, Tags=tags)[2]
    assert refused(ssm.get_parameters_by_path, Path="a")[0] == "ValidationException"
    assert refused(ssm.get_parameters_by_path, Path="/a", NextToken="%")[0] == "InvalidNextToken"
    assert refused(ssm.describe_parameters, ParameterFilters=[{"Key": "Odd"}])[0] == "ValidationException"
    bad = [{"Key": "Type", "Option": "Contains", "Values": ["S"]}]
    assert refused(ssm.describe_parameters, ParameterFilters=bad)[0] == "InvalidFilterOption"
    assert refused(ssm.list_tags_for_resource, ResourceType="Parameter", ResourceId="none")[0] == "InvalidResourceId"
    assert refused(ssm.list_tags_for_resource, ResourceType="Document", ResourceId="d")[0] == "InvalidResourceType"
    assert refused(ssm.send_command, InstanceIds=[])[0] == "UnknownOperationException"


# ------------------------------------------------------------------ secrets


def test_a_secret_and_its_versions(secrets: Any, ssm: Any, name: str) -> None:
    made = secrets.create_secret(Name=name, SecretString="one", Description="d", Tags=[{"Key": "k", "Value": "v"}])
    assert made["ARN"].startswith(f"arn:aws:secretsmanager:us-east-1:000000000000:secret:{name}-")
    first = made["VersionId"]
    second = secrets.put_secret_value(SecretId=name, SecretString="two")["VersionId"]
    for reference in (name, made["ARN"], made["ARN"][:-7]):
        found = secrets.get_secret_value(SecretId=reference)
        assert (found["SecretString"], found["VersionId"], found["VersionStages"]) == ("two", second, ["AWSCURRENT"])
    assert secrets.get_secret_value(SecretId=name, VersionStage="AWSPREVIOUS")["SecretString"] == "one"
    assert secrets.get_secret_value(SecretId=name, VersionId=first)["SecretString"] == "one"
    third = secrets.update_secret(SecretId=name, SecretBinary=b"\0\1", Description="other")["VersionId"]
    assert secrets.get_secret_value(SecretId=name)["SecretBinary"] == b"\0\1"
    shown = secrets.describe_secret(SecretId=name)
    assert shown["VersionIdsToStages"] == {second: ["AWSPREVIOUS"], third: ["AWSCURRENT"]}
    assert (shown["Description"], shown["Tags"]) == ("other", [{"Key": "k", "Value": "v"}])
    listed = secrets.list_secret_version_ids(SecretId=name, IncludeDeprecated=True)["Versions"]
    assert {one["VersionId"] for one in listed} == {first, second, third}
    secrets.update_secret_version_stage(
        SecretId=name, VersionStage="AWSCURRENT", RemoveFromVersionId=third, MoveToVersionId=second
    )
    assert secrets.get_secret_value(SecretId=name)["SecretString"] == "two"
    referred = ssm.get_parameter(Name=f"/aws/reference/secretsmanager/{name}", WithDecryption=True)["Parameter"]
    assert (referred["Value"], referred["Type"]) == ("two", "SecureString")
    secrets.tag_resource(SecretId=name, Tags=[{"Key": "a", "Value": "b"}])
    secrets.untag_resource(SecretId=name, TagKeys=["k"])
    assert secrets.describe_secret(SecretId=name)["Tags"] == [{"Key": "a", "Value": "b"}]
    policy = json.dumps({"Version": "2012-10-17", "Statement": []})
    secrets.put_resource_policy(SecretId=name, ResourcePolicy=policy)
    assert secrets.get_resource_policy(SecretId=name)["ResourcePolicy"] == policy
    secrets.delete_resource_policy(SecretId=name)
    assert "ResourcePolicy" not in secrets.get_resource_policy(SecretId=name)


def test_the_same_token_is_the_same_version(secrets: Any, name: str) -> None:
    token = str(uuid4())
    for _ in range(2):
        assert secrets.create_secret(Name=name, SecretString="one", ClientRequestToken=token)["VersionId"] == token
    assert refused(secrets.create_secret, Name=name, SecretString="other", ClientRequestToken=token)[0] == (
        "ResourceExistsException"
    )
    secrets.put_secret_value(SecretId=name, SecretString="one", ClientRequestToken=token)
    code, _, text = refused(secrets.put_secret_value, SecretId=name, SecretString="two", ClientRequestToken=token)
    assert (code, "already in use for a version" in text) == ("ResourceExistsException", True)


def test_a_deleted_secret_can_be_restored(secrets: Any, name: str) -> None:
    secrets.create_secret(Name=name, SecretString="one")
    secrets.delete_secret(SecretId=name, RecoveryWindowInDays=7)
    code, _, text = refused(secrets.get_secret_value, SecretId=name)
    assert (code, "marked for deletion" in text) == ("InvalidRequestException", True)
    assert "already scheduled for deletion" in refused(secrets.create_secret, Name=name, SecretString="x")[2]
    assert "DeletedDate" in secrets.describe_secret(SecretId=name)
    by_name = [{"Key": "name", "Values": [name]}]
    assert secrets.list_secrets(Filters=by_name)["SecretList"] == []
    assert len(secrets.list_secrets(Filters=by_name, IncludePlannedDeletion=True)["SecretList"]) == 1
    secrets.restore_secret(SecretId=name)
    assert secrets.get_secret_value(SecretId=name)["SecretString"] == "one"
    secrets.delete_secret(SecretId=name, ForceDeleteWithoutRecovery=True)
    assert refused(secrets.describe_secret, SecretId=name)[0] == "ResourceNotFoundException"
    secrets.create_secret(Name=name)
    assert "staging label: AWSCURRENT" in refused(secrets.get_secret_value, SecretId=name)[2]


def test_lists_and_batches(secrets: Any, name: str) -> None:
    for number in range(5):
        secrets.create_secret(Name=f"{name}/{number}", SecretString=str(number), Tags=[{"Key": name, "Value": "v"}])
    pages = list(
        secrets.get_paginator("list_secrets").paginate(
            Filters=[{"Key": "tag-key", "Values": [name]}], PaginationConfig={"PageSize": 2}
        )
    )
    assert [len(page["SecretList"]) for page in pages] == [2, 2, 1]
    found = secrets.batch_get_secret_value(SecretIdList=[f"{name}/3", "none"])
    assert [one["SecretString"] for one in found["SecretValues"]] == ["3"]
    assert [(one["SecretId"], one["ErrorCode"]) for one in found["Errors"]] == [("none", "ResourceNotFoundException")]
    by_name = secrets.batch_get_secret_value(Filters=[{"Key": "name", "Values": [f"{name}/"]}])
    assert [one["SecretString"] for one in by_name["SecretValues"]] == ["0", "1", "2", "3", "4"]


def test_a_random_password(secrets: Any) -> None:
    drawn = secrets.get_random_password(PasswordLength=40, ExcludePunctuation=True, ExcludeCharacters="abc")
    assert len(drawn["RandomPassword"]) == 40
    assert drawn["RandomPassword"].isalnum()
    assert not set("abc") & set(drawn["RandomPassword"])


@pytest.mark.parametrize(
    ("operation", "members", "code", "text"),
    [
        ("get_secret_value", {"SecretId": "none"}, "ResourceNotFoundException", "can't find the specified secret."),
        (
            "delete_secret",
            {"SecretId": "x", "RecoveryWindowInDays": 3},
            "InvalidParameterException",
            "between 7 and 30",
        ),
        ("get_random_password", {"PasswordLength": 2}, "InvalidParameterException", "too short based on the required"),
        ("batch_get_secret_value", {}, "InvalidParameterException", "either SecretIdList or Filters"),
        ("list_secrets", {"NextToken": "%"}, "InvalidNextTokenException", "The NextToken value is invalid."),
        (
            "rotate_secret",
            {"SecretId": "x"},
            "UnknownOperationException",
            "does not have secretsmanager RotateSecret yet",
        ),
        ("put_secret_value", {"SecretId": "x"}, "InvalidParameterException", "either SecretString or SecretBinary"),
        ("create_secret", {"Name": "a b"}, "ValidationException", "Invalid name. Must be a valid name containing"),
        ("tag_resource", {"SecretId": "x", "Tags": [{}]}, "InvalidParameterException", "Every tag must have a Key."),
    ],
)
def test_what_secrets_refuse(secrets: Any, operation: str, members: dict[str, Any], code: str, text: str) -> None:
    found = refused(getattr(secrets, operation), **members)
    assert (found[0], found[1]) == (code, 400)
    assert text in found[2]


# ------------------------------------------------------------------ both


@pytest.mark.slow
def test_both_outlive_a_kill(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    made = server.client("secretsmanager").create_secret(Name="s", SecretString="one")
    server.client("ssm").put_parameter(Name="/p/q", Value="v", Type="String")
    server.client("ssm").put_parameter(Name="/p/q", Value="w", Overwrite=True)
    server.kill()
    server = Server(tmp_path / "data")
    assert server.client("secretsmanager").get_secret_value(SecretId=made["ARN"])["SecretString"] == "one"
    assert server.client("ssm").get_parameter(Name="/p/q:1")["Parameter"]["Value"] == "v"
    assert server.stop() == 0


def test_tasks_read_both(server: Server, sfn: Any, ssm: Any, secrets: Any, name: str) -> None:
    ssm.put_parameter(Name=f"/{name}", Value="v", Type="String")
    secrets.create_secret(Name=name, SecretString="one")
    parameter = {
        "Type": "Task", "Resource": "arn:aws:states:::aws-sdk:ssm:getParameter", "Parameters": {"Name": f"/{name}"},
        "ResultSelector": {"value.$": "$.Parameter.Value"}, "ResultPath": "$.parameter",
    }  # fmt: skip
    secret = {
        "Type": "Task", "Resource": "arn:aws:states:::aws-sdk:secretsmanager:getSecretValue",
        "Parameters": {"SecretId": name}, "ResultSelector": {"value.$": "$.SecretString"}, "ResultPath": "$.secret",
    }  # fmt: skip
    found = ended(sfn, sfn.start_execution(stateMachineArn=machine(sfn, parameter, secret))["executionArn"])
    assert json.loads(found["output"]) == {"parameter": {"value": "v"}, "secret": {"value": "one"}}
    missing = {**secret, "Parameters": {"SecretId": "none"}}
    found = ended(sfn, sfn.start_execution(stateMachineArn=machine(sfn, missing))["executionArn"])
    assert found["error"] == "SecretsManager.ResourceNotFoundException"


@pytest.mark.slow
def test_the_aws_cli(server: Server, name: str) -> None:
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

    aws("ssm", "put-parameter", "--name", f"/{name}", "--value", "v", "--type", "String")
    assert aws("ssm", "get-parameters-by-path", "--path", "/")["Parameters"]
    aws("secretsmanager", "create-secret", "--name", name, "--secret-string", "one")
    assert aws("secretsmanager", "get-secret-value", "--secret-id", name)["SecretString"] == "one"
