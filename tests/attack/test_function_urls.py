"""Attacks on the URLs of functions, and through them on the server: hosts, ids, policies, signatures, heads, pages."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.attack.conftest import KEY, SECRET, Reply, exchange, send
from tests.e2e.conftest import Server
from tests.e2e.test_function_urls import opened
from tests.e2e.test_lambda import made

NAMED = "def handler(event, context):\n    return {'who': '%s', 'path': event['rawPath']}\n"


@pytest.fixture(scope="module")
def url(lenient: Server) -> str:
    """The host of an open URL."""
    functions: Any = lenient.client("lambda")
    return opened(functions, made(functions, NAMED % "first"))


def at(host: str) -> dict[str, str]:
    return {"Host": host}


def test_a_host_of_a_url_never_leads_to_operations(lenient: Server, url: str) -> None:
    target = {"X-Amz-Target": "AmazonSQS.ListQueues", "Content-Type": "application/x-amz-json-1.0"}
    url_id, _, rest = url.partition(".")
    for host in (
        url, url.upper(), f"{url}.", f"x.{url}", f"{url_id}.lambda-url.localhost", f"{url_id}.lambda-url.evil.example",
        f"{url_id}.lambda-url.eu-west-1.localhost", f"none.{rest}", f".{rest}", f"{url_id}.lambda-url.us-east-1.on.aws",
        f"{url}@127.0.0.1", f"{url_id}.lambda-url..localhost",
    ):  # fmt: skip
        for path in ("/", "/health", "/metrics", "/2015-03-31/functions/", "/_apis/x/s", f"/_urls/{url_id}/x"):
            answer = send(lenient, "POST", path, {"Host": host, **target}, b"{}")
            if answer.status == 200:
                assert json.loads(answer.body) == {"who": "first", "path": path}, host
            else:
                assert answer.status in (400, 403, 404), (host, path)
            for word in (b"QueueUrls", b'"operations"', b"statewright_api", b'"Functions"'):
                assert word not in answer.body, (host, path)


def test_a_signed_request_to_a_url_is_no_operation(lenient: Server, url: str) -> None:
    scope = "AKID/20261122/us-east-1/sqs/aws4_request"
    signed = {"Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"}
    answer = send(lenient, "POST", "/", {**at(url), **signed, "X-Amz-Target": "AmazonSQS.ListQueues"}, b"{}")
    assert json.loads(answer.body)["who"] == "first"


def test_forged_ids_reach_no_function(lenient: Server, url: str) -> None:
    url_id = url.partition(".")[0]
    forged = (
        "", "a", url_id[:-1], f"{url_id}a", url_id.upper(), "a" * 32, "%2e%2e", "..", f"..%2F{url_id}", f"{url_id}%00",
        f"{url_id}%20", "*", "_", url_id.replace(url_id[0], "%" + f"{ord(url_id[0]):02x}"), "first", "a" * 5_000,
    )  # fmt: skip
    for one in forged:
        answer = send(lenient, "GET", f"/_urls/{one}/x")
        assert answer.status in (403, 404, 431), one[:50]
        assert b"who" not in answer.body
    assert send(lenient, "GET", f"/_urls/{url_id}/x").status == 200
    gateway: Any = lenient.client("apigatewayv2")
    api = gateway.create_api(Name="beside", ProtocolType="HTTP")["ApiId"]
    assert send(lenient, "GET", f"/_urls/{api}/").status == 403
    assert send(lenient, "GET", f"/_apis/{url_id}/").status == 404


def test_of_two_hosts_none_reaches_a_function(lenient: Server, url: str) -> None:
    head = f"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: {url}\r\nConnection: close\r\n\r\n"
    assert exchange(lenient, head.encode()).startswith(b"HTTP/1.1 400 ")
    head = f"GET / HTTP/1.1\r\nHost: {url}\r\nHost: 127.0.0.1:{lenient.port}\r\nConnection: close\r\n\r\n"
    assert b"who" not in exchange(lenient, head.encode()), "the last one counts"


def test_a_forwarded_host_does_not_choose_a_function(lenient: Server, url: str) -> None:
    elsewhere = {
        "X-Forwarded-Host": url,
        "Forwarded": f"host={url}",
        "X-Original-URL": f"/_urls/{url.partition('.')[0]}/",
    }
    answer = send(lenient, "GET", "/nothing/here", elsewhere)
    assert b"who" not in answer.body


def test_what_opens_one_url_opens_no_other(lenient: Server) -> None:
    functions: Any = lenient.client("lambda")
    name = made(functions, NAMED % "second")
    functions.publish_version(FunctionName=name)
    functions.create_alias(FunctionName=name, Name="live", FunctionVersion="1")
    own = opened(functions, name)
    shown = functions.create_function_url_config(FunctionName=name, Qualifier="live", AuthType="NONE")
    alias = urlsplit(shown["FunctionUrl"]).netloc
    assert (send(lenient, "GET", "/", at(own)).status, send(lenient, "GET", "/", at(alias)).status) == (200, 403)
    functions.update_function_url_config(FunctionName=name, AuthType="AWS_IAM")
    assert send(lenient, "GET", "/", at(own)).status == 403, "the policy is for the type NONE"


def test_a_flood_of_headers_ends_at_the_head(lenient: Server, url: str) -> None:
    flood = "".join(f"x-{number}: {'v' * 90}\r\n" for number in range(2_000))
    answer = exchange(lenient, f"GET / HTTP/1.1\r\nHost: {url}\r\n{flood}\r\n".encode())
    assert b"who" not in answer
    assert answer.startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 400 "))
    many = {f"x-{number}": "v" for number in range(300)}
    assert send(lenient, "GET", "/", {**at(url), **many}).status == 200


def test_a_function_cannot_write_the_head_of_its_response(lenient: Server) -> None:
    functions: Any = lenient.client("lambda")
    source = "import json\nhandler = lambda event, context: json.loads(event['body'])\n"
    host = opened(functions, made(functions, source))

    def answer_to(headers: Any, **more: Any) -> Reply:
        body = json.dumps({"statusCode": 200, "headers": headers, "body": "x", **more}).encode()
        return send(lenient, "POST", "/", {**at(host), "Content-Type": "application/json"}, body)

    for headers in ({"a": "b\r\nSet-Cookie: c=1"}, {"a\r\nb": "c"}, {"a: b": "c"}, {"a": ["b"]}, ["a"]):
        assert answer_to(headers).status == 502
    assert answer_to({}, cookies=["a=1\r\nx: y"]).status == 502
    framed = answer_to({"Content-Length": "1000", "Transfer-Encoding": "chunked", "Connection": "upgrade"})
    assert (framed.status, framed.body, framed.headers["content-length"]) == (200, b"x", "1")
    assert "transfer-encoding" not in framed.headers


def test_pages_elsewhere_call_no_url_that_does_not_let_them_in(lenient: Server, url: str) -> None:
    page = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site", "User-Agent": "Mozilla/5.0"}
    by_path = f"/_urls/{url.partition('.')[0]}/"
    assert send(lenient, "GET", "/", {**at(url), **page}).status == 403
    assert send(lenient, "GET", by_path, page).status == 403
    functions: Any = lenient.client("lambda")
    shared = opened(functions, made(functions, NAMED % "shared"), Cors={"AllowOrigins": ["*"]})
    assert send(lenient, "GET", "/", {**at(shared), **page}).status == 403, "* means the pages of this machine"
    local = {**page, "Origin": "http://localhost:3000"}
    assert send(lenient, "GET", "/", {**at(shared), **local}).status == 200
    assert send(lenient, "GET", by_path).headers["content-security-policy"] == "sandbox"
    assert "content-security-policy" not in send(lenient, "GET", "/", at(url)).headers


def signed(host: str, path: str, body: bytes = b"", *, service: str = "lambda", secret: str = SECRET) -> dict[str, str]:
    """The headers of a request to a URL, signed."""
    request = AWSRequest("POST", f"http://{host}{path}", headers={"Host": host}, data=body)
    SigV4Auth(Credentials(KEY, secret), service, "us-east-1").add_auth(request)
    return dict(request.headers.items())


def test_only_a_genuine_signature_opens_a_url_that_asks_for_one(strict: Server) -> None:
    functions: Any = strict.client("lambda", key=KEY, secret=SECRET)
    source = "def handler(event, context):\n    return event['requestContext']\n"
    names = [made(functions, source) for _ in range(2)]
    hosts = []
    for name in names:
        shown = functions.create_function_url_config(FunctionName=name, AuthType="AWS_IAM")
        hosts.append(urlsplit(shown["FunctionUrl"]).netloc)
    first, second = hosts
    good = signed(first, "/a?x=1", b"{}")
    answer = send(strict, "POST", "/a?x=1", good, b"{}")
    assert answer.status == 200, answer.body
    context = json.loads(answer.body)
    assert context["accountId"] == "000000000000"
    assert context["authorizer"]["iam"]["accessKey"] == KEY
    by_path = f"/_urls/{first.partition('.')[0]}/b"
    local = signed(f"127.0.0.1:{strict.port}", by_path)
    assert send(strict, "POST", by_path, local).status == 200

    unsigned = send(strict, "POST", "/a?x=1", at(first), b"{}")
    assert (unsigned.status, json.loads(unsigned.body)["Message"][:9]) == (403, "Forbidden")
    for path, headers, body in (
        ("/a?x=1", {**good, "Host": second}, b"{}"), ("/b?x=1", good, b"{}"), ("/a?x=2", good, b"{}"),
        ("/a?x=1", good, b"[]"), ("/a?x=1", {**good, "X-Amz-Security-Token": "none"}, b"{}"),
        ("/a", signed(first, "/a", service="execute-api"), b""), ("/a", signed(first, "/a", service="sqs"), b""),
        ("/a", signed(first, "/a", secret="another"), b""),
        ("/a", {**at(first), "Authorization": "Bearer a"}, b""),
        ("/a?X-Amz-Signature=0", at(first), b""),
    ):  # fmt: skip
        found = send(strict, "POST", path, headers, body)
        assert found.status == 403, (path, headers)
        assert b"requestId" not in found.body
