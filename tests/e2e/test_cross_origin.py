"""A page of another origin reaches no operation of any service, whatever its browser sends for it."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest

from tests.deadlines import PATIENCE_SECONDS, until
from tests.e2e.conftest import Server

BROWSER = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Accept": "*/*",
    "Accept-Language": "en-GB,en;q=0.5",
    "Accept-Encoding": "gzip, deflate",
}
SIGNED = (
    "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/{}/aws4_request, SignedHeaders=host;x-amz-date, Signature=0"
)
PAGES = {
    "another origin": {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
    "another origin, old browser": {"Origin": "https://evil.example"},
    "a sandboxed frame": {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    "a file": {"Origin": "file://"},
    "an image or a link": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
    "another site's frame of the same name": {"Origin": "http://localhost.evil.example", "Sec-Fetch-Site": "same-site"},
    "a name rebound to loopback": {"Host": "evil.example:4566", "Origin": "http://evil.example:4566"},
    "a rebound name, new browser": {"Host": "evil.example:4566", "Sec-Fetch-Site": "same-origin"},
    "a rebound name, GET": {"Host": "evil.example:4566"},
    "a rebound name, typed": {"Host": "evil.example:4566", "Sec-Fetch-Site": "none"},
    "a rebound name, disguised": {"Host": "evil.example:4566", "User-Agent": "aws-sdk-js/3", "Accept-Language": ""},
    "a page on another port": {"Origin": "http://127.0.0.1:3000", "Sec-Fetch-Site": "same-site"},
    "a page on another port, old browser": {"Origin": "http://localhost:3000"},
    "a link or an image of a page on another port": {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"},
    "another port, by another name": {"Host": "evil.example:4566", "Origin": "http://127.0.0.1:4566"},
}
"""What browsers send beside the request, by who makes it."""

BODY_TYPES = (
    "application/x-amz-json-1.0",
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "text/plain;charset=UTF-8",
    "",
)


def send(
    server: Server, method: str, path: str, headers: Mapping[str, str], body: bytes = b""
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
        for name, value in {**headers, **({"Content-Length": str(len(body))} if method != "GET" else {})}.items():
            connection.putheader(name, value)
        connection.endheaders(body if method != "GET" else None)
        answer = connection.getresponse()
        given = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, given, answer.read()
    finally:
        connection.close()


def check_refused(answer: tuple[int, dict[str, str], bytes]) -> None:
    status, headers, body = answer
    assert status == 403, (status, body)
    assert b"CrossOriginRequestRefused" in body
    assert not [name for name in headers if name.startswith("access-control-")]


JSON_TYPE = {"Content-Type": "application/x-amz-json-1.0"}
TEXT_TYPE = {"Content-Type": "text/plain"}
PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-amz-target"}
SOCKET = {
    "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "eA==", "Sec-WebSocket-Version": "13",
}  # fmt: skip
ACTION = urlencode({"Action": "CreateQueue", "QueueName": "q", "Version": "2012-11-05"})
CREATE = {"X-Amz-Target": "AWSStepFunctions.CreateStateMachine", "Authorization": SIGNED.format("states")}
MACHINE = json.dumps({"name": "m", "definition": "{}", "roleArn": "arn:aws:iam::000000000000:role/r"}).encode()

TARGETS: dict[str, tuple[str, str, dict[str, str], bytes]] = {
    **{
        f"machines as {kind or 'nothing'}": ("POST", "/", {**CREATE, "Content-Type": kind}, MACHINE)
        for kind in BODY_TYPES
    },
    "queues by form": ("POST", "/", {"Content-Type": "application/x-www-form-urlencoded"}, ACTION.encode()),
    "queues by text": ("POST", f"/?{ACTION}", TEXT_TYPE, b""),
    "queues by GET": ("GET", f"/?{ACTION}", {}, b""),
    "queues by target": ("POST", "/", {"X-Amz-Target": "AmazonSQS.ListQueues", **JSON_TYPE}, b"{}"),
    "functions": ("POST", "/2015-03-31/functions/f/invocations", TEXT_TYPE, b"{}"),
    "functions listed": ("GET", "/2015-03-31/functions/", {}, b""),
    "a bucket": ("PUT", "/bucket", {}, b""),
    "an object": ("PUT", "/bucket/key", TEXT_TYPE, b"x"),
    "an object told": ("GET", "/bucket/key", {}, b""),
    "objects deleted": ("POST", "/bucket?delete", TEXT_TYPE, b"<Delete/>"),
    "buckets listed": ("GET", "/", {"Authorization": SIGNED.format("s3")}, b""),
    "health": ("GET", "/health", {}, b""),
    "metrics": ("GET", "/metrics", {}, b""),
    "nothing": ("GET", "/nothing", {}, b""),
    "a preflight": ("OPTIONS", "/", PREFLIGHT, b""),
    "a socket": ("GET", "/", SOCKET, b""),
}
"""Requests of every protocol that would do or tell something: method, path, headers, body."""


@pytest.mark.parametrize("target", TARGETS)
def test_no_page_reaches_anything(server, target):
    method, path, headers, body = TARGETS[target]
    for page in PAGES.values():
        check_refused(send(server, method, path, {**BROWSER, **headers, **page}, body))


def test_what_a_page_asked_for_has_not_happened(server, sfn):
    name = f"by-a-page-{uuid4()}"
    for kind in BODY_TYPES:
        page = {**BROWSER, **PAGES["another origin"]}
        headers = {**page, "Content-Type": kind, "X-Amz-Target": "AWSStepFunctions.CreateActivity"}
        check_refused(send(server, "POST", "/", headers, json.dumps({"name": name}).encode()))
    assert name not in [one["name"] for one in sfn.list_activities()["activities"]]


def test_an_old_browser_does_not_say_for_whom_it_asks(server):
    """An image of another page's in a browser without Sec-Fetch-Site: nothing but its own words gives it away."""
    action = urlencode({"Action": "CreateQueue", "QueueName": "q"})
    for path in (f"/?{action}", "/bucket/key", "/2015-03-31/functions/"):
        check_refused(send(server, "GET", path, BROWSER))
        check_refused(send(server, "GET", path, {**BROWSER, "Referer": "https://evil.example/"}))
    assert send(server, "GET", "/health", BROWSER)[0] == 200


