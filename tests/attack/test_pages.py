"""Pages in browsers: one that is stored as an object, and those of programs on other ports of loopback."""

from __future__ import annotations

from urllib.parse import urlencode
from uuid import uuid4

import botocore.auth
import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.attack.conftest import KEY, SECRET, send

PAGE = b"<!doctype html><script>fetch('/', {method: 'POST'})</script>"
LANGUAGES = {"User-Agent": "Mozilla/5.0 (Macintosh) Safari/605.1.15", "Accept-Language": "en-GB,en;q=0.5"}
"""All that an old browser says of itself with an image or a link."""
OTHER_PORT = {"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-site", "User-Agent": "Mozilla/5.0"}


def queue_made(name: str) -> bytes:
    return urlencode({"Action": "CreateQueue", "QueueName": name, "Version": "2012-11-05"}).encode()


def test_a_page_stored_as_an_object_has_no_origin(lenient):
    assert send(lenient, "PUT", "/pages").status == 200
    assert send(lenient, "PUT", "/pages/a.html", {"Content-Type": "text/html"}, PAGE).status == 200
    for method, path in (
        ("GET", "/pages/a.html"),
        ("HEAD", "/pages/a.html"),
        ("GET", "/pages/a.html?response-content-type=image/svg%2Bxml"),
    ):
        answer = send(lenient, method, path)
        assert answer.status == 200
        assert answer.headers["content-security-policy"] == "sandbox"
        assert answer.headers["x-content-type-options"] == "nosniff"
    ranged = send(lenient, "GET", "/pages/a.html", {"Range": "bytes=0-3"})
    assert (ranged.status, ranged.headers["content-security-policy"]) == (206, "sandbox")


@pytest.mark.parametrize(
    "kind", ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x", ""]
)
def test_a_form_of_another_port_changes_nothing(lenient, kind):
    """Forms and plain text need no preflight: nothing but the server's own refusal stops them."""
    name = f"by-a-form-{uuid4()}"
    form = queue_made(name)
    for path, body in (("/", form), (f"/?{form.decode()}", b"")):
        answer = send(lenient, "POST", path, {**OTHER_PORT, "Content-Type": kind}, body)
        assert answer.status == 403
        assert b"start the server with --origin http://localhost:3000" in answer.body
    assert send(lenient, "PUT", f"/{name}", OTHER_PORT).status == 403
    assert (
        send(lenient, "POST", "/pages?delete", {**OTHER_PORT, "Content-Type": "text/plain"}, b"<Delete/>").status == 403
    )
    target = {"X-Amz-Target": "AmazonSQS.ListQueues", "Content-Type": "application/x-amz-json-1.0"}
    assert name.encode() not in send(lenient, "POST", "/", target, b"{}").body


def test_a_link_or_an_image_of_another_port_changes_nothing(lenient):
    name = f"by-an-image-{uuid4()}"
    for site in ("same-site", "cross-site"):
        image = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors", "Referer": "http://localhost:3000/"}
        assert send(lenient, "GET", f"/?{queue_made(name).decode()}", image).status == 403


FORGED = "AWS4-HMAC-SHA256 Credential={}/20260101/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=0"
PRESIGNED = urlencode(
    {
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Credential": f"{KEY}/20260101/us-east-1/sqs/aws4_request",
        "X-Amz-Date": "20260101T000000Z",
        "X-Amz-Expires": "604800",
        "X-Amz-SignedHeaders": "host",
        "X-Amz-Signature": "0",
    }
)


def test_a_forged_signature_opens_nothing_to_old_browsers(lenient, strict):
    """A page may put one into an address anywhere, and into a header after its name was rebound to loopback."""
    action = queue_made(f"by-a-forgery-{uuid4()}").decode()
    rebound = {**LANGUAGES, "Host": "rebound.evil.example:4566"}
    signed = {**rebound, "Authorization": FORGED.format(KEY)}
    for path in (f"/?{action}&{PRESIGNED}", f"/pages/a.html?{PRESIGNED}"):
        for headers in (LANGUAGES, rebound, signed):
            assert b"CrossOriginRequestRefused" in send(lenient, "GET", path, headers).body
            # This server verifies what the other one refuses unseen.
            assert send(strict, "GET", path, headers).status in (400, 403)
    for page in ("/health", "/metrics", "/time-scale"):
        assert send(strict, "GET", f"{page}?{PRESIGNED}", rebound).status == 403
    form = {**signed, "Content-Type": "application/x-www-form-urlencoded"}
    assert b"CrossOriginRequestRefused" in send(lenient, "POST", "/", form, action.encode()).body
    assert send(strict, "POST", "/", form, action.encode()).status in (400, 403)


def test_a_genuine_signature_shows_a_program_by_any_name(strict):
    """Its languages do not matter then; but a page that obtained a signature is still a page."""
    host = {"Host": "queues.example:4566", "X-Amz-Target": "AmazonSQS.ListQueues"}
    kind = {"Content-Type": "application/x-amz-json-1.0", **LANGUAGES}
    request = AWSRequest("POST", "http://queues.example:4566/", {**host, **kind}, b"{}")
    botocore.auth.SigV4Auth(Credentials(KEY, SECRET), "sqs", "us-east-1").add_auth(request)
    signed = {name: str(value) for name, value in request.headers.items()}
    assert send(strict, "POST", "/", signed, b"{}").status == 200
    refused = send(strict, "POST", "/", {**signed, "Sec-Fetch-Site": "cross-site"}, b"{}")
    assert b"CrossOriginRequestRefused" in refused.body
