"""Presigned addresses of version 2, as botocore makes them, and what their holder could try with them."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from botocore.auth import HmacV1QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from statewright.api.auth import Request
from statewright.api.auth_v2 import is_presigned, moved_headers, verify
from statewright.errors import ApiError

KEYS = {"AKID": "secret"}
HOST = "127.0.0.1:4566"


def presigned(
    method: str = "GET", path: str = "/bucket/a%20key", query: str = "", token: str | None = None,
    expires: int = 60, **headers: str,
) -> Request:  # fmt: skip
    """A request that botocore has presigned."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = AWSRequest(method, f"http://{HOST}{path}{query and '?'}{query}", named)
    HmacV1QueryAuth(Credentials("AKID", "secret", token), expires).add_auth(request)
    parts = urlsplit(request.url)
    return Request(method, parts.path, parts.query, {"host": HOST}, None)


def refusal(request: Request, now: float | None = None) -> tuple[str, str]:
    with pytest.raises(ApiError) as caught:
        verify(request, KEYS, time.time() if now is None else now)
    return caught.value.code, caught.value.message


def with_query(request: Request, more: str) -> Request:
    return replace(request, query=f"{request.query}&{more}")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"query": "response-content-type=text/html%3B%20charset%3Dutf-8&versionId=1"},
        {"query": "acl"},
        {"method": "PUT", "query": "uploadId=u&partNumber=2"},
        {"method": "PUT", "x_amz_meta_owner": "me", "x_amz_acl": "private", "content_type": "text/plain"},
        {"token": "a+/=token"},
        {"method": "PUT", "x_amz_meta_a_b": "1", "x_amz_meta_a": "2"},
        {"path": "/"},
    ],
)
def test_addresses_of_botocore_are_genuine(given: dict[str, Any]) -> None:
    request = presigned(**given)
    assert is_presigned(request.query, request.headers)
    assert verify(request, KEYS, time.time()) == "AKID"
    assert refusal(replace(request, method="DELETE"))[0] == "InvalidSignatureException"
    assert refusal(replace(request, raw_path="/bucket/other"))[0] == "InvalidSignatureException"


def test_the_bucket_may_be_in_the_host() -> None:
    request = presigned(path="/bucket/key")
    in_host = replace(request, raw_path="/key", headers={"host": "bucket.localhost:4566"})
    assert verify(in_host, KEYS, time.time()) == "AKID"
    other = replace(request, raw_path="/key", headers={"host": "other.localhost:4566"})
    assert refusal(other)[0] == "InvalidSignatureException"


def test_moved_headers_count_as_such() -> None:
    request = presigned("PUT", x_amz_meta_owner="me", content_type="text/plain")
    assert moved_headers(request.query) == {"x-amz-meta-owner": "me", "content-type": "text/plain"}
    sent = replace(request, headers={"host": HOST, "content-type": "text/plain", "x-amz-meta-owner": "me"})
    assert verify(sent, KEYS, time.time()) == "AKID"
    for name in ("content-type", "x-amz-meta-owner"):
        contradicted = replace(request, headers={"host": HOST, name: "other"})
        assert refusal(contradicted) == ("AccessDenied", f"The parameter {name} contradicts a header.")


@pytest.mark.parametrize(
    "name", ["x-amz-copy-source", "x-amz-acl", "x-amz-content-sha256", "content-type", "content-md5"]
)
def test_no_header_is_added(name: str) -> None:
    request = presigned("PUT")
    added = replace(request, headers={"host": HOST, name: "/bucket/other"})
    assert refusal(added)[0] == "InvalidSignatureException"
    assert refusal(with_query(request, f"{name}={quote('/bucket/other', safe='')}"))[0] == "InvalidSignatureException"


@pytest.mark.parametrize("name", ["acl", "uploads", "versionId=1", "%61cl", "response-content-type=text/html"])
def test_no_subresource_is_added(name: str) -> None:
    assert refusal(with_query(presigned(), name))[0] == "InvalidSignatureException"


@pytest.mark.parametrize(
    "name",
    ["prefix=", "list-type=2", "x-id=GetObject", "attributes", "Acl", "ACTION=x", "=1", "x-amz-a%3A1%0Ax-amz-b=1"],
)
def test_what_is_not_signed_is_refused(name: str) -> None:
    code, message = refusal(with_query(presigned(path="/bucket"), name))
    assert code == "AccessDenied"
    assert "is not signed by version 2. Presign with version 4: Config(signature_version='s3v4') in boto3." in message


@pytest.mark.parametrize("value", ["a%0Ax-amz-acl:private", "%00", "%FF"])
def test_values_that_could_be_read_in_two_ways_are_refused(value: str) -> None:
    for name in ("response-content-type", "x-amz-meta-a", "content-type"):
        code, message = refusal(with_query(presigned(), f"{name}={value}"))
        assert (code, "cannot be signed by version 2" in message) == ("AccessDenied", True)


def test_a_value_is_no_other_parameter() -> None:
    """What is signed joins parameters by a character that a value may have."""
    both = presigned(query="response-content-type=a&versionId=1")
    joined = both.query.replace("a&versionId=1", "a%26versionId=1")
    assert refusal(replace(both, query=joined))[0] == "AccessDenied"
    assert verify(presigned("PUT", x_amz_tagging="a=1&b=2"), KEYS, time.time()) == "AKID"


def test_dates() -> None:
    assert refusal(presigned(), time.time() + 120)[1].startswith("Signature expired")
    assert refusal(presigned(expires=8 * 24 * 3600))[1] == "A presigned address may be valid for a week at most."
    request = presigned()
    for text in ("", "1e9", "-1", "1" * 13, "9999999999%0A"):
        changed = replace(request, query=request.query.replace("Expires=", f"Expires={text}&Expired="))
        assert refusal(changed)[1].startswith(("Invalid date (should be seconds since epoch): ", "The parameter Exp"))


def test_incomplete_and_foreign_addresses() -> None:
    request = presigned()
    for name in ("AWSAccessKeyId", "Signature", "Expires"):
        missing = replace(request, query=request.query.replace(f"{name}=", f"{name.lower()}="))
        twice = with_query(request, f"{name}=1")
        for changed in (missing, twice):
            assert refusal(changed)[1].startswith("Query-string authentication requires the Signature, Expires and")
    assert refusal(replace(request, query=request.query.replace("AKID", "OTHER")))[0] == "UnrecognizedClientException"
    assert not is_presigned("Signature=a&X-Amz-Signature=b&AWSAccessKeyId=c", {})
    assert not is_presigned("Signature=a&AWSAccessKeyId=c", {"authorization": "AWS4-HMAC-SHA256"})