def test_a_refused_body_is_not_read(server):
    """The refusal comes before the body, however long that is said to be."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
    connection.putrequest("POST", "/")
    for name, value in {**PAGES["another origin"], "Content-Length": "1000000", "Content-Type": "text/plain"}.items():
        connection.putheader(name, value)
    connection.endheaders(b"{")
    assert connection.getresponse().status == 403
    connection.close()


TARGET = {"X-Amz-Target": "AWSStepFunctions.ListActivities", "Content-Type": "application/x-amz-json-1.0"}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Host": "sync-states.us-east-1.amazonaws.com"},
        {"Host": "statewright:4566", "User-Agent": "Boto3/1.40"},
        {"Accept-Language": "*", "Sec-Fetch-Mode": "cors", "User-Agent": "node"},
        {"User-Agent": "Mozilla/5.0 (compatible; pycurl)"},
        {"Host": "queues:4566", "User-Agent": "Mozilla/5.0 (compatible; pycurl)"},
        {**BROWSER, "Authorization": SIGNED.format("states")},
        {**BROWSER, "Host": "127.0.0.1:4566", "Origin": "http://127.0.0.1:4566", "Sec-Fetch-Site": "same-origin"},
        {**BROWSER, "Host": "localhost:4566", "Origin": "http://localhost:4566"},
    ],
)
def test_programs_and_own_pages_are_answered(server, headers):
    assert send(server, "POST", "/", {**TARGET, **headers}, b"{}")[0] == 200


def test_a_page_of_ours_by_another_name(tmp_path):
    server = Server(tmp_path / "data", "--store", "memory", "--origin", "https://flows.example")
    try:
        ours: dict[str, Any] = {**BROWSER, **TARGET, "Host": "flows.example", "Sec-Fetch-Site": "same-origin"}
        assert send(server, "POST", "/", {**ours, "Origin": "https://flows.example"}, b"{}")[0] == 200
        check_refused(send(server, "POST", "/", {**ours, "Origin": "http://flows.example"}, b"{}"))
        check_refused(send(server, "POST", "/", {**ours, "Origin": "https://evil.flows.example"}, b"{}"))
        there = {**BROWSER, **TARGET, "Origin": "https://flows.example", "Sec-Fetch-Site": "cross-site"}
        assert send(server, "POST", "/", there, b"{}")[0] == 200
    finally:
        assert server.stop() == 0


def test_refusals_are_counted(server):
    check_refused(send(server, "GET", "/health", PAGES["another origin"]))

    def counted() -> bool:
        with contextlib.suppress(OSError):
            return b'code="CrossOriginRequestRefused"' in send(server, "GET", "/metrics", {})[2]
        return False

    until(counted)
