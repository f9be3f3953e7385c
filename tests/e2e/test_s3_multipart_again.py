"""Completing multipart uploads through boto3: repeated, after a kill, and on conditions that changed meanwhile."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Server, error_of


def begun(s3: Any, bucket: str, key: str = "k", body: bytes = b"all of it") -> dict[str, Any]:
    """An upload with one part: the arguments that complete it."""
    where = {"Bucket": bucket, "Key": key}
    upload = {**where, "UploadId": s3.create_multipart_upload(**where)["UploadId"]}
    part = s3.upload_part(**upload, PartNumber=1, Body=body)
    return {**upload, "MultipartUpload": {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}}


def told(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name != "ResponseMetadata"}


@pytest.mark.parametrize("more", [{}, {"IfNoneMatch": "*"}])
def test_a_repeated_completion_answers_as_the_first(s3, bucket, more):
    upload = begun(s3, bucket)
    first = s3.complete_multipart_upload(**upload, **more)
    assert told(s3.complete_multipart_upload(**upload, **more)) == told(first)
    s3.put_object_tagging(Bucket=bucket, Key="k", Tagging={"TagSet": [{"Key": "a", "Value": "b"}]})
    assert told(s3.complete_multipart_upload(**upload, **more)) == told(first)
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"all of it"
    other = {**upload, "MultipartUpload": {"Parts": [{"PartNumber": 1, "ETag": '"0"'}]}}
    assert error_of(s3.complete_multipart_upload, **other)["Code"] == "InvalidPart"
    empty = {**upload, "MultipartUpload": {"Parts": []}}
    assert error_of(s3.complete_multipart_upload, **empty)["Code"] == "NoSuchUpload"
    s3.put_object(Bucket=bucket, Key="k", Body=b"newer")
    assert error_of(s3.complete_multipart_upload, **upload)["Code"] == "NoSuchUpload"
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"newer"


def test_completions_at_once_answer_alike(s3, bucket):
    upload = begun(s3, bucket)
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: told(s3.complete_multipart_upload(**upload, IfNoneMatch="*")), range(6)))
    assert all(answer == answers[0] for answer in answers)


@pytest.mark.slow
def test_a_repeated_completion_after_a_kill(tmp_path: Path):
    server = Server(tmp_path / "data")
    server.client("s3").create_bucket(Bucket="data")
    upload = begun(server.client("s3"), "data")
    first = told(server.client("s3").complete_multipart_upload(**upload, IfNoneMatch="*"))
    server.kill()
    server = Server(tmp_path / "data")
    assert told(server.client("s3").complete_multipart_upload(**upload, IfNoneMatch="*")) == first
    server.stop()


def test_a_completion_without_parts(s3, bucket):
    upload = begun(s3, bucket) | {"MultipartUpload": {"Parts": []}}
    refusal = error_of(s3.complete_multipart_upload, **upload)
    assert (refusal["Code"], refusal["Message"]) == ("InvalidRequest", "You must specify at least one part")


def test_a_key_that_changed_since_the_upload_began_conflicts(s3, bucket):
    def conflict(condition: str, value: str) -> None:
        refusal = error_of(s3.complete_multipart_upload, **upload, **{condition: value})
        assert (refusal["Code"], refusal["status"], refusal["Key"]) == ("ConditionalRequestConflict", 409, "k")
        assert refusal["Message"] == (
            "The conditional request cannot succeed due to a conflicting operation against this resource."
        )
        assert refusal["Condition"] == {"IfMatch": "If-Match", "IfNoneMatch": "If-None-Match"}[condition]

    there = s3.put_object(Bucket=bucket, Key="k", Body=b"one")["ETag"]
    upload = begun(s3, bucket)
    assert error_of(s3.complete_multipart_upload, **upload, IfMatch='"0"')["Code"] == "PreconditionFailed"
    s3.put_object(Bucket=bucket, Key="k", Body=b"one")
    conflict("IfMatch", there)
    assert error_of(s3.complete_multipart_upload, **upload, IfNoneMatch="*")["Code"] == "PreconditionFailed"
    s3.delete_object(Bucket=bucket, Key="k")
    conflict("IfNoneMatch", "*")
    assert error_of(s3.complete_multipart_upload, **upload, IfMatch=there)["Code"] == "NoSuchKey"
    fresh = begun(s3, bucket)
    s3.complete_multipart_upload(**fresh, IfNoneMatch="*")
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"all of it"
    s3.delete_object(Bucket=bucket, Key="k")
    upload = begun(s3, bucket)
    s3.put_object(Bucket=bucket, Key="k", Body=b"written and deleted")
    s3.delete_object(Bucket=bucket, Key="k")
    conflict("IfNoneMatch", "*")
    assert [
        part["PartNumber"] for part in s3.list_parts(Bucket=bucket, Key="k", UploadId=upload["UploadId"])["Parts"]
    ] == [1]
    after = begun(s3, bucket)
    s3.complete_multipart_upload(**upload)
    assert error_of(s3.complete_multipart_upload, **after, IfNoneMatch="*")["Code"] == "PreconditionFailed"
