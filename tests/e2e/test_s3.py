"""S3 through boto3: every served operation, its parameters and its errors."""

from __future__ import annotations

import hashlib
import io
import os
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.e2e.conftest import error_of

MIB = 1024 * 1024
BODY = bytes(range(256)) * 100


def refused(call: Any, **arguments: Any) -> tuple[str, int]:
    error = error_of(call, **arguments)
    return error["Code"], error["status"]


def plain(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name != "ResponseMetadata"}


def body_of(answer: dict[str, Any]) -> bytes:
    content: bytes = answer["Body"].read()
    return content


# Buckets


def test_buckets(s3, bucket):
    other = f"a-{uuid4()}"
    location = s3.create_bucket(
        Bucket=other,
        CreateBucketConfiguration={"LocationConstraint": "eu-west-1", "Tags": [{"Key": "a", "Value": "b"}]},
    )
    assert location["Location"].startswith(f"http://{other}.")
    assert s3.get_bucket_location(Bucket=other)["LocationConstraint"] == "eu-west-1"
    assert s3.get_bucket_location(Bucket=bucket)["LocationConstraint"] is None
    assert s3.head_bucket(Bucket=other)["BucketRegion"] == "eu-west-1"
    assert s3.get_bucket_tagging(Bucket=other)["TagSet"] == [{"Key": "a", "Value": "b"}]
    names = [one["Name"] for one in s3.list_buckets()["Buckets"]]
    assert names == sorted(names)
    assert {bucket, other} <= set(names)
    page = s3.list_buckets(MaxBuckets=1)
    assert [one["Name"] for one in page["Buckets"]] == names[:1]
    following = s3.list_buckets(ContinuationToken=page["ContinuationToken"])
    assert [one["Name"] for one in following["Buckets"]] == names[1:]
    assert [one["Name"] for one in s3.list_buckets(Prefix=other)["Buckets"]] == [other]
    s3.delete_bucket(Bucket=other)
    assert refused(s3.head_bucket, Bucket=other) == ("404", 404)


def test_making_a_bucket_again(s3, bucket):
    s3.create_bucket(Bucket=bucket)
    name = f"c-{uuid4()}"
    there = {"LocationConstraint": "eu-west-1"}
    s3.create_bucket(Bucket=name, CreateBucketConfiguration=there)
    assert refused(s3.create_bucket, Bucket=name, CreateBucketConfiguration=there) == ("BucketAlreadyOwnedByYou", 409)
    assert refused(s3.create_bucket, Bucket=name) == ("BucketAlreadyOwnedByYou", 409)


def test_bucket_tags(s3, bucket):
    assert refused(s3.get_bucket_tagging, Bucket=bucket) == ("NoSuchTagSet", 404)
    s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": [{"Key": "x", "Value": "a+b=c:/@ é"}]})
    assert s3.get_bucket_tagging(Bucket=bucket)["TagSet"] == [{"Key": "x", "Value": "a+b=c:/@ é"}]
    s3.delete_bucket_tagging(Bucket=bucket)
    assert refused(s3.get_bucket_tagging, Bucket=bucket) == ("NoSuchTagSet", 404)
    twice = {"TagSet": [{"Key": "x", "Value": "1"}, {"Key": "x", "Value": "2"}]}
    assert refused(s3.put_bucket_tagging, Bucket=bucket, Tagging=twice) == ("InvalidTag", 400)


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        ("get_bucket_policy", "NoSuchBucketPolicy"),
        ("get_bucket_policy_status", "NoSuchBucketPolicy"),
        ("get_bucket_cors", "NoSuchCORSConfiguration"),
        ("get_bucket_lifecycle_configuration", "NoSuchLifecycleConfiguration"),
        ("get_bucket_website", "NoSuchWebsiteConfiguration"),
        ("get_bucket_replication", "ReplicationConfigurationNotFoundError"),
        ("get_object_lock_configuration", "ObjectLockConfigurationNotFoundError"),
    ],
)
def test_what_a_bucket_does_not_have(s3, bucket, operation, code):
    assert refused(getattr(s3, operation), Bucket=bucket) == (code, 404)


