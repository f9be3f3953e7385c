from __future__ import annotations

import time
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from botocore.auth import S3SigV4Auth, SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from statewright.api.auth import Request, verify
from statewright.errors import ApiError

KEYS = {"AKID": "secret", "OTHER": "other secret"}
BODY = b'{"name": "a"}'


def signed(
    kind: type[SigV4Auth] = SigV4Auth, service: str = "states", secret: str = "secret", key: str = "AKID",
    url: str = "http://127.0.0.1:4566/a%20path/?b=2&a=1%2B1&empty=",
) -> Request:  # fmt: skip
    """A request signed by botocore."""
    request = AWSRequest("POST", url, {"Host": "127.0.0.1:4566", "X-Amz-Target": " AWSStepFunctions.x "}, BODY)
    kind(Credentials(key, secret), service, "us-east-1").add_auth(request)
    parts = urlsplit(request.url)
    headers = {name.lower(): value for name, value in request.headers.items()}
    return Request("POST", parts.path, parts.query, headers, BODY)


def refused(request: Request, now: float | None = None) -> str:
    with pytest.raises(ApiError) as caught:
        verify(request, KEYS, time.time() if now is None else now)
    return caught.value.code


def test_without_credentials_nothing_is_verified():
    assert verify(Request("POST", "/", "", {}, b""), {}, 0) is None


def test_signatures_of_botocore_are_genuine():
    assert verify(signed(), KEYS, time.time()) == "AKID"
    assert verify(signed(key="OTHER", secret="other secret"), KEYS, time.time()) == "OTHER"


def test_signatures_of_botocore_for_s3_are_genuine():
    assert verify(signed(S3SigV4Auth, "s3"), KEYS, time.time()) == "AKID"


def test_presigned_queries_are_genuine():
    request = AWSRequest("GET", "http://127.0.0.1:4566/", {"Host": "127.0.0.1:4566"})
    SigV4QueryAuth(Credentials("AKID", "secret"), "states", "us-east-1", expires=60).add_auth(request)
    parts = urlsplit(request.url)
    given = Request("GET", "/", parts.query, {"host": "127.0.0.1:4566"}, b"")
    assert verify(given, KEYS, time.time()) == "AKID"
    assert refused(given, time.time() + 120) == "InvalidSignatureException"
    assert (
        refused(replace(given, query=parts.query.replace("Expires=60", "Expires=6000"))) == "InvalidSignatureException"
    )


def test_changes_to_signed_parts_are_refused():
    request = signed()
    now = time.time()
    for changed in (
        replace(request, body=b"{}"),
        replace(request, method="PUT"),
        replace(request, raw_path="/"),
        replace(request, query="b=2"),
        replace(request, headers={**request.headers, "host": "elsewhere"}),
    ):
        assert refused(changed, now) == "InvalidSignatureException"
    assert refused(signed(secret="wrong")) == "InvalidSignatureException"


def test_unknown_keys_and_late_requests_are_refused():
    assert refused(signed(key="NOBODY")) == "UnrecognizedClientException"
    for offset in (-3600, 3600):
        assert refused(signed(), time.time() + offset) == "InvalidSignatureException"


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, "MissingAuthenticationTokenException"),
        ({"authorization": "Basic abc"}, "IncompleteSignatureException"),
        ({"authorization": "AWS4-HMAC-SHA256 Credential=a"}, "IncompleteSignatureException"),
        ({"authorization": "AWS4-HMAC-SHA256 Credential=a, SignedHeaders=host, Signature=0"},
         "IncompleteSignatureException"),
        ({"authorization": "AWS4-HMAC-SHA256 Credential=a, SignedHeaders=host, Signature=0",
          "x-amz-date": "20260101T000000Z"}, "IncompleteSignatureException"),
        ({"authorization": "AWS4-HMAC-SHA256 Credential=K/20260101/r/s/aws4_request, SignedHeaders=date, Signature=0",
          "x-amz-date": "20260101T000000Z"}, "IncompleteSignatureException"),
        ({"authorization": "AWS4-HMAC-SHA256 Credential=AKID/20260101/r/s/aws4_request,SignedHeaders=host,Signature=0",
          "x-amz-date": "20260101 midnight"}, "IncompleteSignatureException"),
    ],
)  # fmt: skip
def test_incomplete_signatures_are_refused(headers, code):
    assert refused(Request("POST", "/", "", headers, b"")) == code
