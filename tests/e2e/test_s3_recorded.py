"""Answers of S3 as recorded: conditions, copies of an object onto itself, checksums of parts, markers of listings."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.e2e.conftest import error_of

MIB = 1024 * 1024
FUTURE = datetime.now(UTC) + timedelta(days=30)
ILLEGAL = (
    "This copy request is illegal because it is trying to copy an object to itself without changing the object's "
    "metadata, storage class, website redirect location or encryption attributes."
)


@pytest.fixture
def bucket(s3: Any, bucket: str) -> str:
    s3.put_object(Bucket=bucket, Key="k", Body=b"0123456789")
    return bucket


def test_an_instant_in_the_future_is_no_condition(s3, bucket):
    here = {"Bucket": bucket, "Key": "k"}
    assert s3.get_object(**here, IfModifiedSince=FUTURE)["ContentLength"] == 10
    assert s3.head_object(**here, IfModifiedSince=FUTURE)["ContentLength"] == 10
    source = {"CopySource": f"{bucket}/k"}
    s3.copy_object(Bucket=bucket, Key="copy", **source, CopySourceIfModifiedSince=FUTURE)
    modified = s3.head_object(**here)["LastModified"]
    assert error_of(s3.get_object, **here, IfModifiedSince=modified)["Code"] == "304"
    refusal = error_of(s3.copy_object, Bucket=bucket, Key="copy", **source, CopySourceIfModifiedSince=modified)
    assert (refusal["Code"], refusal["Condition"]) == ("PreconditionFailed", "x-amz-copy-source-If-Modified-Since")


def test_conditions_of_copies_that_contradict_each_other(s3, bucket):
    etag = s3.head_object(Bucket=bucket, Key="k")["ETag"]
    copy = {"Bucket": bucket, "Key": "copy", "CopySource": f"{bucket}/k"}
    past = datetime(2020, 1, 1, tzinfo=UTC)
    s3.copy_object(**copy, CopySourceIfMatch=etag, CopySourceIfUnmodifiedSince=past)
    modified = s3.head_object(Bucket=bucket, Key="k")["LastModified"]
    both = {"CopySourceIfNoneMatch": '"0"', "CopySourceIfModifiedSince": modified}
    assert error_of(s3.copy_object, **copy, **both)["Code"] == "PreconditionFailed"
    # When reading, the ETag alone decides.
    assert s3.get_object(Bucket=bucket, Key="k", IfNoneMatch='"0"', IfModifiedSince=modified)["ContentLength"] == 10


@pytest.mark.parametrize(
    ("conditions", "header", "why"),
    [
        ({"IfMatch": "*"}, "If-Match", "We don't accept the provided value of If-Match header for this API"),
        (
            {"IfNoneMatch": '"0"'},
            "If-None-Match",
            "We don't accept the provided value of If-None-Match header for this API",
        ),
        (
            {"IfMatch": '"0"', "IfNoneMatch": "*"},
            "If-Match,If-None-Match",
            "Multiple conditional request headers present in the request",
        ),
    ],
)
def test_conditions_that_writes_do_not_take(s3, bucket, conditions, header, why):
    for call, more in ((s3.put_object, {"Body": b""}), (s3.copy_object, {"CopySource": f"{bucket}/k"})):
        refusal = error_of(call, Bucket=bucket, Key="x", **more, **conditions)
        assert (refusal["Code"], refusal["status"]) == ("NotImplemented", 501)
        assert refusal["Message"] == "A header you provided implies functionality that is not implemented"
        assert (refusal["Header"], refusal["additionalMessage"]) == (header, why)
    assert error_of(s3.put_object, Bucket=bucket, Key="x", Body=b"", IfMatch='"0"')["Code"] == "NoSuchKey"


def test_copies_onto_itself(s3, bucket):
    itself = {"Bucket": bucket, "Key": "k", "CopySource": f"{bucket}/k"}
    changes: tuple[dict[str, Any], ...] = ({}, {"ACL": "private"})
    for more in changes:
        refusal = error_of(s3.copy_object, **itself, **more)
        assert (refusal["Code"], refusal["Message"]) == ("InvalidRequest", ILLEGAL)
    refusal = error_of(s3.copy_object, **itself, IfNoneMatch="*")
    assert (refusal["Code"], refusal["Condition"]) == ("PreconditionFailed", "If-None-Match")
    for more in (
        {"StorageClass": "STANDARD"},
        {"ServerSideEncryption": "AES256"},
        {"WebsiteRedirectLocation": "/there"},
        {"WebsiteRedirectLocation": "/there"},
        {"MetadataDirective": "REPLACE", "Metadata": {"a": "b"}},
    ):
        s3.copy_object(**itself, **more)
    head = s3.head_object(Bucket=bucket, Key="k")
    assert (head["Metadata"], "WebsiteRedirectLocation" in head) == ({"a": "b"}, False)
    assert error_of(s3.copy_object, **itself)["Message"] == ILLEGAL
    s3.put_object(Bucket=bucket, Key="k", Body=b"x", ServerSideEncryption="aws:kms")
    assert s3.copy_object(**itself)["ServerSideEncryption"] == "AES256"
    own = {"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]}
    s3.put_bucket_encryption(Bucket=bucket, ServerSideEncryptionConfiguration=own)
    s3.copy_object(**itself)


def test_copies_keep_a_redirect_that_is_given(s3, bucket):
    s3.put_object(Bucket=bucket, Key="old", Body=b"x", WebsiteRedirectLocation="/a", ContentType="text/x")
    source = {"Bucket": bucket, "Key": "new", "CopySource": f"{bucket}/old"}
    s3.copy_object(**source)
    assert "WebsiteRedirectLocation" not in s3.head_object(Bucket=bucket, Key="new")
    s3.copy_object(**source, WebsiteRedirectLocation="/b")
    head = s3.head_object(Bucket=bucket, Key="new")
    assert (head["WebsiteRedirectLocation"], head["ContentType"]) == ("/b", "text/x")


FORM = (
    "The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the zero-based "
    "offsets of the first and last bytes to copy"
)


@pytest.mark.parametrize(
    ("wanted", "code", "message"),
    [
        ("0-5", "InvalidArgument", FORM),
        ("bytes=5-", "InvalidArgument", FORM),
        ("bytes=-5", "InvalidArgument", FORM),
        ("bytes=5-2", "InvalidArgument", FORM),
        ("bytes=" + "9" * 5000 + "-1", "InvalidArgument", FORM),
        ("bytes=0-10", "InvalidArgument", "Range specified is not valid for source object of size: 10"),
        ("bytes=10-12", "InvalidRequest", "The specified copy range is invalid for the source object size"),
    ],
)
def test_ranges_of_parts_that_are_copied(s3, bucket, wanted, code, message):
    upload = s3.create_multipart_upload(Bucket=bucket, Key="u")["UploadId"]
    where = {"Bucket": bucket, "Key": "u", "UploadId": upload, "PartNumber": 1, "CopySource": f"{bucket}/k"}
    refusal = error_of(s3.upload_part_copy, **where, CopySourceRange=wanted)
    assert (refusal["Code"], refusal["Message"]) == (code, message)
    if code == "InvalidArgument":
        assert (refusal["ArgumentName"], refusal["ArgumentValue"]) == ("x-amz-copy-source-range", wanted)
    s3.upload_part_copy(**where, CopySourceRange="bytes=2-9")


def test_a_range_of_everything_has_the_checksum(s3, bucket):
    asked = {"Bucket": bucket, "Key": "k", "ChecksumMode": "ENABLED"}
    whole = s3.get_object(**asked, Range="bytes=0-100")
    assert whole["ResponseMetadata"]["HTTPStatusCode"] == 206
    assert (whole["ContentRange"], whole["ChecksumType"]) == ("bytes 0-9/10", "FULL_OBJECT")
    assert s3.head_object(**asked)["ChecksumCRC32"] == whole["ChecksumCRC32"]
    assert "ChecksumCRC32" not in s3.get_object(**asked, Range="bytes=0-8")


def sums(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name.startswith("Checksum")}


def test_checksums_of_an_upload_without_an_algorithm(server, bucket):
    s3 = server.client("s3")
    upload = s3.create_multipart_upload(Bucket=bucket, Key="u")["UploadId"]
    where = {"Bucket": bucket, "Key": "u", "UploadId": upload}
    body = b"a" * (5 * MIB)
    one = s3.upload_part(**where, PartNumber=1, Body=body, ChecksumAlgorithm="SHA256")
    assert list(sums(one)) == ["ChecksumSHA256"]
    two = s3.upload_part_copy(**where, PartNumber=2, CopySource=f"{bucket}/k")["CopyPartResult"]
    assert sums(two) == {}
    assert [sums(part) for part in s3.list_parts(**where)["Parts"]] == [{}, {}]
    chosen = {"Parts": [{"PartNumber": n, "ETag": part["ETag"]} for n, part in ((1, one), (2, two))]}
    done = s3.complete_multipart_upload(**where, MultipartUpload=chosen)
    assert (sorted(sums(done)), done["ChecksumType"]) == (["ChecksumCRC64NVME", "ChecksumType"], "FULL_OBJECT")
    parts = s3.get_object_attributes(Bucket=bucket, Key="u", ObjectAttributes=["ObjectParts"])["ObjectParts"]
    assert parts == {"TotalPartsCount": 2}


def test_checksums_of_parts(s3, bucket):
    upload = s3.create_multipart_upload(Bucket=bucket, Key="u", ChecksumAlgorithm="SHA256")["UploadId"]
    where = {"Bucket": bucket, "Key": "u", "UploadId": upload}
    bodies = [b"a" * (5 * MIB), b"b"]
    made = [s3.upload_part(**where, PartNumber=n, Body=body, ChecksumAlgorithm="SHA256") for n, body in
            enumerate(bodies, 1)]  # fmt: skip
    chosen = {
        "Parts": [
            {"PartNumber": n, "ETag": part["ETag"], "ChecksumSHA256": part["ChecksumSHA256"]}
            for n, part in enumerate(made, 1)
        ]
    }
    done = s3.complete_multipart_upload(**where, MultipartUpload=chosen)
    value, _, count = done["ChecksumSHA256"].partition("-")
    assert count == "2"
    for number, part in enumerate(made, 1):
        for call in (s3.get_object, s3.head_object):
            read = call(Bucket=bucket, Key="u", PartNumber=number, ChecksumMode="ENABLED")
            assert (read["ChecksumSHA256"], read["PartsCount"]) == (part["ChecksumSHA256"], 2)
    attributes = s3.get_object_attributes(Bucket=bucket, Key="u", ObjectAttributes=["ObjectParts", "Checksum"])
    assert attributes["Checksum"] == {"ChecksumSHA256": value, "ChecksumType": "COMPOSITE"}
    assert [part["Size"] for part in attributes["ObjectParts"]["Parts"]] == [5 * MIB, 1]


def test_markers_of_uploads(s3, bucket):
    ids = [s3.create_multipart_upload(Bucket=bucket, Key=key)["UploadId"] for key in ("a", "b", "c/d")]
    every = s3.list_multipart_uploads(Bucket=bucket)
    assert (every["IsTruncated"], every["NextKeyMarker"], every["NextUploadIdMarker"]) == (False, "c/d", ids[2])
    grouped = s3.list_multipart_uploads(Bucket=bucket, Delimiter="/")
    assert (grouped.get("NextKeyMarker", ""), grouped.get("NextUploadIdMarker", "")) == ("", "")
    pages = s3.get_paginator("list_multipart_uploads").paginate(
        Bucket=bucket, Delimiter="/", PaginationConfig={"PageSize": 1}
    )
    keys = []
    for page in pages:
        keys += [one["Key"] for one in page.get("Uploads", [])]
        keys += [one["Prefix"] for one in page.get("CommonPrefixes", [])]
    assert keys == ["a", "b", "c/"]


def test_markers_of_listings(s3, bucket):
    for key in ("a/1", "a/2", "b/1", "c"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"")
    listed = s3.list_objects(Bucket=bucket, Marker="a/1", Delimiter="/")
    assert [one["Prefix"] for one in listed["CommonPrefixes"]] == ["b/"]
    assert listed["Marker"] == "a/1"
    assert [one["Key"] for one in s3.list_objects(Bucket=bucket, Marker="a/1")["Contents"]][:1] == ["a/2"]
    assert "NextMarker" not in s3.list_objects(Bucket=bucket, MaxKeys=1)
    assert s3.list_objects(Bucket=bucket, MaxKeys=1, Delimiter="/")["NextMarker"] == "a/"
    first = s3.list_objects_v2(Bucket=bucket, MaxKeys=1, StartAfter="a/1")
    assert (first["StartAfter"], first["Contents"][0]["Key"]) == ("a/1", "a/2")
    token = first["NextContinuationToken"]
    second = s3.list_objects_v2(Bucket=bucket, MaxKeys=1, StartAfter="c", ContinuationToken=token)
    assert ("StartAfter" in second, second["Contents"][0]["Key"]) == (False, "b/1")
