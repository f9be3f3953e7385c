"""Versions of S3 objects through boto3: writes, reads, deletions, lists and refusals."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.e2e.conftest import error_of, new_bucket

ENABLED = {"Status": "Enabled"}
SUSPENDED = {"Status": "Suspended"}
NEVER_ISSUED = "x" * 32


@pytest.fixture
def plain_bucket(s3: Any) -> str:
    return new_bucket(s3)


@pytest.fixture
def bucket(s3: Any, plain_bucket: str) -> str:
    s3.put_bucket_versioning(Bucket=plain_bucket, VersioningConfiguration=ENABLED)
    return plain_bucket


def code_of(call: Any, **arguments: Any) -> tuple[str, int]:
    found = error_of(call, **arguments)
    return found["Code"], found["status"]


def plain(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name != "ResponseMetadata"}


def put(s3: Any, bucket: str, key: str, body: bytes = b"body") -> str:
    version: str = s3.put_object(Bucket=bucket, Key=key, Body=body)["VersionId"]
    return version


def read(s3: Any, bucket: str, key: str, version: str | None = None) -> bytes:
    more = {"VersionId": version} if version is not None else {}
    body: bytes = s3.get_object(Bucket=bucket, Key=key, **more)["Body"].read()
    return body


def listed(s3: Any, bucket: str, **more: Any) -> tuple[list[tuple[str, str, bool]], list[tuple[str, str, bool]]]:
    """Versions and delete markers: key, id, whether it is the latest."""
    page = s3.list_object_versions(Bucket=bucket, **more)
    entries = [
        [(one["Key"], one["VersionId"], one["IsLatest"]) for one in page.get(name, ())]
        for name in ("Versions", "DeleteMarkers")
    ]
    return entries[0], entries[1]


# ------------------------------------------------------------------ the bucket


def test_the_status_of_a_bucket(s3, plain_bucket):
    assert plain(s3.get_bucket_versioning(Bucket=plain_bucket)) == {}
    for status in ("Suspended", "Enabled", "Suspended"):
        s3.put_bucket_versioning(Bucket=plain_bucket, VersioningConfiguration={"Status": status})
        assert plain(s3.get_bucket_versioning(Bucket=plain_bucket)) == {"Status": status}


@pytest.mark.parametrize(
    ("given", "code", "text"),
    [
        ({"Status": "enabled"}, "MalformedXML", "The XML you provided was not well-formed or did not"),
        ({"Status": "Disabled"}, "MalformedXML", "The XML you provided was not well-formed or did not"),
        ({}, "IllegalVersioningConfigurationException", "The Versioning element must be specified"),
    ],
)
def test_a_status_that_no_bucket_has(s3, plain_bucket, given, code, text):
    found = error_of(s3.put_bucket_versioning, Bucket=plain_bucket, VersioningConfiguration=given)
    assert (found["Code"], found["status"]) == (code, 400)
    assert found["Message"].startswith(text)


def test_deleting_with_mfa_is_refused(s3, plain_bucket):
    given = {"Status": "Enabled", "MFADelete": "Enabled"}
    assert code_of(s3.put_bucket_versioning, Bucket=plain_bucket, VersioningConfiguration=given)[1] == 501


def test_a_bucket_with_versions_is_not_deleted(s3, bucket):
    version = put(s3, bucket, "a")
    marker = s3.delete_object(Bucket=bucket, Key="a")["VersionId"]
    s3.delete_object(Bucket=bucket, Key="a", VersionId=version)
    found = error_of(s3.delete_bucket, Bucket=bucket)
    said = "The bucket you tried to delete is not empty. You must delete all versions in the bucket."
    assert (found["Code"], found["status"], found["Message"]) == ("BucketNotEmpty", 409, said)
    s3.delete_object(Bucket=bucket, Key="a", VersionId=marker)
    s3.delete_bucket(Bucket=bucket)


# ------------------------------------------------------------------ writing and reading


def test_each_write_is_a_version(s3, bucket):
    first, second = put(s3, bucket, "a", b"one"), put(s3, bucket, "a", b"two")
    assert first != second
    assert all(re.fullmatch(r"[A-Za-z0-9._]{32}", one) for one in (first, second))
    found = s3.get_object(Bucket=bucket, Key="a")
    assert (found["Body"].read(), found["VersionId"]) == (b"two", second)
    found = s3.get_object(Bucket=bucket, Key="a", VersionId=first)
    assert (found["Body"].read(), found["VersionId"]) == (b"one", first)
    assert s3.head_object(Bucket=bucket, Key="a", VersionId=first)["VersionId"] == first
    assert s3.head_object(Bucket=bucket, Key="a")["VersionId"] == second
    assert [one["Key"] for one in s3.list_objects_v2(Bucket=bucket)["Contents"]] == ["a"]
    assert listed(s3, bucket) == ([("a", second, True), ("a", first, False)], [])


def test_a_large_body_is_kept_for_each_version(s3, bucket):
    bodies = [bytes([number]) * 600_000 for number in range(3)]
    versions = [put(s3, bucket, "a", body) for body in bodies]
    assert [read(s3, bucket, "a", version) for version in versions] == bodies
    s3.delete_object(Bucket=bucket, Key="a", VersionId=versions[2])
    assert read(s3, bucket, "a") == bodies[1]


def test_an_object_from_before_is_the_null_version(s3, plain_bucket):
    assert "VersionId" not in s3.put_object(Bucket=plain_bucket, Key="a", Body=b"old")
    found = s3.get_object(Bucket=plain_bucket, Key="a", VersionId="null")
    assert found["Body"].read() == b"old"
    assert "VersionId" not in found
    assert listed(s3, plain_bucket) == ([("a", "null", True)], [])
    s3.put_bucket_versioning(Bucket=plain_bucket, VersioningConfiguration=ENABLED)
    assert s3.head_object(Bucket=plain_bucket, Key="a")["VersionId"] == "null"
    new = put(s3, plain_bucket, "a", b"new")
    assert read(s3, plain_bucket, "a", "null") == b"old"
    assert listed(s3, plain_bucket) == ([("a", new, True), ("a", "null", False)], [])
    assert plain(s3.delete_object(Bucket=plain_bucket, Key="a", VersionId="null")) == {"VersionId": "null"}
    assert listed(s3, plain_bucket) == ([("a", new, True)], [])


def test_while_versions_are_suspended(s3, bucket):
    kept = put(s3, bucket, "a", b"kept")
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration=SUSPENDED)
    for body in (b"one", b"two"):
        assert "VersionId" not in s3.put_object(Bucket=bucket, Key="a", Body=body)
        assert s3.get_object(Bucket=bucket, Key="a")["VersionId"] == "null"
        assert read(s3, bucket, "a", "null") == body
        assert listed(s3, bucket) == ([("a", "null", True), ("a", kept, False)], [])
    for _ in range(2):
        assert plain(s3.delete_object(Bucket=bucket, Key="a")) == {"DeleteMarker": True, "VersionId": "null"}
        assert listed(s3, bucket) == ([("a", kept, False)], [("a", "null", True)])
    s3.put_object(Bucket=bucket, Key="a", Body=b"three")
    assert listed(s3, bucket) == ([("a", "null", True), ("a", kept, False)], [])
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration=ENABLED)
    new = put(s3, bucket, "a")
    assert listed(s3, bucket) == ([("a", new, True), ("a", "null", False), ("a", kept, False)], [])
    assert read(s3, bucket, "a", kept) == b"kept"


# ------------------------------------------------------------------ deleting


def test_a_marker_hides_an_object_until_it_is_deleted(s3, bucket):
    version = put(s3, bucket, "a")
    marked = plain(s3.delete_object(Bucket=bucket, Key="a"))
    assert marked == {"DeleteMarker": True, "VersionId": marked["VersionId"]}
    marker = marked["VersionId"]
    found = error_of(s3.get_object, Bucket=bucket, Key="a")
    assert (found["Code"], found["status"], found["Key"]) == ("NoSuchKey", 404, "a")
    assert found["headers"]["x-amz-delete-marker"] == "true"
    assert found["headers"]["x-amz-version-id"] == marker
    found = error_of(s3.head_object, Bucket=bucket, Key="a")
    assert (found["Code"], found["headers"]["x-amz-version-id"]) == ("404", marker)
    assert "Contents" not in s3.list_objects_v2(Bucket=bucket)
    assert listed(s3, bucket) == ([("a", version, False)], [("a", marker, True)])
    assert read(s3, bucket, "a", version) == b"body"
    unmarked = plain(s3.delete_object(Bucket=bucket, Key="a", VersionId=marker))
    assert unmarked == {"DeleteMarker": True, "VersionId": marker}
    assert read(s3, bucket, "a") == b"body"
    assert listed(s3, bucket) == ([("a", version, True)], [])


def test_each_deletion_makes_a_marker(s3, bucket):
    markers = [s3.delete_object(Bucket=bucket, Key="never")["VersionId"] for _ in range(2)]
    assert listed(s3, bucket) == ([], [("never", markers[1], True), ("never", markers[0], False)])


def test_deleting_versions_by_id(s3, bucket):
    versions = [put(s3, bucket, "a", b"%d" % number) for number in range(3)]
    assert plain(s3.delete_object(Bucket=bucket, Key="a", VersionId=versions[1])) == {"VersionId": versions[1]}
    assert read(s3, bucket, "a") == b"2"
    s3.delete_object(Bucket=bucket, Key="a", VersionId=versions[2])
    assert read(s3, bucket, "a") == b"0"
    assert listed(s3, bucket) == ([("a", versions[0], True)], [])
    assert code_of(s3.get_object, Bucket=bucket, Key="a", VersionId=versions[2]) == ("NoSuchVersion", 404)
    found = error_of(s3.get_object, Bucket=bucket, Key="a", VersionId=versions[2])
    assert (found["Key"], found["VersionId"]) == ("a", versions[2])
    assert code_of(s3.delete_object, Bucket=bucket, Key="a", VersionId=versions[2]) == ("NoSuchVersion", 404)


@pytest.mark.parametrize("status", ["none", "Enabled", "Suspended"])
def test_ids_that_no_version_has(s3, plain_bucket, status):
    if status != "none":
        s3.put_bucket_versioning(Bucket=plain_bucket, VersioningConfiguration={"Status": status})
    s3.put_object(Bucket=plain_bucket, Key="a", Body=b"")
    for call in (s3.get_object, s3.delete_object, s3.get_object_tagging):
        found = error_of(call, Bucket=plain_bucket, Key="a", VersionId=NEVER_ISSUED)
        assert (found["Code"], found["status"], found["Message"]) == (
            "InvalidArgument", 400, "Invalid version id specified",
        )  # fmt: skip
        assert (found["ArgumentName"], found["ArgumentValue"]) == ("versionId", NEVER_ISSUED)
    assert code_of(s3.head_object, Bucket=plain_bucket, Key="a", VersionId=NEVER_ISSUED) == ("400", 400)
    many = {"Objects": [{"Key": "a", "VersionId": NEVER_ISSUED}, {"Key": "a", "VersionId": "bad"}]}
    answer = s3.delete_objects(Bucket=plain_bucket, Delete=many)
    said = {"Key": "a", "Code": "NoSuchVersion", "Message": "The specified version does not exist."}
    assert answer["Errors"] == [{**said, "VersionId": NEVER_ISSUED}, {**said, "VersionId": "bad"}]
    assert "Deleted" not in answer


def test_deleting_many(s3, bucket):
    first, second = put(s3, bucket, "a"), put(s3, bucket, "b")
    marked = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "a"}, {"Key": "never"}]})["Deleted"]
    markers = [one["DeleteMarkerVersionId"] for one in marked]
    assert marked == [
        {"Key": key, "DeleteMarker": True, "DeleteMarkerVersionId": marker}
        for key, marker in zip(("a", "never"), markers, strict=True)
    ]
    wanted = [("a", markers[0]), ("b", second), ("never", markers[1])]
    many = {"Objects": [{"Key": key, "VersionId": version} for key, version in wanted]}
    assert s3.delete_objects(Bucket=bucket, Delete=many)["Deleted"] == [
        {"Key": "a", "VersionId": markers[0], "DeleteMarker": True, "DeleteMarkerVersionId": markers[0]},
        {"Key": "b", "VersionId": second},
        {"Key": "never", "VersionId": markers[1], "DeleteMarker": True, "DeleteMarkerVersionId": markers[1]},
    ]
    assert listed(s3, bucket) == ([("a", first, True)], [])


def test_a_marker_by_its_id_can_only_be_deleted(s3, bucket):
    marker = s3.delete_object(Bucket=bucket, Key="a")["VersionId"]
    for call, method in ((s3.get_object, "GET"), (s3.get_object_tagging, "GET")):
        found = error_of(call, Bucket=bucket, Key="a", VersionId=marker)
        assert (found["Code"], found["status"]) == ("MethodNotAllowed", 405)
        assert found["Message"] == "The specified method is not allowed against this resource."
        assert (found["Method"], found["ResourceType"]) == (method, "DeleteMarker")
        headers = found["headers"]
        assert (headers["x-amz-delete-marker"], headers["x-amz-version-id"]) == ("true", marker)
        assert headers["allow"] == "DELETE"
    found = error_of(s3.head_object, Bucket=bucket, Key="a", VersionId=marker)
    assert (found["Code"], found["headers"]["allow"]) == ("405", "DELETE")


# ------------------------------------------------------------------ lists


def test_lists_of_versions(s3, bucket):
    first, second = put(s3, bucket, "a", b"one"), put(s3, bucket, "a", b"three")
    marker = s3.delete_object(Bucket=bucket, Key="b")["VersionId"]
    page = plain(s3.list_object_versions(Bucket=bucket))
    owner = page["Versions"][0]["Owner"]
    assert set(owner) == {"ID"}
    times = [one.pop("LastModified") for one in (*page["Versions"], *page["DeleteMarkers"])]
    assert all(times)
    etags = [s3.head_object(Bucket=bucket, Key="a", VersionId=version)["ETag"] for version in (second, first)]
    common = {"Key": "a", "StorageClass": "STANDARD", "Owner": owner, "ChecksumAlgorithm": ["CRC32"]}
    common["ChecksumType"] = "FULL_OBJECT"
    assert page == {
        "Name": bucket, "Prefix": "", "KeyMarker": "", "VersionIdMarker": "", "MaxKeys": 1000, "IsTruncated": False,
        "EncodingType": "url",
        "Versions": [
            {**common, "VersionId": second, "IsLatest": True, "ETag": etags[0], "Size": 5},
            {**common, "VersionId": first, "IsLatest": False, "ETag": etags[1], "Size": 3},
        ],
        "DeleteMarkers": [{"Key": "b", "VersionId": marker, "IsLatest": True, "Owner": owner}],
    }  # fmt: skip


@pytest.mark.parametrize("size", [1, 2, 3])
def test_pages_of_versions(s3, bucket, size):
    for _ in range(3):
        for key in ("a", "b/1", "b/2", "c"):
            put(s3, bucket, key)
    s3.delete_object(Bucket=bucket, Key="c")
    pages = s3.get_paginator("list_object_versions").paginate(
        Bucket=bucket, Delimiter="/", PaginationConfig={"PageSize": size}
    )
    entries: list[tuple[str, bool | None]] = []
    for page in pages:
        found = [(one["Key"], one["IsLatest"]) for one in (*page.get("Versions", ()), *page.get("DeleteMarkers", ()))]
        found += [(one["Prefix"], None) for one in page.get("CommonPrefixes", ())]
        assert len(found) <= size
        entries += found
    assert sorted(entries, key=str) == sorted(
        [("a", True), ("a", False), ("a", False), ("b/", None), ("c", True), ("c", False), ("c", False), ("c", False)],
        key=str,
    )


def test_where_pages_of_versions_begin(s3, bucket):
    versions = {key: [put(s3, bucket, key) for _ in range(3)][::-1] for key in ("a", "b/1", "c")}

    def from_(key: str, version: str | None = None, **more: Any) -> list[tuple[str, str]]:
        if version is not None:
            more["VersionIdMarker"] = version
        return [entry[:2] for entry in listed(s3, bucket, KeyMarker=key, **more)[0]]

    both = [("b/1", one) for one in versions["b/1"]] + [("c", one) for one in versions["c"]]
    assert from_("a") == both
    assert from_("a", versions["a"][1]) == [("a", versions["a"][2]), *both]
    assert from_("b/1", Delimiter="/") == both[3:]
    assert from_("b/", Delimiter="/") == both[3:]
    # One that has been deleted since.
    s3.delete_object(Bucket=bucket, Key="a", VersionId=versions["a"][0])
    assert from_("a", versions["a"][0]) == [("a", versions["a"][1]), ("a", versions["a"][2]), *both]
    assert listed(s3, bucket, KeyMarker="a", VersionIdMarker=versions["a"][0])[0][0][2]
    page = s3.list_object_versions(Bucket=bucket, MaxKeys=1)
    assert (page["NextKeyMarker"], page["NextVersionIdMarker"]) == ("a", versions["a"][1])
    page = s3.list_object_versions(Bucket=bucket, MaxKeys=1, Delimiter="/", KeyMarker="a")
    assert page["NextKeyMarker"] == "b/"
    assert "NextVersionIdMarker" not in page
    found = error_of(s3.list_object_versions, Bucket=bucket, VersionIdMarker=versions["a"][1])
    assert (found["Code"], found["Message"]) == (
        "InvalidArgument", "A version-id marker cannot be specified without a key marker.",
    )  # fmt: skip


# ------------------------------------------------------------------ copies, tags, uploads, conditions


def test_copies_of_versions(s3, bucket):
    first, second = put(s3, bucket, "a", b"one"), put(s3, bucket, "a", b"two")
    copied = s3.copy_object(Bucket=bucket, Key="b", CopySource={"Bucket": bucket, "Key": "a", "VersionId": first})
    assert copied["CopySourceVersionId"] == first
    assert read(s3, bucket, "b", copied["VersionId"]) == b"one"
    copied = s3.copy_object(Bucket=bucket, Key="b", CopySource={"Bucket": bucket, "Key": "a"})
    assert copied["CopySourceVersionId"] == second
    assert read(s3, bucket, "b") == b"two"
    # An old version is restored by a copy onto its own key.
    copied = s3.copy_object(Bucket=bucket, Key="a", CopySource={"Bucket": bucket, "Key": "a", "VersionId": first})
    assert read(s3, bucket, "a") == b"one"
    assert [one[1] for one in listed(s3, bucket, Prefix="a")[0]] == [copied["VersionId"], second, first]
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration=SUSPENDED)
    assert s3.copy_object(Bucket=bucket, Key="c", CopySource=f"{bucket}/a")["VersionId"] == "null"
    assert "CopySourceVersionId" not in s3.copy_object(Bucket=bucket, Key="d", CopySource=f"{bucket}/c")
    named = {"Bucket": bucket, "Key": "c", "VersionId": "null"}
    s3.copy_object(Bucket=bucket, Key="c", CopySource=named)
    assert code_of(s3.copy_object, Bucket=bucket, Key="c", CopySource=f"{bucket}/c") == ("InvalidRequest", 400)


def test_a_marker_is_no_source_of_a_copy(s3, bucket):
    marker = s3.delete_object(Bucket=bucket, Key="a")["VersionId"]
    said = "The source of a copy request may not specifically refer to a delete marker by version id."
    source = {"Bucket": bucket, "Key": "a", "VersionId": marker}
    found = error_of(s3.copy_object, Bucket=bucket, Key="b", CopySource=source)
    assert (found["Code"], found["Message"]) == ("InvalidRequest", said)
    upload = s3.create_multipart_upload(Bucket=bucket, Key="b")["UploadId"]
    part = {"Bucket": bucket, "Key": "b", "UploadId": upload, "PartNumber": 1}
    assert error_of(s3.upload_part_copy, CopySource=source, **part)["Message"] == said
    assert code_of(s3.copy_object, Bucket=bucket, Key="b", CopySource=f"{bucket}/a") == ("NoSuchKey", 404)


def test_tags_belong_to_versions(s3, bucket):
    first, second = put(s3, bucket, "a"), put(s3, bucket, "a")
    tags = [{"Key": "k", "Value": "old"}]
    answer = s3.put_object_tagging(Bucket=bucket, Key="a", VersionId=first, Tagging={"TagSet": tags})
    assert answer["VersionId"] == first
    found = s3.get_object_tagging(Bucket=bucket, Key="a", VersionId=first)
    assert (found["TagSet"], found["VersionId"]) == (tags, first)
    found = s3.get_object_tagging(Bucket=bucket, Key="a")
    assert (found["TagSet"], found["VersionId"]) == ([], second)
    assert s3.delete_object_tagging(Bucket=bucket, Key="a", VersionId=first)["VersionId"] == first
    assert s3.get_object_tagging(Bucket=bucket, Key="a", VersionId=first)["TagSet"] == []


def test_tags_of_an_older_null_version(s3, bucket):
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration=SUSPENDED)
    s3.put_object(Bucket=bucket, Key="a", Body=b"null")
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration=ENABLED)
    put(s3, bucket, "a")
    tags = [{"Key": "k", "Value": "v"}]
    s3.put_object_tagging(Bucket=bucket, Key="a", VersionId="null", Tagging={"TagSet": tags})
    assert s3.get_object_tagging(Bucket=bucket, Key="a", VersionId="null")["TagSet"] == tags


def test_attributes_of_versions(s3, bucket):
    first = put(s3, bucket, "a", b"one")
    put(s3, bucket, "a", b"three")
    found = s3.get_object_attributes(Bucket=bucket, Key="a", VersionId=first, ObjectAttributes=["ObjectSize"])
    assert (found["ObjectSize"], found["VersionId"]) == (3, first)


def test_what_may_be_asked_of_a_key_behind_a_marker(s3, bucket):
    put(s3, bucket, "a")
    marker = s3.delete_object(Bucket=bucket, Key="a")["VersionId"]
    of = {"Bucket": bucket, "Key": "a"}
    calls: list[tuple[Any, str, dict[str, Any]]] = [
        (s3.get_object_tagging, "GET", {}),
        (s3.put_object_tagging, "PUT", {"Tagging": {"TagSet": [{"Key": "a", "Value": "b"}]}}),
        (s3.delete_object_tagging, "DELETE", {}),
        (s3.put_object_acl, "PUT", {"ACL": "private"}),
    ]
    for call, method, more in calls:
        found = error_of(call, **of, **more)
        assert (found["Code"], found["status"], found["Method"]) == ("MethodNotAllowed", 405, method)
        assert found["ResourceType"] == "DeleteMarker"
        assert found["headers"]["x-amz-version-id"] == marker
    assert code_of(s3.get_object_acl, **of) == ("NoSuchKey", 404)
    assert code_of(s3.get_object_attributes, **of, ObjectAttributes=["ETag"]) == ("NoSuchKey", 404)


def test_a_completed_upload_is_a_version(s3, bucket):
    first = put(s3, bucket, "a", b"one")
    upload = s3.create_multipart_upload(Bucket=bucket, Key="a")["UploadId"]
    part = {"Bucket": bucket, "Key": "a", "UploadId": upload, "PartNumber": 1}
    source = {"Bucket": bucket, "Key": "a", "VersionId": first}
    copied = s3.upload_part_copy(CopySource=source, **part)
    assert copied["CopySourceVersionId"] == first
    parts = {"Parts": [{"PartNumber": 1, "ETag": copied["CopyPartResult"]["ETag"]}]}
    completion = {"Bucket": bucket, "Key": "a", "UploadId": upload, "MultipartUpload": parts}
    done = s3.complete_multipart_upload(**completion)
    assert [one[1] for one in listed(s3, bucket)[0]] == [done["VersionId"], first]
    put(s3, bucket, "a", b"three")
    assert read(s3, bucket, "a", done["VersionId"]) == b"one"
    # Completed again, it is the same version.
    again = s3.complete_multipart_upload(**completion)
    assert (again["VersionId"], again["ETag"]) == (done["VersionId"], done["ETag"])


def test_conditions_see_no_object_behind_a_marker(s3, bucket):
    put(s3, bucket, "a")
    s3.delete_object(Bucket=bucket, Key="a")
    assert code_of(s3.put_object, Bucket=bucket, Key="a", IfMatch='"x"') == ("NoSuchKey", 404)
    s3.put_object(Bucket=bucket, Key="a", IfNoneMatch="*")
    assert code_of(s3.put_object, Bucket=bucket, Key="a", IfNoneMatch="*") == ("PreconditionFailed", 412)