def test_what_a_bucket_has_nothing_of(s3, bucket):
    assert plain(s3.get_bucket_versioning(Bucket=bucket)) == {}
    assert plain(s3.get_bucket_accelerate_configuration(Bucket=bucket)) == {}
    assert plain(s3.get_bucket_logging(Bucket=bucket)) == {}
    assert plain(s3.get_bucket_notification_configuration(Bucket=bucket)) == {}
    assert s3.get_bucket_request_payment(Bucket=bucket)["Payer"] == "BucketOwner"
    assert s3.get_bucket_acl(Bucket=bucket)["Grants"][0]["Permission"] == "FULL_CONTROL"
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Suspended"})


NOT_HERE: list[tuple[str, dict[str, Any]]] = [
    ("put_bucket_versioning", {"VersioningConfiguration": {"Status": "Enabled", "MFADelete": "Enabled"}}),
    ("put_bucket_website", {"WebsiteConfiguration": {}}),
    ("put_bucket_acl", {"GrantRead": "id=1"}),
    ("put_object", {"Key": "k", "ObjectLockEventHold": "ON"}),
    ("restore_object", {"Key": "k"}),
    ("select_object_content", {"Key": "k", "Expression": "x", "ExpressionType": "SQL", "InputSerialization": {},
                               "OutputSerialization": {}}),
    ("put_object", {"Key": "k", "SSECustomerAlgorithm": "AES256", "SSECustomerKey": "x" * 32}),
    ("put_object", {"Key": "k", "GrantRead": "id=1"}),
    ("put_object", {"Key": "k", "IfNoneMatch": '"etag"'}),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "arguments"), NOT_HERE)
def test_what_is_not_here_is_refused_by_name(s3, bucket, operation, arguments):
    assert refused(getattr(s3, operation), Bucket=bucket, **arguments) == ("NotImplemented", 501)


# Objects


@pytest.mark.parametrize("size", [0, 1, 16 * 1024, 16 * 1024 + 1, 3 * MIB + 7])
def test_bodies_of_any_size(s3, bucket, size):
    content = os.urandom(size)
    put = s3.put_object(Bucket=bucket, Key="k", Body=content)
    assert put["ETag"] == f'"{hashlib.md5(content).hexdigest()}"'
    got = s3.get_object(Bucket=bucket, Key="k")
    assert body_of(got) == content
    head = s3.head_object(Bucket=bucket, Key="k")
    assert (head["ContentLength"], head["ETag"], head["LastModified"]) == (size, put["ETag"], got["LastModified"])


def test_everything_that_is_said_of_an_object_comes_back(s3, bucket):
    said = {
        "ContentType": "text/x", "CacheControl": "no-store", "ContentDisposition": "inline", "ContentEncoding": "gzip",
        "ContentLanguage": "de", "WebsiteRedirectLocation": "/x", "Metadata": {"a": "b", "c-d": "e f"},
        "StorageClass": "STANDARD_IA", "ServerSideEncryption": "AES256",
        "Expires": datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC),
    }  # fmt: skip
    put = s3.put_object(Bucket=bucket, Key="k", Body=b"1", Tagging="t=1&u=%2F", ACL="private", **said)
    assert put["ServerSideEncryption"] == "AES256"
    head = s3.head_object(Bucket=bucket, Key="k")
    expires = said.pop("Expires")
    assert {name: head[name] for name in said} == said
    assert head["ExpiresString"] == "Wed, 02 Jan 2030 03:04:05 GMT" or head["Expires"] == expires
    assert s3.get_object(Bucket=bucket, Key="k")["TagCount"] == 2
    changed = s3.get_object(
        Bucket=bucket, Key="k", ResponseContentType="a/b", ResponseCacheControl="x", ResponseContentLanguage="y",
        ResponseContentDisposition="z", ResponseContentEncoding="identity",
    )  # fmt: skip
    assert (changed["ContentType"], changed["CacheControl"], changed["ContentDisposition"]) == ("a/b", "x", "z")
    plain_one = s3.put_object(Bucket=bucket, Key="plain", Body=b"1")
    assert plain_one["ServerSideEncryption"] == "AES256"
    assert s3.head_object(Bucket=bucket, Key="plain")["ContentType"] == "binary/octet-stream"


KEYS = ["a/../b", "a//b", "/lead", "tail/", "nul\x00", "é/日本/😀", "a b+c%20d&e=f?g#h", "x" * 1024, ".", "..", "<&>"]


