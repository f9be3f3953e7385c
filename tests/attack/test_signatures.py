"""Genuine signatures beside things that their signer has not seen: headers, bodies, times."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock
from urllib.parse import urlsplit
from uuid import uuid4

import botocore.auth
import pytest
from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth, SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

from tests.attack.conftest import KEY, SECRET, Reply, send
from tests.e2e.conftest import Server, session_of

OWN = Credentials(KEY, SECRET)
JSON_TYPE = "application/x-amz-json-1.0"
NOT_SIGNED = b"<Message>There were headers present in the request which were not signed</Message>"
PARAMETERS = b"<Code>AuthorizationQueryParametersError</Code>"


@pytest.fixture(scope="module")
def s3(strict: Server) -> Any:
    session = session_of(KEY, SECRET)
    settings = Config(signature_version="s3v4", retries={"total_max_attempts": 1}, s3={"addressing_style": "path"})
    client = session.client("s3", endpoint_url=strict.url, config=settings)
    client.create_bucket(Bucket="secrets")
    client.put_object(Bucket="secrets", Key="k", Body=b"a secret")
    client.create_bucket(Bucket="inbox")
    yield client
    client.close()


def ask(server: Server, url: str, method: str = "PUT", body: bytes = b"", **headers: str) -> Reply:
    """Use a presigned address."""
    parts = urlsplit(url)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return send(server, method, f"{parts.path}?{parts.query}", {"Host": parts.netloc, **named}, body)


def signed(
    server: Server, service: str, method: str = "POST", path: str = "/", headers: Mapping[str, str] | None = None,
    body: bytes = b"", kind: type[SigV4Auth] = SigV4Auth,
) -> dict[str, str]:  # fmt: skip
    """The headers of a request that botocore has signed."""
    request = AWSRequest(method, server.url + path, {"Host": f"127.0.0.1:{server.port}", **(headers or {})}, body)
    kind(OWN, service, "us-east-1").add_auth(request)
    return {name: str(value) for name, value in request.headers.items()}


def presigned(server: Server, service: str, expires: Any = 60, body: bytes = b"", path: str = "/") -> str:
    """An address that botocore has signed for a POST with a body."""
    request = AWSRequest("POST", server.url + path, {"Host": f"127.0.0.1:{server.port}"})
    signer = SigV4QueryAuth(OWN, service, "us-east-1", expires=expires)
    # botocore would move the body into the query.
    signer.payload = lambda _request: hashlib.sha256(body).hexdigest()
    signer.add_auth(request)
    return str(request.url)


def refuses(answer: Reply) -> None:
    """Check that a request was refused for its signature."""
    assert answer.status in (400, 403)
    assert b"The request signature we calculated does not match the signature you provided." in answer.body


# ------------------------------------------------------------------ headers


def test_a_presigned_put_does_not_become_a_copy(strict, s3):
    url = s3.generate_presigned_url("put_object", {"Bucket": "inbox", "Key": "k"}, 60)
    refused = ask(strict, url, x_amz_copy_source="/secrets/k")
    assert refused.status == 403
    assert b"<Code>AccessDenied</Code>" in refused.body
    assert NOT_SIGNED in refused.body
    assert b"<HeadersNotSigned>x-amz-copy-source</HeadersNotSigned>" in refused.body
    assert "Contents" not in s3.list_objects_v2(Bucket="inbox")
    assert ask(strict, url, body=b"mine").status == 200
    s3.delete_object(Bucket="inbox", Key="k")


@pytest.mark.parametrize(
    "header", ["x-amz-acl", "X-Amz-Meta-Owner", "x-amz-tagging", "x-amz-storage-class", "x-amz-target"]
)
def test_no_header_of_the_service_is_added_to_a_presigned_address(strict, s3, header):
    url = s3.generate_presigned_url("put_object", {"Bucket": "inbox", "Key": "k"}, 60)
    headers: dict[str, Any] = {header: "x"}
    refused = ask(strict, url, **headers)
    assert (refused.status, NOT_SIGNED in refused.body) == (403, True)


def test_nor_to_a_signed_head(strict, s3):
    url = "/inbox/k2"
    headers = signed(strict, "s3", "PUT", url, kind=S3SigV4Auth)
    refused = send(strict, "PUT", url, {**headers, "x-amz-copy-source": "/secrets/k"})
    assert (refused.status, NOT_SIGNED in refused.body) == (403, True)
    assert send(strict, "PUT", url, headers).status == 200
    s3.delete_object(Bucket="inbox", Key="k2")


def test_the_operation_is_not_chosen_after_the_signature(strict):
    body = json.dumps({"name": f"by-an-attacker-{uuid4()}"}).encode()
    headers = signed(strict, "states", headers={"Content-Type": JSON_TYPE}, body=body)
    refused = send(strict, "POST", "/", {**headers, "X-Amz-Target": "AWSStepFunctions.CreateActivity"}, body)
    assert refused.status == 400
    assert json.loads(refused.body) == {
        "__type": "InvalidSignatureException",
        "message": "'x-amz-target' must be a 'SignedHeader' in the AWS Authorization.",
    }
    target = {"Content-Type": JSON_TYPE, "X-Amz-Target": "AWSStepFunctions.CreateActivity"}
    assert send(strict, "POST", "/", signed(strict, "states", headers=target, body=body), body).status == 200


def test_an_address_does_not_get_a_target(strict):
    url = presigned(strict, "states", body=b"{}")
    refused = ask(strict, url, "POST", b"{}", x_amz_target="AWSStepFunctions.ListActivities", content_type=JSON_TYPE)
    assert (refused.status, json.loads(refused.body)["__type"]) == (400, "InvalidSignatureException")


def test_the_host_is_signed(strict):
    headers = signed(strict, "states", headers={"X-Amz-Target": "AWSStepFunctions.ListActivities"}, body=b"{}")
    headers["Authorization"] = headers["Authorization"].replace("SignedHeaders=host;", "SignedHeaders=")
    assert send(strict, "POST", "/", headers, b"{}").status in (400, 403)


def test_headers_that_sdks_add_after_signing_are_no_matter(strict):
    target = {"Content-Type": JSON_TYPE, "X-Amz-Target": "AWSStepFunctions.ListActivities"}
    headers = signed(strict, "states", headers=target, body=b"{}")
    headers |= {
        "x-amzn-trace-id": "Root=1-5759e988-bd862e3fe1be46a994272793", "amz-sdk-request": "attempt=1; max=3",
        "amz-sdk-invocation-id": str(uuid4()), "User-Agent": "aws-sdk-js/3",
        "x-amz-content-sha256": hashlib.sha256(b"{}").hexdigest(),
    }  # fmt: skip
    assert send(strict, "POST", "/", headers, b"{}").status == 200


# ------------------------------------------------------------------ bodies


def test_an_address_signed_without_a_body_takes_none(strict):
    form = b"Action=CreateQueue&QueueName=by-an-attacker&Version=2012-11-05"
    url = presigned(strict, "sqs")
    kind = "application/x-www-form-urlencoded"
    refuses(ask(strict, url, "POST", form, content_type=kind))
    genuine = presigned(strict, "sqs", path=f"/?{form.decode().replace('attacker', 'owner')}")
    assert ask(strict, genuine, "POST", content_type=kind).status == 200
    refuses(ask(strict, genuine, "POST", b"&QueueName=by-an-attacker", content_type=kind))


def test_an_address_for_lambda_takes_the_signed_body_only(strict):
    path = "/2015-03-31/functions/nothing-here/invocations"
    url = presigned(strict, "lambda", body=b'{"a": 1}', path=path)
    assert ask(strict, url, "POST", b'{"a": 1}').status == 404
    refuses(ask(strict, url, "POST", b'{"a": 2}'))


@pytest.mark.parametrize("declared", ["", "x", "UNSIGNED", "STREAMING-", "STREAMING-ANYTHING", "A" * 64, "0" * 63])
def test_what_a_body_is_signed_with_is_one_of_the_known_words(strict, s3, declared):
    def sign(header: str) -> dict[str, str]:
        with mock.patch.object(S3SigV4Auth, "payload", return_value=header):
            return signed(strict, "s3", "PUT", "/inbox/k3", kind=S3SigV4Auth)

    refused = send(strict, "PUT", "/inbox/k3", sign(declared), b"anything")
    assert refused.status == 400
    if declared:
        assert b"<Message>x-amz-content-sha256 must be UNSIGNED-PAYLOAD, STREAMING-" in refused.body
        assert b"<ArgumentName>x-amz-content-sha256</ArgumentName>" in refused.body
    other = sign("UNSIGNED-PAYLOAD")
    del other["X-Amz-Content-SHA256"]
    refused = send(strict, "PUT", "/inbox/k3", other, b"anything")
    assert refused.status in (400, 403)
    assert "Contents" not in s3.list_objects_v2(Bucket="inbox")


def test_the_words_of_another_service_are_as_strict(strict):
    target = {"Content-Type": JSON_TYPE, "X-Amz-Target": "AWSStepFunctions.ListActivities"}
    headers = signed(strict, "states", headers=target, body=b"{}")
    refused = send(strict, "POST", "/", {**headers, "x-amz-content-sha256": "anything"}, b"{}")
    assert (refused.status, json.loads(refused.body)["__type"]) == (400, "InvalidSignatureException")


def test_a_hash_in_a_presigned_query_binds_the_body(strict, s3):
    path = f"/inbox/k4?X-Amz-Content-Sha256={hashlib.sha256(b'mine').hexdigest()}"
    request = AWSRequest("PUT", strict.url + path, {"Host": f"127.0.0.1:{strict.port}"})
    with mock.patch.object(S3SigV4QueryAuth, "payload", return_value=hashlib.sha256(b"mine").hexdigest()):
        S3SigV4QueryAuth(OWN, "s3", "us-east-1", expires=60).add_auth(request)
    refused = ask(strict, request.url, body=b"other")
    assert (refused.status, b"XAmzContentSHA256Mismatch" in refused.body) == (400, True)
    assert ask(strict, request.url, body=b"mine").status == 200
    s3.delete_object(Bucket="inbox", Key="k4")


def test_an_unsigned_word_does_not_change_how_a_presigned_body_is_read(strict, s3):
    url = s3.generate_presigned_url("put_object", {"Bucket": "inbox", "Key": "k5"}, 60)
    chunked = b"4\r\ntest\r\n0\r\n\r\n"
    refused = ask(strict, url, body=chunked, x_amz_content_sha256="STREAMING-UNSIGNED-PAYLOAD-TRAILER")
    assert (refused.status, NOT_SIGNED in refused.body) == (403, True)
    assert ask(strict, url, body=b"x", x_amz_content_sha256="UNSIGNED-PAYLOAD").status == 200
    wrong = hashlib.sha256(b"other").hexdigest()
    assert ask(strict, url, body=b"x", x_amz_content_sha256=wrong).status == 400
    s3.delete_object(Bucket="inbox", Key="k5")


# ------------------------------------------------------------------ times


@pytest.mark.parametrize(
    ("expires", "text"),
    [
        ("604801", b"X-Amz-Expires must be less than a week (in seconds); that is, the given X-Amz-Expires must be "
                   b"less than 604800 seconds"),
        ("9" * 30, b"X-Amz-Expires must be less than a week"),
        ("-1", b"X-Amz-Expires must be non-negative"),
        ("soon", b"X-Amz-Expires should be a number"),
        ("1e3", b"X-Amz-Expires should be a number"),
        ("", b"X-Amz-Expires should be a number"),
    ],
)  # fmt: skip
def test_how_long_an_address_is_good(strict, s3, expires, text):
    url = s3.generate_presigned_url("get_object", {"Bucket": "secrets", "Key": "k"}, 60)
    refused = ask(strict, url.replace("X-Amz-Expires=60", f"X-Amz-Expires={expires}"), "GET")
    assert (refused.status, PARAMETERS in refused.body, text in refused.body) == (400, True, True), refused.body
    refused = ask(strict, presigned(strict, "states", expires), "POST")
    assert (refused.status, json.loads(refused.body)["__type"]) == (400, "IncompleteSignatureException")
    assert text.decode() in json.loads(refused.body)["message"]


def test_a_week_is_not_too_long(strict, s3):
    url = s3.generate_presigned_url("get_object", {"Bucket": "secrets", "Key": "k"}, 604_800)
    assert ask(strict, url, "GET").body == b"a secret"


@pytest.mark.parametrize(
    "name", ["X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders"]
)
def test_an_address_without_one_of_its_parts(strict, s3, name):
    url = s3.generate_presigned_url("get_object", {"Bucket": "secrets", "Key": "k"}, 60)
    refused = ask(strict, url.replace(f"{name}=", f"{name}X="), "GET")
    assert refused.status in (400, 403)
    assert b"a secret" not in refused.body


def signed_at(server: Server, by: timedelta, *, query: bool) -> Reply:
    kind: type[SigV4Auth] = SigV4QueryAuth if query else SigV4Auth
    form = "/?Action=ListQueues&Version=2012-11-05"
    request = AWSRequest("GET", server.url + form, {"Host": f"127.0.0.1:{server.port}"})
    moment = datetime.now(UTC) + by
    with mock.patch.object(botocore.auth, "get_current_datetime", return_value=moment.replace(tzinfo=None)):
        (kind(OWN, "sqs", "us-east-1", expires=60) if query else kind(OWN, "sqs", "us-east-1")).add_auth(request)
    parts = urlsplit(request.url)
    headers = {name: str(value) for name, value in request.headers.items()}
    assert moment.strftime("%Y%m%dT%H%M%SZ") in parts.query + headers.get("X-Amz-Date", "")
    return send(server, "GET", f"{parts.path}?{parts.query}", headers)


@pytest.mark.parametrize("query", [False, True])
@pytest.mark.parametrize(
    ("minutes", "is_good"), [(0, True), (14, True), (16, False), (-16, False), (-1_440, False), (525_600, False)]
)
def test_skew_and_expiry(strict, minutes, is_good, query):
    answer = signed_at(strict, timedelta(minutes=minutes), query=query)
    assert (answer.status == 200) is is_good
    assert is_good or b"Signature" in answer.body


# ------------------------------------------------------------------ addresses of version 2


def test_an_address_of_version_2_serves_what_it_was_made_for_alone(strict, s3):
    """boto3 presigns for S3 with version 2 unless it is configured; what that leaves unsigned is refused."""
    session = session_of(KEY, SECRET)
    old = session.client("s3", endpoint_url=strict.url)
    s3.put_object(Bucket="inbox", Key="old", Body=b"mine")
    url = old.generate_presigned_url("get_object", {"Bucket": "inbox", "Key": "old"}, 60)
    assert "AWSAccessKeyId=" in url
    assert ask(strict, url, "GET").body == b"mine"
    for changed, code in (
        (url.replace("/inbox/old", "/secrets/k"), b"SignatureDoesNotMatch"),
        (url.replace("/inbox/old", "/2015-03-31/functions/"), b"Missing Authentication Token"),
        (url + "&acl", b"SignatureDoesNotMatch"),
        (url + "&Action=ListQueues", b"MissingAuthenticationToken"),
        (url + "&list-type=2", b"is not signed by version 2"),
        (url.replace("Expires=", "Expires=9"), b"AccessDenied"),
        (url.replace(KEY, "OTHER"), b"InvalidAccessKeyId"),
    ):
        refused = ask(strict, changed, "GET")
        assert (refused.status >= 400, code in refused.body) == (True, True), refused.body
    assert ask(strict, url, "DELETE").status == 403
    assert ask(strict, url, "GET", x_amz_target="AmazonSQS.ListQueues").status >= 400
    put = old.generate_presigned_url(
        "put_object", {"Bucket": "inbox", "Key": "old", "Metadata": {"owner": "me"}, "ContentType": "text/x"}, 60
    )
    assert ask(strict, put, x_amz_copy_source="/secrets/k", content_type="text/x").status == 403
    assert ask(strict, put, body=b"new", content_type="text/x").status == 200
    stored = s3.get_object(Bucket="inbox", Key="old")
    assert (stored["Body"].read(), stored["Metadata"], stored["ContentType"]) == (b"new", {"owner": "me"}, "text/x")
    s3.delete_object(Bucket="inbox", Key="old")
    old.close()
