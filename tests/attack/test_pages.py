"""Pages in browsers: one that is stored as an object, and those of programs on other ports of loopback."""

from __future__ import annotations

from urllib.parse import urlencode
from uuid import uuid4

import pytest

from tests.attack.conftest import send

PAGE = b"<!doctype html><script>fetch('/', {method: 'POST'})</script>"
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
