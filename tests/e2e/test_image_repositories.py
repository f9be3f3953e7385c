"""Repositories of ECR through boto3: records with settings, policies and tags; they have no images."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest

from tests.e2e.conftest import Server
from tests.e2e.test_identities import refused

ACCOUNT = "000000000000"
POLICY = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "ecr:*"}]})
LIFECYCLE = json.dumps({
    "rules": [{"rulePriority": 1, "selection": {"tagStatus": "any", "countType": "imageCountMoreThan",
                                                 "countNumber": 5}, "action": {"type": "expire"}}]
})  # fmt: skip


@pytest.fixture(scope="module")
def ecr(server: Server) -> Any:
    return server.client("ecr")


@pytest.fixture
def name(ecr: Any) -> str:
    made = f"team/{uuid4().hex}"
    ecr.create_repository(repositoryName=made, imageTagMutability="IMMUTABLE", tags=[{"Key": "a", "Value": "1"}])
    return made


def test_a_repository_is_described_as_it_was_created(ecr: Any, name: str) -> None:
    (found,) = ecr.describe_repositories(repositoryNames=[name])["repositories"]
    assert found.pop("createdAt").year >= 2026
    assert found == {
        "repositoryArn": f"arn:aws:ecr:us-east-1:{ACCOUNT}:repository/{name}",
        "registryId": ACCOUNT,
        "repositoryName": name,
        "repositoryUri": f"{ACCOUNT}.dkr.ecr.us-east-1.amazonaws.com/{name}",
        "imageTagMutability": "IMMUTABLE",
        "imageScanningConfiguration": {"scanOnPush": False},
        "encryptionConfiguration": {"encryptionType": "AES256"},
    }
    pages = ecr.get_paginator("describe_repositories").paginate(PaginationConfig={"PageSize": 1})
    assert name in [one["repositoryName"] for page in pages for one in page["repositories"]]


def test_settings_policies_and_tags_are_kept(ecr: Any, name: str) -> None:
    ecr.put_image_tag_mutability(repositoryName=name, imageTagMutability="MUTABLE")
    ecr.put_image_scanning_configuration(repositoryName=name, imageScanningConfiguration={"scanOnPush": True})
    (found,) = ecr.describe_repositories(repositoryNames=[name])["repositories"]
    assert (found["imageTagMutability"], found["imageScanningConfiguration"]) == ("MUTABLE", {"scanOnPush": True})
    ecr.set_repository_policy(repositoryName=name, policyText=POLICY)
    ecr.put_lifecycle_policy(repositoryName=name, lifecyclePolicyText=LIFECYCLE)
    assert ecr.get_repository_policy(repositoryName=name)["policyText"] == POLICY
    assert ecr.get_lifecycle_policy(repositoryName=name)["lifecyclePolicyText"] == LIFECYCLE
    assert ecr.delete_repository_policy(repositoryName=name)["policyText"] == POLICY
    assert ecr.delete_lifecycle_policy(repositoryName=name)["lifecyclePolicyText"] == LIFECYCLE
    absent = f"does not exist for the repository with name '{name}' in the registry with id '{ACCOUNT}'"
    assert refused(lambda: ecr.get_repository_policy(repositoryName=name)) == (
        "RepositoryPolicyNotFoundException", 400, f"Repository policy {absent}",
    )  # fmt: skip
    assert refused(lambda: ecr.delete_lifecycle_policy(repositoryName=name)) == (
        "LifecyclePolicyNotFoundException", 400, f"Lifecycle policy {absent}",
    )  # fmt: skip
    arn = found["repositoryArn"]
    ecr.tag_resource(resourceArn=arn, tags=[{"Key": "b", "Value": "2"}])
    ecr.untag_resource(resourceArn=arn, tagKeys=["a"])
    assert ecr.list_tags_for_resource(resourceArn=arn)["tags"] == [{"Key": "b", "Value": "2"}]


def test_there_are_no_images_and_a_push_is_refused(ecr: Any, name: str) -> None:
    assert ecr.list_images(repositoryName=name)["imageIds"] == []
    assert ecr.describe_images(repositoryName=name)["imageDetails"] == []
    code, _, text = refused(lambda: ecr.describe_images(repositoryName=name, imageIds=[{"imageTag": "v1"}]))
    assert code == "ImageNotFoundException"
    assert text.startswith("The image with imageId {imageDigest:'null', imageTag:'v1'} does not exist within the")
    code, _, text = refused(ecr.get_authorization_token)
    assert (code, "no image registry" in text) == ("UnknownOperationException", True)


def test_refusals(ecr: Any, name: str) -> None:
    assert refused(lambda: ecr.create_repository(repositoryName=name)) == (
        "RepositoryAlreadyExistsException",
        400,
        f"The repository with name '{name}' already exists in the registry with id '{ACCOUNT}'",
    )
    assert refused(lambda: ecr.set_repository_policy(repositoryName=name, policyText="{"))[0] == (
        "InvalidParameterException"
    )
    assert refused(lambda: ecr.list_tags_for_resource(resourceArn="arn:aws:s3:::x"))[0] == "InvalidParameterException"
    assert refused(lambda: ecr.create_repository(repositoryName="Big"))[0] == "InvalidParameterException"
    ecr.delete_repository(repositoryName=name, force=True)
    gone = ("RepositoryNotFoundException", 400,
            f"The repository with name '{name}' does not exist in the registry with id '{ACCOUNT}'")  # fmt: skip
    assert refused(lambda: ecr.describe_repositories(repositoryNames=[name])) == gone
    assert refused(lambda: ecr.delete_repository(repositoryName=name)) == gone