def test_keys(s3, bucket):
    for key in KEYS:
        s3.put_object(Bucket=bucket, Key=key, Body=key.encode())
    for key in KEYS:
        assert body_of(s3.get_object(Bucket=bucket, Key=key)) == key.encode()
    listed = [one["Key"] for one in s3.list_objects_v2(Bucket=bucket)["Contents"]]
    assert listed == sorted(KEYS, key=str.encode)
    assert refused(s3.put_object, Bucket=bucket, Key="x" * 1025, Body=b"") == ("KeyTooLongError", 400)


@pytest.mark.parametrize(
    ("conditions", "code"),
    [
        ({"IfMatch": "{etag}"}, None), ({"IfMatch": '"no"'}, ("PreconditionFailed", 412)),
        ({"IfNoneMatch": "{etag}"}, ("304", 304)), ({"IfNoneMatch": '"no"'}, None),
        ({"IfModifiedSince": +1}, None), ({"IfModifiedSince": -1}, None),
        ({"IfUnmodifiedSince": +1}, None), ({"IfUnmodifiedSince": -1}, ("PreconditionFailed", 412)),
        ({"Range": "bytes=0-9"}, None), ({"Range": "bytes=99999-"}, ("InvalidRange", 416)),
        ({"PartNumber": 1}, None), ({"PartNumber": 2}, ("InvalidPartNumber", 416)),
        ({"VersionId": "null"}, None), ({"VersionId": "other"}, ("InvalidArgument", 400)),
        ({"ExpectedBucketOwner": "000000000000"}, None),
        ({"ExpectedBucketOwner": "111111111111"}, ("AccessDenied", 403)),
    ],
)  # fmt: skip
def test_conditions_on_reading(s3, bucket, conditions, code):
    etag = s3.put_object(Bucket=bucket, Key="k", Body=BODY)["ETag"]
    now = datetime.now(UTC)
    given = {
        name: value.format(etag=etag) if isinstance(value, str)
        else now + timedelta(days=value) if name.endswith("Since") else value
        for name, value in conditions.items()
    }  # fmt: skip
    if code is None:
        answer = s3.get_object(Bucket=bucket, Key="k", **given)
        is_partial = answer["ResponseMetadata"]["HTTPStatusCode"] == 206
        assert is_partial == ("Range" in given or "PartNumber" in given)
        assert body_of(answer) == (BODY[:10] if "Range" in given else BODY)
        head = s3.head_object(Bucket=bucket, Key="k", **given)
        assert head["ContentLength"] == answer["ContentLength"]
        assert head.get("ContentRange") == answer.get("ContentRange")
    else:
        assert refused(s3.get_object, Bucket=bucket, Key="k", **given) == code
        assert refused(s3.head_object, Bucket=bucket, Key="k", **given)[1] == code[1]


def test_conditions_on_writing(s3, bucket):
    first = s3.put_object(Bucket=bucket, Key="k", Body=b"1", IfNoneMatch="*")["ETag"]
    put, missing = s3.put_object, f"none-{uuid4()}"
    assert refused(put, Bucket=bucket, Key="k", Body=b"2", IfNoneMatch="*") == ("PreconditionFailed", 412)
    assert refused(put, Bucket=bucket, Key="k", Body=b"2", IfMatch='"no"') == ("PreconditionFailed", 412)
    assert refused(put, Bucket=bucket, Key=missing, Body=b"2", IfMatch=first) == ("NoSuchKey", 404)
    put(Bucket=bucket, Key="k", Body=b"2", IfMatch=first)
    assert refused(s3.delete_object, Bucket=bucket, Key="k", IfMatch=first) == ("PreconditionFailed", 412)
    s3.delete_object(Bucket=bucket, Key="k")
    s3.delete_object(Bucket=bucket, Key="k")


