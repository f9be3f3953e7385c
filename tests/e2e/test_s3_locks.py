"""Object Lock through boto3: configurations of buckets, retentions, legal holds, and what they protect."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.e2e.conftest import Server, error_of, new_bucket

PROTECTED = "Access Denied because object protected by object lock."
ENABLED = {"ObjectLockEnabled": "Enabled"}


def later(days: int) -> datetime:
    return datetime.now(UTC).replace(microsecond=0) + timedelta(days=days)


def locked_bucket(s3: Any) -> str:
    name = f"b-{uuid4()}"
    s3.create_bucket(Bucket=name, ObjectLockEnabledForBucket=True)
    return name


@pytest.fixture
def bucket(s3: Any) -> str:
    return locked_bucket(s3)


def default(mode: str, **period: int) -> dict[str, Any]:
    return {**ENABLED, "Rule": {"DefaultRetention": {"Mode": mode, **period}}}


def put(s3: Any, bucket: str, key: str = "k", **lock: Any) -> dict[str, str]:
    """Write an object: the arguments that name its version."""
    made = s3.put_object(Bucket=bucket, Key=key, Body=b"kept", **lock)
    return {"Bucket": bucket, "Key": key, "VersionId": made["VersionId"]}


def is_denied(call: Any, **arguments: Any) -> bool:
    refusal = error_of(call, **arguments)
    return (refusal["Code"], refusal["status"], refusal["Message"]) == ("AccessDenied", 403, PROTECTED)


def test_a_bucket_that_is_created_with_a_lock(s3, bucket):
    assert s3.get_bucket_versioning(Bucket=bucket)["Status"] == "Enabled"
    assert s3.get_object_lock_configuration(Bucket=bucket)["ObjectLockConfiguration"] == ENABLED
    config = default("GOVERNANCE", Days=3)
    s3.put_object_lock_configuration(Bucket=bucket, ObjectLockConfiguration=config)
    assert s3.get_object_lock_configuration(Bucket=bucket)["ObjectLockConfiguration"] == config
    suspended = {"Status": "Suspended"}
    refusal = error_of(s3.put_bucket_versioning, Bucket=bucket, VersioningConfiguration=suspended)
    assert (refusal["Code"], refusal["status"]) == ("InvalidBucketState", 409)


def test_a_bucket_that_is_locked_later(s3):
    bucket = new_bucket(s3)
    assert error_of(s3.get_object_lock_configuration, Bucket=bucket)["Code"] == "ObjectLockConfigurationNotFoundError"
    call = {"Bucket": bucket, "ObjectLockConfiguration": ENABLED}
    for status in (None, "Suspended"):
        if status is not None:
            s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": status})
        refusal = error_of(s3.put_object_lock_configuration, **call)
        assert (refusal["Code"], refusal["status"]) == ("InvalidBucketState", 409)
        said = "Versioning must be 'Enabled' on the bucket to apply a Object Lock configuration"
        assert refusal["Message"] == said
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    s3.put_object_lock_configuration(**call)
    assert s3.get_object_lock_configuration(Bucket=bucket)["ObjectLockConfiguration"] == ENABLED


@pytest.mark.parametrize(
    "config",
    [
        {},
        {**ENABLED, "Rule": {}},
        default("GOVERNANCE"),
        default("GOVERNANCE", Days=1, Years=1),
        {**ENABLED, "Rule": {"DefaultRetention": {"Days": 1}}},
        default("FOREVER", Days=1),
    ],
)
def test_configurations_that_are_malformed(s3, bucket, config):
    refusal = error_of(s3.put_object_lock_configuration, Bucket=bucket, ObjectLockConfiguration=config)
    assert refusal["Code"] == "MalformedXML"


@pytest.mark.parametrize("period", [{"Days": 0}, {"Days": 36_501}, {"Years": 101}])
def test_periods_that_are_refused(s3, bucket, period):
    config = default("COMPLIANCE", **period)
    refusal = error_of(s3.put_object_lock_configuration, Bucket=bucket, ObjectLockConfiguration=config)
    assert refusal["Code"] == "InvalidArgument"


def test_a_retention_protects_a_version_and_not_the_key(s3, bucket):
    until = later(1)
    version = put(s3, bucket, ObjectLockMode="COMPLIANCE", ObjectLockRetainUntilDate=until)
    for call in (s3.get_object, s3.head_object):
        found = call(**version)
        assert (found["ObjectLockMode"], found["ObjectLockRetainUntilDate"]) == ("COMPLIANCE", until)
        assert "ObjectLockLegalHoldStatus" not in found
    assert s3.get_object_retention(**version)["Retention"] == {"Mode": "COMPLIANCE", "RetainUntilDate": until}
    assert is_denied(s3.delete_object, **version)
    assert is_denied(s3.delete_object, **version, BypassGovernanceRetention=True)
    s3.put_object(Bucket=bucket, Key="k", Body=b"newer")
    marker = s3.delete_object(Bucket=bucket, Key="k")
    assert marker["DeleteMarker"] is True
    assert is_denied(s3.delete_object, **version)
    many = {
        "Objects": [{"Key": "k", "VersionId": version["VersionId"]}, {"Key": "k", "VersionId": marker["VersionId"]}]
    }
    answer = s3.delete_objects(Bucket=bucket, Delete=many, BypassGovernanceRetention=True)
    assert [one["VersionId"] for one in answer["Deleted"]] == [marker["VersionId"]]
    assert [(one["Code"], one["Message"]) for one in answer["Errors"]] == [("AccessDenied", PROTECTED)]
    assert s3.get_object(**version)["Body"].read() == b"kept"
    assert error_of(s3.delete_bucket, Bucket=bucket)["Code"] == "BucketNotEmpty"


def test_governance_is_bypassed_by_callers_that_say_so(s3, bucket):
    version = put(s3, bucket, ObjectLockMode="GOVERNANCE", ObjectLockRetainUntilDate=later(2))
    shorter = {"Mode": "GOVERNANCE", "RetainUntilDate": later(1)}
    assert is_denied(s3.put_object_retention, **version, Retention=shorter)
    assert is_denied(s3.put_object_retention, **version, Retention={})
    s3.put_object_retention(**version, Retention={"Mode": "GOVERNANCE", "RetainUntilDate": later(3)})
    s3.put_object_retention(**version, Retention=shorter, BypassGovernanceRetention=True)
    assert s3.get_object_retention(**version)["Retention"]["RetainUntilDate"] == shorter["RetainUntilDate"]
    assert is_denied(s3.delete_object, **version)
    s3.delete_object(**version, BypassGovernanceRetention=True)
    other = put(s3, bucket, ObjectLockMode="GOVERNANCE", ObjectLockRetainUntilDate=later(2))
    s3.put_object_retention(**other, Retention={}, BypassGovernanceRetention=True)
    assert error_of(s3.get_object_retention, **other)["Code"] == "NoSuchObjectLockConfiguration"
    s3.delete_object(**other)


def test_compliance_only_grows(s3, bucket):
    version = put(s3, bucket, ObjectLockMode="COMPLIANCE", ObjectLockRetainUntilDate=later(2))
    for less in (
        {"Mode": "COMPLIANCE", "RetainUntilDate": later(1)},
        {"Mode": "GOVERNANCE", "RetainUntilDate": later(3)},
        {},
    ):
        assert is_denied(s3.put_object_retention, **version, Retention=less, BypassGovernanceRetention=True)
    s3.put_object_retention(**version, Retention={"Mode": "COMPLIANCE", "RetainUntilDate": later(3)})
    assert s3.head_object(**version)["ObjectLockRetainUntilDate"] > later(2)


def test_a_legal_hold_protects_until_it_is_removed(s3, bucket):
    version = put(s3, bucket)
    assert s3.get_object_legal_hold(**version)["LegalHold"] == {"Status": "OFF"}
    s3.put_object_legal_hold(**version, LegalHold={"Status": "ON"})
    assert s3.head_object(**version)["ObjectLockLegalHoldStatus"] == "ON"
    assert is_denied(s3.delete_object, **version, BypassGovernanceRetention=True)
    s3.put_object_legal_hold(**version, LegalHold={"Status": "OFF"})
    s3.delete_object(**version)
    held = put(s3, bucket, ObjectLockLegalHoldStatus="ON")
    assert is_denied(s3.delete_object, **held)


def test_the_default_of_a_bucket_is_that_of_new_versions(s3, bucket):
    before = put(s3, bucket, "before")
    s3.put_object_lock_configuration(Bucket=bucket, ObjectLockConfiguration=default("COMPLIANCE", Years=1))
    version = put(s3, bucket)
    found = s3.head_object(**version)
    assert found["ObjectLockMode"] == "COMPLIANCE"
    assert later(364) < found["ObjectLockRetainUntilDate"] < later(366)
    own = put(s3, bucket, ObjectLockMode="GOVERNANCE", ObjectLockRetainUntilDate=later(1))
    assert s3.head_object(**own)["ObjectLockMode"] == "GOVERNANCE"
    copied = s3.copy_object(Bucket=bucket, Key="copy", CopySource={**own})
    assert s3.head_object(Bucket=bucket, Key="copy", VersionId=copied["VersionId"])["ObjectLockMode"] == "COMPLIANCE"
    where = {"Bucket": bucket, "Key": "u"}
    upload = {**where, "UploadId": s3.create_multipart_upload(**where)["UploadId"]}
    part = s3.upload_part(**upload, PartNumber=1, Body=b"x")
    chosen = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
    s3.complete_multipart_upload(**upload, MultipartUpload=chosen)
    assert s3.head_object(**where)["ObjectLockMode"] == "COMPLIANCE"
    assert "ObjectLockMode" not in s3.head_object(**before)
    s3.delete_object(**before)


def test_locks_that_are_refused(s3, bucket):
    past = {"ObjectLockMode": "GOVERNANCE", "ObjectLockRetainUntilDate": later(-1)}
    for lock, code in (
        (past, "InvalidArgument"),
        ({"ObjectLockMode": "GOVERNANCE"}, "InvalidArgument"),
        ({"ObjectLockRetainUntilDate": later(1)}, "InvalidArgument"),
        ({"ObjectLockMode": "x", "ObjectLockRetainUntilDate": later(1)}, "InvalidArgument"),
    ):
        assert error_of(s3.put_object, Bucket=bucket, Key="k", Body=b"", **lock)["Code"] == code
    version = put(s3, bucket)
    assert error_of(s3.put_object_legal_hold, **version, LegalHold={})["Code"] == "MalformedXML"
    marker = s3.delete_object(Bucket=bucket, Key="k")["VersionId"]
    retention = {"Mode": "GOVERNANCE", "RetainUntilDate": later(1)}
    of_marker = {"Bucket": bucket, "Key": "k", "VersionId": marker, "Retention": retention}
    assert error_of(s3.put_object_retention, **of_marker)["Code"] == "MethodNotAllowed"
    plain = new_bucket(s3)
    refusal = error_of(s3.put_object, Bucket=plain, Key="k", Body=b"", ObjectLockLegalHoldStatus="ON")
    assert (refusal["Code"], refusal["Message"]) == ("InvalidRequest", "Bucket is missing Object Lock Configuration")
    s3.put_object(Bucket=plain, Key="k", Body=b"")
    for call, more in (
        (s3.get_object_retention, {}),
        (s3.get_object_legal_hold, {}),
        (s3.put_object_retention, {"Retention": retention}),
        (s3.put_object_legal_hold, {"LegalHold": {"Status": "ON"}}),
    ):
        assert error_of(call, Bucket=plain, Key="k", **more)["Code"] == "InvalidRequest"


@pytest.mark.slow
def test_a_lock_outlives_a_kill(tmp_path: Path):
    server = Server(tmp_path / "data")
    bucket = locked_bucket(server.client("s3"))
    version = put(server.client("s3"), bucket, ObjectLockMode="COMPLIANCE", ObjectLockRetainUntilDate=later(1))
    server.client("s3").put_object_legal_hold(**version, LegalHold={"Status": "ON"})
    server.kill()
    server = Server(tmp_path / "data")
    assert is_denied(server.client("s3").delete_object, **version)
    assert server.client("s3").head_object(**version)["ObjectLockLegalHoldStatus"] == "ON"
    server.stop()
