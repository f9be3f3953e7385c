"""The application: who may read, and what it answers to what it does not know."""

from __future__ import annotations

import gzip
from types import SimpleNamespace
from typing import Any

import pytest

from statewright.api.app import Api
from statewright.config import Config
from statewright.console import reads
from statewright.console.asked import Lines
from statewright.console.console import ConsoleApp
from tests.unit.api.apps import app_of
from tests.unit.api.asgi import SIGNED, Reply, request

HERE = "http://127.0.0.1:4566"


def api_with_console(config: Config | None = None) -> Api:
    app = app_of(config, engine=SimpleNamespace())
    return Api(app, pages=ConsoleApp(app))


def get(path: str, query: str = "", config: Config | None = None, method: str = "GET", **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return request(api_with_console(config), path=path, method=method, query=query, headers=named)


def test_every_address_of_the_console_shows_its_page():
    for path in ("/console", "/console/", "/console/execution/arn:aws:states:us-east-1:0:execution:m:e"):
        page = get(path)
        assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert b"/console/static/app.js" in page.body


def test_files_are_packed_and_known_again():
    script = get("/console/static/app.js", accept_encoding="gzip, br")
    assert script.headers["content-encoding"] == "gzip"
    assert gzip.decompress(script.body) == get("/console/static/app.js").body
    assert get("/console/static/app.js", if_none_match=script.headers["etag"]).status == 304
    for wrong in ("/console/static/nothing.js", "/console/static/vendor.d.ts"):
        assert get(wrong).status == 404


def test_the_page_may_load_its_own_files_alone():
    policy = get("/console").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "require-trusted-types-for 'script'" in policy


def test_reads_are_never_stored():
    me = get("/console/api/me")
    assert (me.status, me.headers["cache-control"]) == (200, "no-store")
    assert me.json["region"] == "us-east-1"


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://localhost:3000", "sec_fetch_site": "same-site"},
        {"sec_fetch_site": "cross-site", "sec_fetch_mode": "no-cors"},
        {"origin": "null"},
        {"sec_fetch_site": "same-origin", "host": "evil.example:4566"},
    ],
)
def test_other_pages_read_nothing(headers):
    refused = get("/console/api/me", **headers)
    assert (refused.status, refused.json["error"]) == (403, "CrossOriginRequestRefused")


def test_its_own_page_reads():
    assert get("/console/api/me", origin=HERE, sec_fetch_site="same-origin").status == 200


def test_a_link_on_another_page_leads_here_but_a_frame_does_not():
    link: Any = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}
    assert get("/console", sec_fetch_dest="document", **link).status == 200
    assert get("/console", sec_fetch_dest="iframe", **link).status == 403
    assert get("/console", sec_fetch_dest="document", host="evil.example", **link).status == 403


def test_what_it_does_not_know_is_refused():
    assert get("/console/api/nothing").json["error"] == "NotFound"
    assert get("/console/api/run").json["message"] == "The address lacks arn."
    assert get("/console/api/run", query="arn=nonsense").json["error"] == "InvalidArn"
    assert get("/console/api/executions", query="status=ODD").json["message"].startswith("There is no status ODD.")
    assert get("/console/api/me", query="x" * 9_000).status == 414
    assert get("/console/api/me", method="PUT").status == 405
    assert get("/console/api/me", method="POST", content_type="text/plain").status == 415
    assert get("/console", method="POST").status == 405


def test_a_signed_request_at_that_path_is_for_a_bucket():
    signed = get("/console/api/me", authorization=SIGNED)
    assert "content-security-policy" not in signed.headers or signed.headers["content-type"] != "application/json"
    assert get("/consoles").status != 200


def test_a_browser_at_the_address_itself_is_led_to_the_console():
    html = "text/html,application/xhtml+xml,*/*;q=0.8"
    led = get("/", accept=html, sec_fetch_mode="navigate", sec_fetch_site="none", sec_fetch_dest="document")
    assert (led.status, led.headers["location"], led.body) == (302, "/console", b"")
    assert get("/", accept=html).status == 302
    assert get("/", accept=html, method="HEAD").status == 302


@pytest.mark.parametrize(
    ("query", "headers"),
    [
        ("", {"accept": "*/*"}),
        ("", {}),
        ("", {"accept": "text/html", "authorization": SIGNED}),
        ("list-type=2", {"accept": "text/html"}),
        ("", {"accept": "text/html", "sec_fetch_mode": "cors", "sec_fetch_site": "same-origin"}),
        ("", {"accept": "text/html", "host": "bucket.localhost:4566"}),
    ],
)
def test_programs_at_that_address_are_answered_as_before(query, headers):
    assert get("/", query, **headers).status != 302


def test_the_head_of_an_answer_that_goes_on_begins_none(monkeypatch):
    begun = []

    async def documents() -> Any:
        begun.append("a document")
        yield {}

    async def live(_console: Any, _asked: Any) -> Lines:
        return Lines(documents())

    monkeypatch.setitem(reads.READS, "live", live)
    head = get("/console/api/live", method="HEAD", sec_fetch_site="same-origin")
    assert (head.status, head.headers["content-type"], head.body) == (200, "application/x-ndjson", b"")
    assert begun == []


def test_a_server_that_stops_begins_no_stream():
    api = api_with_console()
    assert api.pages is not None
    api.pages.drain()
    refused = request(api, path="/console/api/live", method="GET", query="watch=project")
    assert (refused.status, refused.json["error"]) == (503, "ServiceUnavailable")