@pytest.mark.parametrize(
    ("call", "arguments", "code"),
    [
        ("get_object", {"Key": "none"}, ("NoSuchKey", 404)),
        ("head_object", {"Key": "none"}, ("404", 404)),
        ("get_object_tagging", {"Key": "none"}, ("NoSuchKey", 404)),
        ("get_object_attributes", {"Key": "none", "ObjectAttributes": ["ETag"]}, ("NoSuchKey", 404)),
        ("copy_object", {"Key": "k", "CopySource": "no-such-bucket-here/none"}, ("NoSuchBucket", 404)),
        ("copy_object", {"Key": "k", "CopySource": "nothing"}, ("InvalidArgument", 400)),
        ("put_object", {"Key": "k", "ContentMD5": "AAAAAAAAAAAAAAAAAAAAAA=="}, ("BadDigest", 400)),
        ("put_object", {"Key": "k", "ContentMD5": "short"}, ("InvalidDigest", 400)),
        ("put_object", {"Key": "k", "ChecksumCRC32": "AAAAAQ=="}, ("BadDigest", 400)),
        ("put_object", {"Key": "k", "ChecksumSHA256": "AAAA"}, ("InvalidRequest", 400)),
        ("put_object", {"Key": "k", "StorageClass": "CHEAP"}, ("InvalidStorageClass", 400)),
        ("put_object", {"Key": "k", "ACL": "public-read"}, ("AccessControlListNotSupported", 400)),
        ("put_object", {"Key": "k", "Tagging": "aws:x=1"}, ("InvalidTag", 400)),
        ("put_object", {"Key": "k", "Metadata": {"a": "x" * 2050}}, ("MetadataTooLarge", 400)),
        ("list_objects_v2", {"ContinuationToken": "nonsense"}, ("InvalidArgument", 400)),
        ("list_objects_v2", {"MaxKeys": -1}, ("InvalidArgument", 400)),
        ("list_objects_v2", {"EncodingType": "xml"}, ("InvalidArgument", 400)),
        ("list_parts", {"Key": "k", "UploadId": "none"}, ("NoSuchUpload", 404)),
        ("upload_part", {"Key": "k", "UploadId": "sw1", "PartNumber": 1}, ("NoSuchUpload", 404)),
        ("upload_part", {"Key": "k", "UploadId": "sw1", "PartNumber": 0}, ("InvalidArgument", 400)),
        ("abort_multipart_upload", {"Key": "k", "UploadId": "sw1"}, ("NoSuchUpload", 404)),
        ("delete_objects", {"Delete": {"Objects": []}}, ("MalformedXML", 400)),
        ("delete_objects", {"Delete": {"Objects": [{"Key": str(n)} for n in range(1001)]}}, ("MalformedXML", 400)),
        ("create_multipart_upload", {"Key": "k", "ChecksumType": "FULL_OBJECT"}, ("InvalidRequest", 400)),
        ("create_multipart_upload", {"Key": "k", "ChecksumType": "FULL_OBJECT", "ChecksumAlgorithm": "SHA256"},
         ("InvalidRequest", 400)),
    ],
)  # fmt: skip
def test_errors(s3, bucket, call, arguments, code):
    assert refused(getattr(s3, call), Bucket=bucket, **arguments) == code


def test_a_bucket_that_is_not_there(s3):
    for call in (s3.list_objects_v2, s3.list_objects, s3.list_object_versions, s3.list_multipart_uploads,
                 s3.delete_bucket, s3.get_bucket_acl, s3.get_bucket_policy):  # fmt: skip
        assert refused(call, Bucket="no-such-bucket-here") == ("NoSuchBucket", 404)
    assert refused(s3.put_object, Bucket="no-such-bucket-here", Key="k", Body=BODY) == ("NoSuchBucket", 404)
    assert refused(s3.create_bucket, Bucket="Not_A_Name") == ("InvalidBucketName", 400)


def test_deleting_many(s3, bucket):
    for key in ("a", "b", "c"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"1")
    objects = [{"Key": "a"}, {"Key": "none"}, {"Key": "b", "ETag": '"no"'}]
    answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": objects})
    assert [one["Key"] for one in answer["Deleted"]] == ["a", "none"]
    assert [(one["Key"], one["Code"]) for one in answer["Errors"]] == [("b", "PreconditionFailed")]
    quiet = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "b"}], "Quiet": True})
    assert "Deleted" not in quiet
    assert refused(s3.delete_bucket, Bucket=bucket) == ("BucketNotEmpty", 409)
    assert [one["Key"] for one in s3.list_objects(Bucket=bucket)["Contents"]] == ["c"]


# Listings


@pytest.fixture(scope="module")
def filled(s3: Any) -> str:
    name = f"filled-{uuid4()}"
    s3.create_bucket(Bucket=name)
    for key in ("a", "b/1", "b/2", "b/3/x", "c+ d", "é"):
        s3.put_object(Bucket=name, Key=key, Body=key.encode())
    return name


