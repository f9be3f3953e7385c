"""Settings of buckets through boto3: what is refused, and that they outlive a kill."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Server, error_of


def refused(call: Any, **arguments: Any) -> tuple[str, str]:
    error = error_of(call, **arguments)
    return error["Code"], error["Message"]


def statement(**changed: Any) -> dict[str, Any]:
    found = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::BUCKET/*"}
    return {name: value for name, value in {**found, **changed}.items() if value is not None}


POLICIES: list[tuple[Any, str]] = [
    ("", "Policies must be valid JSON and the first byte must be '{'"),
    ("policy.json", "Policies must be valid JSON and the first byte must be '{'"),
    (' {"Statement": []}', "Policies must be valid JSON and the first byte must be '{'"),
    ('{"Statement": ', "Policies must be valid JSON and the first byte must be '{'"),
    ({}, "Missing required field Statement"),
    ({"Version": "2020-01-01", "Statement": []}, "The policy must contain a valid version string"),
    ({"Statement": [statement(Effect=None)]}, "Missing required field Effect"),
    ({"Statement": [statement(Effect="allow")]}, "Invalid effect: allow"),
    ({"Statement": [statement(Principal=None)]}, "Missing required field Principal"),
    ({"Statement": [statement(Principal="me")]}, "Invalid principal in policy"),
    ({"Statement": [statement(Principal={"Me": "x"})]}, "Invalid principal in policy"),
    ({"Statement": [statement(Action=None)]}, "Missing required field Action"),
    ({"Statement": [statement(Action="sqs:SendMessage")]}, "Policy has invalid action"),
    ({"Statement": [statement(Resource=None)]}, "Missing required field Resource"),
    ({"Statement": [statement(Resource="arn:aws:s3:::other/*")]}, "Policy has invalid resource"),
    ({"Statement": ["x"]}, "Policies must be valid JSON and the first byte must be '{'"),
    (
        {"Statement": [statement(Sid="x" * 21_000)]},
        "Normalized policy document exceeds the maximum allowed size of 20480 bytes.",
    ),
]


@pytest.mark.parametrize(("policy", "message"), POLICIES)
def test_policies_that_are_none(s3: Any, bucket: str, policy: Any, message: str):
    text = policy if isinstance(policy, str) else json.dumps(policy).replace("BUCKET", bucket)
    assert refused(s3.put_bucket_policy, Bucket=bucket, Policy=text) == ("MalformedPolicy", message)


@pytest.mark.parametrize(
    ("changed", "public"),
    [
        ({}, True),
        ({"Principal": {"AWS": ["*"]}}, True),
        ({"Effect": "Deny"}, False),
        ({"Condition": {"Bool": {"aws:SecureTransport": "true"}}}, False),
        ({"Principal": {"AWS": "arn:aws:iam::000000000000:root"}}, False),
        ({"Resource": "arn:aws:s3:::b-*"}, True),
    ],
)
def test_whether_a_policy_is_public(s3: Any, bucket: str, changed: dict[str, Any], public: bool):
    text = json.dumps({"Statement": statement(**changed)}).replace("BUCKET", bucket)
    s3.put_bucket_policy(Bucket=bucket, Policy=text)
    assert s3.get_bucket_policy_status(Bucket=bucket)["PolicyStatus"]["IsPublic"] is public


def encryption(**default: str) -> dict[str, Any]:
    return {"Rules": [{"ApplyServerSideEncryptionByDefault": default, "BucketKeyEnabled": False}]}


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("put_bucket_encryption", {"ServerSideEncryptionConfiguration": {"Rules": []}}, "MalformedXML"),
    ("put_bucket_encryption", {"ServerSideEncryptionConfiguration": encryption(SSEAlgorithm="ROT13")}, "MalformedXML"),
    (
        "put_bucket_encryption",
        {"ServerSideEncryptionConfiguration": encryption(SSEAlgorithm="AES256", KMSMasterKeyID="k")},
        "InvalidArgument",
    ),
    ("put_bucket_ownership_controls", {"OwnershipControls": {"Rules": []}}, "MalformedXML"),
    ("put_bucket_ownership_controls", {"OwnershipControls": {"Rules": [{"ObjectOwnership": "Me"}]}}, "MalformedXML"),
    ("put_bucket_cors", {"CORSConfiguration": {"CORSRules": []}}, "MalformedXML"),
    (
        "put_bucket_cors",
        {"CORSConfiguration": {"CORSRules": [{"AllowedMethods": ["PATCH"], "AllowedOrigins": ["*"]}]}},
        "InvalidRequest",
    ),
    (
        "put_bucket_cors",
        {"CORSConfiguration": {"CORSRules": [{"AllowedMethods": ["GET"], "AllowedOrigins": ["*.a.*"]}]}},
        "InvalidRequest",
    ),
    (
        "put_bucket_logging",
        {"BucketLoggingStatus": {"LoggingEnabled": {"TargetBucket": "none-there", "TargetPrefix": ""}}},
        "InvalidTargetBucketForLogging",
    ),
    ("put_bucket_acl", {}, "MissingSecurityHeader"),
    ("put_bucket_acl", {"ACL": "public-read"}, "AccessControlListNotSupported"),
    ("put_object_acl", {"Key": "none", "ACL": "private"}, "NoSuchKey"),
    (
        "put_bucket_acl",
        {
            "AccessControlPolicy": {
                "Grants": [{"Grantee": {"Type": "CanonicalUser", "ID": "other"}, "Permission": "READ"}],
                "Owner": {"ID": "other"},
            }
        },
        "NotImplemented",
    ),
]


@pytest.mark.parametrize(("operation", "arguments", "code"), REFUSED)
def test_settings_that_are_refused(s3: Any, bucket: str, operation: str, arguments: dict[str, Any], code: str):
    assert refused(getattr(s3, operation), Bucket=bucket, **arguments)[0] == code


def test_the_owner_may_have_what_she_has(s3: Any, bucket: str):
    shown = s3.get_bucket_acl(Bucket=bucket)
    given = {"Owner": shown["Owner"], "Grants": shown["Grants"]}
    s3.put_bucket_acl(Bucket=bucket, AccessControlPolicy=given)
    s3.put_object(Bucket=bucket, Key="k", Body=b"")
    s3.put_object_acl(Bucket=bucket, Key="k", AccessControlPolicy=given)
    assert s3.get_object_acl(Bucket=bucket, Key="k")["Grants"] == given["Grants"]


def test_a_block_of_public_access_shows_what_it_was_not_told(s3: Any, bucket: str):
    s3.put_public_access_block(Bucket=bucket, PublicAccessBlockConfiguration={"BlockPublicAcls": True})
    shown = s3.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"]
    assert shown == {
        "BlockPublicAcls": True, "IgnorePublicAcls": False, "BlockPublicPolicy": False, "RestrictPublicBuckets": False,
    }  # fmt: skip


@pytest.mark.slow
def test_settings_made_at_once_outlive_a_kill(tmp_path: Path):
    server = Server(tmp_path / "data")
    try:
        s3 = server.client("s3")
        s3.create_bucket(Bucket="kept", ObjectOwnership="BucketOwnerPreferred")
        calls: list[tuple[Any, dict[str, Any]]] = [
            (s3.put_bucket_encryption, {"ServerSideEncryptionConfiguration": encryption(SSEAlgorithm="aws:kms")}),
            (s3.put_public_access_block, {"PublicAccessBlockConfiguration": {"BlockPublicAcls": True}}),
            (s3.put_bucket_tagging, {"Tagging": {"TagSet": [{"Key": "a", "Value": "b"}]}}),
            (s3.put_bucket_versioning, {"VersioningConfiguration": {"Status": "Suspended"}}),
            (s3.put_bucket_logging, {"BucketLoggingStatus": {"LoggingEnabled": {"TargetBucket": "kept",
                                                                                 "TargetPrefix": ""}}}),
        ]  # fmt: skip
        with ThreadPoolExecutor(len(calls)) as pool:
            for made in [pool.submit(call, Bucket="kept", **given) for call, given in calls]:
                made.result()
        server.kill()
        server = Server(tmp_path / "data")
        s3 = server.client("s3")
        assert s3.get_bucket_encryption(Bucket="kept")["ServerSideEncryptionConfiguration"] == encryption(
            SSEAlgorithm="aws:kms"
        )
        assert s3.get_public_access_block(Bucket="kept")["PublicAccessBlockConfiguration"]["BlockPublicAcls"]
        assert s3.get_bucket_tagging(Bucket="kept")["TagSet"] == [{"Key": "a", "Value": "b"}]
        assert s3.get_bucket_versioning(Bucket="kept")["Status"] == "Suspended"
        assert s3.get_bucket_logging(Bucket="kept")["LoggingEnabled"]["TargetBucket"] == "kept"
        controls = s3.get_bucket_ownership_controls(Bucket="kept")["OwnershipControls"]
        assert controls == {"Rules": [{"ObjectOwnership": "BucketOwnerPreferred"}]}
    finally:
        server.kill()


def rule(**changed: Any) -> dict[str, Any]:
    found = {"ID": "r", "Status": "Enabled", "Filter": {"Prefix": ""}, "Expiration": {"Days": 1}}
    return {name: value for name, value in {**found, **changed}.items() if value is not None}


ABORT = {"DaysAfterInitiation": 1}
RULES: list[tuple[list[dict[str, Any]], str]] = [
    ([], "MalformedXML"),
    ([rule(Status="On")], "MalformedXML"),
    ([rule(Filter=None)], "MalformedXML"),
    ([rule(Prefix="x")], "MalformedXML"),
    ([rule(Filter={"Prefix": "x", "ObjectSizeLessThan": 1})], "MalformedXML"),
    ([rule(Expiration=None)], "InvalidRequest"),
    ([rule(Expiration={"Days": 1, "Date": 0})], "MalformedXML"),
    ([rule(Expiration={"Days": 0})], "InvalidArgument"),
    ([rule(Expiration={"Date": "2030-01-01T01:00:00Z"})], "InvalidArgument"),
    ([rule(), rule()], "InvalidArgument"),
    ([rule(ID="x" * 256)], "InvalidArgument"),
    ([rule(AbortIncompleteMultipartUpload={"DaysAfterInitiation": 0})], "InvalidArgument"),
    ([rule(Filter={"Tag": {"Key": "a", "Value": "b"}}, AbortIncompleteMultipartUpload=ABORT)], "InvalidRequest"),
    ([rule(Filter={"ObjectSizeGreaterThan": 1}, AbortIncompleteMultipartUpload=ABORT)], "InvalidRequest"),
]


@pytest.mark.parametrize(("rules", "code"), RULES)
def test_lifecycles_that_are_refused(s3: Any, bucket: str, rules: list[dict[str, Any]], code: str):
    put = s3.put_bucket_lifecycle_configuration
    assert refused(put, Bucket=bucket, LifecycleConfiguration={"Rules": rules})[0] == code


def test_lifecycles_are_shown_as_they_were_set(s3: Any, bucket: str):
    tags = [{"Key": "a", "Value": "b"}, {"Key": "c", "Value": "d"}]
    rules = [
        rule(Filter={"And": {"Prefix": "x/", "Tags": tags, "ObjectSizeGreaterThan": 5}}),
        rule(ID="s", Expiration=None, Transitions=[{"Days": 30, "StorageClass": "GLACIER"}]),
        rule(ID="t", Status="Disabled", AbortIncompleteMultipartUpload=ABORT),
    ]
    s3.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": rules})
    shown = s3.get_bucket_lifecycle_configuration(Bucket=bucket)
    assert shown["Rules"] == rules
    assert shown["TransitionDefaultMinimumObjectSize"] == "all_storage_classes_128K"
    s3.delete_bucket_lifecycle(Bucket=bucket)
    assert refused(s3.get_bucket_lifecycle_configuration, Bucket=bucket)[0] == "NoSuchLifecycleConfiguration"


def test_a_head_says_when_an_object_expires(s3, bucket):
    rules = [
        {"ID": "soon & sure", "Status": "Enabled", "Filter": {"Prefix": "a/"}, "Expiration": {"Days": 3}},
        {"ID": "late", "Status": "Enabled", "Filter": {"Prefix": ""}, "Expiration": {"Days": 30}},
        {"ID": "off", "Status": "Disabled", "Filter": {"Prefix": ""}, "Expiration": {"Days": 1}},
    ]
    s3.put_object(Bucket=bucket, Key="a/k", Body=b"")
    assert "Expiration" not in s3.head_object(Bucket=bucket, Key="a/k")
    s3.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": rules})
    shown = s3.head_object(Bucket=bucket, Key="a/k")
    date = (shown["LastModified"] + timedelta(days=4)).strftime("%a, %d %b %Y 00:00:00 GMT")
    assert shown["Expiration"] == f'expiry-date="{date}", rule-id="soon%20%26%20sure"'
    s3.put_object(Bucket=bucket, Key="b", Body=b"")
    assert s3.head_object(Bucket=bucket, Key="b")["Expiration"].endswith('rule-id="late"')
    assert "Expiration" not in s3.head_object(Bucket=bucket, Key="b", VersionId="null")
