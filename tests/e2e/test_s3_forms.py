"""Uploads by an HTML form, with policies as boto3 presigns them."""

from __future__ import annotations

import base64
import http.client
import json
import os
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from botocore.config import Config

from tests.deadlines import PATIENCE_SECONDS
from tests.e2e.conftest import session_of

MIB = 1024 * 1024
BOUNDARY = "--a-boundary"


def form_of(fields: dict[str, str], body: bytes | None, filename: str | None = "a.txt") -> bytes:
    parts = [f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n' for n, v in fields.items()]
    text = "".join(parts)
    if body is None:
        return f"{text}--{BOUNDARY}--\r\n".encode()
    named = "" if filename is None else f'; filename="{filename}"'
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"{named}\r\nContent-Type: text/html\r\n\r\n'
    return (text + head).encode() + body + f"\r\n--{BOUNDARY}--\r\n".encode()


def post(
    server: Any, bucket: str, body: bytes, kind: str = f"multipart/form-data; boundary={BOUNDARY}", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("POST", f"/{bucket}", body, {"Content-Type": kind, **given})
    answer = connection.getresponse()
    found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    connection.close()
    return found


def presigned(s3: Any, bucket: str, key: str, fields: dict[str, str], conditions: list[Any], **more: Any) -> Any:
    made = s3.generate_presigned_post(bucket, key, Fields=dict(fields), Conditions=conditions, **more)
    return made["fields"]


@pytest.mark.parametrize("size", [0, 1, 20_000, 3 * MIB + 17])
def test_a_form_becomes_an_object(server, s3, bucket, size):
    body = os.urandom(size)
    asked = {
        "x-amz-meta-Colour": "blue", "Content-Type": "text/csv", "x-amz-storage-class": "STANDARD_IA",
        "tagging": "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>",
        "Cache-Control": "no-store",
    }  # fmt: skip
    fields = presigned(s3, bucket, "dir/${filename}", asked, [dict([one]) for one in asked.items()])
    status, headers, answer = post(server, bucket, form_of(fields, body, "C:\\files\\ä b.csv"))
    assert (status, answer) == (204, b"")
    found = s3.get_object(Bucket=bucket, Key="dir/ä b.csv")
    assert headers["etag"] == found["ETag"]
    assert headers["location"].endswith(f"/{bucket}/dir/%C3%A4%20b.csv")
    assert found["Body"].read() == body
    assert (found["ContentType"], found["CacheControl"], found["StorageClass"], found["Metadata"]) == (
        "text/csv", "no-store", "STANDARD_IA", {"colour": "blue"},
    )  # fmt: skip
    assert s3.get_object_tagging(Bucket=bucket, Key="dir/ä b.csv")["TagSet"] == [{"Key": "a", "Value": "b"}]


def test_what_a_form_is_answered_with(server, s3, bucket):
    def posted(**asked: str) -> tuple[int, dict[str, str], bytes]:
        return post(server, bucket, form_of({"key": "k", **asked}, b"x"))

    status, headers, answer = posted(success_action_status="201")
    assert (status, headers["content-type"]) == (201, "application/xml")
    for part in (f"<Bucket>{bucket}</Bucket>", "<Key>k</Key>", f"<Location>{headers['location']}</Location>", "<ETag>"):
        assert part.encode() in answer
    assert answer.partition(b"?>\n")[2].startswith(b"<PostResponse><Location>")
    assert posted(success_action_status="200")[0] == 200
    assert posted(success_action_status="418")[0] == 204
    status, headers, _ = posted(success_action_redirect="https://example.com/done?a=b", success_action_status="201")
    assert status == 303
    assert headers["location"].startswith("https://example.com/done?a=b&")
    assert parse_qs(urlsplit(headers["location"]).query) == {
        "a": ["b"], "bucket": [bucket], "key": ["k"], "etag": [headers["etag"]],
    }  # fmt: skip
    assert posted(success_action_redirect="javascript:alert(1)")[0] == 204


def test_a_plain_field_has_no_file_name(server, s3, bucket):
    assert post(server, bucket, form_of({"key": "${filename}"}, b"x", filename=None))[0] == 204
    assert s3.head_object(Bucket=bucket, Key="${filename}")["ContentLength"] == 1


def test_fields_behind_the_file_are_ignored(server, s3, bucket):
    late = form_of({"key": "other", "x-amz-meta-a": "late"}, None)
    whole = form_of({"key": "early"}, b"x").removesuffix(f"--{BOUNDARY}--\r\n".encode()) + late
    assert post(server, bucket, whole)[0] == 204
    assert s3.head_object(Bucket=bucket, Key="early")["Metadata"] == {}
    status, _, answer = post(server, bucket, form_of({}, b"x").removesuffix(f"--{BOUNDARY}--\r\n".encode()) + late)
    assert (status, b"<ArgumentName>key</ArgumentName>" in answer) == (400, True)


REFUSALS: list[tuple[dict[str, str], list[Any], int, dict[str, str], int, list[str]]] = [
    ({"success_action_redirect": "http://a.example/"}, [["eq", "$success_action_redirect", "http://b.example/"]], 1, {},
     403, ["AccessDenied", "Invalid according to Policy: Policy Condition failed: "
           "[&quot;eq&quot;, &quot;$success_action_redirect&quot;, &quot;http://b.example/&quot;]"]),
    ({"x-amz-meta-a": "v"}, [["starts-with", "$x-amz-meta-a", "w"]], 1, {}, 403,
     ["[&quot;starts-with&quot;, &quot;$x-amz-meta-a&quot;, &quot;w&quot;]"]),
    ({"x-amz-meta-a": "v"}, [], 1, {}, 403, ["AccessDenied", "Extra input fields: x-amz-meta-a"]),
    ({}, [["content-length-range", 2, 5]], 1, {}, 400,
     ["EntityTooSmall", "<ProposedSize>1</ProposedSize>", "<MinSizeAllowed>2</MinSizeAllowed>"]),
    ({}, [["content-length-range", 2, 5]], 70_000, {}, 400,
     ["EntityTooLarge", "<ProposedSize>70000</ProposedSize>", "<MaxSizeAllowed>5</MaxSizeAllowed>"]),
    ({}, [], 1, {"x-amz-signature": ""}, 400,
     ["InvalidArgument", "Bucket POST must contain a field named 'X-Amz-Signature'.  If it is specified, please check "
      "the order of the fields."]),
    ({}, [], 1, {"policy": "bm9uZQ=="}, 400, ["InvalidPolicyDocument"]),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "conditions", "size", "changed", "status", "said"), REFUSALS)
def test_forms_that_are_refused(server, bucket, fields, conditions, size, changed, status, said):
    session = session_of()
    newer = session.client("s3", endpoint_url=server.url, config=Config(signature_version="s3v4"))
    signed = {**presigned(newer, bucket, "refused", fields, conditions), **changed}
    found, _, answer = post(server, bucket, form_of(signed, b"x" * size))
    assert found == status
    for text in said:
        assert text.encode() in answer
    newer.close()


def test_a_policy_that_has_expired(server, s3, bucket):
    fields = presigned(s3, bucket, "k", {}, [], ExpiresIn=-5)
    status, _, answer = post(server, bucket, form_of(fields, b"x"))
    assert (status, b"Invalid according to Policy: Policy expired." in answer) == (403, True)


def test_what_is_no_form(server, bucket):
    status, _, answer = post(server, bucket, b"a=b", "application/x-www-form-urlencoded")
    assert status == 412
    assert b"<Condition>Bucket POST must be of the enclosure-type multipart/form-data</Condition>" in answer
    assert post(server, bucket, b"x", "multipart/form-data; boundary=x")[0] == 400
    assert post(server, bucket, form_of({"key": "k"}, b"x")[:-20])[0] == 400
    status, _, answer = post(server, bucket, form_of({"key": "k"}, None))
    assert (status, b"POST requires exactly one file upload per request." in answer) == (400, True)
    status, _, answer = post(server, bucket, form_of({"key": "k", "x-ignore-a": "x" * 30_000}, b"x"))
    assert (status, b"MaxPostPreDataLengthExceededError" in answer) == (400, True)
    assert post(server, "no-such-bucket", form_of({"key": "k"}, b"x"))[0] == 404


def test_a_form_of_an_older_policy_document(server, s3, bucket):
    document = {"expiration": "2099-01-01T00:00:00Z", "conditions": [{"bucket": bucket}, ["eq", "$key", "old"]]}
    policy = base64.b64encode(json.dumps(document).encode()).decode()
    fields = {"key": "old", "AWSAccessKeyId": "test", "policy": policy, "signature": "not checked without credentials"}
    assert post(server, bucket, form_of(fields, b"x"))[0] == 204
