"""Defaults of new buckets, the encryption that their objects show, and where buckets are made."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from tests.e2e.conftest import error_of, session_of

OWN = {"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}, "BucketKeyEnabled": False}]}


def shown(answer: dict[str, Any]) -> tuple[Any, ...]:
    return answer["ServerSideEncryption"], answer.get("SSEKMSKeyId"), answer.get("BucketKeyEnabled")


def test_what_a_new_bucket_has(s3, bucket):
    assert s3.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"] == OWN
    controls = s3.get_bucket_ownership_controls(Bucket=bucket)["OwnershipControls"]
    assert controls == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
    block = s3.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"]
    assert list(block.values()) == [True] * 4
    s3.delete_bucket_encryption(Bucket=bucket)
    assert s3.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"] == OWN
    s3.delete_bucket_ownership_controls(Bucket=bucket)
    s3.delete_public_access_block(Bucket=bucket)
    refusal = error_of(s3.get_bucket_ownership_controls, Bucket=bucket)
    assert refusal["Message"] == "The bucket ownership controls were not found"
    assert refusal["BucketName"] == bucket
    refusal = error_of(s3.get_public_access_block, Bucket=bucket)
    assert refusal["Message"] == "The public access block configuration was not found"


def test_ownership_that_the_creator_names(s3):
    name = f"b-{uuid4()}"
    s3.create_bucket(Bucket=name, ObjectOwnership="ObjectWriter")
    controls = s3.get_bucket_ownership_controls(Bucket=name)["OwnershipControls"]
    assert controls == {"Rules": [{"ObjectOwnership": "ObjectWriter"}]}


def test_a_default_key_shows_on_later_objects(s3, bucket):
    def default(**rule: Any) -> None:
        s3.put_bucket_encryption(Bucket=bucket, ServerSideEncryptionConfiguration={"Rules": [rule]})

    s3.put_object(Bucket=bucket, Key="before", Body=b"x")
    earlier = s3.create_multipart_upload(Bucket=bucket, Key="u")
    assert shown(earlier) == ("AES256", None, None)
    default(ApplyServerSideEncryptionByDefault={"SSEAlgorithm": "aws:kms"}, BucketKeyEnabled=True)
    put = s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    algorithm, key, with_bucket_key = shown(put)
    assert (algorithm, with_bucket_key) == ("aws:kms", True)
    assert key.startswith("arn:aws:kms:us-east-1:000000000000:key/")
    for answer in (
        s3.get_object(Bucket=bucket, Key="k"),
        s3.head_object(Bucket=bucket, Key="k"),
        s3.copy_object(Bucket=bucket, Key="copy", CopySource=f"{bucket}/before"),
        s3.head_object(Bucket=bucket, Key="copy"),
    ):
        assert shown(answer) == shown(put)
    upload = s3.create_multipart_upload(Bucket=bucket, Key="u")
    where = {"Bucket": bucket, "Key": "u", "UploadId": upload["UploadId"]}
    part = s3.upload_part(**where, PartNumber=1, Body=b"x")
    copied = s3.upload_part_copy(**where, PartNumber=2, CopySource=f"{bucket}/k")
    chosen = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
    done = s3.complete_multipart_upload(**where, MultipartUpload=chosen)
    assert [shown(answer) for answer in (upload, part, copied, done)] == [shown(put)] * 4
    assert shown(s3.head_object(Bucket=bucket, Key="before")) == ("AES256", None, None)
    own = s3.put_object(Bucket=bucket, Key="own", Body=b"x", ServerSideEncryption="AES256")
    assert shown(own) == ("AES256", None, None)
    default(ApplyServerSideEncryptionByDefault={"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": "ab-12"})
    named = s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    assert shown(named) == ("aws:kms", "arn:aws:kms:us-east-1:000000000000:key/ab-12", None)
    asked = s3.put_object(Bucket=bucket, Key="k", Body=b"x", ServerSideEncryption="aws:kms", BucketKeyEnabled=True)
    assert shown(asked) == ("aws:kms", key, True)
    s3.delete_bucket_encryption(Bucket=bucket)
    assert shown(s3.put_object(Bucket=bucket, Key="k", Body=b"x")) == ("AES256", None, None)


def test_arns_and_regions_of_buckets(s3):
    name = f"b-{uuid4()}"
    made = s3.create_bucket(Bucket=name)
    assert (made["Location"], made["BucketArn"]) == (f"/{name}", f"arn:aws:s3:::{name}")
    head = s3.head_bucket(Bucket=name)
    assert (head["BucketArn"], head["BucketRegion"], head["AccessPointAlias"]) == (
        made["BucketArn"], "us-east-1", False,
    )  # fmt: skip
    headers = head["ResponseMetadata"]["HTTPHeaders"]
    assert headers["x-amz-bucket-arn"] == made["BucketArn"]
    assert headers["x-amz-access-point-alias"] == "false"
    assert "x-amz-bucket-region" not in s3.list_objects_v2(Bucket=name)["ResponseMetadata"]["HTTPHeaders"]
    (listed,) = s3.list_buckets(Prefix=name)["Buckets"]
    assert (listed["BucketArn"], listed["BucketRegion"]) == (made["BucketArn"], "us-east-1")


@pytest.mark.parametrize("word", ["us-east-1", "bar"])
def test_locations_that_the_first_region_refuses(s3, word):
    place = {"LocationConstraint": word}
    refusal = error_of(s3.create_bucket, Bucket=f"b-{uuid4()}", CreateBucketConfiguration=place)
    assert refusal["Code"] == "InvalidLocationConstraint"
    assert refusal["Message"] == "The specified location-constraint is not valid"
    assert refusal["LocationConstraint"] == word


def test_an_endpoint_elsewhere_makes_buckets_of_its_region_alone(server):
    session = session_of(region="eu-west-1")
    there = session.client("s3", endpoint_url=server.url)
    for given in ("bar", "us-west-2", None):
        place = {} if given is None else {"CreateBucketConfiguration": {"LocationConstraint": given}}
        refusal = error_of(there.create_bucket, Bucket=f"b-{uuid4()}", **place)
        assert refusal["Code"] == "IllegalLocationConstraintException"
        assert refusal["Message"] == (
            f"The {given or 'unspecified'} location constraint is incompatible for the region specific endpoint this "
            "request was sent to."
        )
    name = f"b-{uuid4()}"
    made = there.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "EU"})
    assert made["Location"].startswith(f"http://{name}.")
    assert there.get_bucket_location(Bucket=name)["LocationConstraint"] == "EU"
    assert there.head_bucket(Bucket=name)["BucketRegion"] == "eu-west-1"
    listed = there.list_objects_v2(Bucket=name)["ResponseMetadata"]["HTTPHeaders"]
    assert listed["x-amz-bucket-region"] == "eu-west-1"
    there.close()
