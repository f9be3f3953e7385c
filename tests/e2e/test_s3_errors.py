"""Members of S3's errors, and the headers that every answer has, as the service sends them."""

from __future__ import annotations

import http.client
from typing import Any
from uuid import uuid4

import pytest

from tests.deadlines import PATIENCE_SECONDS
from tests.e2e.conftest import error_of

MD5 = "AAAAAAAAAAAAAAAAAAAAAA=="


@pytest.fixture
def bucket(s3: Any, bucket: str) -> str:
    s3.put_object(Bucket=bucket, Key="k", Body=b"0123456789", Tagging="a=b")
    return bucket


def ask(server: Any, method: str, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/{}/k", 200),
        ("HEAD", "/{}", 200),
        ("GET", "/{}/none", 404),
        ("HEAD", "/{}/none", 404),
        ("PATCH", "/{}", 405),
        ("PUT", "/{}/k?uploadId=x&partNumber=1", 404),
    ],
)
def test_each_answer_carries_its_ids(server, bucket, method, path, status):
    found, headers, body = ask(server, method, path.format(bucket))
    assert found == status
    assert all(headers.get(name) for name in ("x-amz-request-id", "x-amz-id-2", "date", "server"))
    assert "x-amzn-requestid" not in headers
    if status >= 400 and method != "HEAD":
        assert f"<RequestId>{headers['x-amz-request-id']}</RequestId>".encode() in body
        assert f"<HostId>{headers['x-amz-id-2']}</HostId>".encode() in body


CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("get_object", {"Key": "none"}, {"Code": "NoSuchKey", "Key": "none"}),
    (
        "abort_multipart_upload",
        {"Key": "k", "UploadId": "u"},
        {"Code": "NoSuchUpload", "UploadId": "u"},
    ),
    ("get_bucket_policy", {}, {"Code": "NoSuchBucketPolicy", "BucketName": "B"}),
    ("get_bucket_tagging", {}, {"Code": "NoSuchTagSet", "BucketName": "B"}),
    ("get_bucket_cors", {}, {"Code": "NoSuchCORSConfiguration", "BucketName": "B"}),
    ("delete_bucket", {}, {"Code": "BucketNotEmpty", "BucketName": "B"}),
    ("get_object", {"Key": "k", "IfMatch": '"0"'}, {"Code": "PreconditionFailed", "Condition": "If-Match"}),
    (
        "get_object",
        {"Key": "k", "Range": "bytes=10-20"},
        {"Code": "InvalidRange", "RangeRequested": "bytes=10-20", "ActualObjectSize": "10"},
    ),
    (
        "get_object",
        {"Key": "k", "PartNumber": 2},
        {"Code": "InvalidPartNumber", "PartNumberRequested": "2", "ActualPartCount": "1"},
    ),
    (
        "put_object_tagging",
        {"Key": "k", "Tagging": {"TagSet": [{"Key": "aws:a", "Value": "v"}]}},
        {"Code": "InvalidTag", "Message": "Your TagKey cannot be prefixed with aws:", "TagKey": "aws:a"},
    ),
    (
        "put_object_tagging",
        {"Key": "k", "Tagging": {"TagSet": [{"Key": "a", "Value": "v"}, {"Key": "a", "Value": "w"}]}},
        {"Code": "InvalidTag", "Message": "Cannot provide multiple Tags with the same key", "TagKey": "a"},
    ),
    (
        "put_object_tagging",
        {"Key": "k", "Tagging": {"TagSet": [{"Key": "a", "Value": "<>"}]}},
        {
            "Code": "InvalidTag",
            "Message": "The TagValue you have provided is invalid",
            "TagKey": "a",
            "TagValue": "<>",
        },
    ),
    (
        "put_object",
        {"Key": "x", "Body": b"y", "ContentMD5": "short"},
        {
            "Code": "InvalidDigest",
            "Message": "The Content-MD5 you specified was invalid.",
            "Content-MD5": "short",
        },
    ),
    (
        "put_object",
        {"Key": "x", "Body": b"y", "ContentMD5": MD5},
        {
            "Code": "BadDigest",
            "Message": "The Content-MD5 you specified did not match what we received.",
            "ExpectedDigest": MD5,
            "CalculatedDigest": "QVKQdpWURg4uSFkikE80XQ==",
        },
    ),
    (
        "put_object",
        {"Key": "x", "Body": b"y", "StorageClass": "WARM"},
        {
            "Code": "InvalidStorageClass",
            "Message": "The storage class you specified is not valid",
            "StorageClassRequested": "WARM",
        },
    ),
    ("head_bucket", {"ExpectedBucketOwner": "abcd"}, {"Code": "400", "Message": "Bad Request"}),
    (
        "get_bucket_location",
        {"ExpectedBucketOwner": "abcd"},
        {
            "Code": "InvalidBucketOwnerAWSAccountID",
            "Message": "The value of the expected bucket owner parameter must be an AWS Account ID... [abcd]",
        },
    ),
    ("get_bucket_location", {"ExpectedBucketOwner": "9" * 12}, {"Code": "AccessDenied", "Message": "Access Denied"}),
    (
        "copy_object",
        {"Key": "x", "CopySource": "noslash"},
        {
            "Code": "InvalidArgument",
            "Message": "Invalid copy source object key",
            "ArgumentName": "x-amz-copy-source",
            "ArgumentValue": "noslash",
        },
    ),
    (
        "list_objects_v2",
        {"EncodingType": "base64"},
        {
            "Code": "InvalidArgument",
            "Message": "Invalid Encoding Method specified in Request",
            "ArgumentName": "encoding-type",
            "ArgumentValue": "base64",
        },
    ),
    (
        "list_objects_v2",
        {"ContinuationToken": "wrong"},
        {
            "Code": "InvalidArgument",
            "Message": "The continuation token provided is incorrect",
            "ArgumentName": "continuation-token",
        },
    ),
]