EVERY = ["a", "b/1", "b/2", "b/3/x", "c+ d", "é"]


@pytest.mark.parametrize("operation", ["list_objects_v2", "list_objects", "list_object_versions"])
@pytest.mark.parametrize("size", [1, 2, 1000])
@pytest.mark.parametrize(
    ("arguments", "keys", "prefixes"),
    [
        ({}, EVERY, []),
        ({"Delimiter": "/"}, ["a", "c+ d", "é"], ["b/"]),
        ({"Prefix": "b/"}, EVERY[1:4], []),
        ({"Prefix": "b/", "Delimiter": "/"}, ["b/1", "b/2"], ["b/3/"]),
        ({"Prefix": "none"}, [], []),
    ],
)
def test_listings_in_pages(s3, filled, operation, size, arguments, keys, prefixes):
    pages = s3.get_paginator(operation).paginate(Bucket=filled, PaginationConfig={"PageSize": size}, **arguments)
    found: list[str] = []
    groups: list[str] = []
    for page in pages:
        contents = page.get("Contents", []) + page.get("Versions", [])
        assert len(contents) + len(page.get("CommonPrefixes", [])) <= size
        found += [one["Key"] for one in contents]
        groups += [one["Prefix"] for one in page.get("CommonPrefixes", [])]
        assert all(
            one.get("VersionId", "null") == "null" and one["Size"] == len(one["Key"].encode()) for one in contents
        )
    assert (found, groups) == (keys, prefixes)


def test_the_members_of_a_listing(s3, filled):
    page = s3.list_objects_v2(Bucket=filled, StartAfter="b/2", MaxKeys=1, FetchOwner=True)
    assert [one["Key"] for one in page["Contents"]] == ["b/3/x"]
    assert (page["KeyCount"], page["MaxKeys"], page["IsTruncated"], page["StartAfter"]) == (1, 1, True, "b/2")
    (content,) = page["Contents"]
    assert content["StorageClass"] == "STANDARD"
    assert content["Owner"]["ID"]
    none = s3.list_objects_v2(Bucket=filled, MaxKeys=0)
    assert (none["KeyCount"], none["IsTruncated"]) == (0, False)
    skipped = s3.list_objects(Bucket=filled, Delimiter="/", Marker="b/")
    assert "CommonPrefixes" not in skipped


# Copies, tags, attributes


def test_copies(s3, bucket):
    s3.put_object(Bucket=bucket, Key="é/from", Body=BODY, Metadata={"a": "b"}, ContentType="t/x", Tagging="t=1")
    source = {"Bucket": bucket, "Key": "é/from"}
    result = s3.copy_object(Bucket=bucket, Key="to", CopySource=source)["CopyObjectResult"]
    assert result["ETag"] == s3.head_object(Bucket=bucket, Key="to")["ETag"]
    head = s3.get_object(Bucket=bucket, Key="to")
    assert (head["Metadata"], head["ContentType"], head["TagCount"], body_of(head)) == ({"a": "b"}, "t/x", 1, BODY)
    s3.copy_object(
        Bucket=bucket, Key="to", CopySource=source, MetadataDirective="REPLACE", Metadata={"c": "d"},
        TaggingDirective="REPLACE", Tagging="x=1&y=2", StorageClass="GLACIER_IR",
    )  # fmt: skip
    head = s3.head_object(Bucket=bucket, Key="to")
    assert (head["Metadata"], head["StorageClass"]) == ({"c": "d"}, "GLACIER_IR")
    assert len(s3.get_object_tagging(Bucket=bucket, Key="to")["TagSet"]) == 2
    itself = {"Bucket": bucket, "Key": "to", "CopySource": f"{bucket}/to"}
    assert refused(s3.copy_object, **itself) == ("InvalidRequest", 400)
    s3.copy_object(**itself, MetadataDirective="REPLACE", Metadata={"e": "f"})
    wrong = {"Bucket": bucket, "Key": "x", "CopySource": source, "CopySourceIfMatch": '"no"'}
    assert refused(s3.copy_object, **wrong) == ("PreconditionFailed", 412)


