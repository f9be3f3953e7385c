"""Forms that upload to S3 and would write what their policy does not allow, or that nothing genuine has signed."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest
from botocore.config import Config

from tests.attack.conftest import KEY, SECRET, Reply, send
from tests.e2e.conftest import Server, session_of

MIB = 1024 * 1024


def client_of(server: Server, version: str) -> Any:
    session = session_of(KEY, SECRET)
    settings = Config(signature_version=version, retries={"total_max_attempts": 1}, s3={"addressing_style": "path"})
    return session.client("s3", endpoint_url=server.url, config=settings)


@pytest.fixture(scope="module")
def s3(strict: Server) -> Any:
    client = client_of(strict, "s3v4")
    client.create_bucket(Bucket="forms")
    client.create_bucket(Bucket="others")
    yield client
    client.close()


@pytest.fixture(params=["s3v4", "s3"])
def signed(request: pytest.FixtureRequest, strict: Server, s3: Any) -> dict[str, str]:
    """The fields of a genuine form for keys below `in/`, of at most 9 bytes, in either version of the signature."""
    client = client_of(strict, request.param)
    conditions = [["starts-with", "$key", "in/"], ["content-length-range", 0, 9], {"acl": "private"}]
    made = client.generate_presigned_post("forms", "in/${filename}", {"acl": "private"}, conditions)
    client.close()
    fields: dict[str, str] = made["fields"]
    return fields


def post(
    server: Server, fields: Any, body: bytes = b"x", bucket: str = "forms", query: str = "", **headers: str
) -> Reply:
    pairs = list(fields.items()) if isinstance(fields, dict) else fields
    text = "".join(f'--B\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n' for n, v in pairs)
    text += '--B\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n'
    given = {"Content-Type": "multipart/form-data; boundary=B", **{n.replace("_", "-"): v for n, v in headers.items()}}
    return send(server, "POST", f"/{bucket}{query}", given, text.encode() + body + b"\r\n--B--\r\n")


def keys(s3: Any) -> list[str]:
    listed = [one["Key"] for name in ("forms", "others") for one in s3.list_objects_v2(Bucket=name).get("Contents", [])]
    for name in ("forms", "others"):
        for key in listed:
            s3.delete_object(Bucket=name, Key=key)
    return listed


def test_a_genuine_form(strict, s3, signed):
    assert post(strict, signed).status == 204
    assert keys(s3) == ["in/f"]


CHANGES: list[tuple[dict[str, str], int]] = [
    ({"key": "out/${filename}"}, 403),
    ({"key": "IN/f"}, 403),
    ({"acl": "public-read"}, 403),
    ({"x-amz-meta-a": "b"}, 403),
    ({"tagging": "<Tagging/>"}, 403),
    ({"success_action_redirect": "https://example.com/"}, 403),
    ({"x-amz-storage-class": "STANDARD_IA"}, 403),
    ({"bucket": "others"}, 204),
]


@pytest.mark.parametrize(("changed", "status"), CHANGES)
def test_a_form_stays_within_its_policy(strict, s3, signed, changed, status):
    assert post(strict, {**signed, **changed}).status == status
    assert keys(s3) == (["in/f"] if status == 204 else [])


def test_a_form_is_for_its_bucket_alone(strict, s3, signed):
    assert post(strict, signed, bucket="others").status == 403
    assert keys(s3) == []


def test_a_field_that_is_sent_twice_is_checked_as_it_is_used(strict, s3, signed):
    for pairs in ([("key", "out/f"), *signed.items()], [*signed.items(), ("Key", "out/f")]):
        post(strict, pairs)
        assert all(key.startswith("in/") for key in keys(s3))


def test_headers_and_queries_have_no_say(strict, s3, signed):
    assert post(strict, signed, x_amz_meta_a="b", x_amz_tagging="a=b", x_amz_storage_class="GLACIER").status == 204
    head = s3.head_object(Bucket="forms", Key="in/f")
    assert (head["Metadata"], head.get("StorageClass"), head.get("TagCount")) == ({}, None, None)
    keys(s3)
    assert post(strict, signed, query="?x-amz-acl=public-read").status == 403
    assert post(strict, signed, query="?delete").status == 403
    assert post(strict, signed, query="?Action=PostObject").status in (400, 403)
    assert keys(s3) == []


def test_a_file_longer_than_the_policy_allows(strict, s3, signed):
    assert post(strict, signed, b"x" * 10).status == 400
    assert post(strict, signed, b"x" * 100_000).status == 400
    assert keys(s3) == []


def unsigned(fields: dict[str, str]) -> list[dict[str, str]]:
    """What is left of a form when parts of its signature are taken away or replaced."""
    policy = json.loads(base64.b64decode(fields["policy"]))
    wider = {**policy, "conditions": [one for one in policy["conditions"] if one != ["starts-with", "$key", "in/"]]}
    signature = next(name for name in fields if name.endswith("ignature"))
    forged = hmac.new(b"wrong", fields["policy"].encode(), hashlib.sha256).hexdigest()
    names = [name for name in fields if name in ("x-amz-credential", "AWSAccessKeyId", "policy", signature)]
    return [
        {"key": "in/f"},
        {"key": "in/f", "acl": "private"},
        {**fields, "policy": base64.b64encode(json.dumps(wider).encode()).decode()},
        {**fields, signature: forged},
        {**fields, signature: ""},
        *({name: value for name, value in fields.items() if name != gone} for gone in names),
        {**fields, **{name: fields[name].replace(KEY, "AKIDOTHER") for name in names if KEY in fields[name]}},
    ]


def test_forms_that_nothing_genuine_signed(strict, s3, signed):
    for fields in unsigned(signed):
        assert post(strict, fields).status in (400, 403)
    assert post(strict, {"key": "in/f"}, authorization="AWS4-HMAC-SHA256 x").status in (400, 403)
    assert keys(s3) == []


def test_a_policy_without_a_bucket_is_for_none(strict, s3):
    document = {"expiration": "2099-01-01T00:00:00Z", "conditions": [["starts-with", "$key", ""]]}
    policy = base64.b64encode(json.dumps(document).encode()).decode()
    mac = hmac.new(SECRET.encode(), policy.encode(), hashlib.sha1).digest()
    fields = {"key": "k", "AWSAccessKeyId": KEY, "policy": policy, "signature": base64.b64encode(mac).decode()}
    assert post(strict, fields).status == 403
    assert keys(s3) == []


def test_a_long_form_takes_little_memory(lenient):
    send(lenient, "PUT", "/roomy")
    process = psutil.Process(lenient.process.pid)
    before = process.memory_info().rss
    # No boundary, no end of a field, no file: nothing of these is kept.
    for fields in ([("key", "x" * 24 * MIB)], [(f"x-ignore-{n}", "y" * 100) for n in range(40_000)]):
        assert post(lenient, fields, bucket="roomy").status == 400
    assert process.memory_info().rss - before < 64 * MIB