@pytest.mark.parametrize(("operation", "arguments", "members"), CASES)
def test_errors_have_the_members_of_their_code(s3, bucket, operation, arguments, members):
    found = error_of(getattr(s3, operation), Bucket=bucket, **arguments)
    expected = {name: bucket if value == "B" else value for name, value in members.items()}
    if "Message" not in expected:
        found.pop("Message")
    for own in ("RequestId", "HostId", "status", "headers"):
        found.pop(own, None)
    assert found == expected


def test_an_ownership_that_is_none(s3):
    refusal = error_of(s3.create_bucket, Bucket=f"b-{uuid4()}", ObjectOwnership="Mine")
    assert (refusal["Code"], refusal["ArgumentName"]) == ("InvalidArgument", "x-amz-object-ownership")
    assert (refusal["Message"], "ArgumentValue" in refusal) == ("Invalid x-amz-object-ownership header: Mine", False)


def test_a_method_that_nothing_has(server, bucket):
    for path, kind in ((f"/{bucket}", "BUCKET"), (f"/{bucket}/a/b", "OBJECT")):
        _, _, body = ask(server, "PATCH", path)
        assert b"<Error><Code>MethodNotAllowed</Code>" in body
        assert f"<Method>PATCH</Method><ResourceType>{kind}</ResourceType>".encode() in body


def test_empty_values_of_tags_in_a_header(s3, bucket):
    s3.put_object(Bucket=bucket, Key="tagged", Body=b"", Tagging="k1=&k2")
    found = s3.get_object_tagging(Bucket=bucket, Key="tagged")["TagSet"]
    assert found == [{"Key": "k1", "Value": ""}, {"Key": "k2", "Value": ""}]


def test_owners_have_an_id_alone(s3, bucket):
    owner = s3.list_buckets()["Owner"]
    assert list(owner) == ["ID"]
    assert s3.get_bucket_acl(Bucket=bucket)["Grants"][0]["Grantee"] == {"Type": "CanonicalUser", **owner}
    assert s3.list_objects_v2(Bucket=bucket, FetchOwner=True)["Contents"][0]["Owner"] == owner
    upload = s3.create_multipart_upload(Bucket=bucket, Key="u")["UploadId"]
    listed = s3.list_parts(Bucket=bucket, Key="u", UploadId=upload)
    assert listed["Owner"] == owner
    assert listed["Initiator"]["DisplayName"]


def test_writes_of_tags_and_policies_have_no_content(s3, bucket):
    tags = s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": [{"Key": "a", "Value": "b"}]})
    assert tags["ResponseMetadata"]["HTTPStatusCode"] == 204
    assert s3.delete_bucket_tagging(Bucket=bucket)["ResponseMetadata"]["HTTPStatusCode"] == 204
    policy = (
        '{"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Principal": "*", "Action": "s3:GetObject", '
        f'"Resource": "arn:aws:s3:::{bucket}/*"}}]}}'
    )
    assert s3.put_bucket_policy(Bucket=bucket, Policy=policy)["ResponseMetadata"]["HTTPStatusCode"] == 204
    assert s3.delete_bucket_policy(Bucket=bucket)["ResponseMetadata"]["HTTPStatusCode"] == 204


@pytest.mark.parametrize(("arguments", "code"), [({"Key": "none"}, "404"), ({"Key": "k", "IfMatch": '"0"'}, "412")])
def test_errors_of_head_have_only_their_status(s3, bucket, arguments, code):
    assert error_of(s3.head_object, Bucket=bucket, **arguments)["Code"] == code
    etag = s3.head_object(Bucket=bucket, Key="k")["ETag"]
    assert error_of(s3.head_object, Bucket=bucket, Key="k", IfNoneMatch=etag)["Code"] == "304"


@pytest.mark.parametrize("method_and_query", ["PUT ?tagging", "PUT ?versioning", "PUT ?lifecycle", "POST ?delete"])
def test_a_missing_bucket_comes_before_a_malformed_body(server, bucket, method_and_query):
    method, query = method_and_query.split()
    for name, code in ((f"none-{bucket}", b"NoSuchBucket"), (bucket, b"MalformedXML")):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
        connection.request(method, f"/{name}{query}", b"<Tagging")
        assert b"<Code>" + code + b"</Code>" in connection.getresponse().read()
        connection.close()


def test_a_missing_bucket_comes_before_a_value_that_is_none(s3, bucket):
    for name, code in ((f"none-{bucket}", "NoSuchBucket"), (bucket, "MalformedXML")):
        wrong = {"Status": "enabled"}
        assert error_of(s3.put_bucket_versioning, Bucket=name, VersioningConfiguration=wrong)["Code"] == code
    refusal = error_of(s3.create_bucket, Bucket=f"new-{bucket}", CreateBucketConfiguration={"LocationConstraint": ""})
    assert refusal["Code"] != "NoSuchBucket"