def test_object_tags(s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=b"1")
    assert s3.get_object_tagging(Bucket=bucket, Key="k")["TagSet"] == []
    tags = [{"Key": "a", "Value": "b c"}, {"Key": "d", "Value": ""}]
    s3.put_object_tagging(Bucket=bucket, Key="k", Tagging={"TagSet": tags})
    assert s3.get_object_tagging(Bucket=bucket, Key="k")["TagSet"] == tags
    s3.delete_object_tagging(Bucket=bucket, Key="k")
    assert s3.get_object_tagging(Bucket=bucket, Key="k")["TagSet"] == []
    many = [{"Key": str(n), "Value": ""} for n in range(11)]
    assert refused(s3.put_object_tagging, Bucket=bucket, Key="k", Tagging={"TagSet": many}) == ("BadRequest", 400)


@pytest.mark.parametrize("algorithm", ["CRC32", "SHA1", "SHA256"])
def test_checksums(s3, bucket, algorithm):
    put = s3.put_object(Bucket=bucket, Key="k", Body=BODY, ChecksumAlgorithm=algorithm)
    member = f"Checksum{algorithm}"
    assert put["ChecksumType"] == "FULL_OBJECT"
    head = s3.head_object(Bucket=bucket, Key="k", ChecksumMode="ENABLED")
    assert head[member] == put[member]
    wanted = ["ETag", "Checksum", "ObjectSize", "StorageClass", "ObjectParts"]
    known = s3.get_object_attributes(Bucket=bucket, Key="k", ObjectAttributes=wanted)
    assert known["Checksum"] == {member: put[member], "ChecksumType": "FULL_OBJECT"}
    assert (known["ObjectSize"], known["StorageClass"], known["ETag"]) == (
        len(BODY),
        "STANDARD",
        put["ETag"].strip('"'),
    )


# Multipart uploads


def test_a_large_file_there_and_back(s3, bucket):
    content = os.urandom(17 * MIB)
    s3.upload_fileobj(io.BytesIO(content), bucket, "large", ExtraArgs={"Metadata": {"a": "b"}})
    head = s3.head_object(Bucket=bucket, Key="large", ChecksumMode="ENABLED")
    assert head["ETag"].endswith('-3"')
    assert head["ChecksumType"] == "COMPOSITE"
    assert head["Metadata"] == {"a": "b"}
    back = io.BytesIO()
    s3.download_fileobj(bucket, "large", back)
    assert back.getvalue() == content
    at = 8 * MIB - 5
    assert body_of(s3.get_object(Bucket=bucket, Key="large", Range=f"bytes={at}-{at + 9}")) == content[at : at + 10]
    second = s3.get_object(Bucket=bucket, Key="large", PartNumber=2)
    assert body_of(second) == content[8 * MIB : 16 * MIB]
    assert (second["PartsCount"], second["ContentRange"]) == (3, f"bytes {8 * MIB}-{16 * MIB - 1}/{17 * MIB}")
    parts = s3.get_object_attributes(Bucket=bucket, Key="large", ObjectAttributes=["ObjectParts"])["ObjectParts"]
    assert [part["Size"] for part in parts["Parts"]] == [8 * MIB, 8 * MIB, MIB]
    s3.copy_object(Bucket=bucket, Key="copy", CopySource=f"{bucket}/large")
    copied = s3.get_object(Bucket=bucket, Key="copy")
    assert copied["ETag"] == f'"{hashlib.md5(content).hexdigest()}"'
    assert body_of(copied) == content


