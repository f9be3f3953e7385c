"""Requests to other servers: headers of the client's connection end at the gateway."""

from __future__ import annotations

from statewright.apis.calls import Request
from statewright.apis.integrations.http_proxy import passed_headers


def test_headers_that_any_connection_header_names_do_not_pass() -> None:
    headers = (
        ("Connection", "X-Hop, keep-alive"), ("X-Hop", "1"), ("connection", "x-second"), ("X-Second", "2"),
        ("Keep-Alive", "x"), ("X-End", "a"), ("x-end", "b"), ("Transfer-Encoding", "chunked"),
    )  # fmt: skip
    request = Request("GET", "/", "/", "", headers, b"", "127.0.0.1", "a.localhost")
    assert passed_headers(request) == {"x-end": "a,b"}