def test_an_upload_step_by_step(s3, bucket):
    first, second = os.urandom(5 * MIB), b"the end"
    where = {"Bucket": bucket, "Key": "k"}
    made = s3.create_multipart_upload(**where, ChecksumAlgorithm="CRC32", ChecksumType="FULL_OBJECT", Tagging="t=1")
    upload = {**where, "UploadId": made["UploadId"]}
    assert (made["ChecksumAlgorithm"], made["ChecksumType"]) == ("CRC32", "FULL_OBJECT")
    s3.put_object(Bucket=bucket, Key="source", Body=b"xx" + second + b"yy")
    one = s3.upload_part(**upload, PartNumber=1, Body=first)
    s3.upload_part(**upload, PartNumber=2, Body=b"replaced")
    two = s3.upload_part_copy(**upload, PartNumber=2, CopySource=f"{bucket}/source", CopySourceRange="bytes=2-8")
    s3.upload_part(**upload, PartNumber=7, Body=b"left out")
    beyond = {**upload, "PartNumber": 3, "CopySource": f"{bucket}/source", "CopySourceRange": "bytes=2-999"}
    assert refused(s3.upload_part_copy, **beyond) == ("InvalidArgument", 400)
    listed = s3.list_parts(**upload, MaxParts=2)
    assert ([part["PartNumber"] for part in listed["Parts"]], listed["IsTruncated"]) == ([1, 2], True)
    rest = s3.list_parts(**upload, PartNumberMarker=listed["NextPartNumberMarker"])
    assert [part["Size"] for part in rest["Parts"]] == [8]
    under_way = s3.list_multipart_uploads(Bucket=bucket)["Uploads"]
    assert [(one["Key"], one["UploadId"]) for one in under_way] == [("k", made["UploadId"])]
    chosen = [{"PartNumber": 1, "ETag": one["ETag"]}, {"PartNumber": 2, "ETag": two["CopyPartResult"]["ETag"]}]
    complete = s3.complete_multipart_upload
    for parts, code in [
        (chosen[::-1], "InvalidPartOrder"),
        ([{**chosen[0], "ETag": '"0"'}], "InvalidPart"),
        ([{"PartNumber": 9, "ETag": one["ETag"]}], "InvalidPart"),
        ([{**chosen[0], "ChecksumCRC32": "AAAAAA=="}], "InvalidPart"),
        ([], "InvalidRequest"),
    ]:
        assert refused(complete, **upload, MultipartUpload={"Parts": parts}) == (code, 400)
    wrong = {**upload, "MultipartUpload": {"Parts": chosen}}
    assert refused(complete, **wrong, ChecksumCRC32="AAAAAA==") == ("BadDigest", 400)
    assert refused(complete, **wrong, MpuObjectSize=5) == ("InvalidRequest", 400)
    done = complete(**wrong)
    assert s3.put_object(Bucket=bucket, Key="whole", Body=first + second)["ChecksumCRC32"] == done["ChecksumCRC32"]
    digests = hashlib.md5(first).digest() + hashlib.md5(second).digest()
    assert done["ETag"] == f'"{hashlib.md5(digests).hexdigest()}-2"'
    got = s3.get_object(**where)
    assert (body_of(got), got["TagCount"]) == (first + second, 1)
    assert complete(**wrong)["ETag"] == done["ETag"]


def test_parts_that_are_too_small_and_uploads_given_up(s3, bucket):
    where = {"Bucket": bucket, "Key": "k"}
    upload = {**where, "UploadId": s3.create_multipart_upload(**where)["UploadId"]}
    parts = [
        {"PartNumber": number, "ETag": s3.upload_part(**upload, PartNumber=number, Body=b"x")["ETag"]}
        for number in (1, 2)
    ]
    chosen = {"MultipartUpload": {"Parts": parts}}
    assert refused(s3.complete_multipart_upload, **upload, **chosen) == ("EntityTooSmall", 400)
    s3.put_object(**where, Body=b"there")
    one = {"MultipartUpload": {"Parts": parts[:1]}}
    assert refused(s3.complete_multipart_upload, **upload, **one, IfNoneMatch="*") == ("PreconditionFailed", 412)
    s3.abort_multipart_upload(**upload)
    assert refused(s3.abort_multipart_upload, **upload) == ("NoSuchUpload", 404)
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket)


def test_uploads_under_way_in_pages(s3, bucket):
    ids = [s3.create_multipart_upload(Bucket=bucket, Key=key)["UploadId"] for key in ("a", "a", "b/1", "b/2", "c")]
    pages = s3.get_paginator("list_multipart_uploads").paginate(Bucket=bucket, PaginationConfig={"PageSize": 2})
    assert [one["UploadId"] for page in pages for one in page["Uploads"]] == ids
    grouped = s3.list_multipart_uploads(Bucket=bucket, Delimiter="/")
    assert [one["Prefix"] for one in grouped["CommonPrefixes"]] == ["b/"]
    assert [one["Key"] for one in grouped["Uploads"]] == ["a", "a", "c"]
    assert len(s3.list_multipart_uploads(Bucket=bucket, Prefix="b/")["Uploads"]) == 2
    s3.delete_bucket(Bucket=bucket)
